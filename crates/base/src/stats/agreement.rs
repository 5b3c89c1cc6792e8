//! How far two raters agree.

use std::collections::BTreeMap;

use super::interval::{clustered_interval, interval_of};
use crate::stats::mean;

/// The kappa of two raters who each say yes or no.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kappa {
    /// From -1 to 1; 0 is the value that chance gives.
    pub value: f64,
    /// Whether one of the raters always gives the same rating. Then kappa is 0 for any share of agreement, since chance
    /// alone would give the same share.
    pub is_constant: bool,
}

/// Cohen's kappa between two raters, each of whom says yes at a score of at least `threshold` (Cohen, "A
/// coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, 1960).
/// None for an empty list.
///
/// If both raters always give the same rating, their agreement is not larger than by chance. The formula is then 0/0,
/// and the result is 0, because it is not known whether they would agree on other items.
pub fn kappa(pairs: &[(f64, f64)], threshold: f64) -> Option<Kappa> {
    let share = |says_yes: &dyn Fn(&(f64, f64)) -> bool| {
        let count = pairs.iter().filter(|pair| says_yes(pair)).count();
        count as f64 / pairs.len() as f64
    };
    if pairs.is_empty() {
        return None;
    }
    let one = share(&|(one, _)| *one >= threshold);
    let other = share(&|(_, other)| *other >= threshold);
    let agreed = share(&|(one, other)| (*one >= threshold) == (*other >= threshold));
    let by_chance = one * other + (1.0 - one) * (1.0 - other);
    let is_constant = [one, other]
        .iter()
        .any(|share| *share == 0.0 || *share == 1.0);
    Some(Kappa {
        value: match is_constant {
            true => 0.0,
            false => (agreed - by_chance) / (1.0 - by_chance),
        },
        is_constant,
    })
}

/// The agreement of two raters who assign categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryKappa {
    /// The share of the pairs in which both raters agree.
    pub agreed: f64,
    /// Cohen's kappa; none if chance alone explains all agreement, since one rater always says the same.
    pub value: Option<f64>,
    /// Its 95 % interval. It is computed from the interval of the share of agreement, with the observed chance
    /// agreement. So it has a width even if all pairs agree, unlike the usual standard error.
    pub interval: Option<(f64, f64)>,
}

/// Cohen's kappa between two raters for any number of categories. None for an empty list.
pub fn category_kappa<T: Ord>(pairs: &[(T, T)]) -> Option<CategoryKappa> {
    let n = pairs.len() as f64;
    if pairs.is_empty() {
        return None;
    }
    let mut counts: BTreeMap<&T, (usize, usize)> = BTreeMap::new();
    for (one, other) in pairs {
        counts.entry(one).or_default().0 += 1;
        counts.entry(other).or_default().1 += 1;
    }
    let same: Vec<(f64, usize)> = pairs
        .iter()
        .map(|(one, other)| (f64::from(u8::from(one == other)), 1))
        .collect();
    let agreed = same.iter().map(|(same, _)| same).sum::<f64>() / n;
    let by_chance: f64 = counts
        .values()
        .map(|(one, other)| *one as f64 / n * *other as f64 / n)
        .sum();
    let is_constant = counts
        .values()
        .any(|(one, other)| *one == pairs.len() || *other == pairs.len());
    let kappa = |agreed: f64| (agreed - by_chance) / (1.0 - by_chance);
    let share = clustered_interval(&same).filter(|_| !is_constant);
    Some(CategoryKappa {
        agreed,
        value: (!is_constant).then(|| kappa(agreed)),
        interval: share.map(|(low, high)| (kappa(low).max(-1.0), kappa(high))),
    })
}

/// The mean absolute difference; none for an empty list.
pub fn mean_absolute_error(pairs: &[(f64, f64)]) -> Option<f64> {
    let errors: Vec<f64> = pairs
        .iter()
        .map(|(one, other)| (one - other).abs())
        .collect();
    mean(&errors)
}

