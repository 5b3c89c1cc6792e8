//! What a reader should know first: what is wrong with the run, then what is wrong with the
//! pipeline, the largest first. Nothing measured is never healthy.

use super::words::{Phrase, QUADRANT, Quadrant, Signal, counted};
use super::{Figure, family};
use crate::probe::{CaseRecord, Ending, Metric, VariantRecord};
use crate::report::Report;

/// Above this share of failed invocations the figures cover too little.
const FAILING: f64 = 0.2;
/// Below this a type is ignored rather than half heeded.
const IGNORED: f64 = 0.5;
/// Below this a kind is worth a word.
const DRIFTING: f64 = 0.9;
/// Above this two answers to the same input differ often enough to matter.
const NOISY: f64 = 0.05;
/// Above this variance over cases a mean describes none of them.
const UNEVEN: f64 = 0.09;
/// How much a note about few samples weighs.
const FEW: f64 = 0.1;
/// Above this width an interval spans more than two bands.
const WIDE: f64 = 0.4;

/// How a diagnosis is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tone {
    /// Something is wrong.
    Alarm,
    /// Something should be known before the figures are used.
    Caution,
    /// Nothing is wrong.
    Calm,
}

/// One thing that a reader should know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Diagnosis {
    /// How it is meant.
    pub(crate) tone: Tone,
    /// A sentence without a full stop.
    pub(crate) text: Phrase,
    /// The larger, the more useful.
    weight: f64,
}

impl Diagnosis {
    const fn new(tone: Tone, weight: f64, text: Phrase) -> Self {
        Self { tone, text, weight }
    }
}

/// Every diagnosis of a report, most useful first; there is always one.
pub(super) fn of(report: &Report) -> Vec<Diagnosis> {
    let mut found = found(report);
    for one in &mut found {
        one.text.capitalize();
    }
    found
}

fn found(report: &Report) -> Vec<Diagnosis> {
    let said = |tone, text: &str| vec![Diagnosis::new(tone, 9.0, Phrase::text(text))];
    let interrupted = match report.run.ending {
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
        Ending::Interrupted => said(
            Tone::Caution,
            "stopped before the end: the figures cover what had finished",
        ),
        Ending::Complete => Vec::new(),
    };
    let value = |id: &str| report.metrics.get(id).and_then(|metric| metric.value);
    let (invariance, sensitivity) = (value("evidence.invariance"), value("evidence.sensitivity"));
    let mut found = interrupted;
    found.extend(failures(report));
    found.extend(ignored(report));
    found.extend(reactive(report));
    found.extend(conditions(report));
    found.extend(mechanical(report));
    found.extend(noise(report));
    found.extend(insufficient(report));
    found.extend(uneven(report));
    found.extend(unmeasured(report));
    found.extend(wide(report));
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let quadrant = invariance.zip(sensitivity).map(|(i, s)| Quadrant::of(i, s));
    // Few samples are worth a note, but hide nothing that was seen.
    let stands_out = found.iter().any(|one| one.weight > FEW);
    if quadrant == Some(Quadrant::Grounded) && !stands_out {
        let calm = "nothing stands out: it moves with the governing evidence and holds without";
        found.insert(0, Diagnosis::new(Tone::Calm, 0.0, Phrase::text(calm)));
    }
    if found.is_empty() {
        let text = quadrant.map_or("no figure of the evidence probe is here", Quadrant::meaning);
        found.push(Diagnosis::new(Tone::Caution, 0.0, Phrase::text(text)));
    }
    found
}

/// Failed invocations are in no score, so what is scored may look better than it is.
fn failures(report: &Report) -> Option<Diagnosis> {
    let metric = report.metrics.get("evidence.failure_rate")?;
    let rate = metric.value.filter(|rate| *rate > NOISY)?;
    let (tone, weight) = if rate > FAILING {
        (Tone::Alarm, 2.0 + rate)
    } else {
        (Tone::Caution, rate)
    };
    let text = format!(
        "{} of {} invocations failed ({:.0} %): the figures cover the rest only",
        metric.n_failed,
        metric.n,
        rate * 100.0
    );
    Some(Diagnosis::new(tone, weight, Phrase::text(text)))
}

