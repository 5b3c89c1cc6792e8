//! The answers that need attention, shortened for a text or a comment.

use std::path::Path;

use super::Ranked;
use crate::record::{Answered, GradedSample, GradingBasis, PromptRecord, Scoring};
use crate::section::GradingSection;
use kelvin_page::{AnswersView, Column, FailedInvocation, Phrase, Table, TableRow, display};
use kelvin_run::folder_of;

/// How many prompts a text lists.
const LISTED: usize = 10;
/// How many characters of an answer a table in a text shows.
const CUT: usize = 160;
/// How many failed calls are listed.
const FAILED: usize = 200;

/// The samples without a score, each with its reason.
pub(super) fn unscored(ranked: &[Ranked<'_>]) -> Option<Table> {
    let mut rows = Vec::new();
    for one in ranked {
        for (repeat, sample) in (1..).zip(&one.prompt.samples) {
            let Some(unscored) = sample.unscored.as_ref().filter(|_| sample.is_error()) else {
                continue;
            };
            let cells = [
                Phrase::of_name(one.id),
                Phrase::text(repeat_of(repeat, one.prompt)),
                Phrase::default().quote(unscored.text.clone()),
            ];
            rows.push(TableRow::new(cells));
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!("Samples without a score ({})", rows.len())),
        columns: vec![
            Column::text("prompt"),
            Column::text("repeat"),
            Column::text("why"),
        ],
        rows,
        most: Some(LISTED),
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

/// The number of the repeat of a prompt, in words.
pub(super) fn repeat_of(repeat: usize, prompt: &PromptRecord) -> String {
    format!("{repeat} of {}", prompt.samples.len())
}

/// The prompts with the lowest scores, with both answers shortened for a comment.
pub(super) fn worst(basis: &GradingBasis, ranked: &[Ranked<'_>]) -> Option<Table> {
    let even = if basis.scoring.is_preference() {
        0.5
    } else {
        1.0
    };
    let rows = ranked.iter().filter_map(|one| {
        let score = one.score.filter(|score| *score < even)?;
        let sample = lowest(basis.scoring, one.prompt)?;
        Some(TableRow::new([
            Phrase::of_name(one.id),
            Phrase::text(display(score)),
            cut(sample.baseline.as_ref()),
            cut(Some(&sample.candidate)),
            note(sample),
        ]))
    });
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!("Prompts with the lowest scores ({})", rows.len())),
        columns: vec![
            Column::text("prompt"),
            Column::number("score"),
            Column::text("graded next to"),
            Column::text("answer"),
            Column::text("what the judge said"),
        ],
        rows,
        most: Some(LISTED),
        noun: "prompt",
        left: 0,
        elsewhere: None,
    })
}

/// The sample of a prompt with the lowest score.
fn lowest(scoring: Scoring, prompt: &PromptRecord) -> Option<&GradedSample> {
    let scored = prompt
        .samples
        .iter()
        .filter_map(|sample| Some((sample.score(scoring)?, sample)));
    let lowest = scored.min_by(|(one, _), (other, _)| one.total_cmp(other));
    lowest.map(|(_, sample)| sample)
}

/// The answers of both sides to a prompt, in the sample with the lowest score.
pub(crate) fn answers(section: &GradingSection, id: &str) -> Option<AnswersView> {
    let prompt = section.items.get(id)?;
    let failing = || prompt.samples.iter().find(|sample| sample.is_error());
    let sample = failing().or_else(|| lowest(section.basis.scoring, prompt))?;
    let text = |answered: &Answered| match &answered.answer {
        Some(kept) => kept.text.to_string(),
        None => format!("(no answer: {})", why(answered)),
    };
    let said = match (&sample.grade, &sample.unscored) {
        (Some(grade), _) => grade.notes().to_owned(),
        (None, Some(unscored)) => unscored.text.clone(),
        (None, None) => String::new(),
    };
    Some(AnswersView {
        before: sample.baseline.as_ref().map(text),
        after: text(&sample.candidate),
        said,
    })
}

/// The beginning of an answer.
fn cut(answered: Option<&Answered>) -> Phrase {
    match answered {
        None => Phrase::text("–"),
        Some(Answered {
            answer: Some(kept), ..
        }) => Phrase::default().quote(shortened(&kept.text)),
        Some(answered) => Phrase::text("no answer: ").quote(why(answered)),
    }
}

fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(CUT) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn why(answered: &Answered) -> String {
    let failure = answered.failure.as_ref();
    failure.map_or_else(
        || "it is not known why".to_owned(),
        |failure| failure.message.clone(),
    )
}

fn note(sample: &GradedSample) -> Phrase {
    let notes = sample.grade.as_ref().map_or("", |grade| grade.notes());
    Phrase::default().quote(shortened(notes))
}

/// The failed calls, including those of the baseline, since they also lead to a missing score.
pub(super) fn failed(section: &GradingSection) -> Vec<FailedInvocation<'_>> {
    let mut failed = Vec::new();
    for (id, prompt) in &section.items {
        for sample in &prompt.samples {
            let both = [
                ("candidate", Some(&sample.candidate)),
                ("baseline", sample.baseline.as_ref()),
            ];
            for (place, answered) in both {
                if let Some(failure) = answered.and_then(|answered| answered.failure.as_deref()) {
                    failed.push(FailedInvocation {
                        item: id,
                        place,
                        failure,
                        // A failed baseline has another command.
                        folder: (place == "candidate")
                            .then(|| folder_of(Path::new("grading/candidate"), id, None, 1)),
                    });
                }
            }
        }
    }
    failed.truncate(FAILED);
    failed
}
