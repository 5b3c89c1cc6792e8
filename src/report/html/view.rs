//! What the page shows around its cases, worked out before the templates see it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::{Budget, shortened};
use super::heat::{self, Heat};
use super::plane::{self, Plane};
use super::script;
use crate::notice::Notice;
use crate::perturb;
use crate::probe::Ending;
use crate::report::safe;
use crate::report::summary::{
    self, BANDS, DISCLAIMER, Failed, Figure, Phrase, Ranked, Signal, Summary, Tone, counted, label,
};

/// Failed invocations and notices of one code that a page lists.
const LISTED: usize = 200;

#[derive(Serialize)]
pub(super) struct Head {
    permission: String,
    title: String,
    verdict: &'static str,
    meaning: &'static str,
    scope: String,
    only: Vec<String>,
    diagnoses: Vec<Diagnosis>,
    plane: Option<Plane>,
    cards: Vec<Card>,
    noise: Option<Vec<Shown>>,
    tables: Vec<Table>,
    heat: Heat,
    all: usize,
    against: usize,
    failing: usize,
    failed: usize,
    notices: usize,
}

#[derive(Serialize)]
struct Diagnosis {
    tone: Tone,
    word: &'static str,
    text: Phrase,
}

#[derive(Serialize)]
struct Card {
    name: &'static str,
    question: &'static str,
    figure: Shown,
    /// The length of the bar and the ends of the interval, in percent.
    percent: f64,
    interval: Option<(f64, f64)>,
    /// Where the bands meet, in percent.
    ticks: Vec<f64>,
    note: String,
}

#[derive(Serialize)]
struct Shown {
    name: Phrase,
    is_measured: bool,
    shown: String,
    sample: String,
    interval: Option<String>,
    word: Option<&'static str>,
    /// 0 for the best; none where no band is meant.
    band: Option<usize>,
    reason: String,
}

#[derive(Serialize)]
struct Table {
    title: &'static str,
    note: &'static str,
    rows: Vec<Shown>,
}

