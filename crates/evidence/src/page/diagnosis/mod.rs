//! Decides what a reader should know first: the problems of the run, then the problems of the pipeline, the largest
//! first. A run without any measurement is never called healthy.

mod follows;
mod unread;
mod values;

use super::cases::RankedCase;
use super::standing::{Standing, most_noise, without_noise};
use super::swaps::SwapCounts;
use super::{QUADRANT, SignalWords};
use crate::page::EvidenceRun;
use crate::perturb::POSITION;
use crate::{CaseRecord, VariantRecord};
use kelvin_page::{Estimate, Phrase, Statement, Tone, are, counted};
use kelvin_record::{Ending, Metric, estimate, family};

/// If the share of failed invocations is above this, the figures cover too little.
const FAILING: f64 = 0.2;
/// Whole swaps of a type move the decision if their sensitivity is at least this.
const MOVES: f64 = 0.20;
/// If the agreement with the labels is below this, there is a diagnosis.
const AGREEING: f64 = 0.9;
/// If the invariance of a kind is below this, there is a diagnosis.
const DRIFTING: f64 = 0.9;
/// If the noise floor is above this, two answers to the same input differ often enough to matter.
const NOISY: f64 = 0.05;
/// If the variance over cases is above this, the mean describes none of them.
const UNEVEN: f64 = 0.09;
/// The weight of a note about few samples.
const FEW: f64 = 0.1;
/// The setting that separates noise from other effects, in the form of the configuration.
const MEASURE_NOISE: &str = "noise_floor: {enabled: true}";
/// The setting that shows at which positions of an array evidence is used.
const SHOW_PLACES: &str = "perturbations: {enable: [position]}";
/// An interval that is wider than this spans more than two bands.
const WIDE: f64 = 0.4;

/// A statement for the reader, and how important it is.
#[derive(Clone, Debug, PartialEq)]
struct Weighted {
    /// The larger the weight, the more useful is the statement.
    weight: f64,
    statement: Statement,
}

impl Weighted {
    const fn new(tone: Tone, weight: f64, text: Phrase) -> Self {
        let statement = Statement::new(tone, text);
        Self { weight, statement }
    }
}

/// Every diagnosis of a run, the most useful first; there is always at least one.
pub(super) fn diagnoses(run: &EvidenceRun<'_>) -> Vec<Statement> {
    let found = found(run).into_iter();
    found.map(|one| one.statement).collect()
}

fn found(run: &EvidenceRun<'_>) -> Vec<Weighted> {
    let said = |tone, text: &str| vec![Weighted::new(tone, 9.0, Phrase::text(text))];
    let interrupted = match run.ending {
        Ending::DryRun => {
            return said(
                Tone::Caution,
                "a dry run: every input was written, nothing was run, nothing is known",
            );
        }
        Ending::Failed => {
            return said(
                Tone::Alarm,
                "every baseline invocation failed: nothing was measured",
            );
        }
        Ending::Changed => {
            return said(
                Tone::Alarm,
                "the code of the pipeline changed while it ran: nothing is known, and nothing was kept",
            );
        }
        Ending::Interrupted => said(
            Tone::Caution,
            "stopped before the end: the figures cover what had finished",
        ),
        Ending::Complete => Vec::new(),
    };
    let mut found = interrupted;
    let standing = Standing::of(run);
    found.extend(failures(run));
    found.extend(unlike_labels(run));
    found.extend(standing.and_then(|standing| follows::not_told(run, standing)));
    if standing != Some(Standing::Constant) {
        found.extend(follows::hardly_followed(run));
        found.extend(follows::moves_without_cause(run));
        found.extend(follows::ignored(run));
        found.extend(values::conditions(run));
        found.extend(values::mechanical(run));
        found.extend(unread::parts(run));
    }
    found.extend(unread::turns(run, standing));
    found.extend(reactive(run));
    found.extend(noise(run));
    found.extend(insufficient(run));
    found.extend(uneven(run));
    found.extend(unmeasured(run));
    found.extend(wide(run));
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    // A note about few samples does not mean that there is a problem.
    let stands_out = found.iter().any(|one| one.weight > FEW);
    let calm = match standing {
        Some(Standing::Grounded) => {
            Some("nothing stands out: it moves with the governing evidence and holds without")
        }
        Some(Standing::Responsive) => {
            Some("nothing stands out: it holds where it should, and ignores no governing type")
        }
        _ => None,
    };
    if let Some(calm) = calm.filter(|_| !stands_out) {
        let calm = || Weighted::new(Tone::Calm, 0.0, Phrase::text(calm));
        found.insert(0, odd_cases(run).unwrap_or_else(calm));
    }
    if found.is_empty() {
        let text = standing.map_or("no figure of the evidence probe is here", Standing::meaning);
        found.push(Weighted::new(Tone::Caution, 0.0, Phrase::text(text)));
    }
    found
}

