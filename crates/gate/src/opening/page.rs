//! The whole opening as one value, with the answers that became wrong and the figures of both sides.

use super::{calm, gist, next, reason, word};
use crate::answers::ChangedAnswers;
use crate::judgement::{change, said, sense, value};
use crate::verdict::{Consequence, MetricVerdict, ReasonCode, Word};
use crate::{Judgement, answers};
use kelvin_page::{
    ANSWERS, Column, FlippedAnswer, Opening, Phrase, Status, Table, TableCell, TableRow,
};
use kelvin_record::{Flip, probe_of};

/// How many answers that became wrong are shown in full.
const FLIPS: usize = 3;
/// The number of reasons that are shown.
const REASONS: usize = 5;

/// The opening of every page and screen about a verdict.
pub fn opening(judgement: &Judgement) -> Opening {
    opening_with(judgement, &|_, _| Vec::new())
}

/// The files of an item of a probe that are in the folder of a page, each with a word for it and its path relative to
/// the page.
pub(crate) type FilesBeside<'f> = dyn Fn(&str, &str) -> Vec<(&'static str, String)> + 'f;

/// Makes the opening for a page in the folder with the files of the run.
pub fn opening_with(judgement: &Judgement, files: &FilesBeside<'_>) -> Opening {
    let verdict = &judgement.verdict;
    let (tone, mark, word) = word(judgement);
    let told = verdict.shared_reasons().into_iter().take(REASONS);
    let mut reasons: Vec<String> = told.map(|(_, text)| text).collect();
    // As on other pages, reasons that only inform are not shown at the place of the main reason.
    if reason(judgement).is_none() && verdict.verdict != Word::Unaffected {
        reasons.insert(0, calm(judgement));
    }
    let again = judgement.reproduce.as_ref();
    let again = again.filter(|_| !judgement.asks_nothing());
    let before = verdict.metrics.iter();
    // Some reasons concern the whole verdict and come before any answer: an edit of the rules, a missing base, or a
    // type of evidence that did not decide before but does now, because it explains the changed answers.
    let is_of_figures = reason(judgement)
        .is_none_or(|reason| reason.metric.is_some() || reason.code == ReasonCode::OtherAnswers);
    let is_told_by_answers = is_of_figures && verdict.new_types().next().is_none();
    // The answers of another probe may have improved, so they do not explain the drop of this metric. If no metric
    // dropped, the answers of any probe come before a metric of a probe without answers.
    let about = reason(judgement).and_then(|reason| Some(probe_of(reason.metric.as_deref()?)));
    let about = about.filter(|about| {
        verdict.verdict == Word::Regression || verdict.answers.contains_key(*about)
    });
    let of_answers = || {
        let mut answers = verdict.answers.iter().filter(|(probe, _)| {
            is_told_by_answers && about.is_none_or(|about| about == probe.as_str())
        });
        answers.find_map(|(_, changed)| {
            // A verdict that does not pass says itself what is missing.
            let gone = || changed.lead_of_gone().filter(|_| verdict.passed);
            changed.lead().or_else(gone)
        })
    };
    let of_asides = || {
        let asides = verdict.answers.values().filter(|_| is_told_by_answers);
        let mut asides = asides.filter_map(ChangedAnswers::lead_of_aside);
        asides.next().filter(|_| verdict.passed)
    };
    // Edited labels explain why another answer counts as wrong, so that no such answer comes before them.
    let is_relabelled =
        reason(judgement).is_some_and(|reason| reason.code == ReasonCode::Relabelled);
    // If the first sentence names an item, the next step names the same item.
    let of_flips = answers::lead(&judgement.flips, verdict).filter(|_| !is_relabelled);
    let mut cases = judgement.cases.iter();
    let worst = cases.find(|case| case.is_worse());
    let are_of_worst = worst
        .zip(judgement.flips.first())
        .is_none_or(|(case, flip)| case.case == flip.item);
    Opening {
        tone,
        mark,
        word,
        gist: gist(judgement),
        changes: verdict.changes(),
        lead: match are_of_worst {
            true => of_flips.or_else(of_answers),
            false => of_answers().or(of_flips),
        }
        .or_else(of_asides),
        reasons,
        next: match &judgement.approval {
            Some(_) => next(judgement).and("."),
            None => next(judgement),
        },
        base: Phrase::marked(&match judgement.base {
            Some(_) if verdict.verdict == Word::Unaffected => {
                format!("The figures are those of the {}", judgement.provenance())
            }
            Some(_) => format!("Compared with {}", judgement.provenance()),
            None => format!("Compared with nothing: {}", judgement.provenance()),
        }),
        answers: verdict
            .answers
            .iter()
            .filter_map(|(probe, changed)| {
                let mut list = changed.list()?;
                for row in list.rows.iter_mut().take(ANSWERS) {
                    row.files = files(probe, &row.item);
                }
                Some(list)
            })
            .collect(),
        flips: judgement.flips.iter().take(FLIPS).map(flipped).collect(),
        more_flips: judgement.flips.len().saturating_sub(FLIPS),
        caveats: judgement.caveats.clone(),
        metrics: metrics(judgement),
        again: again.map(|again| {
            let place = format!("To run it again {}:", again.place());
            (Phrase::marked(&place), again.command(judgement))
        }),
        before: before
            .filter(|(_, metric)| !metric.unpaired)
            .filter_map(|(id, metric)| Some((id.clone(), metric.base?)))
            .collect(),
    }
}

fn flipped(flip: &Flip) -> FlippedAnswer {
    let (base, head) = answers::beside_each_other(&flip.base, &flip.head);
    FlippedAnswer {
        item: flip.item.clone(),
        part: flip.part.clone(),
        count: Phrase::text(answers::extent(flip)),
        base,
        head,
    }
}

/// The metrics that are shown first, with the values of both sides.
fn metrics(judgement: &Judgement) -> Option<Table> {
    const LISTED: usize = 20;
    let shown = judgement.verdict.shown();
    let rows = shown.iter().take(LISTED);
    let rows = rows.map(|(id, metric)| row(id, metric, judgement.verdict.consequence(id)));
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text("Base and head"),
        columns: vec![
            Column::text("metric"),
            Column::number("base"),
            Column::number("now"),
            Column::number("change"),
            Column::text("verdict"),
        ],
        rows,
        left: shown.len().saturating_sub(LISTED),
        most: None,
        noun: "metric",
        elsewhere: Some(Phrase::text("they are in ").name("gate.json")),
    })
}

fn row(id: &str, metric: &MetricVerdict, consequence: Option<Consequence>) -> TableRow {
    let status = consequence.map(|consequence| match consequence {
        Consequence::Passes => Status::Expected,
        Consequence::Warns => Status::Open,
        Consequence::Fails => Status::Against,
    });
    let text = |text: String| TableCell::from(Phrase::text(text));
    TableRow {
        cells: vec![
            TableCell::from(Phrase::of_name(id).and(sense(metric))),
            text(value(metric.base)),
            text(value(metric.head)),
            text(change(metric)),
            text(said(metric)),
        ],
        status,
        detail: None,
        anchor: None,
    }
}
