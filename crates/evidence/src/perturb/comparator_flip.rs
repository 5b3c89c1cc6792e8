//! `comparator_flip`: the comparators of a governing unit are reversed.

use super::phrase::Flipper;
use super::rewrite::{Rewrite, governing_units};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::prose;

/// Flips all comparators of one governing unit; flipping them again would restore the unit.
pub(super) static KIND: Perturbation = Perturbation {
    name: "comparator_flip",
    description: "every comparator of one governing unit is turned round: at least becomes at most",
    figure: Figure::Mechanical,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let flipper = subject.peers.derived(KIND.name, || {
        Flipper::of_comparators(&subject.settings.perturbations.words)
    });
    governing_units(subject, 1, "no comparator", |_, body| {
        flipped(body, &flipper)
    })
}

fn flipped(body: &str, flipper: &Flipper) -> Vec<Rewrite> {
    let prose = prose(body);
    let edits: Vec<_> = prose
        .blocks
        .iter()
        .flat_map(|block| flipper.flip(&prose.masked, block.range.clone()))
        .collect();
    if edits.is_empty() {
        return Vec::new();
    }
    let detail = vec![("comparators", edits.len().to_string())];
    vec![Rewrite { edits, detail }]
}