/// A mean in which each part counts once, with the mean of its samples, however often it was run. A part is a variant
/// of a case, or the case itself if it has no variants. Doubtful parts are run again, and would have too much weight if
/// every sample counted the same.
#[derive(Clone, Debug, Default)]
pub struct Balanced {
    /// The mean of each part.
    means: Vec<f64>,
    /// For each case the sum over its parts, and the number of its parts.
    cases: Vec<(f64, usize)>,
    samples: usize,
}

impl Balanced {
    /// Adds a case with the samples of each of its parts. A part without samples does not count.
    pub fn add(&mut self, parts: impl IntoIterator<Item = Vec<f64>>) {
        let before = self.means.len();
        for part in parts {
            self.samples += part.len();
            self.means.extend(mean(&part));
        }
        let added = &self.means[before..];
        if !added.is_empty() {
            self.cases.push((added.iter().sum(), added.len()));
        }
    }

    /// The mean; none if there are no samples.
    pub fn value(&self) -> Option<f64> {
        mean(&self.means)
    }

    /// The total number of samples.
    pub const fn samples(&self) -> usize {
        self.samples
    }

    /// The 95 % interval of a mean of values from 0 to 1; none for fewer than two cases. Every part is assumed to have
    /// the average number of runs.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let runs = self.samples as f64 / self.means.len().max(1) as f64;
        let cases = self.cases.iter();
        let cases: Vec<(f64, f64)> = cases
            .map(|(sum, parts)| (sum * runs, *parts as f64 * runs))
            .collect();
        interval_of(&cases)
    }
}

#[cfg(test)]
mod tests {
    use super::{Balanced, *};

    /// Yes and no as scores at the threshold of a half.
    fn table(both: usize, first: usize, second: usize, neither: usize) -> Vec<(f64, f64)> {
        let mut pairs = vec![(1.0, 1.0); both];
        pairs.extend(vec![(0.5, 0.49); first]);
        pairs.extend(vec![(0.0, 0.9); second]);
        pairs.extend(vec![(0.2, 0.1); neither]);
        pairs
    }

    #[test]
    fn kappa_agrees_with_worked_examples() {
        // 35 of 50 agree, and half would by chance; 60 of 100 agree, and 54 would by chance.
        for (cells, want) in [
            ((20, 5, 10, 15), 0.4),
            ((45, 15, 25, 15), 0.130_434_782_608_695_65),
        ] {
            let (both, first, second, neither) = cells;
            let kappa = kappa(&table(both, first, second, neither), 0.5).expect("there are pairs");
            assert!((kappa.value - want).abs() < 1e-12, "{kappa:?} {want}");
            assert!(!kappa.is_constant);
        }
    }

    #[test]
    fn jdg_16_perfect_labels_have_kappa_1_and_no_error_and_a_constant_judge_has_kappa_0() {
        let labels = [0.0, 0.2, 0.7, 1.0];
        let perfect: Vec<(f64, f64)> = labels.iter().map(|label| (*label, *label)).collect();
        let found = kappa(&perfect, 0.5).expect("there are pairs");
        assert_eq!((found.value, found.is_constant), (1.0, false));
        assert_eq!(mean_absolute_error(&perfect), Some(0.0));
        for score in [0.0, 0.5, 1.0] {
            let constant: Vec<(f64, f64)> = labels.iter().map(|label| (score, *label)).collect();
            let found = kappa(&constant, 0.5).expect("there are pairs");
            assert_eq!((found.value, found.is_constant), (0.0, true));
        }
        let same_of_all = kappa(&[(1.0, 1.0), (1.0, 1.0)], 0.5).expect("there are pairs");
        assert_eq!((same_of_all.value, same_of_all.is_constant), (0.0, true));
        assert_eq!(kappa(&[], 0.5), None);
    }

