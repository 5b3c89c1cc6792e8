//! The page of a run of the grading probe: the figures, the worst prompts with both answers, and every sample without a
//! score.

mod items;
mod lists;

use std::cmp::Ordering;

use super::base::served;
use super::figures::{FAILURE_RATE, FLIP_RATE, JUDGE_SCORE, UNSCORED, WIN_RATE};
use super::record::{GradingBasis, Scoring};
use super::section::GradingSection;
use crate::record::PromptRecord;
use kelvin_base::stats;
use kelvin_page::{
    Block, Chapter, FigureTable, Headword, Phrase, Statement, Tone, are, counted, display, have,
};
use kelvin_record::{Metric, RunView, estimate, spread};
use kelvin_run::judge::planted::{PlantedAnswers, Proof};
use kelvin_run::judge::{Grade, flip_rate};

pub(super) use lists::answers;

/// The figures in the order in which they are shown.
const ORDER: [&str; 5] = [JUDGE_SCORE, WIN_RATE, FAILURE_RATE, UNSCORED, FLIP_RATE];

/// How the figures are computed.
const NOTE: &str = "Means over the samples that have a score; the interval respects that the repeats of a prompt \
                    belong together.";

/// The chapter of the grading probe on the page of a whole run.
pub(super) fn chapter<'a>(section: &'a GradingSection, run: RunView<'a>) -> Chapter<'a> {
    let basis = &section.basis;
    let mut chapter = Chapter::new(Headword {
        word: "grading",
        title: "Grading",
        meaning: "how good the answers are in the eyes of a judge",
        is_judgement: false,
    });
    let ranked = by_score(section);
    chapter.scope = vec![counted(section.items.len(), "prompt")];
    chapter.statements = statements(section, run);
    let rows = ORDER.iter().filter_map(|id| {
        let metric = run.metrics.get(*id)?;
        let mut figure = estimate(Some(metric));
        if *id == UNSCORED {
            figure.shown = metric.value.unwrap_or_default().to_string();
        }
        let name = id.strip_prefix("grading.").unwrap_or(id);
        Some((Phrase::text(name), figure))
    });
    chapter.spread = spread("judge_score", "prompts", run.metrics.get(JUDGE_SCORE));
    chapter.measures = Some(FigureTable {
        in_bars: false,
        title: "Grading",
        note: NOTE,
        rows: rows.collect(),
    });
    chapter.lists = [lists::unscored(&ranked), lists::worst(basis, &ranked)]
        .into_iter()
        .flatten()
        .collect();
    chapter.failed = lists::failed(section);
    chapter.items = Some(items::items(section, ranked));
    chapter.method = vec![
        Block::Heading(Phrase::text("Grading")),
        Block::Text(vec![Phrase::text(meaning(basis)), Phrase::text(NOTE)]),
    ];
    let served: Vec<&str> = served(&section.items).into_iter().flatten().collect();
    let served = (!served.is_empty()).then(|| served.join(", "));
    let facts = [
        ("Judge", Some(basis.judge.clone())),
        ("Judge, as its server names it", served),
        ("Candidate", Some(basis.candidate.clone())),
        ("Baseline", basis.baseline.clone()),
    ];
    chapter.facts = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name, fact?)))
        .collect();
    chapter
}

/// The meaning of a score.
const fn meaning(basis: &GradingBasis) -> &'static str {
    match (basis.scoring, basis.baseline.is_some()) {
        (Scoring::Each, _) => "The judge graded each answer by itself, from 0 to 1.",
        (Scoring::Likeness, _) => {
            "The judge graded how near the answer of the candidate comes to that of the baseline, from 0 to 1."
        }
        (Scoring::Choice | Scoring::Exchange, true) => {
            "The judge graded the answer of the candidate next to that of the baseline: 0.5 means that they are \
             equally good, 1 that the candidate's is better."
        }
        (Scoring::Choice | Scoring::Exchange, false) => {
            "The judge graded the answer of the candidate next to one that the report of the base has stored: 0.5 \
             means that they are equally good, 1 that the candidate's is better."
        }
    }
}

fn statements(section: &GradingSection, run: RunView<'_>) -> Vec<Statement> {
    let samples = || section.items.values().flat_map(|prompt| &prompt.samples);
    let errors = samples().filter(|sample| sample.is_error()).count();
    let mut statements = Vec::new();
    let metric = run.metrics.get(JUDGE_SCORE);
    if let Some(reason) = metric.and_then(|metric| metric.reason.as_deref()) {
        statements.push(Statement::new(
            Tone::Caution,
            Phrase::text("the answers have no score: ").quote(reason),
        ));
    } else if errors > 0 {
        let verb = have(errors);
        let what = format!(
            "{errors} of {} {verb} no score and {} in no mean",
            counted(samples().count(), "sample"),
            are(errors),
        );
        statements.push(Statement::new(Tone::Caution, Phrase::text(what)));
    }
    statements.extend(beside(section, metric));
    statements.extend(order(section));
    let basis = &section.basis;
    let planted = basis.planted.iter();
    statements.extend(planted.filter_map(|planted| tried(planted, basis.base_anew.is_some())));
    statements
}

