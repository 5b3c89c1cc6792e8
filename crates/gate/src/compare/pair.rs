//! The pairing of metrics, cases and cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::coverage::MetricSides;
use super::turnover::WholeMetric;
use super::{CasePair, CellPair, CellPairs, GUARD, Measured, MetricPair, Presence, loss, mean};
use kelvin_base::digest::Digest;
use kelvin_record::{CaseValue, Cell, ComparedItem, Direction, Metric, Range, probe_of};

/// Pairs one metric; none if neither side has it, or if a restricted run left out every case that has it.
pub(super) fn metric<'a>(
    id: &str,
    base: &Measured<'a>,
    head: &Measured<'a>,
) -> Option<MetricPair<'a>> {
    let sides = (base.metrics.get(id), head.metrics.get(id));
    let (presence, any) = match sides {
        (Some(before), Some(after)) if before.direction == after.direction => {
            (Presence::Both, after)
        }
        (Some(_), Some(after)) => (Presence::Turned, after),
        (None, Some(after)) => (Presence::HeadOnly, after),
        (Some(before), None) => (Presence::BaseOnly, before),
        (None, None) => return None,
    };
    let value = |side: Option<&Metric>| side?.value.filter(|value| value.is_finite());
    let either = |is_so: fn(&Metric) -> bool| [sides.0, sides.1].into_iter().flatten().any(is_so);
    let both = MetricSides {
        id,
        metrics: sides,
        sides: (base, head),
    };
    let names = names(&both);
    let mut sides_with_cases = [sides.0, sides.1].into_iter().flatten();
    if names.is_empty() && sides_with_cases.any(|side| !side.per_case.is_empty()) {
        return None;
    }
    let coverage = both.coverage(&names);
    let mut items = [head, base].into_iter();
    let nouns = items.find_map(|side| Some(side.items.get(probe_of(id))?.nouns.clone()));
    Some(MetricPair {
        nouns: nouns.unwrap_or_default(),
        direction: any.direction,
        gated: either(|side| side.gated),
        headline: either(|side| side.headline),
        by_rank: either(|side| side.by_rank),
        is_failure_rate: both.is_failure_rate(),
        is_declared: either(|side| side.is_declared),
        cannot_rerun: sides.1.is_some_and(|head| head.cannot_rerun),
        exact_at: any.exact_at,
        range: sides
            .1
            .or(sides.0)
            .map_or_else(Range::default, |side| side.range),
        crosses: sides.1.is_some_and(|head| head.crosses.0),
        presence,
        base: value(sides.0),
        head: value(sides.1),
        reason: [sides.0, sides.1]
            .iter()
            .flatten()
            .find_map(|side| side.reason.as_deref()),
        withheld: sides
            .1
            .filter(|head| head.value.is_none() && head.n > 0)
            .and_then(|head| head.reason.as_deref()),
        cases: cases(&both, &names, any, coverage.whole.turned > 0),
        coverage,
    })
}

/// Every case that at least one side has. A case that a restricted run left out is neither lost nor new.
fn names<'a>(both: &MetricSides<'_, 'a>) -> BTreeSet<&'a str> {
    [both.metrics.0, both.metrics.1]
        .iter()
        .flatten()
        .flat_map(|side| side.per_case.keys())
        .map(String::as_str)
        .filter(|name| both.sides.0.covers(name) && both.sides.1.covers(name))
        .collect()
}

/// Pairs the cases. `has_turned`: whether any input of the metric has changed.
fn cases<'a>(
    both: &MetricSides<'_, 'a>,
    names: &BTreeSet<&'a str>,
    metric: &Metric,
    has_turned: bool,
) -> BTreeMap<&'a str, CasePair<'a>> {
    let per_case = |side: Option<&'a Metric>, name: &str| side?.per_case.get(name);
    let whole = LazyCell::new(|| WholeMetric::of(both, names));
    names
        .iter()
        .map(|&name| {
            let values = (
                per_case(both.metrics.0, name),
                per_case(both.metrics.1, name),
            );
            let items = (
                both.sides.0.item(both.id, name),
                both.sides.1.item(both.id, name),
            );
            let once = |item: Option<&ComparedItem<'_>>| item.is_some_and(|item| item.counts_once);
            let mut case = case(values, items, metric);
            if has_turned || case.cells.is_empty() {
                case.unpaired = whole.case(name, values).map(Box::new);
            }
            with_repeats_as_one(&mut case, (once(items.0), once(items.1)));
            (name, case)
        })
        .collect()
}

impl<'a> Measured<'a> {
    /// The item with this name on which a metric was measured.
    pub(super) fn item(&self, id: &str, name: &str) -> Option<&ComparedItem<'a>> {
        self.items.get(probe_of(id))?.by_name.get(name)
    }

    pub(super) fn covers(&self, name: &str) -> bool {
        let is_asked_for = self.only.is_empty() || self.only.iter().any(|only| only == name);
        is_asked_for && self.shard.is_none_or(|shard| shard.takes(name))
    }
}

/// A case whose repeats on the base or on the head count as only one run.
fn with_repeats_as_one(case: &mut CasePair<'_>, (base, head): (bool, bool)) {
    for cell in &mut *case.cells {
        if base {
            cell.base = &cell.base[..cell.base.len().min(1)];
            cell.base_pairs = &[];
        }
        if head {
            cell.head = &cell.head[..cell.head.len().min(1)];
            cell.head_pairs = &[];
        }
    }
}

