//! Following: how far the decision moves towards the answer that belongs to the swapped-in evidence, relative to how
//! far it could move in this suite.
//!
//! A swap often inserts a unit that rightly leads to the same decision. Sensitivity counts such a swap as one without
//! effect. However, the possible effect of a swap is known: its unit comes from a *donor* case, and the donor's own
//! answers show which decision the evidence leads to there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::aggregate::Figures;
use crate::perturb::{self, Figure};
use crate::{CaseRecord, SwapRecord, VariantRecord};
use kelvin_base::stats;
use kelvin_record::{Interval, Metric, Range, Unit};
use kelvin_run::judge::{MaxErrors, Scorer};

/// The share beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;

/// The answers of a case to its own evidence: to the baselines and their replays, and to the variants that contribute
/// to invariance.
struct CaseOwnAnswers<'a> {
    /// The different answers, each with its frequency.
    answers: Vec<(&'a Value, usize)>,
    /// The total number of answers; at least one.
    count: usize,
    /// The mean distance between two of the answers; 0 if there is only one.
    within: f64,
    /// The answer with the smallest distance to all others: the majority for answers that are either equal or not, the
    /// median for numbers.
    central: &'a Value,
}

impl<'a> CaseOwnAnswers<'a> {
    /// The own answers of a case. None if the case got no answer, or if a judge was not asked about two of the answers.
    fn of(
        case: &'a CaseRecord,
        counts: &dyn Fn(&VariantRecord) -> bool,
        scorer: &dyn Scorer,
    ) -> Option<Self> {
        let variants = case.variants.iter().filter(|variant| counts(variant));
        let samples = case
            .baseline
            .iter()
            .chain(&case.replays)
            .chain(variants.flat_map(|variant| &variant.samples));
        let mut answers: Vec<(&Value, usize)> = Vec::new();
        for decision in samples.filter_map(|sample| sample.decision.as_ref()) {
            match answers.iter_mut().find(|(known, _)| *known == decision) {
                Some((_, times)) => *times += 1,
                None => answers.push((decision, 1)),
            }
        }
        let count: usize = answers.iter().map(|(_, times)| times).sum();
        let to_all = |one: &Value| -> Option<f64> {
            let apart = answers
                .iter()
                .map(|(other, times)| Some(scorer.distance(one, other)? * *times as f64));
            apart.sum()
        };
        let totals: Option<Vec<f64>> = answers.iter().map(|(one, _)| to_all(one)).collect();
        let totals = totals?;
        let least = totals
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| a.total_cmp(b))?
            .0;
        let pairs = count * (count - 1);
        let sum: f64 = answers
            .iter()
            .zip(&totals)
            .map(|((_, times), total)| *times as f64 * total)
            .sum();
        Some(Self {
            within: if pairs == 0 { 0.0 } else { sum / pairs as f64 },
            central: answers[least].0,
            answers,
            count,
        })
    }

    /// The mean distance of one answer to the own answers; none if a judge was not asked about one of the pairs.
    fn distance(&self, answer: &Value, scorer: &dyn Scorer) -> Option<f64> {
        let apart = self
            .answers
            .iter()
            .map(|(own, times)| Some(scorer.distance(own, answer)? * *times as f64));
        Some(apart.sum::<Option<f64>>()? / self.count as f64)
    }

    /// The mean distance between the own answers of this case and those of another case.
    fn apart(&self, other: &Self, scorer: &dyn Scorer) -> Option<f64> {
        let apart = other
            .answers
            .iter()
            .map(|(answer, times)| Some(self.distance(answer, scorer)? * *times as f64));
        Some(apart.sum::<Option<f64>>()? / other.count as f64)
    }
}

/// The case from which a swap took its unit.
fn donor(variant: &VariantRecord) -> Option<&str> {
    let added = variant.notes.added.iter();
    added.filter_map(|added| added.from.as_deref()).next()
}

/// Whether variants of this kind take a unit from another case.
pub(super) fn is_swap(kind: &str) -> bool {
    perturb::find(kind).is_some_and(|kind| kind.figure == Figure::Sensitivity)
}

