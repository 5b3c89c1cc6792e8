//! `reorder`: the same units in another order.

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Figure, Perturbation, PerturbedCase, Piece, Proposal};
use crate::cases::Unit;
use kelvin_base::digest::Digest;

/// The largest number of orders that are listed to choose from; with more orders, a shuffle hardly ever repeats an
/// order.
const LISTED: usize = 720;

/// The number up to which orders are counted.
const MOST_COUNTED: usize = 1 << 40;

/// Shuffles the units.
pub(super) static KIND: Perturbation = Perturbation {
    name: "reorder",
    description: "the same units in another order, after the same preamble",
    figure: Figure::Invariance,
    is_default: true,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    let wanted = subject.settings.perturbations.variants.reorder;
    if wanted == 0 {
        return proposal;
    }
    let units = &subject.case().units;
    let runs = subject.free_runs();
    let free: usize = runs.iter().map(ExactSizeIterator::len).sum();
    let classes: Vec<Vec<usize>> = runs
        .iter()
        .map(|run| classes(&units[run.clone()]))
        .collect();
    let all_orders = classes.iter().fold(1, |orders: usize, run| {
        orders.saturating_mul(arrangements(run)).min(MOST_COUNTED)
    });
    let other_orders = all_orders - 1;
    let is_record = subject.case().record().is_some();
    if other_orders == 0 {
        let reason = match (units.len(), free) {
            (0 | 1, _) => "the case has 1 unit, and 2 are needed".to_owned(),
            (units, 0) if is_record && subject.settings.keep_order.is_empty() => format!(
                "the {units} units of the case are fields, or messages that keep their order"
            ),
            (units, 0) => {
                format!("the {units} units of the case keep their order: `keep_order`")
            }
            (_, free) if is_record => {
                format!("the {free} element(s) of the arrays of the case have no other order")
            }
            (units, free) if free < units => format!(
                "only {free} of the {units} units may change places, and in no other order: `keep_order`"
            ),
            (units, _) => format!("the {units} units of the case are all the same"),
        };
        return Proposal::skipped(wanted, reason);
    }
    if other_orders < wanted {
        let kept = match units.len() - free {
            0 => "",
            _ if is_record => ": fields keep their places",
            _ => ": `keep_order`",
        };
        let text = format!("{free} units have only {other_orders} other order(s){kept}");
        proposal.falls_short(wanted, other_orders, text);
    }
    // If there are up to four times as many orders as wanted, they are listed too; if there are more, drawing finds a
    // new order quickly.
    let orders = if other_orders <= LISTED.max(wanted.saturating_mul(4)) {
        let mut orders = listed(&classes);
        subject.draw(KIND.name, 0).shuffle(&mut orders);
        orders.truncate(wanted);
        orders
    } else {
        shuffled(subject, &classes, wanted)
    };
    proposal.drafts = orders
        .into_iter()
        .map(|order| {
            let mut pieces: Vec<Piece> = (0..units.len()).map(Piece::Own).collect();
            for ((run, classes), order) in runs.iter().zip(&classes).zip(&order) {
                for (at, unit) in run.clone().zip(places(classes, order)) {
                    pieces[at] = Piece::Own(run.start + unit);
                }
            }
            Draft::plain(pieces)
        })
        .collect();
    proposal
}

/// An order for each range: the classes of its units, in this order.
type Orders = Vec<Vec<usize>>;

/// Numbers the contents of units in the order in which they first occur: equal units have the same number, and an order
/// is a sequence of these numbers.
fn classes(units: &[Unit]) -> Vec<usize> {
    let mut numbers: BTreeMap<Digest, usize> = BTreeMap::new();
    units
        .iter()
        .map(|unit| {
            let next = numbers.len();
            *numbers.entry(unit.content).or_insert(next)
        })
        .collect()
}

/// The number of orders of the given units: `n! / (m1! m2! ...)`, at most 2^40.
fn arrangements(classes: &[usize]) -> usize {
    let mut counts = vec![0; classes.len()];
    let mut product = 1_usize;
    for (placed, class) in (1_usize..).zip(classes) {
        counts[*class] += 1;
        // Each step results in a multinomial coefficient again, so the division leaves no remainder.
        product = match product.checked_mul(placed) {
            Some(wide) if wide / counts[*class] <= MOST_COUNTED => wide / counts[*class],
            _ => return MOST_COUNTED,
        };
    }
    product
}

/// Every order of all ranges except the order of the case itself, in lexicographic order.
fn listed(classes: &[Vec<usize>]) -> Vec<Orders> {
    let mut orders: Vec<Orders> = vec![Vec::new()];
    for run in classes {
        let of_run = permutations(run);
        let longer = orders.iter().flat_map(|before| {
            of_run.iter().map(|order| {
                let mut longer = before.clone();
                longer.push(order.clone());
                longer
            })
        });
        orders = longer.collect();
    }
    orders.retain(|order| order != classes);
    orders
}

/// Every order of one range, in lexicographic order.
fn permutations(classes: &[usize]) -> Vec<Vec<usize>> {
    let mut order = classes.to_vec();
    order.sort_unstable();
    let mut orders = Vec::new();
    loop {
        orders.push(order.clone());
        // The next permutation: Knuth, "The Art of Computer Programming", 7.2.1.2, algorithm L.
        let Some(pivot) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
            return orders;
        };
        let greater = |at: &usize| order[*at] > order[pivot];
        let Some(successor) = (pivot + 1..order.len()).rev().find(greater) else {
            return orders;
        };
        order.swap(pivot, successor);
        order[pivot + 1..].reverse();
    }
}

/// Distinct orders, each drawn independently.
fn shuffled(subject: &PerturbedCase<'_>, classes: &[Vec<usize>], wanted: usize) -> Vec<Orders> {
    let mut known = BTreeSet::from([classes.to_vec()]);
    let mut orders = Vec::with_capacity(wanted);
    for number in 1..=wanted {
        let mut draw = subject.draw(KIND.name, number);
        let mut order = classes.to_vec();
        while !known.insert(order.clone()) {
            for run in &mut order {
                draw.shuffle(run);
            }
        }
        orders.push(order);
    }
    orders
}

/// The positions of the units in this order; equal units keep the order of the case.
fn places(classes: &[usize], order: &[usize]) -> Vec<usize> {
    let mut units: Vec<usize> = (0..classes.len()).collect();
    units.sort_by_key(|unit| classes[*unit]);
    // The index of the next unit of each class.
    let mut next = vec![classes.len(); classes.len()];
    for (at, unit) in units.iter().enumerate().rev() {
        next[classes[*unit]] = at;
    }
    let mut take = |class: usize| {
        let at = next[class];
        next[class] += 1;
        units[at]
    };
    order.iter().map(|class| take(*class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_and_listed_without_repeats() {
        for (classes, count) in [
            (vec![0], 1),
            (vec![0, 1], 2),
            (vec![0, 0, 0], 1),
            (vec![0, 1, 0], 3),
            (vec![0, 1, 0, 2, 1], 30),
            (vec![0, 1, 2, 3, 4, 5], 720),
        ] {
            assert_eq!(arrangements(&classes), count, "{classes:?}");
            let listed = listed(std::slice::from_ref(&classes));
            let distinct: BTreeSet<_> = listed.iter().collect();
            assert_eq!(
                (listed.len(), distinct.len()),
                (count - 1, count - 1),
                "{classes:?}"
            );
            assert!(!listed.contains(&vec![classes]));
        }
        assert_eq!(arrangements(&(0..5_000).collect::<Vec<_>>()), 1 << 40);
    }
}
