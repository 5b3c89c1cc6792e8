//! What every renderer says of a report, so that words and numbers always agree.

use std::collections::{BTreeMap, BTreeSet};

use super::document::Report;
use crate::notice::{Code, Notice};
use crate::perturb::Relation;
use crate::probe::{CaseRecord, Ending, Metric, Sample, VariantRecord};

/// The lower ends of the bands, half-open: a value of exactly 0.90 is in the first.
const BANDS: [f64; 4] = [0.90, 0.70, 0.50, 0.30];

/// Words for invariance, best first.
pub(crate) const INVARIANCE_WORDS: [&str; 5] =
    ["steady", "mostly steady", "wavering", "unsteady", "adrift"];

/// Words for sensitivity, best first.
pub(crate) const SENSITIVITY_WORDS: [&str; 5] = [
    "responsive",
    "mostly responsive",
    "half deaf",
    "hard of hearing",
    "deaf",
];

/// Both signals at least this high: grounded.
const QUADRANT: f64 = 0.70;

/// The band of an unrounded value.
pub(crate) fn band(value: f64, words: [&'static str; 5]) -> &'static str {
    let place = BANDS.iter().position(|low| value >= *low);
    words[place.unwrap_or(BANDS.len())]
}

/// What the two signals say together; none where either is missing.
pub(crate) fn quadrant(invariance: Option<f64>, sensitivity: Option<f64>) -> Option<&'static str> {
    Some(match (invariance? >= QUADRANT, sensitivity? >= QUADRANT) {
        (true, true) => "grounded: follows the evidence, little else",
        (true, false) => "flat: reacts to hardly anything",
        (false, true) => "brittle: follows the evidence, and much else",
        (false, false) => "unstable: moves, but not with the evidence",
    })
}

/// The sample beside a figure: `n=17, 1 failed`.
pub(crate) fn sample(metric: &Metric) -> String {
    match metric.n_failed {
        0 => format!("n={}", metric.n),
        failed => format!("n={}, {failed} failed", metric.n),
    }
}

/// The metrics whose id is `prefix` and one further part, by that part.
pub(crate) fn family<'a>(report: &'a Report, prefix: &str) -> Vec<(&'a str, &'a Metric)> {
    report
        .metrics
        .iter()
        .filter_map(|(id, metric)| Some((id.strip_prefix(prefix)?.strip_prefix('.')?, metric)))
        .collect()
}

/// How many variants and invocations a report is about.
pub(crate) fn variants(report: &Report) -> usize {
    report.cases.values().map(|case| case.variants.len()).sum()
}

/// One thing that a reader should know first, most useful first; at most two.
pub(crate) fn diagnoses(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    match report.run.ending {
        Ending::DryRun => return vec!["dry run: the inputs were written, nothing was run".into()],
        Ending::Failed => return vec!["every baseline failed: nothing was measured".into()],
        Ending::Interrupted => found.push("stopped before the end: the figures are partial".into()),
        Ending::Complete => {}
    }
    let value = |id: &str| report.metrics.get(id).and_then(|metric| metric.value);
    found.extend(ignored_type(report));
    found.extend(reactive_kind(report));
    found.extend(failures(report));
    found.extend(uneven(report));
    match (value("evidence.invariance"), value("evidence.sensitivity")) {
        (Some(_), Some(_)) if found.is_empty() => found.push(
            "nothing stands out: it moves with the governing evidence and holds without".into(),
        ),
        (None, None) => found.push("nothing was measured; the reasons are above".into()),
        _ => {}
    }
    found.truncate(2);
    found
}

/// The governing type whose exchange moves the decision least, where that is in under half of it.
fn ignored_type(report: &Report) -> Option<String> {
    let (name, metric) = family(report, "evidence.sensitivity")
        .into_iter()
        .filter(|(_, metric)| metric.value.is_some_and(|value| value < 0.5))
        .min_by(|(_, a), (_, b)| {
            a.value
                .partial_cmp(&b.value)
                .unwrap_or(std::cmp::Ordering::Equal)
        })?;
    let held = |case: &&CaseRecord| {
        let mut swaps = samples(case, |variant| {
            variant.kind == "swap" && variant.unit_type.as_deref() == Some(name)
        })
        .peekable();
        swaps.peek().is_some() && swaps.all(|distance| distance == 0.0)
    };
    let cases = report.cases.values().filter(held).count();
    let unmoved: usize = report
        .cases
        .values()
        .flat_map(|case| {
            samples(case, |variant| {
                variant.kind == "swap" && variant.unit_type.as_deref() == Some(name)
            })
        })
        .filter(|distance| *distance == 0.0)
        .count();
    Some(format!(
        "`{name}` is hardly heard: {unmoved} of {} swaps left the decision as it was ({cases} of {} \
         cases never moved)",
        metric.n,
        report.cases.len()
    ))
}