/// Failed invocations contribute to no score, so the figures may look better than the pipeline is.
fn failures(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let metric = run.metrics.get("evidence.failure_rate")?;
    let rate = metric.value.filter(|rate| *rate > NOISY)?;
    let (tone, weight) = if rate > FAILING {
        (Tone::Alarm, 2.0 + rate)
    } else {
        (Tone::Caution, rate)
    };
    // The rate gives every case the same weight, so it differs from the share of missing answers.
    let (missing, all) = (metric.n_failed, metric.n);
    let text = format!(
        "{missing} of {all} answers {} missing ({:.0} %): the figures cover the rest only",
        are(missing),
        100.0 * missing as f64 / all as f64
    );
    Some(Weighted::new(tone, weight, Phrase::text(text)))
}

/// The diagnosis for answers that differ from the labels: a pipeline may follow all evidence, but in the wrong
/// direction.
fn unlike_labels(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let metric = run.metrics.get("evidence.agrees_with_labels")?;
    let agreement = metric.value.filter(|value| *value < AGREEING)?;
    let labelled = metric.per_case.iter();
    let labelled: Vec<(&String, f64)> = labelled
        .filter_map(|(name, case)| Some((name, case.value?)))
        .collect();
    let other = labelled.iter().filter(|(_, value)| *value < 1.0);
    let other: Vec<&str> = other.map(|(name, _)| name.as_str()).collect();
    let tone = if agreement < 0.5 {
        Tone::Alarm
    } else {
        Tone::Caution
    };
    let text = Phrase::text(format!(
        "it answers otherwise than labelled in {} of {}, first in ",
        other.len(),
        counted(labelled.len(), "case")
    ));
    Some(Weighted::new(
        tone,
        1.0 - agreement,
        text.name(*other.first()?),
    ))
}

/// Names single cases with bad results, which no mean shows.
fn odd_cases(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let mut cases = RankedCase::all(run);
    cases.retain(|case| case.against + case.failed() > 0);
    let (worst, rest) = cases.split_first()?;
    let variants = counted(worst.case.variants.len(), "variant");
    let mut wrong = Vec::new();
    if worst.against > 0 {
        wrong.push(format!(
            "went against what is expected in {} of {variants}",
            worst.against
        ));
    }
    if worst.failed() > 0 {
        wrong.push(format!("got no answer in {} of {variants}", worst.failed()));
    }
    let text = Phrase::text("the means are as they should be, and not every case is: ")
        .name(worst.name)
        .and(format!(" {}", wrong.join(", and ")));
    let text = match rest.len() {
        0 => text,
        1 => text.and("; one other case is not either"),
        more => text.and(format!("; {more} other cases are not either")),
    };
    Some(Weighted::new(Tone::Caution, FEW, text))
}

/// The kind that moves the decision most among those that should not move it.
fn reactive(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let mut kinds = family(run.metrics, "evidence.invariance");
    // The figure of both padding kinds together would only repeat the worse of the two.
    kinds.retain(|(kind, _)| *kind != "pad");
    let (kind, value) = lowest(&kinds, DRIFTING)?;
    let drift = 1.0 - without_noise(value, most_noise(run));
    if 1.0 - drift >= DRIFTING {
        return None;
    }
    let seen = SampledDecisions::of(run, |variant| variant.kind == kind);
    let (cause, which) = match run.metrics.contains_key("evidence.noise_floor") {
        true => ("presentation moves it: ", None),
        false => ("presentation or noise moves it: ", Some(MEASURE_NOISE)),
    };
    let tone = if 1.0 - drift < QUADRANT {
        Tone::Alarm
    } else {
        Tone::Caution
    };
    let text = Phrase::text(cause).name(kind).and(format!(
        " changed the decision in {} of {}, in {} of {}",
        seen.moved,
        counted(seen.samples, "variant"),
        seen.cases - seen.still,
        counted(seen.cases, "case")
    ));
    let text = match which {
        None => text,
        Some(setting) => text.and("; ").name(setting).and(" would tell which"),
    };
    let has_arrays = || {
        let mut units = run.cases.values().flat_map(|case| &case.units);
        units.any(|unit| unit.list.is_some())
    };
    let mut variants = run.cases.values().flat_map(|case| &case.variants);
    let text = match kind == "reorder" && variants.all(|one| one.kind != POSITION) && has_arrays() {
        false => text,
        true => text
            .and("; ")
            .name(SHOW_PLACES)
            .and(" shows which places of an array are read"),
    };
    // Conclusions from swaps need stable answers to the same evidence. If presentation moves a quarter of these
    // answers, the reader should know that first.
    Some(Weighted::new(tone, 4.0 * drift, text))
}

/// The diagnosis that the same input does not always get the same answer.
fn noise(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let eta = run.metrics.get("evidence.noise_floor")?;
    let value = eta.value.filter(|value| *value > NOISY)?;
    let text = format!(
        "it answers the same input differently: two answers are {value:.2} apart on average \
         ({} replayed)",
        counted(eta.n, "case")
    );
    Some(Weighted::new(
        Tone::Caution,
        0.5 + value,
        Phrase::text(text),
    ))
}

