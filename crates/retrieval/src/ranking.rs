//! One ranking compared with the documents that are known to be relevant, and the measures of trec_eval for it
//! (<https://github.com/usnistgov/trec_eval>, version 9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a measure needs of a ranking: where its judged documents stand, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The rank, from 1, and the grade of every document of the ranking whose grade is above 0;
    /// ascending by rank, no rank twice.
    found: Vec<(u32, i64)>,
    /// Every grade above 0, highest first, whether its document was found or not.
    grades: Vec<i64>,
    /// From which grade on a document is relevant; at least 1.
    level: i64,
}

impl Ranking {
    /// A ranking from the positions of the judged documents and the grades of all of them, in any order. Documents with
    /// grades of 0 and below are not relevant.
    pub fn new(
        found: impl IntoIterator<Item = (u32, i64)>,
        grades: impl IntoIterator<Item = i64>,
        level: i64,
    ) -> Self {
        let mut found: Vec<(u32, i64)> =
            found.into_iter().filter(|(_, grade)| *grade > 0).collect();
        let mut grades: Vec<i64> = grades.into_iter().filter(|grade| *grade > 0).collect();
        found.sort_unstable();
        grades.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            found,
            grades,
            level: level.max(1),
        }
    }

    /// A ranking of keys of which some are relevant, all with the same grade. A key that occurs twice counts at its
    /// first position, and the later keys move up.
    pub fn of_keys<'k>(
        keys: impl IntoIterator<Item = &'k str>,
        relevant: &std::collections::BTreeSet<&str>,
    ) -> Self {
        let mut seen = std::collections::BTreeSet::new();
        let distinct = keys.into_iter().filter(|key| seen.insert(*key));
        let found: Vec<(u32, i64)> = (1..)
            .zip(distinct)
            .filter(|(_, key)| relevant.contains(key))
            .map(|(rank, _)| (rank, 1))
            .collect();
        Self::new(found, relevant.iter().map(|_| 1), 1)
    }

    /// Whether no document is known to be relevant.
    pub fn is_empty(&self) -> bool {
        self.grades.is_empty()
    }

    /// How many documents are relevant, whether they were found or not.
    pub fn relevant(&self) -> usize {
        let relevant = |grade: &&i64| **grade >= self.level;
        self.grades.iter().take_while(relevant).count()
    }

    /// The rank of the first relevant document.
    pub fn first(&self) -> Option<u32> {
        self.hits().next()
    }

    /// The share of the relevant documents that are among the first `k`; none if no document is relevant.
    pub fn recall(&self, k: usize) -> Option<f64> {
        let relevant = self.relevant();
        (relevant > 0).then(|| self.within(k) as f64 / relevant as f64)
    }

    /// The share of the first `k` positions with a relevant document; a position without a document counts as not
    /// relevant.
    pub fn precision(&self, k: usize) -> f64 {
        self.within(k) as f64 / k as f64
    }

    /// Discounted cumulative gain of the first `k` divided by that of the best possible ranking, with the grade as the
    /// gain and log2(rank + 1) as the discount (Järvelin and Kekäläinen, 2002); 0 if no document has a gain. Every
    /// grade above 0 is a gain, even if it does not count as relevant.
    pub fn ndcg(&self, k: usize) -> f64 {
        let gain = |rank: u32, grade: i64| grade as f64 / (f64::from(rank) + 1.0).log2();
        let ideal: f64 = (1..)
            .zip(&self.grades)
            .take(k)
            .map(|(at, grade)| gain(at, *grade))
            .sum();
        if ideal == 0.0 {
            return 0.0;
        }
        let places = self
            .found
            .iter()
            .take_while(|(rank, _)| *rank as usize <= k);
        // The sum of an empty list is -0.0, which should not be shown.
        let sum = places.fold(0.0, |sum, (rank, grade)| sum + gain(*rank, *grade));
        sum / ideal
    }

    /// The mean over the relevant documents of the precision at their rank, 0 for those that were not found; 0 if no
    /// document is relevant.
    pub(crate) fn average_precision(&self) -> f64 {
        let sum = (1_u32..).zip(self.hits()).fold(0.0, |sum, (nth, rank)| {
            sum + f64::from(nth) / f64::from(rank)
        });
        match self.relevant() {
            0 => 0.0,
            relevant => sum / relevant as f64,
        }
    }

    /// The ranks of the relevant documents, ascending.
    fn hits(&self) -> impl Iterator<Item = u32> {
        let relevant = |(_, grade): &&(u32, i64)| *grade >= self.level;
        self.found.iter().filter(relevant).map(|(rank, _)| *rank)
    }

    fn within(&self, k: usize) -> usize {
        self.hits().take_while(|rank| *rank as usize <= k).count()
    }
}

/// 1 if the first relevant hit, whose rank counts from 1, is among the first `k`; otherwise 0.
pub(super) fn success(rank: Option<u32>, k: usize) -> f64 {
    f64::from(u8::from(rank.is_some_and(|rank| rank as usize <= k)))
}

