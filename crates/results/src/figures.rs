//! Computes figures from records. For each suite these are the mean of each metric over the cases, the share of samples
//! that are errors, and the results of the cases that have to pass.

use std::collections::BTreeMap;

use super::flaky::with_age;
use super::record::{ResultSample, ResultsSection, SuiteBasis, cases, nouns_of_tool};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::stats::{self, Balanced};
use kelvin_page::{are, listed};
use kelvin_record::{CaseValue, Cells, Direction, Interval, Metric, Range, Unit};

/// A drop between single runs fails the gate only if chance produces it with at most this probability. Most files of
/// evaluators have one run of each case; at the usual 0.05, one unchanged suite in twenty would fail.
const NO_DOUBT: f64 = 0.001;

/// The name of the probe, with which the id of every metric begins.
pub(super) const PROBE: &str = "results";

/// The id of a metric of a suite.
pub(super) fn metric_id(suite: &str, metric: &str) -> String {
    format!("{PROBE}.{suite}.{metric}")
}

/// Every figure of a section, by id.
pub(super) fn figures(section: &ResultsSection) -> BTreeMap<String, Metric> {
    figures_if(section, &|suite, basis| {
        too_many_errors(section, suite, basis)
    })
}

/// The figures of a base over the samples that were scored, however many those are: the head is compared with it case
/// by case, so that a selection makes nothing look better, and a change that mends the others is no worse.
pub(super) fn figures_of_base(section: &ResultsSection) -> BTreeMap<String, Metric> {
    figures_if(section, &|_, _| None)
}

/// The figures of a section, without those of the suites that are no measurement, for the reason that is given.
fn figures_if(
    section: &ResultsSection,
    withdrawn: &dyn Fn(&str, &SuiteBasis) -> Option<String>,
) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    for (suite, basis) in &section.basis.suites {
        let mut of_suite: Vec<(&str, Metric)> = Vec::new();
        for (name, metric) in &basis.metrics {
            let score = |sample: &ResultSample| score(sample, name);
            let mut figure = mean((section, suite, basis), Which::Gated, &score);
            let [low, high] = metric.range.map_or([None; 2], |ends| ends.map(Some));
            let unit = match metric.range {
                Some([0.0, 1.0]) => Unit::Share,
                Some(_) => Unit::Score,
                None => Unit::Other,
            };
            if unit != Unit::Share {
                // The interval is made for values from 0 to 1, so it does not fit this metric.
                figure.interval = None;
            }
            figure = figure.counts_in(unit, Range { low, high });
            if metric.kind.better == Some(Direction::Lower) {
                figure = figure.lower_is_better();
            }
            figure.gated = metric.gated;
            figure.headline = metric.gated;
            figure.cannot_rerun = basis.is_left_by_a_step;
            figure.exact_at = Some(NO_DOUBT);
            of_suite.push((name, figure));
        }
        if let Some(why) = withdrawn(suite, basis) {
            for (_, figure) in of_suite.iter_mut().filter(|(_, figure)| figure.gated) {
                figure.withdraw(&why);
            }
        }
        let failed = |sample: &ResultSample| Scored::Value(f64::from(sample.error.is_some()));
        let mut rate = mean((section, suite, basis), Which::Gated, &failed).lower_is_better();
        rate.is_failure_rate = true;
        rate.gated = true;
        of_suite.push(("failure_rate", rate));
        let passed = |sample: &ResultSample| passed(sample, basis);
        for (which, name) in [(Which::MustPass, "must_pass"), (Which::Flaky, "flaky")] {
            let names = which.names(basis);
            if names.is_some_and(|names| !names.is_empty()) {
                let mut figure = mean((section, suite, basis), which, &passed);
                figure.gated = which == Which::MustPass;
                figure.is_declared = figure.gated;
                of_suite.push((name, figure));
            }
        }
        let of_suite = of_suite.into_iter();
        metrics.extend(of_suite.map(|(name, figure)| {
            let id = metric_id(suite, name);
            (id, figure.of_family(&format!("{PROBE}.{suite}")))
        }));
    }
    metrics
}

/// The contribution of a sample to a figure.
enum Scored {
    /// Its value.
    Value(f64),
    /// The sample should have a value but has none.
    Error,
    /// The sample does not belong to the figure.
    Apart,
}