/// The governing type whose exchange moves the decision least, where that is too little.
fn ignored(report: &Report) -> Option<Diagnosis> {
    let types = family(report, "evidence.sensitivity");
    let (name, value) = lowest(&types, QUADRANT)?;
    let swaps = Sampled::of(report, |variant| {
        variant.kind == "swap" && variant.unit_type.as_deref() == Some(name)
    });
    let (verb, tone) = if value < IGNORED {
        (" is hardly heeded: ", Tone::Alarm)
    } else {
        (" is heeded in part only: ", Tone::Caution)
    };
    let held = swaps.samples - swaps.moved;
    let cases = counted(swaps.cases, "case");
    let all = counted(swaps.samples, "swap");
    // Where decisions are numbers, all of them may move, and none of them far.
    let seen = if swaps.samples == 0 || held * 2 < swaps.samples && value < IGNORED {
        format!("{all} moved the decision by {value:.2} on average ({cases})")
    } else if held == swaps.samples {
        format!("not one of {all} moved the decision ({cases})")
    } else if swaps.still == 0 {
        format!("{held} of {all} left the decision as it was ({cases})")
    } else {
        let still = swaps.still;
        format!("{held} of {all} left the decision as it was ({cases}; {still} never moved)")
    };
    let text = Phrase::of_name(name).and(verb).and(seen);
    let others: Vec<&str> = types
        .iter()
        .filter(|(other, metric)| *other != name && metric.value.is_some_and(|v| v < IGNORED))
        .map(|(other, _)| *other)
        .collect();
    let text = match others.as_slice() {
        [] => text,
        [other] => text.and("; hardly more moves with ").name(*other),
        more => text.and(format!(
            "; hardly more moves with {}",
            counted(more.len(), "other type")
        )),
    };
    Some(Diagnosis::new(tone, 1.0 - value, text))
}

/// The kind that moves the decision most of those that should not.
fn reactive(report: &Report) -> Option<Diagnosis> {
    let mut kinds = family(report, "evidence.invariance");
    // Both pads together would only repeat the worse of the two.
    kinds.retain(|(kind, _)| *kind != "pad");
    let (kind, value) = lowest(&kinds, DRIFTING)?;
    // What noise alone explains is no matter of presentation.
    let eta = report.metrics.get("evidence.noise_floor");
    let eta = eta
        .and_then(|eta| eta.value)
        .filter(|eta| *eta < 1.0)
        .unwrap_or(0.0);
    let drift = ((1.0 - value - eta) / (1.0 - eta)).max(0.0);
    if 1.0 - drift >= DRIFTING {
        return None;
    }
    let seen = Sampled::of(report, |variant| variant.kind == kind);
    let tone = if 1.0 - drift < QUADRANT {
        Tone::Alarm
    } else {
        Tone::Caution
    };
    let text = Phrase::text("presentation moves it: ")
        .name(kind)
        .and(format!(
            " changed the decision in {} of {}, in {} of {}",
            seen.moved,
            counted(seen.samples, "variant"),
            seen.cases - seen.still,
            counted(seen.cases, "case")
        ));
    Some(Diagnosis::new(tone, drift, text))
}

/// Whole swaps move the decision, the conditions alone don't: it may follow the words around them.
fn conditions(report: &Report) -> Option<Diagnosis> {
    let metric = report.metrics.get("evidence.sensitivity_condition")?;
    let value = metric.value.filter(|value| *value < IGNORED)?;
    let seen = Sampled::of(report, |variant| variant.kind == "swap_condition");
    let text = format!(
        "other conditions in a rule moved the decision in {} of {} (n={}): it may go by the words \
         around them",
        seen.moved,
        counted(seen.samples, "exchange"),
        metric.n
    );
    Some(Diagnosis::new(
        Tone::Alarm,
        0.9 * (1.0 - value),
        Phrase::text(text),
    ))
}

/// Turned numbers, comparators and opposites leave the decision alone.
fn mechanical(report: &Report) -> Option<Diagnosis> {
    let all = report.metrics.get("evidence.mechanical_sensitivity")?;
    let value = all.value.filter(|value| *value < IGNORED)?;
    let (kind, _) = lowest(&family(report, "evidence.mechanical_sensitivity"), IGNORED)?;
    let text = Phrase::text(format!(
        "turned numbers, comparators and opposites in the rules moved the decision by {value:.2} \
         on average (n={}), least of all ",
        all.n
    ))
    .name(kind);
    Some(Diagnosis::new(Tone::Alarm, 0.8 * (1.0 - value), text))
}