/// Adds to every swap its actual and its possible effect. A swap whose donor has no answers stays without a record.
///
/// `counts` selects the variants that contribute to invariance; their answers count as the case's own answers.
pub(super) fn compare(
    cases: &mut BTreeMap<String, CaseRecord>,
    counts: &dyn Fn(&VariantRecord) -> bool,
    scorer: &dyn Scorer,
) {
    let own: BTreeMap<&str, CaseOwnAnswers<'_>> = cases
        .iter()
        .filter_map(|(name, case)| Some((name.as_str(), CaseOwnAnswers::of(case, counts, scorer)?)))
        .collect();
    let compared: Vec<Vec<Option<SwapRecord>>> = cases
        .iter()
        .map(|(name, case)| {
            let own_answers = own.get(name.as_str());
            let of_variant = |variant: &VariantRecord| {
                let donor = own.get(donor(variant)?)?;
                swap(variant, own_answers?, donor, scorer)
            };
            let variants = case.variants.iter();
            let each =
                variants.map(|variant| of_variant(variant).filter(|_| is_swap(&variant.kind)));
            each.collect()
        })
        .collect();
    for (case, compared) in cases.values_mut().zip(compared) {
        for (variant, swap) in case.variants.iter_mut().zip(compared) {
            variant.swap = swap.map(Box::new);
        }
    }
}

/// Compares the swaps if a judge computes the distances. The judge was asked only about answers of the same repeat. So
/// the answers to the case itself represent the case, and the answers to the variants that contribute to invariance
/// show its noise. The distances of the samples have to be known.
pub(super) fn compare_judged(
    cases: &mut BTreeMap<String, CaseRecord>,
    counts: &dyn Fn(&VariantRecord) -> bool,
    scorer: &dyn Scorer,
) {
    let within: BTreeMap<&str, f64> = cases
        .iter()
        .map(|(name, case)| {
            let variants = case.variants.iter().filter(|variant| counts(variant));
            let samples = variants.flat_map(|variant| &variant.samples);
            let distances: Vec<f64> = samples.filter_map(|sample| sample.distance).collect();
            (name.as_str(), stats::mean(&distances).unwrap_or(0.0))
        })
        .collect();
    let swap = |name: &str, case: &CaseRecord, variant: &VariantRecord| {
        let donor = donor(variant)?;
        let apart: Vec<f64> = pairs_of_repeats(case, cases.get(donor)?)
            .filter_map(|(own, other)| scorer.distance(own, other))
            .collect();
        let moved: Vec<f64> = variant
            .samples
            .iter()
            .filter_map(|sample| sample.distance)
            .collect();
        let noise = f64::midpoint(within[name], within[donor]);
        let contrast = stats::mean(&apart)? - noise;
        Some(SwapRecord {
            reaction: stats::mean(&moved)? - within[name],
            contrast,
            noise,
            donor_differs: contrast > LEAST_APART,
        })
    };
    let compared: Vec<Vec<Option<SwapRecord>>> = cases
        .iter()
        .map(|(name, case)| {
            let each = case.variants.iter();
            each.map(|variant| swap(name, case, variant).filter(|_| is_swap(&variant.kind)))
                .collect()
        })
        .collect();
    for (case, compared) in cases.values_mut().zip(compared) {
        for (variant, swap) in case.variants.iter_mut().zip(compared) {
            variant.swap = swap.map(Box::new);
        }
    }
}

/// Two answers count as the same if the judge's distance between them is at most this, which allows for the noise of
/// its grades.
const LEAST_APART: f64 = 0.1;

/// The answers of a case to itself, each paired with the answer of another case in the same repeat.
fn pairs_of_repeats<'a>(
    case: &'a CaseRecord,
    other: &'a CaseRecord,
) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let both = case.baseline.iter().zip(&other.baseline);
    both.filter_map(|(own, other)| Some((own.decision.as_ref()?, other.decision.as_ref()?)))
}

/// The pairs of answers that show the possible effects of the swaps of a case, if a judge is called.
pub(super) fn pairs_with_donors<'a>(
    cases: &'a BTreeMap<String, CaseRecord>,
    case: &'a CaseRecord,
) -> impl Iterator<Item = (&'a VariantRecord, &'a Value, &'a Value)> {
    let swaps = case
        .variants
        .iter()
        .filter(|variant| is_swap(&variant.kind));
    let donors = swaps.filter_map(|variant| Some((variant, cases.get(donor(variant)?)?)));
    donors.flat_map(move |(variant, donor)| {
        pairs_of_repeats(case, donor).map(move |(own, other)| (variant, own, other))
    })
}