/// The kind of invariance variant that moves the decision most.
fn reactive_kind(report: &Report) -> Option<String> {
    let (kind, metric) = family(report, "evidence.invariance")
        .into_iter()
        .filter(|(kind, metric)| *kind != "pad" && metric.value.is_some_and(|value| value < 0.9))
        .min_by(|(_, a), (_, b)| {
            a.value
                .partial_cmp(&b.value)
                .unwrap_or(std::cmp::Ordering::Equal)
        })?;
    let moved = |case: &&CaseRecord| {
        samples(case, |variant| variant.kind == kind).any(|distance| distance > 0.0)
    };
    let cases = report.cases.values().filter(moved).count();
    let drift = 1.0 - metric.value?;
    Some(format!(
        "presentation moves it: `{kind}` drifts by {:.0} % on average, in {cases} of {} cases",
        drift * 100.0,
        report.cases.len()
    ))
}

fn failures(report: &Report) -> Option<String> {
    let metric = report.metrics.get("evidence.failure_rate")?;
    let rate = metric.value.filter(|rate| *rate > 0.05)?;
    Some(format!(
        "{:.0} % of the invocations failed ({} of {}): the figures cover the rest only",
        rate * 100.0,
        metric.n_failed,
        metric.n
    ))
}

/// Cases that differ much from each other: a mean describes none of them.
fn uneven(report: &Report) -> Option<String> {
    let values: Vec<f64> = report
        .cases
        .values()
        .filter_map(|case| case.invariance)
        .collect();
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let (name, worst) = report
        .cases
        .iter()
        .filter_map(|(name, case)| Some((name, case.invariance?)))
        .min_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))?;
    (variance > 0.09).then(|| {
        format!(
            "the cases differ much: `{name}` holds in {:.0} % of its variants",
            worst * 100.0
        )
    })
}

fn samples<'a>(
    case: &'a CaseRecord,
    pick: impl Fn(&VariantRecord) -> bool + 'a,
) -> impl Iterator<Item = f64> + 'a {
    case.variants
        .iter()
        .filter(move |variant| pick(variant))
        .flat_map(|variant| variant.samples.iter().filter_map(|sample| sample.distance))
}

/// A failed invocation with the place where it is.
pub(crate) struct Failed<'a> {
    /// The case.
    pub(crate) case: &'a str,
    /// The variant, or `baseline`.
    pub(crate) place: &'a str,
    /// The sample that has the failure.
    pub(crate) sample: &'a Sample,
}

/// Every failed invocation, baselines first within a case.
pub(crate) fn failed(report: &Report) -> Vec<Failed<'_>> {
    let mut failed = Vec::new();
    for (name, case) in &report.cases {
        let baselines = case.baseline.iter().chain(&case.replays);
        let of_baseline = baselines.map(|sample| ("baseline", sample));
        let of_variants = case.variants.iter().flat_map(|variant| {
            variant
                .samples
                .iter()
                .map(move |sample| (variant.id.as_str(), sample))
        });
        failed.extend(
            of_baseline
                .chain(of_variants)
                .filter(|(_, sample)| sample.failure.is_some())
                .map(|(place, sample)| Failed {
                    case: name,
                    place,
                    sample,
                }),
        );
    }
    failed
}

/// Every notice of a report, those of the cases too.
pub(crate) fn notices(report: &Report) -> impl Iterator<Item = &Notice> {
    report
        .notices
        .iter()
        .chain(report.cases.values().flat_map(|case| &case.notices))
}

/// How many notices there are of each code, with how many cases they are about.
pub(crate) fn notice_counts(report: &Report) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for notice in notices(report) {
        *counts.entry(notice.code).or_insert(0) += 1;
    }
    counts
}

/// The cases in which a variant went against what it ought to do, worst first.
pub(crate) fn worst_cases(report: &Report) -> Vec<(&str, &CaseRecord)> {
    let mut cases: Vec<(f64, &str, &CaseRecord)> = report
        .cases
        .iter()
        .map(|(name, case)| {
            let score =
                (1.0 - case.invariance.unwrap_or(1.0)) + (1.0 - case.sensitivity.unwrap_or(1.0));
            (score, name.as_str(), case)
        })
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    cases.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    cases
        .into_iter()
        .map(|(_, name, case)| (name, case))
        .collect()
}

/// Whether a sample did what its variant asked for; none where it has no distance.
pub(crate) fn as_expected(variant: &VariantRecord, sample: &Sample) -> Option<bool> {
    let moved = sample.distance? > 0.0;
    Some(match variant.relation {
        Relation::Invariance => !moved,
        Relation::Sensitivity => moved,
    })
}

/// The kinds of a report, in the order of their ids.
pub(crate) fn kinds(report: &Report) -> BTreeSet<&str> {
    let variants = report.cases.values().flat_map(|case| &case.variants);
    variants.map(|variant| variant.kind.as_str()).collect()
}

/// A duration for people.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_half_open_and_judge_unrounded_values() {
        assert_eq!(band(0.9, INVARIANCE_WORDS), "steady");
        assert_eq!(band(0.899_999, INVARIANCE_WORDS), "mostly steady");
        assert_eq!(band(0.0, SENSITIVITY_WORDS), "deaf");
    }

    #[test]
    fn a_quadrant_needs_both_signals() {
        assert_eq!(quadrant(Some(1.0), None), None);
        assert!(quadrant(Some(0.7), Some(0.7)).is_some_and(|text| text.starts_with("grounded")));
        assert!(quadrant(Some(1.0), Some(0.0)).is_some_and(|text| text.starts_with("flat")));
    }
}