#[derive(Serialize)]
pub(super) struct Foot {
    diffs_left_out: usize,
    variants_left_out: usize,
    failed: usize,
    failures: Vec<Failure>,
    tallies: Vec<Tally>,
    kinds: Vec<(&'static str, &'static str, &'static str)>,
    bands: Vec<(String, &'static str, &'static str)>,
    facts: Vec<(&'static str, String)>,
    disclaimer: &'static str,
    version: String,
    script: &'static str,
}

#[derive(Serialize)]
struct Failure {
    case: String,
    anchor: usize,
    place: String,
    message: String,
    stderr: String,
    stdout: String,
}

#[derive(Serialize)]
struct Tally {
    counted: String,
    is_warning: bool,
    rows: Vec<Row>,
    more: usize,
}

/// A notice.
#[derive(Serialize)]
pub(super) struct Row {
    label: &'static str,
    place: Vec<String>,
    counts: Option<(u64, u64)>,
    text: String,
}

impl Head {
    pub(super) fn of(summary: &Summary<'_>, ranked: &[Ranked<'_>]) -> Self {
        let report = summary.report;
        let (verdict, meaning) = verdict(summary);
        Self {
            permission: script::permission(script::SCRIPT),
            title: format!("{verdict}: kelvin, {}", counted(report.cases.len(), "case")),
            verdict,
            meaning,
            scope: summary.scope.join(", "),
            only: report
                .run
                .only
                .iter()
                .take(50)
                .map(|one| safe::cut(one, 80))
                .collect(),
            diagnoses: summary
                .diagnoses
                .iter()
                .map(|one| Diagnosis {
                    tone: one.tone,
                    word: match one.tone {
                        Tone::Alarm => "Problem",
                        Tone::Caution => "Note",
                        Tone::Calm => "Fine",
                    },
                    text: shortened(&one.text),
                })
                .collect(),
            plane: plane::of(summary),
            cards: cards(summary),
            noise: summary.noise.as_ref().map(|noise| {
                vec![
                    Shown::of(Phrase::text("noise floor"), &noise.floor),
                    Shown::of(Phrase::text("invariance without it"), &noise.invariance),
                    Shown::of(Phrase::text("sensitivity without it"), &noise.sensitivity),
                    Shown::of(Phrase::text("Kelvin score without it"), &noise.kelvin),
                ]
            }),
            tables: summary
                .tables
                .iter()
                .map(|table| Table {
                    title: table.title,
                    note: table.note,
                    rows: table
                        .rows
                        .iter()
                        .map(|(name, figure)| Shown::of(shortened(name), figure))
                        .collect(),
                })
                .collect(),
            heat: heat::map(report),
            all: ranked.len(),
            against: ranked.iter().filter(|one| one.against > 0).count(),
            failing: ranked.iter().filter(|one| one.case.failed > 0).count(),
            failed: summary.failed.len(),
            notices: summary.tallies.iter().map(|tally| tally.count).sum(),
        }
    }
}

/// The word that stands largest, and what it means.
fn verdict(summary: &Summary<'_>) -> (&'static str, &'static str) {
    match (summary.quadrant, summary.report.run.ending) {
        (Some(quadrant), _) => (capital(quadrant.name()), quadrant.meaning()),
        (None, Ending::DryRun) => ("Dry run", "inputs were written, nothing was run"),
        (None, _)
            if summary
                .invariance
                .value
                .or(summary.sensitivity.value)
                .is_some() =>
        {
            ("Half measured", "one of the two signals is missing")
        }
        (None, _) => ("Not measured", "there is no figure to go by"),
    }
}

fn capital(word: &'static str) -> &'static str {
    match word {
        "grounded" => "Grounded",
        "flat" => "Flat",
        "brittle" => "Brittle",
        "unstable" => "Unstable",
        other => other,
    }
}

fn cards(summary: &Summary<'_>) -> Vec<Card> {
    let kelvin_note = match summary.kelvin_parts() {
        Some([drift, deaf]) => format!("{drift} for drift + {deaf} for what it did not follow"),
        None => "needs both signals".to_owned(),
    };
    let ticks: Vec<f64> = BANDS.iter().map(|low| percent(*low)).collect();
    [
        (
            "Invariance",
            "Does the decision hold while the governing evidence is the same?",
            &summary.invariance,
            1.0,
            ticks.clone(),
            String::new(),
        ),
        (
            "Sensitivity",
            "Does it move when the governing evidence changes?",
            &summary.sensitivity,
            1.0,
            ticks,
            String::new(),
        ),
        (
            "Kelvin score",
            "What both lack, in one number: 0 is best, 2 is worst, a constant answer scores 1.",
            &summary.kelvin,
            2.0,
            vec![50.0],
            kelvin_note,
        ),
    ]
    .into_iter()
    .map(|(name, question, figure, most, ticks, note)| Card {
        name,
        question,
        percent: percent(figure.value.unwrap_or(0.0) / most),
        interval: figure.ends.map(|(low, high)| {
            let (low, high) = (percent(low / most), percent(high / most));
            (low, (high - low).max(0.5))
        }),
        ticks,
        note,
        figure: Shown::of(Phrase::text(name), figure),
    })
    .collect()
}

fn percent(value: f64) -> f64 {
    (value.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}

impl Shown {
    fn of(name: Phrase, figure: &Figure<'_>) -> Self {
        Self {
            name,
            is_measured: figure.value.is_some(),
            shown: figure.shown.clone(),
            sample: figure.sample.clone(),
            interval: figure.interval.clone(),
            word: figure.word,
            band: figure.word.and(figure.value).map(summary::band),
            reason: safe::cut(figure.reason.unwrap_or_default(), 300),
        }
    }
}

impl Foot {
    pub(super) fn of(
        summary: &Summary<'_>,
        places: &BTreeMap<&str, usize>,
        budget: &Budget<'_>,
    ) -> Self {
        let failure = |failed: &Failed<'_>| Failure {
            case: safe::cut(failed.case, 120),
            anchor: places.get(failed.case).copied().unwrap_or_default(),
            place: safe::cut(failed.place(), 120),
            message: safe::cut(&failed.failure.message, 400),
            stderr: safe::lines(&failed.failure.stderr),
            stdout: safe::lines(&failed.failure.stdout),
        };
        let tallies = summary.tallies.iter().map(|tally| Tally {
            counted: tally.counted(),
            is_warning: tally.code.is_warning(),
            rows: tally
                .notices
                .iter()
                .take(LISTED)
                .map(|one| Row::of(one))
                .collect(),
            more: tally.count.saturating_sub(LISTED),
        });
        Self {
            diffs_left_out: budget.diffs_left_out,
            variants_left_out: budget.variants_left_out,
            failed: summary.failed.len(),
            failures: summary.failed.iter().take(LISTED).map(failure).collect(),
            tallies: tallies.collect(),
            kinds: kinds(summary),
            bands: bands(),
            facts: facts(summary),
            disclaimer: DISCLAIMER,
            version: safe::cut(&summary.report.tool.version, 40),
            script: script::SCRIPT,
        }
    }
}

/// The kinds that this run made: name, what they do, what the decision ought to do.
fn kinds(summary: &Summary<'_>) -> Vec<(&'static str, &'static str, &'static str)> {
    let cases = summary.report.cases.values();
    let made: std::collections::BTreeSet<&str> = cases
        .flat_map(|case| case.variants.iter().map(|variant| variant.kind.as_str()))
        .collect();
    let known = perturb::ALL
        .iter()
        .filter(|kind| made.contains(kind.name()));
    known
        .map(|kind| {
            let ought = match kind.figure().relation() {
                perturb::Relation::Invariance => "hold",
                perturb::Relation::Sensitivity => "move",
            };
            (kind.name(), kind.describe(), ought)
        })
        .collect()
}

/// The bands: from where, and the words of both signals.
fn bands() -> Vec<(String, &'static str, &'static str)> {
    let lows = BANDS.iter().map(|low| format!("{low:.2} and more"));
    let last = BANDS.last().map(|low| format!("less than {low:.2}"));
    lows.chain(last)
        .zip(Signal::Invariance.words())
        .zip(Signal::Sensitivity.words())
        .map(|((from, holds), moves)| (from, holds, moves))
        .collect()
}

fn facts(summary: &Summary<'_>) -> Vec<(&'static str, String)> {
    let run = &summary.report.run;
    let mut facts = vec![
        ("Decision field", safe::cut(&run.decision_field, 80)),
        (
            "Governing types",
            safe::cut(&run.governing_types.join(", "), 400),
        ),
        ("Scorer", safe::cut(&run.scorer, 80)),
        ("Seed", run.seed.to_string()),
        ("Repeats", run.repeats.to_string()),
        ("Started", safe::cut(&run.session.started_at, 40)),
    ];
    if let Some(commit) = &run.session.commit {
        let dirty = if run.session.dirty {
            ", with changes"
        } else {
            ""
        };
        facts.push(("Commit", format!("{}{dirty}", safe::cut(commit, 41))));
    }
    let prints = &run.fingerprints;
    facts.push(("Cases", prints.cases.short(16)));
    facts.push(("Configuration", prints.config.short(16)));
    facts.push(("Command", prints.command.short(16)));
    let pipeline = prints.pipeline.as_ref();
    facts.push((
        "Pipeline code",
        pipeline.map_or_else(|| "unknown".to_owned(), |print| print.short(16)),
    ));
    facts
}

impl Row {
    pub(super) fn of(notice: &Notice) -> Self {
        let place = [&notice.case, &notice.kind].into_iter().flatten();
        Self {
            label: label(notice.code),
            place: place.map(|part| safe::cut(part, 120)).collect(),
            counts: notice.wanted.zip(notice.got),
            text: safe::cut(&notice.text, 600),
        }
    }
}