/// The effect of one swap; none if none of its invocations was answered.
fn swap(
    variant: &VariantRecord,
    own: &CaseOwnAnswers<'_>,
    donor: &CaseOwnAnswers<'_>,
    scorer: &dyn Scorer,
) -> Option<SwapRecord> {
    let samples = variant.samples.iter();
    let reactions: Option<Vec<f64>> = samples
        .filter_map(|sample| sample.decision.as_ref())
        .map(|answer| Some(own.distance(answer, scorer)? - own.within))
        .collect();
    let noise = f64::midpoint(own.within, donor.within);
    Some(SwapRecord {
        reaction: stats::mean(&reactions?)?,
        contrast: own.apart(donor, scorer)? - noise,
        noise,
        donor_differs: scorer.distance(own.central, donor.central)? > 0.0,
    })
}

impl Figures<'_> {
    /// The sum of the reactions divided by the sum of the contrasts, over the swaps that `pick` selects and whose donor
    /// has another answer. Each swap counts once, however often it was run. 1 means that the decision moves to the
    /// donors' own answers, 0 that it does not move. Noise and other units may move the figure out of `[0, 1]`; it is
    /// shown within these limits.
    ///
    /// All other swaps have a contrast of about 0 and would only add noise to the sum.
    pub(super) fn following(&self, pick: &dyn Fn(&VariantRecord) -> bool) -> Metric {
        let swaps = Swaps::of(self.cases, pick, |swap| swap.donor_differs);
        let ratio = |sums: CaseSums| {
            let shows = sums.contrast > ROUNDING;
            shows.then(|| sums.reaction / sums.contrast)
        };
        // The figure is not limited here, since noise and other units may move it below 0 or above
        // 1.
        self.of_swaps(&swaps, ratio)
            .counts_in(Unit::Ratio, Range::default())
    }

    /// The mean contrast over all swaps: how far the swaps of this suite can change a decision, beyond the effect of
    /// noise. With 0, no conclusion is possible from this suite.
    pub(super) fn donor_contrast(&self, pick: &dyn Fn(&VariantRecord) -> bool) -> Metric {
        let swaps = Swaps::of(self.cases, pick, |_| true);
        let mean = |sums: CaseSums| (sums.swaps > 0).then(|| sums.contrast / sums.swaps as f64);
        self.of_swaps(&swaps, mean)
            .counts_in(Unit::Share, Range::of(-1.0, 1.0))
    }

    /// A figure made from the sums over all swaps, with its interval.
    fn of_swaps(&self, swaps: &Swaps, figure: impl Fn(CaseSums) -> Option<f64>) -> Metric {
        let value = self.why_no_swap(swaps).map_or_else(
            || {
                figure(swaps.total()).ok_or_else(|| {
                    "no swap could show anything: the answers of donor and case are no further apart \
                     than two answers of one case"
                        .to_owned()
                })
            },
            Err,
        );
        let interval = value
            .as_ref()
            .ok()
            .and_then(|value| jackknife(*value, swaps, figure));
        Metric::new(value, swaps.n, swaps.failed)
            .shown_within_one()
            .interval(interval)
    }

    /// Why no conclusion is possible from the swaps; none if one is possible.
    fn why_no_swap(&self, swaps: &Swaps) -> Option<String> {
        if self.settings.basis.asked && swaps.unknown > 0 {
            return self.why_not_judged(swaps);
        }
        if swaps.not_asked > 0 {
            let all = swaps.known + swaps.failed + swaps.not_asked;
            return Some(format!(
                "{} of {all} swaps took their unit from a case that this run did not ask, so it \
                 is not known where that evidence leads; run all cases, or merge all shards",
                swaps.not_asked
            ));
        }
        if swaps.unknown > 0 {
            return Some(
                "the report does not hold what this figure is made from: it was made by an older \
                 kelvin, or by another tool"
                    .to_owned(),
            );
        }
        (swaps.known == 0).then(|| self.why_no_sample(swaps.failed))
    }

    /// The reason if a judge was not asked about some of the swaps, or gave no score for them; none if there are only a
    /// few of them.
    fn why_not_judged(&self, swaps: &Swaps) -> Option<String> {
        let all = swaps.known + swaps.unknown;
        MaxErrors::default().exceeded(swaps.unknown, all)?;
        Some(format!(
            "no judge has compared the case with the one that the unit comes from in {} of {all} swaps: it gave no \
             score, or the two cases were asked in different shards; run all cases in one run",
            swaps.unknown
        ))
    }
}