/// 1 / rank of the first relevant hit; 0 if there is none, or if it is below `cut_off`.
pub(super) fn reciprocal_rank(rank: Option<u32>, cut_off: usize) -> f64 {
    match rank {
        Some(rank) if rank as usize <= cut_off => 1.0 / f64::from(rank),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn binary(keys: &[&str], relevant: &[&str]) -> Ranking {
        let relevant: BTreeSet<&str> = relevant.iter().copied().collect();
        Ranking::of_keys(keys.iter().copied(), &relevant)
    }

    #[test]
    fn ret_02_ranks_one_four_and_a_miss_give_the_known_means() {
        let rankings = [
            binary(&["x", "b", "c", "d"], &["x"]),
            binary(&["a", "b", "c", "x"], &["x"]),
            binary(&["a", "b"], &["x"]),
        ];
        let mean =
            |measure: &dyn Fn(&Ranking) -> f64| rankings.iter().map(measure).sum::<f64>() / 3.0;
        let shown = |value: f64| format!("{value:.4}");
        for (k, expected) in [(1, "0.3333"), (3, "0.3333"), (5, "0.6667"), (10, "0.6667")] {
            assert_eq!(
                shown(mean(&|ranking| success(ranking.first(), k))),
                expected,
                "at {k}"
            );
        }
        assert_eq!(
            shown(mean(&|ranking| reciprocal_rank(ranking.first(), 10))),
            "0.4167"
        );
    }

    #[test]
    fn ret_03_a_first_relevant_at_rank_eleven_has_a_reciprocal_rank_of_zero() {
        let ranking = Ranking::new([(11, 1)], [1], 1);
        assert_eq!(reciprocal_rank(ranking.first(), 10), 0.0);
        assert_eq!(reciprocal_rank(ranking.first(), 11), 1.0 / 11.0);
    }

    #[test]
    fn ret_04_one_of_two_expected_documents_in_the_top_three_is_a_recall_of_a_half() {
        let ranking = binary(&["a", "x", "b", "y"], &["x", "y"]);
        assert_eq!(ranking.recall(3), Some(0.5));
        assert_eq!(ranking.recall(4), Some(1.0));
    }

    #[test]
    fn ret_05_a_duplicate_in_the_hits_is_counted_once_in_precision() {
        let ranking = binary(&["x", "x", "a", "x"], &["x"]);
        assert_eq!(ranking.precision(5), 0.2);
        assert_eq!(ranking.average_precision(), 1.0);
    }

    #[test]
    fn ret_06_precision_at_five_of_two_hits_with_one_relevant_is_a_fifth() {
        assert_eq!(binary(&["a", "x"], &["x"]).precision(5), 0.2);
    }

    #[test]
    fn graded_relevance_gives_the_gain_and_the_level_gives_the_relevant() {
        // Worked by hand: dcg = 1/log2(2) + 3/log2(4), ideal = 3/log2(2) + 1/log2(3).
        let found = [(1, 1), (3, 3)];
        let ranking = Ranking::new(found, [3, 1, 0, -1], 1);
        let expected = (1.0 + 1.5) / (3.0 + 1.0 / 3.0_f64.log2());
        assert!((ranking.ndcg(10) - expected).abs() < 1e-12);
        assert_eq!(ranking.average_precision(), f64::midpoint(1.0, 2.0 / 3.0));
        let strict = Ranking::new(found, [3, 1], 2);
        assert_eq!((strict.relevant(), strict.first()), (1, Some(3)));
        assert_eq!(strict.ndcg(10), ranking.ndcg(10));
    }

    #[test]
    fn nothing_relevant_is_no_recall_and_zero_elsewhere() {
        let ranking = Ranking::new([], [0, -1], 1);
        assert_eq!(ranking.recall(5), None);
        let rest = [
            ranking.ndcg(5),
            ranking.average_precision(),
            ranking.precision(5),
        ];
        assert_eq!(rest, [0.0; 3]);
        let missed = Ranking::new([], [1], 1);
        for nothing in [missed.ndcg(5), missed.average_precision()] {
            assert!(nothing == 0.0 && nothing.is_sign_positive(), "{nothing}");
        }
    }

    proptest! {
        #[test]
        fn every_measure_is_in_zero_to_one(
            grades in prop::collection::vec(-1_i64..5, 0..30),
            unseen in prop::collection::vec(0_i64..5, 0..5),
            level in 1_i64..4,
            k in 1_usize..40,
        ) {
            let found: Vec<(u32, i64)> = (1..).zip(grades.iter().copied()).collect();
            let all: Vec<i64> = grades.iter().chain(&unseen).copied().collect();
            let ranking = Ranking::new(found, all, level);
            let mut values = vec![
                success(ranking.first(), k),
                reciprocal_rank(ranking.first(), k),
                ranking.precision(k),
                ranking.ndcg(k),
                ranking.average_precision(),
            ];
            values.extend(ranking.recall(k));
            for value in values {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{value}");
            }
        }
    }
}
