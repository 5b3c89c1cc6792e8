//! `polarity_flip`: the words of a governing unit that have an opposite become it.

use super::phrase::Flipper;
use super::rewrite::{Rewrite, governing_units};
use super::{Figure, Perturbation, Proposal, Subject};
use crate::cases::prose::prose;

/// Flips one governing unit; doing it again would give the unit back.
pub(super) struct PolarityFlip;

impl Perturbation for PolarityFlip {
    fn name(&self) -> &'static str {
        "polarity_flip"
    }

    fn describe(&self) -> &'static str {
        "every word of one governing unit that has an opposite becomes it: approved becomes denied"
    }

    fn figure(&self) -> Figure {
        Figure::Mechanical
    }

    fn propose(&self, subject: &Subject<'_>) -> Proposal {
        let flipper = subject.peers.derived(self.name(), || {
            Flipper::of_antonyms(&subject.config.perturbations.words)
        });
        governing_units(subject, 1, "no word with an opposite", |body| {
            flipped(body, &flipper)
        })
    }
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
    let detail = vec![("words", edits.len().to_string())];
    vec![Rewrite { edits, detail }]
}
