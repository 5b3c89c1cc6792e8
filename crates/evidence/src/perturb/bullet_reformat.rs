//! `bullet_reformat`: the markers of lists are replaced by other markers.

use super::sites::everywhere;
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::outline::markers;

const WANTED: usize = 2;

/// Replaces the markers of lists.
pub(super) static KIND: Perturbation = Perturbation {
    name: "bullet_reformat",
    description: "lists of units that do not govern get other markers: - becomes *, 1. becomes 1)",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    everywhere(subject, KIND.name, WANTED, "list", |number, text, _| {
        markers(text.body)
            .into_iter()
            .filter_map(|range| {
                let marker = text.body[range.clone()].chars().next_back()?;
                let last = range.end - 1..range.end;
                Some((last, exchanged(marker, number).to_string()))
            })
            .collect()
    })
}

/// Each marker has its own replacement, so that lists which only their markers separate stay separate.
const fn exchanged(marker: char, number: usize) -> char {
    match (marker, number % 2) {
        ('-', 1) | ('+', 0) => '*',
        ('*', 1) | ('-', 0) => '+',
        ('+', 1) | ('*', 0) => '-',
        ('.', _) => ')',
        (')', _) => '.',
        (other, _) => other,
    }
}
