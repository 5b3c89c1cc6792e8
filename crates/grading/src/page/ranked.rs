//! The prompts in the order in which a reader should examine them.

use std::cmp::Ordering;

use crate::record::PromptRecord;
use crate::section::GradingSection;
use kelvin_base::stats;

/// A prompt with its mean score.
#[derive(Clone, Copy)]
pub(super) struct Ranked<'a> {
    pub(super) id: &'a str,
    pub(super) prompt: &'a PromptRecord,
    pub(super) score: Option<f64>,
    /// The number of its samples that should have a score but have none.
    pub(super) errors: usize,
}

/// Every prompt, worst first: those without a score, then by score, then by id.
pub(super) fn by_score(section: &GradingSection) -> Vec<Ranked<'_>> {
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