/// The results of the planted answers for a judge that can be trusted. If it cannot be trusted, the score contains the
/// reason; if the answers of the base were graded again, a notice contains it.
fn tried(planted: &PlantedAnswers, base_anew: bool) -> Option<Statement> {
    let (right, of) = match planted.proof() {
        Proof::Given { right, of } => (right, of),
        Proof::Drifted(_) if base_anew => return None,
        Proof::Drifted(how) => {
            return Some(Statement::new(Tone::Caution, Phrase::text(how)));
        }
        Proof::Failed(_) => return None,
    };
    let before = if planted.known {
        ", and it proved itself in the run of the base"
    } else {
        ""
    };
    Some(Statement::new(
        Tone::Calm,
        Phrase::text(format!(
            "the judge was tried on {} that are surely worse than the ones they were made from, and was right about \
             {right}{before}",
            counted(of, "planted answer"),
        )),
    ))
}

/// How many prompts the candidate answers better, equally well and worse than the baseline, if both were compared.
fn beside(section: &GradingSection, metric: Option<&Metric>) -> Option<Statement> {
    if !matches!(section.basis.scoring, Scoring::Choice | Scoring::Exchange) {
        return None;
    }
    let ranked = by_score(section);
    let scores: Vec<f64> = ranked.iter().filter_map(|one| one.score).collect();
    let count = |is_so: fn(f64) -> bool| scores.iter().filter(|score| is_so(**score)).count();
    let (better, alike, worse) = (
        count(|score| score > EQUAL),
        count(|score| score == EQUAL),
        count(|score| score < EQUAL),
    );
    let interval = metric.and_then(|metric| metric.interval);
    // Prompts with equally good answers do not show which side is better.
    let decided = [vec![(1.0, 1); better], vec![(0.0, 1); worse]].concat();
    let share = stats::clustered_interval(&decided);
    let is_worse = interval.is_some_and(|interval| interval.high < EQUAL)
        || share.is_some_and(|(_, high)| high < EQUAL);
    (!scores.is_empty()).then(|| Statement {
        tone: match worse > better {
            _ if is_worse => Tone::Alarm,
            // The difference may be due to chance, so it is not good news.
            true => Tone::Caution,
            false => Tone::Calm,
        },
        text: Phrase::text(format!(
            "of {} {} answered better than by the baseline, {} as well, {} worse",
            counted(scores.len(), "prompt"),
            match better {
                1 => "1 is".to_owned(),
                better => format!("{better} are"),
            },
            alike,
            worse,
        )),
    })
}

/// The score of two equally good answers.
const EQUAL: f64 = 0.5;
/// The limit for the share of verdicts that change with the order of the answers, and for the gain of an answer by its
/// position. A judge above it is reported.
const FLIPS: f64 = 0.2;
const EFFECT: f64 = 0.1;

/// The effect of the order of the two answers on the grades, if it is large.
fn order(section: &GradingSection) -> Option<Statement> {
    let samples = || section.items.values().flat_map(|prompt| &prompt.samples);
    let grades = || samples().filter_map(|sample| sample.grade.as_ref());
    let (flips, asked) = flip_rate(grades())?;
    let effects: Vec<f64> = grades().filter_map(Grade::order_effect).collect();
    let effect = stats::mean(&effects)?;
    if flips < FLIPS && effect.abs() < EFFECT {
        return None;
    }
    // In the usual order, the graded answer is shown second.
    let place = if effect > 0.0 { "second" } else { "first" };
    Some(Statement::new(
        Tone::Caution,
        Phrase::text(format!(
            "the order of the two answers turned the verdict of the judge in {:.0} % of {}; it gave an answer {} more \
             where that was shown {place}",
            flips * 100.0,
            counted(asked, "grading"),
            display(effect.abs()),
        )),
    ))
}

/// A prompt with its mean score.
#[derive(Clone, Copy)]
struct Ranked<'a> {
    pub(super) id: &'a str,
    pub(super) prompt: &'a PromptRecord,
    pub(super) score: Option<f64>,
    /// The number of its samples that should have a score but have none.
    pub(super) errors: usize,
}

/// Every prompt, worst first: those without a score, then by score, then by id.
fn by_score(section: &GradingSection) -> Vec<Ranked<'_>> {
    let scoring = section.basis.scoring;
    let mut ranked: Vec<Ranked<'_>> = section
        .items
        .iter()
        .map(|(id, prompt)| {
            let scores = prompt
                .samples
                .iter()
                .filter_map(|sample| sample.score(scoring));
            Ranked {
                id,
                prompt,
                score: stats::mean(&scores.collect::<Vec<f64>>()),
                errors: prompt
                    .samples
                    .iter()
                    .filter(|sample| sample.is_error())
                    .count(),
            }
        })
        .collect();
    let order = |one: &Ranked<'_>, other: &Ranked<'_>| {
        let errors = other.errors.cmp(&one.errors);
        let scores = match (one.score, other.score) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            // A prompt that could not be graded because the base lacks it is not a bad one.
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        errors.then(scores).then_with(|| one.id.cmp(other.id))
    };
    ranked.sort_by(order);
    ranked
}
