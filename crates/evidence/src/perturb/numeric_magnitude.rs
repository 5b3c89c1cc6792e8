//! `numeric_magnitude`: one amount of a governing unit is changed.

use super::numbers::{Amount, amounts, over, times};
use super::rewrite::{Rewrite, governing_units};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::{BlockPlace, prose};
use kelvin_base::draw::Draw;

const WANTED: usize = 4;

/// How an amount is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AmountStep {
    Times(u32),
    Over(u32),
}

/// The steps to try if an amount cannot be changed by the step of its variant: 75 percent is halved, since it cannot be
/// doubled.
const OTHERS: [AmountStep; 6] = [
    AmountStep::Times(2),
    AmountStep::Over(2),
    AmountStep::Times(5),
    AmountStep::Over(5),
    AmountStep::Times(10),
    AmountStep::Over(10),
];

impl AmountStep {
    /// The step of a variant for a unit with this many amounts: first by a small factor, then by a large one. Nobody
    /// knows which direction crosses a threshold, so every amount is increased and decreased in turn.
    const fn of(variant: usize, amounts: usize) -> Self {
        let factor = if variant < WANTED / 2 { 2 } else { 10 };
        let round = variant / amounts;
        if (variant % amounts + round).is_multiple_of(2) {
            Self::Times(factor)
        } else {
            Self::Over(factor)
        }
    }

    fn take(self, number: &str) -> Option<String> {
        match self {
            Self::Times(factor) => times(number, factor),
            Self::Over(divisor) => over(number, divisor),
        }
    }
}

/// Makes one amount of one governing unit larger or smaller. If all amounts changed together, a fact and its threshold
/// would grow by the same factor, and the answers would allow no conclusion.
pub(super) static KIND: Perturbation = Perturbation {
    name: "numeric_magnitude",
    description: "one amount of one governing unit becomes 2, 5 or 10 times as much, or a 2nd, 5th or 10th",
    figure: Figure::Mechanical,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let labels = &subject.settings.perturbations.words.number_labels;
    governing_units(subject, WANTED, "no amount", |unit, body| {
        rewrites(body, labels, &mut subject.draw(KIND.name, unit))
    })
}

fn rewrites(body: &str, labels: &[String], draw: &mut Draw) -> Vec<Rewrite> {
    let prose = prose(body);
    let mut found: Vec<Amount> = Vec::new();
    for block in &prose.blocks {
        let amounts = amounts(&prose.masked, block.range.clone(), labels);
        let numbers_the_row = matches!(block.place, BlockPlace::Cell { first: true })
            && amounts.iter().any(|amount| amount.range == block.range);
        if !numbers_the_row {
            found.extend(amounts);
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    draw.shuffle(&mut found);
    let mut taken = Vec::new();
    for variant in 0..WANTED {
        let step = AmountStep::of(variant, found.len());
        let turn = |at: usize| (variant + at) % found.len();
        let next = (0..found.len()).find_map(|at| {
            let amount = &found[turn(at)];
            let number = &body[amount.range.clone()];
            let new = [step].into_iter().chain(OTHERS).find_map(|step| {
                let new = step.take(number)?;
                let is_new = new != number && !taken.contains(&(turn(at), new.clone()));
                (is_new && amount.allows(&new)).then_some(new)
            })?;
            Some((turn(at), new))
        });
        taken.extend(next);
    }
    taken
        .into_iter()
        .map(|(at, new)| {
            let range = found[at].range.clone();
            let detail = vec![
                ("amount", body[range.clone()].to_owned()),
                ("becomes", new.clone()),
            ];
            Rewrite {
                edits: vec![(range, new)],
                detail,
            }
        })
        .collect()
}
