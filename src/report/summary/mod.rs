//! What every renderer says of a report, so that words and numbers always agree.

mod cases;
mod diagnosis;
mod notices;
mod retrieval;
mod standing;
mod swaps;
mod tables;
mod words;

use crate::notice::Code;
use crate::probe::{Ending, Metric, display};
use crate::report::Report;

pub(crate) use cases::{Expected, Outcome, Ranked, decision, done};
pub(crate) use diagnosis::{Diagnosis, Tone};
pub(crate) use notices::{Failed, Tally};
pub(crate) use retrieval::{poor as poor_queries, rows as retrieval_rows};
pub(crate) use standing::Standing;
pub(crate) use swaps::{Swaps, ignored_types};
pub(crate) use tables::{Table, order};
pub(crate) use words::{BANDS, Part, Phrase, QUADRANT, Signal, band, counted, duration};

/// The line that stands in every report.
pub(crate) const DISCLAIMER: &str = "Diagnostic signals, not truth metrics: a pipeline can do well \
                                     on both and still decide wrongly.";

/// A report, told.
pub(crate) struct Summary<'a> {
    /// What it was made from.
    pub(crate) report: &'a Report,
    /// What was checked, in short.
    pub(crate) scope: Vec<String>,
    /// Invariance.
    pub(crate) invariance: Figure<'a>,
    /// Sensitivity.
    pub(crate) sensitivity: Figure<'a>,
    /// Following: sensitivity next to what the swaps could show. It has a word with one governing
    /// type and enough swaps; else no band would mean anything.
    pub(crate) following: Figure<'a>,
    /// Every swap of the run.
    pub(crate) swaps: Swaps,
    /// The Kelvin score.
    pub(crate) kelvin: Figure<'a>,
    /// What the signals say together; none where one is missing.
    pub(crate) standing: Option<Standing>,
    /// The noise floor and what is left without it, where it was measured.
    pub(crate) noise: Option<Noise<'a>>,
    /// What a reader should know first, most useful first.
    pub(crate) diagnoses: Vec<Diagnosis>,
    /// Every figure, by what it is about.
    pub(crate) tables: Vec<Table<'a>>,
    /// Every failed invocation, baselines first within a case.
    pub(crate) failed: Vec<Failed<'a>>,
    /// The notices, counted by code and kind; warnings first.
    pub(crate) tallies: Vec<Tally<'a>>,
}

impl<'a> Summary<'a> {
    /// Tells a report.
    pub(crate) fn of(report: &'a Report) -> Self {
        let figure = |id: &str| Figure::of(report.metrics.get(id));
        let invariance = figure("evidence.invariance").word(Signal::Invariance);
        let sensitivity = figure("evidence.sensitivity");
        let swaps = Swaps::of(report, |_| true);
        let has_bands = report.run.governing_types.len() == 1 && swaps.are_enough();
        let following = match figure("evidence.following") {
            figure if has_bands => figure.within_one().word(Signal::Following),
            figure => figure.within_one(),
        };
        let standing = has_evidence(report).then(|| Standing::of(report)).flatten();
        let mut kelvin = figure("evidence.kelvin_score");
        kelvin.word = standing.map(Standing::name);
        let noise = figure("evidence.noise_floor");
        Self {
            report,
            scope: scope(report),
            standing,
            noise: noise.value.is_some().then(|| Noise {
                floor: noise,
                invariance: figure("evidence.invariance_corrected").word(Signal::Invariance),
                sensitivity: figure("evidence.sensitivity_corrected"),
                kelvin: figure("evidence.kelvin_score_corrected"),
            }),
            diagnoses: match has_evidence(report) {
                true => diagnosis::of(report),
                false => Vec::new(),
            },
            tables: tables::of(report),
            failed: notices::failed(report),
            tallies: notices::tallies(report),
            invariance,
            sensitivity,
            following,
            swaps,
            kelvin,
        }
    }

