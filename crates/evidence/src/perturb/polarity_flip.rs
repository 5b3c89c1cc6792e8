//! `polarity_flip`: one outcome or state of a governing unit becomes its opposite.

use super::phrase::Flipper;
use super::rewrite::{Rewrite, governing_units};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::prose;
use kelvin_base::draw::Draw;

const WANTED: usize = 3;

/// Flips one word of one governing unit; flipping it again would restore the unit. If all words were flipped together,
/// they would cancel out: "approve valid claims and deny invalid ones".
pub(super) static KIND: Perturbation = Perturbation {
    name: "polarity_flip",
    description: "one outcome or state in one governing unit becomes its opposite: approved becomes denied",
    figure: Figure::Mechanical,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let flipper = subject.peers.derived(KIND.name, || {
        Flipper::of_antonyms(&subject.settings.perturbations.words)
    });
    let missing = "no outcome or state that has an opposite";
    governing_units(subject, WANTED, missing, |unit, body| {
        rewrites(body, &flipper, &mut subject.draw(KIND.name, unit))
    })
}

fn rewrites(body: &str, flipper: &Flipper, draw: &mut Draw) -> Vec<Rewrite> {
    let prose = prose(body);
    let mut flips: Vec<_> = prose
        .blocks
        .iter()
        .flat_map(|block| flipper.flip_each(&prose.masked, block.range.clone()))
        .collect();
    draw.shuffle(&mut flips);
    flips.truncate(WANTED);
    flips
        .into_iter()
        .filter_map(|edits| {
            let (range, new) = edits.last()?;
            let detail = vec![
                ("word", body[range.clone()].to_owned()),
                ("becomes", new.clone()),
            ];
            Some(Rewrite { edits, detail })
        })
        .collect()
}
