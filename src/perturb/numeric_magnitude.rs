//! `numeric_magnitude`: the amounts of a governing unit are multiplied.

use super::numbers::{amounts, times};
use super::rewrite::{Rewrite, governing_units};
use super::{Figure, Perturbation, Proposal, Subject};
use crate::cases::prose::{Place, prose};

/// Multiplies every amount of one governing unit by the same factor.
pub(super) struct NumericMagnitude;

const FACTORS: [u32; 4] = [2, 5, 10, 100];

impl Perturbation for NumericMagnitude {
    fn name(&self) -> &'static str {
        "numeric_magnitude"
    }

    fn describe(&self) -> &'static str {
        "every amount of one governing unit is multiplied by 2, 5, 10 or 100"
    }

    fn figure(&self) -> Figure {
        Figure::Mechanical
    }

    fn propose(&self, subject: &Subject<'_>) -> Proposal {
        let labels = &subject.config.perturbations.words.number_labels;
        governing_units(subject, FACTORS.len(), "no amount", |body| {
            rewrites(body, labels)
        })
    }
}

fn rewrites(body: &str, labels: &[String]) -> Vec<Rewrite> {
    let prose = prose(body);
    let mut found = Vec::new();
    for block in &prose.blocks {
        let amounts = amounts(&prose.masked, block.range.clone(), labels);
        let numbers_the_row =
            matches!(block.place, Place::Cell { first: true }) && amounts.contains(&block.range);
        if !numbers_the_row {
            found.extend(amounts);
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let by = |factor: u32| {
        let product = |range: &std::ops::Range<usize>| {
            Some((range.clone(), times(&body[range.clone()], factor)?))
        };
        Rewrite {
            edits: found.iter().filter_map(product).collect(),
            detail: vec![
                ("factor", factor.to_string()),
                ("amounts", found.len().to_string()),
            ],
        }
    };
    FACTORS.into_iter().map(by).collect()
}