    /// The command that made the report.
    pub(crate) fn command(&self) -> &'static str {
        match self.report.is_evaluation() {
            true => "eval",
            false => "check",
        }
    }

    /// Whether the evidence probe was run.
    pub(crate) fn has_evidence(&self) -> bool {
        has_evidence(self.report)
    }

    /// What is said where a value has no interval.
    pub(crate) fn no_interval(&self) -> &'static str {
        match self.report.cases.len() {
            0 | 1 => "no interval below two cases",
            _ => "no interval",
        }
    }

    /// The two parts of the Kelvin score, where both are there.
    pub(crate) fn kelvin_parts(&self) -> Option<[String; 2]> {
        let part = |figure: &Figure<'_>| figure.value.map(|value| display(1.0 - value));
        Some([part(&self.invariance)?, part(&self.sensitivity)?])
    }
}

fn has_evidence(report: &Report) -> bool {
    report.retrieval.is_none() || report.metrics.contains_key("evidence.invariance")
}

/// What noise does to the signals.
pub(crate) struct Noise<'a> {
    /// Eta: how far two answers to the same input are apart.
    pub(crate) floor: Figure<'a>,
    /// Invariance without it.
    pub(crate) invariance: Figure<'a>,
    /// Sensitivity without it.
    pub(crate) sensitivity: Figure<'a>,
    /// The Kelvin score without it.
    pub(crate) kelvin: Figure<'a>,
}

/// A metric as people see it: never a value without its sample.
#[derive(Clone, Debug)]
pub(crate) struct Figure<'a> {
    /// Unrounded.
    pub(crate) value: Option<f64>,
    /// 4 decimals, more where fewer would show another band; `not measured` where there is none.
    pub(crate) shown: String,
    /// `n=17, 1 failed`.
    pub(crate) sample: String,
    /// `0.79 to 0.93`, rounded outwards.
    pub(crate) interval: Option<String>,
    /// Why there is no value. It may quote the user.
    pub(crate) reason: Option<&'a str>,
    /// The word for its band, or for the standing of the run.
    pub(crate) word: Option<&'static str>,
    /// The place of its band, 0 for the best; none where bands mean nothing.
    pub(crate) band: Option<usize>,
    /// The ends of the interval, unrounded.
    pub(crate) ends: Option<(f64, f64)>,
}

/// What is said where there is no value.
pub(crate) const UNMEASURED: &str = "not measured";

impl<'a> Figure<'a> {
    /// A metric, or what is said where a report has none of that id.
    pub(crate) fn of(metric: Option<&'a Metric>) -> Self {
        let value = metric.and_then(|metric| metric.value);
        let ends = metric
            .and_then(|metric| metric.interval)
            .map(|interval| (interval.low, interval.high));
        Self {
            value,
            shown: value.map_or_else(|| UNMEASURED.to_owned(), display),
            sample: metric.map_or_else(|| "n=0".to_owned(), sample),
            interval: ends.map(|(low, high)| {
                // The rounded interval still contains the value it stands beside. 0.29 is a little
                // less than 29 hundredths, and still 0.29.
                let low = (low * 100.0 + 1e-9).floor() / 100.0;
                let high = (high * 100.0 - 1e-9).ceil() / 100.0;
                format!("{:.2} to {:.2}", low + 0.0, high + 0.0)
            }),
            reason: match (value, metric) {
                (Some(_), _) => None,
                (None, Some(metric)) => metric.reason.as_deref(),
                (None, None) => Some("this run did not look at it"),
            },
            word: None,
            band: None,
            ends,
        }
    }

    /// Takes a value to the end of `[0, 1]` that noise has carried it beyond.
    #[must_use]
    pub(crate) fn within_one(mut self) -> Self {
        self.value = self.value.map(|value| value.clamp(0.0, 1.0));
        if let Some(value) = self.value {
            self.shown = display(value);
        }
        self
    }

