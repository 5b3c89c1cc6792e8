//! Missing values of the head count as the worst possible values, unless equally many are missing on the base. A mean
//! over the remaining values would not show the loss.

use super::look::{GUARD, Look};
use crate::compare::{CellPair, Change, MetricPair, loss};
use kelvin_base::stats::ln_beta;
use kelvin_record::{Repeats, Wanted, WantedRepeats};

/// The maximum number of runs of an input that the base answered and the head did not, before it counts as missing:
/// calls that failed by bad luck then succeed.
const RUNS: usize = 3;

/// Runs without a value are noise of the base if chance produces such a difference with at least this probability.
const CHANCE: f64 = 0.01;

/// The missing part of a metric, after the failed runs were repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Missing {
    /// The share of the metric for which the base has a value but the head has none, in `[0, 1]`.
    pub(super) share: f64,
    /// The number of missing cells or runs.
    pub(super) count: usize,
    /// The number of all cells or runs.
    pub(super) of: usize,
    /// The drop of the metric if all missing values were the worst value; none if there is no worst value.
    pub(super) drop: Option<f64>,
}

/// The inputs that the base answered and the head did not, to be run again.
pub(super) fn rerun(metrics: &[&MetricPair<'_>]) -> WantedRepeats {
    let mut wanted = WantedRepeats::new();
    for (name, case) in metrics.iter().flat_map(|metric| &metric.cases) {
        if matches!(
            case.change,
            Change::Removed | Change::Added | Change::Edited
        ) {
            continue;
        }
        // A case with a value was run: its cells without a counterpart have another input on the head, and were not lost.
        let has_turned = |cell: &CellPair<'_>| cell.head.is_empty() && case.head.is_some();
        let cells = case.cells.iter().filter(|cell| !has_turned(cell));
        let lost: Vec<&CellPair<'_>> = cells.filter(|cell| is_lost(cell)).collect();
        if lost.is_empty() {
            continue;
        }
        let of_case = match lost.len() == case.cells.len() {
            true => Repeats::of_all(RUNS).into(),
            false => Wanted {
                input: 1,
                variants: 1,
                single: lost
                    .iter()
                    .filter_map(|cell| Some((cell.variant?.to_owned(), RUNS)))
                    .collect(),
            },
        };
        wanted
            .entry((*name).to_owned())
            .or_default()
            .raise(&of_case);
    }
    wanted
}

/// Whether the base has a value for a cell, and the head has none so far.
fn is_lost(cell: &CellPair<'_>) -> bool {
    let has = |values: &[Option<f64>]| values.iter().any(Option::is_some);
    has(cell.base) && !has(cell.head) && cell.head.len() < RUNS
}

impl Missing {
    /// The missing part of a metric that was looked at; none if the missing part is not larger than the noise of the
    /// base explains. `max_drop` is not used here: the caller compares.
    pub(super) fn of(pair: &MetricPair<'_>, look: &Look) -> Option<Self> {
        let whole = &pair.coverage.whole;
        let (cells, of_cells) = (whole.lost, whole.base);
        let by_cell = Some((cells, of_cells)).filter(|(lost, of)| *lost > 0 && *of > 0);
        let by_run = runs(pair);
        let share = |(lost, of): (usize, usize)| lost as f64 / of as f64;
        let worst = by_cell
            .into_iter()
            .map(|counts| (share(counts), counts))
            .chain(by_run)
            .max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let (share, (count, of)) = worst;
        // As losses, the worse end of the range is the larger one.
        let ends = [pair.range.low, pair.range.high].map(|end| Some(loss(pair.direction, end?)));
        let most = match ends {
            [Some(low), Some(high)] => Some(low.max(high)),
            _ => None,
        };
        Some(Self {
            share,
            count,
            of,
            drop: most.map(|most| look.drop + share * (most - look.head).max(0.0)),
        })
    }

    /// Whether a drop beyond the limit may hide in the missing part.
    pub(super) fn may_hide(&self, max_drop: f64) -> bool {
        self.drop.is_none_or(|drop| drop > max_drop + GUARD)
    }
}

/// The share of runs without a value on the head beyond that of the base, and the number of these runs; none if chance
/// explains them.
fn runs(pair: &MetricPair<'_>) -> Option<(f64, (usize, usize))> {
    let (mut base, mut head) = ((0, 0), (0, 0));
    // Inputs that one side never answered count too: a side with a single run would otherwise have no such runs.
    for cell in pair.cases.values().flat_map(|case| case.cells.iter()) {
        let count = |(without, all): (usize, usize), values: &[Option<f64>]| {
            let here = values.iter().filter(|value| value.is_none()).count();
            (without + here, all + values.len())
        };
        base = count(base, cell.base);
        head = count(head, cell.head);
    }
    if head.0 == 0 || fisher(base, head) > CHANCE {
        return None;
    }
    let rate = |(without, all): (usize, usize)| without as f64 / all.max(1) as f64;
    let share = rate(head) - rate(base);
    (share > 0.0).then_some((share, head))
}

/// The probability that by chance the head gets at least this many of all hits (Fisher, "The logic of inductive
/// inference", Journal of the Royal Statistical Society 98, 1935).
fn fisher((base, of_base): (usize, usize), (head, of_head): (usize, usize)) -> f64 {
    let ln_choose =
        |n: usize, k: usize| -((n + 1) as f64).ln() - ln_beta((n - k + 1) as f64, (k + 1) as f64);
    let hits = base + head;
    let all = ln_choose(of_base + of_head, hits);
    let most = hits.min(of_head);
    let term = |k: usize| match hits - k <= of_base {
        true => (ln_choose(of_head, k) + ln_choose(of_base, hits - k) - all).exp(),
        false => 0.0,
    };
    (head..=most).map(term).sum()
}

/// Whether chance cannot explain how many more items were lost than won.
pub(super) fn is_beyond_chance(lost: usize, won: usize) -> bool {
    /// At this level the sign test leaves no doubt: it corresponds to twenty items lost and none won.
    const NO_DOUBT: f64 = 1e-6;
    let n = lost + won;
    let ln_half = n as f64 * 0.5_f64.ln();
    let ln_choose = |k: usize| -((n + 1) as f64).ln() - ln_beta((n - k + 1) as f64, (k + 1) as f64);
    let tail: f64 = (lost..=n).map(|k| (ln_choose(k) + ln_half).exp()).sum();
    lost > won && tail <= NO_DOUBT
}

/// The lost and the won items: those that are worse or better than on the base by at least half of the scale; for
/// ranks, those that were found on one side only.
pub(super) fn lost_and_won<'a>(pair: &MetricPair<'a>) -> (Vec<&'a str>, usize) {
    const HALF: f64 = 0.5;
    let (mut lost, mut won) = (Vec::new(), 0);
    for (name, case) in &pair.cases {
        let (Some(base), Some(head), Some(drop)) = (case.base, case.head, case.drop) else {
            continue;
        };
        let at_worst = |value: f64| loss(pair.direction, value) >= 1.0 - GUARD;
        let (is_lost, is_won) = match pair.by_rank {
            true => (
                at_worst(head) && !at_worst(base),
                at_worst(base) && !at_worst(head),
            ),
            false => (drop >= HALF - GUARD, drop <= -HALF + GUARD),
        };
        if is_lost {
            lost.push(*name);
        }
        won += usize::from(is_won);
    }
    (lost, won)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_test_leaves_no_doubt_from_twenty_items_that_were_lost_and_none_won() {
        assert!(is_beyond_chance(31, 0));
        assert!(is_beyond_chance(20, 0));
        assert!(!is_beyond_chance(19, 0));
        assert!(!is_beyond_chance(1, 12));
        assert!(!is_beyond_chance(40, 30));
    }

    #[test]
    fn runs_without_a_value_on_both_sides_are_chance_and_those_of_the_head_alone_are_not() {
        assert!(fisher((10, 100), (12, 100)) > 0.1);
        assert!(fisher((0, 100), (40, 100)) < 1e-9);
        assert!((fisher((0, 5), (1, 5)) - 0.5).abs() < 1e-12);
    }
}
