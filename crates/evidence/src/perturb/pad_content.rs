//! `pad_content`: units of other cases are inserted, as evidence about another subject.

use std::ops::Range;

use super::pads::{FEWEST, MOST, add_another, one_run, scatter};
use super::peers::UnitPlace;
use super::ring::Ring;
use super::{Figure, Perturbation, PerturbedCase, Piece, Proposal};
use kelvin_base::digest::Digest;
use kelvin_base::draw::Draw;

/// Adds units of other cases.
pub(super) static KIND: Perturbation = Perturbation {
    name: "pad_content",
    description: "2 to 4 units of other cases come in at random places; the units keep their order",
    figure: Figure::Invariance,
    is_default: true,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    let case = subject.case();
    let wanted = subject.settings.perturbations.variants.pad_content;
    if wanted == 0 {
        return proposal;
    }
    let runs = subject.free_runs();
    let open: Vec<(usize, &Ring<UnitPlace>)> = (0..)
        .zip(&runs)
        .filter_map(|(run, units)| {
            let in_array = case.record().map(|_| &*case.units[units.start].unit_type);
            let is_chat = subject.list(units.start).is_some_and(|list| list.is_chat);
            let ring = subject.peers.padding.get(in_array.unwrap_or_default());
            Some((run, ring?)).filter(|_| !is_chat)
        })
        .collect();
    let mut own: Vec<Digest> = case.units.iter().map(|unit| unit.content).collect();
    own.sort_unstable();
    own.dedup();
    let mut counted: Vec<*const Ring<UnitPlace>> = Vec::new();
    let mut pool: usize = 0;
    for (_, ring) in &open {
        // Two arrays of one type draw from the same units.
        if !counted.contains(&std::ptr::from_ref(*ring)) {
            counted.push(std::ptr::from_ref(*ring));
            pool += ring.besides(own.iter(), MOST);
        }
    }
    if pool < FEWEST {
        let reason = if open.is_empty() && case.record().is_some() {
            "the record has no array where a unit of another case could come in".to_owned()
        } else if subject.corpus.cases.len() < 2 {
            "this is the only case".to_owned()
        } else if pool == 0 {
            "the other cases have no unit that can come in".to_owned()
        } else {
            "the other cases have only 1 unit that can come in, and 2 are needed".to_owned()
        };
        let reason = if subject.settings.keep_order.is_empty() {
            reason
        } else {
            reason + "; no unit of a type in `keep_order` comes into another case"
        };
        return Proposal::skipped(wanted, reason);
    }
    if pool < MOST {
        let text = format!(
            "at most {pool} units come in, not {MOST}: the other cases have no more that can"
        );
        proposal.falls_short(MOST, pool, text);
    }
    for number in 1..=wanted {
        let key = subject.key(KIND.name, number);
        let mut draw = Draw::of(key);
        add_another(&mut proposal, |attempt| {
            let count = draw.between(FEWEST, MOST).min(pool);
            let added = chosen((&runs, &open), &own, key, (attempt, count), &mut draw);
            scatter(subject, &runs, added, &mut draw)
        });
    }
    proposal
}

/// A range in which units can be inserted, by its number, and the ring from which they are drawn.
type OpenRun<'a> = (usize, &'a Ring<UnitPlace>);

/// Draws units whose contents differ from each other and from the contents in the case.
fn chosen(
    (runs, open): (&[Range<usize>], &[OpenRun<'_>]),
    own: &[Digest],
    key: Digest,
    (attempt, count): (usize, usize),
    draw: &mut Draw,
) -> Vec<(usize, Piece)> {
    let places: Vec<usize> = (0..open.len()).collect();
    let mut taken: Vec<Digest> = Vec::with_capacity(count);
    let mut added = Vec::with_capacity(count);
    for nth in 0..count {
        let Some((run, ring)) = one_run(&places, draw).map(|at| open[at]) else {
            break;
        };
        let drawn = ring.draw(key, attempt * MOST + nth, |content| {
            own.binary_search(content).is_err() && !taken.contains(content)
        });
        if let Some((content, place)) = drawn {
            taken.push(*content);
            added.push((run, Piece::peer(*place, runs[run].start)));
        }
    }
    added
}
