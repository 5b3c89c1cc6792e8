//! `swap`: a governing unit is replaced by one of the same type with another content.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::peers::{PeerRule, whole_list};
use super::ring::Ring;
use super::{Draft, Figure, Perturbation, PerturbedCase, Piece, Proposal};
use crate::SwapCount;
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};

/// Replaces one governing unit.
pub(super) static KIND: Perturbation = Perturbation {
    name: "swap",
    description: "one unit of a governing type is replaced by another case's unit of that type",
    figure: Figure::Sensitivity,
    is_default: true,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    let count = subject.settings.perturbations.variants.swap;
    if count == SwapCount::UpTo(0) {
        return proposal;
    }
    for unit_type in &subject.settings.governing_types {
        propose_type(subject, unit_type, count, &mut proposal);
    }
    proposal
}

fn propose_type(
    subject: &PerturbedCase<'_>,
    unit_type: &str,
    count: SwapCount,
    proposal: &mut Proposal,
) {
    let case = subject.case();
    // An array is exchanged as a whole, and named by its first element.
    let units: Vec<usize> = (0..case.units.len())
        .filter(|unit| &*case.units[*unit].unit_type == unit_type)
        .filter(|unit| whole_list(&case.units, *unit).start == *unit)
        .collect();
    let mut skip = |reason: String| {
        let notice = Notice::new(Code::Skip, reason);
        proposal.notices.push(match count {
            SwapCount::UpTo(wanted) => notice.counts(wanted, 0),
            SwapCount::Every(_) => notice,
        });
    };
    let Some(first) = units.first() else {
        return skip(format!("the case has no unit of type `{unit_type}`"));
    };
    let shared_type = &case.units[*first].unit_type;
    let Some(ring) = subject.peers.rules.get(shared_type) else {
        return skip(format!("no other case has a unit of type `{unit_type}`"));
    };
    let own = subject.peers.senses(subject.at, &units);
    let enough = match count {
        SwapCount::UpTo(wanted) => wanted.saturating_add(1),
        SwapCount::Every(_) => 1,
    };
    let pool = ring.besides(own.iter(), enough);
    if pool == 0 {
        return skip(if subject.corpus.cases.len() < 2 {
            format!("this is the only case: nothing can replace its `{unit_type}`")
        } else {
            format!("no other case has a unit of type `{unit_type}` that says something else")
        });
    }

    let pairs = match count {
        SwapCount::Every(_) => all(&units, &own, ring),
        SwapCount::UpTo(wanted) => {
            let most = units.len().saturating_mul(pool);
            if most < wanted {
                let text = format!(
                    "only {most} swap(s) of `{unit_type}`: {} own unit(s), {pool} of other cases",
                    units.len()
                );
                proposal.falls_short(wanted, most, text);
            }
            if most <= wanted {
                all(&units, &own, ring)
            } else {
                some(subject, KIND.name, &units, &own, ring, wanted)
            }
        }
    };
    proposal
        .drafts
        .extend(pairs.into_iter().map(|(unit, rule)| {
            let mut pieces: Vec<Piece> = (0..case.units.len()).map(Piece::Own).collect();
            let theirs = rule.place.with_its_list(subject.corpus).into_iter();
            let theirs = theirs.map(|place| Piece::peer(place, unit));
            pieces.splice(whole_list(&case.units, unit), theirs);
            Draft {
                unit_type: Some(Arc::clone(shared_type)),
                pieces,
                detail: Vec::new(),
            }
        }));
}

/// Every pair of an own unit and a rule of another case, in the order of the document and of the
/// case names.
pub(super) fn all(
    units: &[usize],
    own: &BTreeSet<Digest>,
    ring: &Ring<PeerRule>,
) -> Vec<(usize, PeerRule)> {
    let mut others: Vec<PeerRule> = ring
        .iter()
        .filter(|rule| !own.contains(&rule.sense))
        .copied()
        .collect();
    others.sort_unstable_by_key(|rule| rule.place);
    let of_unit = |unit: &usize| {
        let unit = *unit;
        others.iter().map(move |rule| (unit, *rule))
    };
    units.iter().flat_map(of_unit).collect()
}

/// Draws `wanted` distinct pairs, if there are more than that. The own units take turns, and a rule that has replaced
/// one unit replaces another only if no unused rule is left.
pub(super) fn some(
    subject: &PerturbedCase<'_>,
    kind: &str,
    units: &[usize],
    own: &BTreeSet<Digest>,
    ring: &Ring<PeerRule>,
    wanted: usize,
) -> Vec<(usize, PeerRule)> {
    let stream = [kind, " ", &*subject.case().units[units[0]].unit_type].concat();
    let mut turns = units.to_vec();
    subject.draw(&stream, 0).shuffle(&mut turns);
    let pool = ring.besides(own.iter(), wanted);
    let mut used: BTreeSet<(usize, Digest)> = BTreeSet::new();
    let mut drawn: BTreeSet<Digest> = BTreeSet::new();
    let mut pairs = Vec::with_capacity(wanted);
    for number in 1..=wanted {
        let unit = turns[(number - 1) % turns.len()];
        let key = subject.key(&stream, number);
        let fresh = drawn.len() < pool;
        let found = ring.draw(key, 0, |sense| {
            let taken = used.contains(&(unit, *sense));
            let stale = fresh && drawn.contains(sense);
            !own.contains(sense) && !taken && !stale
        });
        if let Some((sense, rule)) = found {
            used.insert((unit, *sense));
            drawn.insert(*sense);
            pairs.push((unit, *rule));
        }
    }
    pairs
}