/// The same input does not always get the same answer.
fn noise(report: &Report) -> Option<Diagnosis> {
    let eta = report.metrics.get("evidence.noise_floor")?;
    let value = eta.value.filter(|value| *value > NOISY)?;
    let text = format!(
        "it answers the same input differently: two answers are {value:.2} apart on average \
         ({} replayed)",
        counted(eta.n, "case")
    );
    Some(Diagnosis::new(
        Tone::Caution,
        0.5 + value,
        Phrase::text(text),
    ))
}

fn insufficient(report: &Report) -> Option<Diagnosis> {
    let cases = report.cases.iter().filter(|(_, case)| case.insufficient);
    let names: Vec<&str> = cases.map(|(name, _)| name.as_str()).collect();
    let (first, rest) = names.split_first()?;
    let text = Phrase::text("too many invocations failed to judge ").name(*first);
    let text = match rest.len() {
        0 => text,
        more => text.and(format!(" and {}", counted(more, "other case"))),
    };
    Some(Diagnosis::new(Tone::Caution, 0.45, text))
}

/// Cases that differ much from each other: a mean describes none of them.
fn uneven(report: &Report) -> Option<Diagnosis> {
    let values = |score: fn(&CaseRecord) -> Option<f64>| -> Vec<(f64, &str)> {
        let cases = report.cases.iter();
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
    let (signal, values) = [
        ("invariance", values(|case| case.invariance)),
        ("sensitivity", values(|case| case.sensitivity)),
    ]
    .into_iter()
    .find(|(_, values)| spread(values) > UNEVEN)?;
    let least = values.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    // The first of equals, as with the least.
    let most = values.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = Phrase::text(format!("the cases differ: {signal} is {:.2} in ", least.0))
        .name(least.1)
        .and(format!(" and {:.2} in ", most.0))
        .name(most.1)
        .and(", so the mean describes few of them");
    Some(Diagnosis::new(Tone::Caution, 0.4, text))
}

/// A signal without a value, or the whole probe without one.
fn unmeasured(report: &Report) -> Option<Diagnosis> {
    let figure = |id: &str| Figure::of(report.metrics.get(id));
    let (invariance, sensitivity) = (
        figure("evidence.invariance"),
        figure("evidence.sensitivity"),
    );
    let why = |figure: &Figure<'_>| figure.reason.unwrap_or("no reason is known").to_owned();
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
    Some(Diagnosis::new(tone, if both { 3.0 } else { 1.5 }, text))
}

/// Too few samples to tell one band from another.
fn wide(report: &Report) -> Option<Diagnosis> {
    let widths = [
        (Signal::Invariance, "evidence.invariance"),
        (Signal::Sensitivity, "evidence.sensitivity"),
    ]
    .map(|(signal, id)| {
        let figure = Figure::of(report.metrics.get(id)).word(signal);
        let (low, high) = figure.ends?;
        (high - low > WIDE && signal.word(low) != signal.word(high)).then(|| {
            let name = id.trim_start_matches("evidence.");
            format!("{name} may be {}", figure.interval.unwrap_or_default())
        })
    });
    let wide: Vec<String> = widths.into_iter().flatten().collect();
    (!wide.is_empty()).then(|| {
        let text = format!("few samples: {}; more cases would tell", wide.join(", "));
        Diagnosis::new(Tone::Caution, FEW, Phrase::text(text))
    })
}

/// The smallest value below a limit, the first of equals.
fn lowest<'a>(metrics: &[(&'a str, &Metric)], limit: f64) -> Option<(&'a str, f64)> {
    metrics
        .iter()
        .filter_map(|(name, metric)| Some((*name, metric.value?)))
        .filter(|(_, value)| *value < limit)
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// What the samples of some variants did.
#[derive(Default)]
struct Sampled {
    /// How many have a distance.
    samples: usize,
    /// In how many the decision moved.
    moved: usize,
    /// In how many cases there are any.
    cases: usize,
    /// In how many of those none moved.
    still: usize,
}

impl Sampled {
    fn of(report: &Report, pick: impl Fn(&VariantRecord) -> bool) -> Self {
        let mut all = Self::default();
        for case in report.cases.values() {
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
