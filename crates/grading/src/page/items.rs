//! The prompts in their expanded form on the page of a run, with their answers side by side.

use std::collections::BTreeMap;

use super::Ranked;
use super::lists::repeat_of;
use crate::record::{Answered, GradedSample, GradingBasis, PromptRecord};
use crate::section::GradingSection;
use kelvin_page::{Block, ItemList, ItemSignal, ItemView, Phrase, display, safe};

/// Every prompt, worst first, with its answers side by side.
pub(super) fn items<'a>(section: &'a GradingSection, ranked: Vec<Ranked<'a>>) -> ItemList<'a> {
    let basis = &section.basis;
    let places: BTreeMap<&str, usize> = section.items.keys().map(String::as_str).zip(0..).collect();
    let lost = |one: &&Ranked<'_>| is_against(one.score);
    ItemList {
        title: "Prompts",
        note: "Those without a score first, then the lowest scores. A prompt opens to its answers, next to those \
               that they were graded by, and to what the judge said.",
        least: "prompts",
        count: ranked.len(),
        against: ranked.iter().filter(lost).count(),
        failing: ranked.iter().filter(|one| one.errors > 0).count(),
        place: Box::new(move |name| places.get(name).copied()),
        each: Box::new(ranked.into_iter().map(move |one| view(basis, &one))),
    }
}

/// Whether the answer is worse than it should be: in the lower half of the scale, which means worse than the other
/// answer if two are compared.
fn is_against(score: Option<f64>) -> bool {
    score.is_some_and(|score| score < 0.5)
}

fn view<'a>(basis: &GradingBasis, one: &Ranked<'a>) -> ItemView<'a> {
    let prompt = one.prompt;
    let mut tags = Vec::new();
    if one.errors > 0 {
        tags.push((false, format!("{} without a score", one.errors)));
    }
    tags.extend(prompt.tags.iter().map(|tag| (true, safe::cut(tag, 40))));
    let mut blocks = vec![Block::Printed(
        Phrase::text("The prompt:"),
        &prompt.prompt.text,
    )];
    if let Some(reference) = &prompt.reference {
        blocks.push(Block::Printed(
            Phrase::text("The reference:"),
            &reference.text,
        ));
    }
    for (repeat, sample) in (1..).zip(&prompt.samples) {
        blocks.extend(of_sample(basis, prompt, repeat, sample));
    }
    ItemView {
        name: one.id,
        against: usize::from(is_against(one.score)),
        failed: one.errors,
        tags,
        signals: vec![ItemSignal {
            name: "score",
            value: one.score,
            n: prompt
                .samples
                .iter()
                .filter(|sample| sample.score(basis.scoring).is_some())
                .count(),
        }],
        blocks,
    }
}

fn of_sample<'a>(
    basis: &GradingBasis,
    prompt: &PromptRecord,
    repeat: usize,
    sample: &'a GradedSample,
) -> Vec<Block<'a>> {
    let score = sample.score(basis.scoring);
    let mut heading = Phrase::text(format!("Repeat {}: ", repeat_of(repeat, prompt)));
    heading = match (score, &sample.unscored) {
        (Some(score), _) => heading.and(format!("score {}", display(score))),
        (None, Some(unscored)) => heading.and("no score: ").quote(unscored.text.clone()),
        (None, None) => heading.and("no score"),
    };
    let mut blocks = vec![Block::Heading(heading)];
    let mut columns = Vec::new();
    if let Some(baseline) = &sample.baseline {
        let title = match sample.base_repeat {
            Some(repeat) => format!("The base answered (repeat {repeat})"),
            None => "The baseline answered".to_owned(),
        };
        columns.push(column(title, baseline));
    }
    columns.push(column(
        "The candidate answered".to_owned(),
        &sample.candidate,
    ));
    blocks.push(Block::Beside(columns));
    let mut said = Vec::new();
    for (whose, grade) in [
        ("candidate", &sample.grade),
        ("baseline", &sample.baseline_grade),
    ] {
        let Some(grade) = grade else { continue };
        let mut phrase = Phrase::text(format!(
            "The judge gave the {whose} {}",
            display(grade.score())
        ));
        if !grade.notes().is_empty() {
            phrase = phrase.and(": ").quote(grade.notes());
        }
        if grade.is_flipped() == Some(true) {
            phrase = phrase.and("; the other order of the two answers turned its verdict");
        }
        if grade.is_cut() {
            phrase = phrase.and("; it was shown less than the whole answer");
        }
        said.push(phrase.and("."));
    }
    if !said.is_empty() {
        blocks.push(Block::Text(said));
    }
    blocks
}

fn column(title: String, answered: &Answered) -> (Phrase, &str) {
    match &answered.answer {
        Some(kept) => {
            let more = kept.characters.map_or_else(String::new, |all| {
                format!(", the beginning of {all} characters")
            });
            (Phrase::text(format!("{title}{more}:")), &kept.text)
        }
        None => {
            let failure = answered.failure.as_deref();
            let message = failure.map_or("", |failure| failure.message.as_str());
            (Phrase::text(format!("{title} nothing:")), message)
        }
    }
}