/// A sum of contrasts below this is a rounding error of zero.
const ROUNDING: f64 = 1e-9;

/// The swaps of a report, summed by case.
#[derive(Default)]
struct Swaps {
    cases: Vec<CaseSums>,
    /// Samples that contribute to the sums.
    n: usize,
    /// Samples that have a reaction.
    known: usize,
    /// Samples that have none: they failed, or their donor or their case has no answer.
    failed: usize,
    /// Samples whose donor was not run in this run.
    not_asked: usize,
    /// Samples that should have a reaction, but the record has none.
    unknown: usize,
}

/// The sums over the swaps of one case, or of several.
#[derive(Clone, Copy, Default)]
struct CaseSums {
    swaps: usize,
    reaction: f64,
    contrast: f64,
}

impl CaseSums {
    fn plus(self, other: Self) -> Self {
        Self {
            swaps: self.swaps + other.swaps,
            reaction: self.reaction + other.reaction,
            contrast: self.contrast + other.contrast,
        }
    }

    fn less(self, part: Self) -> Self {
        Self {
            swaps: self.swaps - part.swaps,
            reaction: self.reaction - part.reaction,
            contrast: self.contrast - part.contrast,
        }
    }
}

impl Swaps {
    /// The sums over all cases.
    fn total(&self) -> CaseSums {
        let cases = self.cases.iter().copied();
        cases.fold(CaseSums::default(), CaseSums::plus)
    }

    /// Counts the swaps that `pick` selects; only those that `counts` selects contribute to the sums.
    fn of(
        cases: &BTreeMap<String, CaseRecord>,
        pick: &dyn Fn(&VariantRecord) -> bool,
        counts: impl Fn(&SwapRecord) -> bool,
    ) -> Self {
        let answered = |case: &CaseRecord| {
            let mut baselines = case.baseline.iter().chain(&case.replays);
            baselines.any(|sample| sample.decision.is_some())
        };
        let mut all = Self::default();
        for case in cases.values() {
            let mut sums = CaseSums::default();
            for variant in case.variants.iter().filter(|variant| pick(variant)) {
                let made = variant.samples.len();
                let samples = variant.samples.iter();
                let decided = samples.filter(|sample| sample.decision.is_some()).count();
                let donor = donor(variant).map(|donor| cases.get(donor));
                match (&variant.swap, donor) {
                    (Some(swap), _) => {
                        if counts(swap) && decided > 0 {
                            all.n += decided;
                            sums.swaps += 1;
                            sums.reaction += swap.reaction;
                            sums.contrast += swap.contrast;
                        }
                        all.known += decided;
                        all.failed += made - decided;
                    }
                    (None, Some(None)) => all.not_asked += made,
                    (None, Some(Some(donor)))
                        if decided > 0 && answered(donor) && answered(case) =>
                    {
                        all.unknown += made;
                    }
                    (None, None) if decided > 0 => all.unknown += made,
                    (None, _) => all.failed += made,
                }
            }
            if sums.swaps > 0 {
                all.cases.push(sums);
            }
        }
        all
    }
}

/// A 95 % interval by the jackknife over cases (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter
/// 11), with `cases - 1` degrees of freedom, limited to `[0, 1]`. None for fewer than two cases, or if the figure
/// cannot be computed without one of the cases.
///
/// If all cases agree, the jackknife interval has no width. So the variance is at least the variance with half a case
/// of the opposite result.
fn jackknife(
    value: f64,
    swaps: &Swaps,
    figure: impl Fn(CaseSums) -> Option<f64>,
) -> Option<Interval> {
    if swaps.cases.len() < 2 {
        return None;
    }
    let total = swaps.total();
    let without = swaps.cases.iter().map(|case| figure(total.less(*case)));
    let without: Vec<f64> = without.collect::<Option<_>>()?;
    let n = without.len() as f64;
    let mean = stats::mean(&without)?;
    let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
    let variance = ((n - 1.0) / n * squares).max((0.5 / n).powi(2));
    let half = stats::t_upper_quantile(TAIL, n - 1.0) * variance.sqrt();
    // A value that noise moved beyond an end is as uncertain as a value at that end.
    let value = value.clamp(0.0, 1.0);
    Some(Interval {
        low: (value - half).max(0.0),
        high: (value + half).min(1.0),
    })
}