    #[test]
    fn the_kappa_of_categories_agrees_with_the_one_of_two_and_has_an_interval_where_all_agree() {
        let two = table(20, 5, 10, 15);
        let words: Vec<(bool, bool)> = two.iter().map(|(a, b)| (*a >= 0.5, *b >= 0.5)).collect();
        let found = category_kappa(&words).expect("there are pairs");
        let value = found.value.expect("both vary");
        assert!((value - 0.4).abs() < 1e-12, "{found:?}");
        let (low, high) = found.interval.expect("an interval");
        assert!(low < 0.4 && 0.4 < high, "{found:?}");
        // Three categories: 8 of 10 agree, and (5 · 5 + 4 · 3 + 1 · 2) / 100 would by chance.
        let pairs = ["ll", "ll", "ll", "rr", "rr", "tt", "ll", "lt", "rl", "rr"];
        let one = |pair: &str, at| pair.chars().nth(at).expect("a letter");
        let pairs: Vec<(char, char)> = pairs
            .iter()
            .map(|pair| (one(pair, 0), one(pair, 1)))
            .collect();
        let found = category_kappa(&pairs).expect("there are pairs");
        let by_chance = (5.0 * 5.0 + 4.0 * 3.0 + 1.0 * 2.0) / 100.0;
        assert!(
            (found.value.expect("it varies") - (0.8 - by_chance) / (1.0 - by_chance)).abs() < 1e-12
        );
        let all = category_kappa(&[(1, 1), (2, 2), (1, 1), (2, 2)]).expect("there are pairs");
        assert_eq!(all.value, Some(1.0));
        assert!(all.interval.expect("an interval").0 < 0.9, "{all:?}");
        let constant = category_kappa(&[(1, 1), (1, 2), (1, 1)]).expect("there are pairs");
        assert_eq!((constant.value, constant.interval), (None, None));
        assert_eq!(category_kappa::<u8>(&[]), None);
    }

    #[test]
    fn the_mean_absolute_error_takes_no_side() {
        let error = mean_absolute_error(&[(0.2, 0.5), (0.5, 0.2)]).expect("there are pairs");
        assert!((error - 0.3).abs() < 1e-12);
        assert_eq!(mean_absolute_error(&[]), None);
    }

    fn of(cases: &[&[&[f64]]]) -> Balanced {
        let mut balanced = Balanced::default();
        for case in cases {
            balanced.add(case.iter().map(|part| part.to_vec()));
        }
        balanced
    }

    #[test]
    fn what_was_run_more_often_weighs_no_more() {
        let one_case_in_doubt = of(&[&[&[0.0; 9]], &[&[1.0]], &[&[1.0]], &[&[1.0]]]);
        assert_eq!(one_case_in_doubt.value(), Some(0.75));
        assert_eq!(one_case_in_doubt.samples(), 12);
        let one_variant_in_doubt = of(&[&[&[0.0; 5], &[1.0]], &[&[1.0], &[1.0]]]);
        assert_eq!(one_variant_in_doubt.value(), Some(0.75));
        // A part that never answered does not count, and neither does a case of such parts.
        assert_eq!(of(&[&[&[1.0], &[]], &[&[]]]).value(), Some(1.0));
        assert_eq!(of(&[]).value(), None);
    }

    #[test]
    fn with_equal_runs_the_interval_is_that_of_the_samples() {
        let balanced = of(&[
            &[&[1.0, 0.0], &[1.0, 1.0]],
            &[&[1.0, 1.0]],
            &[&[0.0, 1.0], &[1.0, 1.0]],
        ]);
        let (low, high) = balanced.interval().expect("of three cases");
        let plain = clustered_interval(&[(3.0, 4), (2.0, 2), (3.0, 4)]).expect("the same");
        assert!((low - plain.0).abs() < 1e-12 && (high - plain.1).abs() < 1e-12);
        assert!(low <= 0.8 && 0.8 <= high);
        assert_eq!(of(&[&[&[1.0]]]).interval(), None);
    }
}