fn insufficient(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let cases = run.cases.iter().filter(|(_, case)| case.insufficient);
    let names: Vec<&str> = cases.map(|(name, _)| name.as_str()).collect();
    let (first, rest) = names.split_first()?;
    let text = Phrase::text("too many invocations failed to judge ").name(*first);
    let text = match rest.len() {
        0 => text,
        more => text.and(format!(" and {}", counted(more, "other case"))),
    };
    Some(Weighted::new(Tone::Caution, 0.45, text))
}

/// The diagnosis that the cases differ much from each other, so that a mean describes none of them.
fn uneven(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let values = |score: fn(&CaseRecord) -> Option<f64>| -> Vec<(f64, &str)> {
        let cases = run.cases.iter();
        cases
            .filter_map(|(name, case)| Some((score(case)?, name.as_str())))
            .collect()
    };
    let spread = |values: &[(f64, &str)]| {
        let count = values.len().max(1) as f64;
        let mean = values.iter().map(|(value, _)| value).sum::<f64>() / count;
        values
            .iter()
            .map(|(value, _)| (value - mean).powi(2))
            .sum::<f64>()
            / count
    };
    // Sensitivity differs between cases by the donors that they happen to have.
    let values = values(|case| case.invariance);
    if spread(&values) <= UNEVEN {
        return None;
    }
    let least = values.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    // Among equal values the first is used here too, so that the same run names the same case.
    let most = values.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = Phrase::text(format!(
        "the cases differ: invariance is {:.2} in ",
        least.0
    ))
    .name(least.1)
    .and(format!(" and {:.2} in ", most.0))
    .name(most.1)
    .and(", so the mean describes few of them");
    Some(Weighted::new(Tone::Caution, 0.4, text))
}

/// The diagnosis that a signal, or the whole probe, has no value.
fn unmeasured(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let figure = |id: &str| estimate(run.metrics.get(id));
    let (invariance, sensitivity) = (
        figure("evidence.invariance"),
        figure("evidence.sensitivity"),
    );
    let why = |figure: &Estimate<'_>| figure.reason.unwrap_or("no reason is known").to_owned();
    let text = match (invariance.value, sensitivity.value) {
        (Some(_), Some(_)) => return None,
        (None, None) => Phrase::text("nothing was measured: ").quote(why(&invariance)),
        (None, Some(_)) => Phrase::text("half is known: invariance was not measured, since ")
            .quote(why(&invariance)),
        (Some(_), None) => Phrase::text("half is known: sensitivity was not measured, since ")
            .quote(why(&sensitivity)),
    };
    let both = invariance.value.is_none() && sensitivity.value.is_none();
    let tone = if both { Tone::Alarm } else { Tone::Caution };
    Some(Weighted::new(tone, if both { 3.0 } else { 1.5 }, text))
}

/// The diagnosis that there are too few samples to distinguish one band from another.
fn wide(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let widths = [
        (SignalWords::Invariance, "evidence.invariance"),
        (SignalWords::Following, "evidence.following"),
    ]
    .map(|(signal, id)| {
        // A figure without a word has no band that the interval could leave.
        let has_word = signal == SignalWords::Invariance
            || (run.governing_types.len() == 1 && SwapCounts::of(run, |_| true).are_enough());
        let figure = estimate(run.metrics.get(id).filter(|_| has_word)).rated(signal.words());
        let (low, high) = figure.ends?;
        (high - low > WIDE && signal.word(low) != signal.word(high)).then(|| {
            let name = id.trim_start_matches("evidence.");
            format!("{name} may be {}", figure.interval.unwrap_or_default())
        })
    });
    let wide: Vec<String> = widths.into_iter().flatten().collect();
    (!wide.is_empty()).then(|| {
        let text = format!("few samples: {}; more cases would tell", wide.join(", "));
        Weighted::new(Tone::Caution, FEW, Phrase::text(text))
    })
}

/// The smallest value below a limit; among equal values the first.
fn lowest<'a>(metrics: &[(&'a str, &Metric)], limit: f64) -> Option<(&'a str, f64)> {
    metrics
        .iter()
        .filter_map(|(name, metric)| Some((*name, metric.value?)))
        .filter(|(_, value)| *value < limit)
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// How the decision reacted in the samples of some variants.
#[derive(Default)]
struct SampledDecisions {
    /// The number of samples that have a distance.
    samples: usize,
    /// The number of samples in which the decision moved.
    moved: usize,
    /// The number of cases that have such samples.
    cases: usize,
    /// The number of cases in which the decision did not move in any sample.
    still: usize,
}

impl SampledDecisions {
    fn of(run: &EvidenceRun<'_>, pick: impl Fn(&VariantRecord) -> bool) -> Self {
        let mut all = Self::default();
        for case in run.cases.values() {
            let picked = case.variants.iter().filter(|variant| pick(variant));
            let distances = picked.flat_map(|v| v.samples.iter().filter_map(|s| s.distance));
            let (samples, moved) = distances.fold((0, 0), |(samples, moved), distance| {
                (samples + 1, moved + usize::from(distance > 0.0))
            });
            all.samples += samples;
            all.moved += moved;
            all.cases += usize::from(samples > 0);
            all.still += usize::from(samples > 0 && moved == 0);
        }
        all
    }
}