    /// Adds the word for the band of a signal.
    #[must_use]
    pub(crate) fn word(mut self, signal: Signal) -> Self {
        if let Some(value) = self.value {
            self.word = Some(signal.word(value));
            self.band = Some(band(value));
            self.shown = agreeing(value);
        }
        self
    }

    /// How it is shown with fewer digits, where there is little room.
    pub(crate) fn brief(&self) -> String {
        self.value.map_or_else(|| "-".to_owned(), brief)
    }
}

/// Two decimals, and more where those would show another band.
pub(crate) fn brief(value: f64) -> String {
    rounded(value, 2)
}

/// Four decimals, and more where those would show another band: 0.89996 is not 0.9000.
fn agreeing(value: f64) -> String {
    rounded(value, 4)
}

fn rounded(value: f64, least: usize) -> String {
    let shown = |digits: usize| format!("{:.digits$}", value + 0.0);
    let agrees = |text: &String| text.parse().is_ok_and(|shown| band(shown) == band(value));
    (least..=17)
        .map(shown)
        .find(agrees)
        .unwrap_or_else(|| shown(least))
}

/// The sample beside a figure: `n=17, 1 failed`.
pub(crate) fn sample(metric: &Metric) -> String {
    match metric.n_failed {
        0 => format!("n={}", metric.n),
        failed => format!("n={}, {failed} failed", metric.n),
    }
}

/// What was checked and what it took.
fn scope(report: &Report) -> Vec<String> {
    let cost = report.run.session.cost;
    let variants = report.cases.values().map(|case| case.variants.len()).sum();
    let mut scope = Vec::new();
    if report.retrieval.is_none() || !report.cases.is_empty() {
        scope.push(counted(report.cases.len(), "case"));
        scope.push(counted(variants, "variant"));
    }
    if let Some(retrieval) = &report.retrieval {
        scope.push(retrieval::counted(retrieval.queries.len()));
    }
    if let Some(share) = report.run.shard {
        scope.insert(0, format!("shard {}", share.shard()));
    }
    if report.run.ending == Ending::DryRun {
        scope.push("nothing run".to_owned());
        return scope;
    }
    scope.push(counted(cost.invocations, "invocation"));
    for (count, word) in [
        (cost.cache_hits, "cached"),
        (cost.resumed, "resumed"),
        (cost.retries, "retried"),
    ] {
        if count > 0 {
            scope.push(format!("{count} {word}"));
        }
    }
    scope.push(duration(report.run.session.seconds));
    scope
}

/// The metrics whose id is `prefix` and one further part, by that part.
pub(crate) fn family<'a>(report: &'a Report, prefix: &str) -> Vec<(&'a str, &'a Metric)> {
    report
        .metrics
        .iter()
        .filter_map(|(id, metric)| Some((id.strip_prefix(prefix)?.strip_prefix('.')?, metric)))
        .collect()
}

/// What a code is called where it is shown.
pub(crate) const fn label(code: Code) -> &'static str {
    match code {
        Code::Changed => "the code changed",
        Code::BaselineFailed => "baseline failed",
        Code::VariantsFailed => "failed invocations",
        Code::Insufficient => "too many failures",
        Code::Interrupted => "interrupted",
        Code::Unmeasured => "not measured",
        Code::Cache => "cache",
        Code::Cap => "cap",
        Code::Skip => "skip",
        Code::Vacuous => "vacuous",
        Code::ParseRate => "parse rate",
        Code::NoUnits => "no units",
        Code::LookAlikeTypes => "look-alike types",
        Code::Recomputed => "computed again",
        Code::IgnoredFile => "ignored file",
        Code::AnswersKept => "repeats that count as one",
        Code::Other => "further notice",
        Code::MissingQueries => "missing queries",
        Code::UnknownQueries => "unknown queries",
        Code::QueriesFailed => "failed queries",
        Code::ChunkerVersions => "chunker versions",
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod known_truth_tests;

#[cfg(test)]
mod known_values_tests;