/// The cases that a figure covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The figure covers all cases except the flaky ones.
    Gated,
    /// The cases that have to pass.
    MustPass,
    /// The flaky cases.
    Flaky,
}

impl Which {
    /// The names that the configuration lists; none for all other cases.
    const fn names(self, basis: &SuiteBasis) -> Option<&std::collections::BTreeSet<String>> {
        match self {
            Self::Gated => None,
            Self::MustPass => Some(&basis.must_pass),
            Self::Flaky => Some(&basis.flaky),
        }
    }

    fn has(self, basis: &SuiteBasis, case: &str) -> bool {
        match self.names(basis) {
            None => !basis.flaky.contains(case),
            Some(names) => names.contains(case),
        }
    }
}

/// The score of a sample in one metric.
fn score(sample: &ResultSample, metric: &str) -> Scored {
    match (sample.scores.get(metric), &sample.error) {
        (Some(score), _) => Scored::Value(*score),
        (None, Some(_)) => Scored::Error,
        (None, None) => Scored::Apart,
    }
}

/// Whether a sample has the best value of every gated metric that is a pass or a fail.
fn passed(sample: &ResultSample, basis: &SuiteBasis) -> Scored {
    if sample.error.is_some() {
        return Scored::Error;
    }
    let asked = basis.metrics.iter();
    let asked = asked.filter(|(_, metric)| metric.says_whether_it_passes());
    let mut scores = asked.filter_map(|(name, metric)| {
        let best = match metric.kind.better {
            Some(Direction::Lower) => 0.0,
            _ => 1.0,
        };
        Some(*sample.scores.get(name)? == best)
    });
    let Some(first) = scores.next() else {
        return Scored::Apart;
    };
    Scored::Value(f64::from(first && scores.all(|passes| passes)))
}

/// The mean over the cases of a suite, each of which is the mean of its samples.
fn mean(
    (section, suite, basis): (&ResultsSection, &str, &SuiteBasis),
    which: Which,
    score: &dyn Fn(&ResultSample) -> Scored,
) -> Metric {
    let (mut all, mut n_failed) = (Balanced::default(), 0);
    let mut per_case = BTreeMap::new();
    for (id, case, record) in cases(section, suite) {
        if !which.has(basis, case) {
            continue;
        }
        let samples = record.samples.iter().map(score);
        let repeats: Vec<Option<f64>> = samples
            .filter_map(|scored| match scored {
                Scored::Value(value) => Some(Some(value)),
                Scored::Error => Some(None),
                Scored::Apart => None,
            })
            .collect();
        if repeats.is_empty() {
            continue;
        }
        let here: Vec<f64> = repeats.iter().copied().flatten().collect();
        n_failed += repeats.len() - here.len();
        let value = CaseValue {
            value: stats::mean(&here),
            n: here.len(),
            repeats: match repeats.len() {
                1 => Vec::new(),
                _ => repeats,
            },
            cells: Cells::default(),
        };
        if !here.is_empty() {
            all.add([here]);
        }
        per_case.insert(id.to_owned(), value);
    }
    let reason = match &basis.failure {
        Some(_) => "the suite has no results",
        None => "no sample has a value",
    };
    let value = all.value().ok_or_else(|| reason.to_owned());
    let mut metric = Metric::new(value, all.samples(), n_failed);
    metric.interval = all.interval().map(|(low, high)| Interval { low, high });
    metric.per_case = per_case.into();
    metric
}

/// Why the scores of a suite are invalid; none if they are valid. If a judge fails on bad answers, only the good
/// answers would count. Each case has the same weight, since the gate runs those with errors again.
fn too_many_errors(section: &ResultsSection, suite: &str, basis: &SuiteBasis) -> Option<String> {
    let (mut errors, mut all, mut first) = (0.0, 0_u32, None);
    for (_, case, record) in cases(section, suite) {
        if basis.flaky.contains(case) || record.samples.is_empty() {
            continue;
        }
        all += 1;
        let here: Vec<&ResultSample> = record
            .samples
            .iter()
            .filter(|sample| sample.error.is_some())
            .collect();
        errors += here.len() as f64 / record.samples.len() as f64;
        if let Some(sample) = here.first() {
            first = first.or_else(|| Some((case, without_a_score(sample, basis))));
        }
    }
    let (first, lacks) = first.unwrap_or_default();
    let share = errors / f64::from(all.max(1));
    // The tolerance is for the rounding of the sum: one of ten is not more than 10 %.
    (share > basis.max_errors + 1e-9).then(|| {
        format!(
            "{:.1} % of the samples are errors where each case counts alike, more than `max_errors` ({} %) allows; the first \
             such sample is one of the case `{first}`{lacks}",
            share * 100.0,
            basis.max_errors * 100.0,
        )
    })
}