fn case<'a>(
    values: (Option<&'a CaseValue>, Option<&'a CaseValue>),
    items: (Option<&ComparedItem<'_>>, Option<&ComparedItem<'_>>),
    metric: &Metric,
) -> CasePair<'a> {
    let direction = metric.direction;
    let variants = items.1.map_or(0, |item| item.variants.len());
    let own = |side: Option<&CaseValue>| side?.value.filter(|value| value.is_finite());
    let apart = |change, cells| CasePair {
        change,
        base: own(values.0),
        head: own(values.1),
        drop: None,
        samples: 1,
        variants,
        cells,
        not_comparable: 0,
        unpaired: None,
    };
    let (base, head) = match values {
        (Some(base), Some(head)) => (base, head),
        // The case exists but the metric has no value for it, or the case does not exist at all.
        (Some(base), None) => {
            let change = if items.1.is_some() {
                Change::Unmeasured
            } else {
                Change::Removed
            };
            return apart(change, alone(base));
        }
        (None, _) => {
            let change = if items.0.is_some() {
                Change::Unmeasured
            } else {
                Change::Added
            };
            return apart(change, CellPairs::default());
        }
    };
    if let (Some(before), Some(after)) = items
        && before.digest != after.digest
    {
        return apart(Change::Edited, CellPairs::default());
    }
    let (cells, not_comparable) = cells(base, head);
    let common: Vec<&CellPair<'_>> = cells.iter().filter(|cell| cell.is_common()).collect();
    if common.is_empty() {
        return CasePair {
            not_comparable,
            ..apart(Change::Unmeasured, cells)
        };
    }
    let over = |side: fn(&CellPair<'a>) -> &'a [Option<f64>]| {
        let sum: f64 = common.iter().filter_map(|cell| mean(side(cell))).sum();
        sum / common.len() as f64
    };
    let (before, after) = (over(|cell| cell.base), over(|cell| cell.head));
    CasePair {
        change: Change::between(metric, before, after),
        base: Some(before),
        head: Some(after),
        drop: Some(loss(direction, after) - loss(direction, before)),
        samples: samples(base, head),
        variants,
        cells,
        not_comparable,
        unpaired: None,
    }
}

/// The number of samples of a case without cells on a side: as many as one run of the case has on both sides, even if
/// it was run several times.
fn samples(base: &CaseValue, head: &CaseValue) -> usize {
    if base.cells.is_empty() || head.cells.is_empty() {
        base.samples_of_a_run().min(head.samples_of_a_run())
    } else {
        1
    }
}

/// The cells of the base, each with its counterpart, and the number of cells of either side without one. If a side has
/// no cells, as in the report of another tool, the case itself is the cell.
fn cells<'a>(base: &'a CaseValue, head: &'a CaseValue) -> (CellPairs<'a>, usize) {
    if base.cells.is_empty() || head.cells.is_empty() {
        let itself = CellPair {
            variant: None,
            input: None,
            base: base.samples(),
            head: head.samples(),
            base_pairs: &[],
            head_pairs: &[],
        };
        return (CellPairs::Itself(itself), 0);
    }
    // Cells are paired by input, not by name: names are numbered, and one more variant shifts them.
    let by_input: BTreeMap<Digest, &Cell> =
        head.cells.values().map(|cell| (cell.input, cell)).collect();
    let mut paired = BTreeSet::new();
    let cells: Box<[CellPair<'a>]> = base
        .cells
        .iter()
        .map(|(variant, cell)| {
            let other = by_input
                .get(&cell.input)
                .filter(|_| paired.insert(cell.input));
            CellPair {
                variant: Some(variant),
                input: Some(&cell.input),
                base: &cell.values,
                head: other.map_or(&[], |cell| cell.values.as_slice()),
                base_pairs: cell.pairs(),
                head_pairs: other.map_or(&[], |cell| cell.pairs()),
            }
        })
        .collect();
    let alone = base.cells.len() + head.cells.len() - 2 * paired.len();
    (CellPairs::Variants(cells), alone)
}

/// The cells of the base in a case that the head lacks.
fn alone(base: &CaseValue) -> CellPairs<'_> {
    let cell = |variant, input, base| CellPair {
        variant,
        input,
        base,
        head: &[],
        base_pairs: &[],
        head_pairs: &[],
    };
    if base.cells.is_empty() {
        return CellPairs::Itself(cell(None, None, base.samples()));
    }
    let cells = base.cells.iter();
    let cells =
        cells.map(|(variant, values)| cell(Some(&**variant), Some(&values.input), &values.values));
    CellPairs::Variants(cells.collect())
}

/// What became of a case between base and head.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is better.
    Win,
    /// It is worse.
    Loss,
    /// It is as it was.
    Draw,
    /// It is now at the worst possible value, and was not before.
    Regression,
    /// Only the head has the case; it is shown and not gated.
    Added,
    /// Only the base has the case, so coverage was lost.
    Removed,
    /// The text of the case was edited; the case is shown and not gated.
    Edited,
    /// One side has no value, or no variant with the same input.
    Unmeasured,
}

impl Change {
    /// How a case changed between two values.
    pub(super) fn between(metric: &Metric, base: f64, head: f64) -> Self {
        let direction = metric.direction;
        let (before, after) = (loss(direction, base), loss(direction, head));
        let worst = metric.range.low.map(|low| loss(direction, low));
        let gone = |loss: f64| worst.is_some_and(|worst| loss >= worst - GUARD);
        match after - before {
            drop if drop.abs() <= GUARD => Self::Draw,
            drop if drop < 0.0 => Self::Win,
            _ if direction == Direction::Higher && gone(after) && !gone(before) => Self::Regression,
            _ => Self::Loss,
        }
    }
}
