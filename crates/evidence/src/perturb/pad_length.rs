//! `pad_length`: neutral sections are inserted to make the document longer.

use std::ops::Range;

use super::pads::{FEWEST, MOST, add_another, one_run, scatter};
use super::{Figure, Perturbation, PerturbedCase, Piece, Proposal};
use kelvin_base::draw::Draw;
use kelvin_page::are;

/// Adds sections of the filler bank.
pub(super) static KIND: Perturbation = Perturbation {
    name: "pad_length",
    description: "2 to 4 neutral sections come in at random places; the units keep their order",
    figure: Figure::Invariance,
    is_default: true,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    let wanted = subject.settings.perturbations.variants.pad_length;
    let bank = subject.settings.perturbations.words.filler.len();
    let usable = &subject.peers.filler;
    if wanted == 0 {
        return proposal;
    }
    let runs = subject.free_runs();
    let open = open_runs(subject, &runs);
    if open.is_empty() {
        let text = "the record has no array of texts, where a neutral text could come in";
        return Proposal::skipped(wanted, text);
    }
    if usable.is_empty() {
        let or_kept = if subject.settings.keep_order.is_empty() {
            ""
        } else {
            " and is not in `keep_order`"
        };
        let text = format!(
            "no filler: of {bank} sections none is one closed unit of a type that does not \
             govern{or_kept}"
        );
        return Proposal::skipped(wanted, text);
    }
    if usable.len() < bank {
        let or_kept = if subject.settings.keep_order.is_empty() {
            ""
        } else {
            " or is in `keep_order`"
        };
        let left = bank - usable.len();
        let text = format!(
            "{left} of {bank} filler sections {} left out: their type governs{or_kept}, or they are not \
             one closed unit",
            are(left)
        );
        proposal.falls_short(bank, usable.len(), text);
    }
    for number in 1..=wanted {
        let mut draw = subject.draw(KIND.name, number);
        add_another(&mut proposal, |_| {
            padded(subject, (&runs, &open), &mut draw)
        });
    }
    proposal
}

/// Draws the sections and their positions; a section is inserted twice only if the bank has too few.
fn padded(
    subject: &PerturbedCase<'_>,
    (runs, open): (&[Range<usize>], &[usize]),
    draw: &mut Draw,
) -> Vec<Piece> {
    let count = draw.between(FEWEST, MOST);
    let mut bank = subject.peers.filler.clone();
    draw.shuffle(&mut bank);
    let sections = bank.into_iter().cycle().take(count);
    let added = sections
        .filter_map(|section| {
            let run = one_run(open, draw)?;
            Some((run, Piece::filler(section, runs[run].start)))
        })
        .collect();
    scatter(subject, runs, added, draw)
}

/// The ranges in which a neutral section can be inserted. In a record these are the arrays of texts, since nobody knows
/// which other fields an object would need.
fn open_runs(subject: &PerturbedCase<'_>, runs: &[Range<usize>]) -> Vec<usize> {
    let takes_texts = |run: &Range<usize>| match subject.case().record() {
        None => true,
        Some(_) => subject.list(run.start).is_some_and(|list| list.takes_texts),
    };
    (0..runs.len())
        .filter(|run| takes_texts(&runs[*run]))
        .collect()
}