/// The missing score of an erroneous sample that has other scores, and advice; empty if the sample has no score at all,
/// since then the evaluator says why.
fn without_a_score(sample: &ResultSample, basis: &SuiteBasis) -> String {
    let gated = basis.metrics.iter().filter(|(_, metric)| metric.gated);
    let (has, lacks): (Vec<&String>, Vec<&String>) = gated
        .map(|(name, _)| name)
        .partition(|name| sample.scores.contains_key(*name));
    let lacks: Vec<String> = lacks.iter().map(|name| format!("`{name}`")).collect();
    let lacks: Vec<&str> = lacks.iter().map(String::as_str).collect();
    match has.is_empty() || lacks.is_empty() {
        true => String::new(),
        false => format!(
            ", which lacks {}: `empty: skip` of a metric leaves such a sample out of it alone",
            listed(&lacks)
        ),
    }
}

/// The notices besides the figures.
pub(super) fn notices(section: &ResultsSection) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (suite, basis) in &section.basis.suites {
        let samples = || {
            cases(section, suite).flat_map(|(_, case, record)| {
                record.samples.iter().map(move |sample| (case, sample))
            })
        };
        let mut failing: Vec<&str> = samples()
            .filter(|(_, sample)| sample.error.is_some())
            .map(|(case, _)| case)
            .collect();
        let errors = failing.len();
        failing.dedup();
        if errors > 0 {
            let all = samples().count();
            let text = format!(
                "{errors} of {all} samples of the suite `{suite}` {}, and count against what was measured: {}",
                match errors {
                    1 => "is an error, which is no failure",
                    _ => "are errors, which are no failures",
                },
                listed(&failing)
            );
            notices.push(Notice::new(Code::Unscored, text).counts(all, all - errors));
        }
        let is_there = |name: &&String| cases(section, suite).any(|(_, case, _)| case == **name);
        if !basis.flaky.is_empty() {
            let aged = basis.flaky.iter();
            let aged = aged.map(|case| with_age(case, basis.flaky_since.get(case)));
            let aged: Vec<String> = aged.collect();
            let names: Vec<&str> = aged.iter().map(String::as_str).collect();
            let text = format!(
                "{} of the suite `{suite}` {} shown and never gated, since `flaky` names {}: {}",
                nouns_of_tool(&basis.tool).counted(names.len()),
                are(names.len()),
                if names.len() == 1 { "it" } else { "them" },
                listed(&names)
            );
            notices.push(Notice::new(Code::own("flaky_cases"), text).minor());
        }
        for (key, names) in [("must_pass", &basis.must_pass), ("flaky", &basis.flaky)] {
            let absent: Vec<&str> = names
                .iter()
                .filter(|name| basis.failure.is_none() && !is_there(name))
                .map(String::as_str)
                .collect();
            if !absent.is_empty() {
                let text = format!(
                    "`{key}` of the suite `{suite}` names cases that the results do not have: {}",
                    listed(&absent)
                );
                notices.push(Notice::new(Code::own("unknown_cases"), text));
            }
        }
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_with_one_score_of_two_is_told_what_leaves_it_out() {
        let basis: SuiteBasis = serde_json::from_value(serde_json::json!({
            "tool": "ragas",
            "metrics": {
                "relevancy": { "better": "higher", "gated": true },
                "faithfulness": { "better": "higher", "gated": true },
            },
            "max_errors": 0.1,
            "max_missing": 0.1,
        }))
        .expect("a basis");
        let sample = |scores: &[(&str, f64)]| ResultSample {
            scores: scores
                .iter()
                .map(|(name, score)| ((*name).to_owned(), *score))
                .collect(),
            ..ResultSample::default()
        };
        insta::assert_snapshot!(without_a_score(&sample(&[("relevancy", 1.0)]), &basis), @", which lacks `faithfulness`: `empty: skip` of a metric leaves such a sample out of it alone");
        // Nothing could be scored, and the evaluator says why.
        assert_eq!(without_a_score(&sample(&[]), &basis), "");
    }
}
