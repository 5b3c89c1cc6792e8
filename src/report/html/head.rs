//! What the page shows above its cases: the verdict, the signals, every figure and the map.

use serde::Serialize;

use super::case::shortened;
use super::heat::{self, Heat};
use super::plane::{self, Plane};
use super::script;
use crate::probe::Ending;
use crate::report::safe;
use crate::report::summary::{
    BANDS, Figure, Phrase, Ranked, Summary, Tone, counted, retrieval_rows,
};

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
    no_interval: &'static str,
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

impl Head {
    pub(super) fn of(summary: &Summary<'_>, ranked: &[Ranked<'_>]) -> Self {
        let report = summary.report;
        let (verdict, meaning) = verdict(summary);
        Self {
            permission: script::permission(script::SCRIPT),
            title: match summary.has_evidence() {
                true => format!("{verdict}: kelvin, {}", counted(report.cases.len(), "case")),
                false => format!("{verdict}: kelvin"),
            },
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
            no_interval: summary.no_interval(),
            tables: retrieval(summary)
                .into_iter()
                .chain(summary.tables.iter().map(|table| {
                    Table {
                        title: table.title,
                        note: table.note,
                        rows: table
                            .rows
                            .iter()
                            .map(|(name, figure)| Shown::of(shortened(name), figure))
                            .collect(),
                    }
                }))
                .collect(),
            heat: heat::map(summary),
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
    if !summary.has_evidence() {
        return ("Retrieval", "how much is found of what there is to find");
    }
    match (summary.standing, summary.report.run.ending) {
        (Some(standing), _) => (standing.title(), standing.meaning()),
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

fn retrieval(summary: &Summary<'_>) -> Option<Table> {
    let rows = retrieval_rows(summary.report);
    let row = |(name, figure): &(String, Figure<'_>)| Shown::of(Phrase::text(name.clone()), figure);
    (!rows.is_empty()).then(|| Table {
        title: "Retrieval",
        note: "Means over the queries that count for each; a failed query counts 0 in the measures \
               of ranking.",
        rows: rows.iter().map(row).collect(),
    })
}

fn cards(summary: &Summary<'_>) -> Vec<Card> {
    if !summary.has_evidence() {
        return Vec::new();
    }
    let kelvin_note = match summary.kelvin_parts() {
        Some([drift, still]) => format!("{drift} for drift + {still} for what did not move"),
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
            "Following",
            "Does it go where the governing evidence leads?",
            &summary.following,
            1.0,
            // Bands mean something only where the figure has a word.
            summary.following.word.map_or_else(Vec::new, |_| ticks),
            summary.swaps.sentence().unwrap_or_default(),
        ),
        (
            "Sensitivity",
            "How far does other governing evidence move it? An exchange may rightly change nothing.",
            &summary.sensitivity,
            1.0,
            Vec::new(),
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
            band: figure.band,
            reason: safe::cut(figure.reason.unwrap_or_default(), 300),
        }
    }
}
