//! How much of a metric both sides measured, counted in cells: paired, lost and turned over.
//!
//! A cell is *lost* if the head planned its input but has no value for it, or if the change withdrew it with its case,
//! kind or type. A cell is *turned over* if its input differs on the head, because cases were edited, added or removed,
//! or because another version writes it differently.

use std::collections::{BTreeMap, BTreeSet};

use super::{Measured, mean};
use kelvin_base::digest::Digest;
use kelvin_record::{CaseValue, ComparedItems, Metric, VariantPart, probe_of};

/// How much of a metric both sides measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage<'a> {
    /// The extent over all cells.
    pub whole: Extent,
    /// The extent over the cells of each governing type.
    pub types: BTreeMap<&'a str, Extent>,
    /// How many cases have a cell that the base measured.
    pub base_cases: usize,
    /// How many cases have a cell that both sides measured.
    pub cases: usize,
    /// The governing types of the base for which the head plans no variants.
    pub withdrawn_types: Vec<&'a str>,
    /// The kinds of the base that the head's configuration leaves out.
    pub withdrawn_kinds: Vec<&'a str>,
    /// The cases that lost cells, with the number of lost cells.
    pub lost: BTreeMap<&'a str, usize>,
}

/// Counts of cells, by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Cells that the base measured.
    pub base: usize,
    /// How many of the base's cells the head measured with the same input.
    pub paired: usize,
    /// How many of the base's cells have no value on the head, or were withdrawn.
    pub lost: usize,
    /// How many of the base's cells have another input on the head.
    pub turned: usize,
    /// Cells that the head planned in cases of the base, without those that failed on both sides.
    planned: usize,
    /// How many of the planned cells have no value.
    failed: usize,
    /// Cells that the head planned in cases that only it has.
    added: usize,
    /// How many of the added cells have no value.
    added_failed: usize,
}

impl Extent {
    /// The largest missing share, as a count and its total. Three totals are compared: the cells that the base
    /// measured, the cells that the head planned in the same cases, and all cells that it planned. So many new cases
    /// cannot hide a loss in the old ones.
    pub fn missing(&self) -> (usize, usize) {
        let shares = [
            (self.lost, self.base),
            (self.failed, self.planned),
            (self.failed + self.added_failed, self.planned + self.added),
        ];
        let share = |(lost, of): (usize, usize)| lost as f64 / of.max(1) as f64;
        shares.into_iter().fold((0, 0), |worst, next| {
            if share(next) > share(worst) {
                next
            } else {
                worst
            }
        })
    }

    /// Whether both sides measured the same cells, and no others.
    pub const fn is_whole(&self) -> bool {
        self.paired == self.base && self.paired == self.planned && self.added == 0
    }

    /// Whether more than this share is missing.
    pub(crate) fn misses_more_than(&self, most: f64) -> bool {
        let (lost, of) = self.missing();
        lost as f64 > most * of as f64 + super::GUARD
    }
}

/// One cell of a side.
struct PlannedCell<'a> {
    part: VariantPart<'a>,
    /// The digest of its input; none if the cell is the case itself.
    input: Option<Digest>,
    measured: bool,
}

/// A metric on both sides, with the data of both sides.
pub(super) struct MetricSides<'s, 'a> {
    pub(super) id: &'s str,
    pub(super) metrics: (Option<&'a Metric>, Option<&'a Metric>),
    pub(super) sides: (&'s Measured<'a>, &'s Measured<'a>),
}

impl<'a> MetricSides<'_, 'a> {
    /// The coverage of these cases.
    pub(super) fn coverage(&self, names: &BTreeSet<&'a str>) -> Coverage<'a> {
        let mut found = Coverage::default();
        let of_head: BTreeSet<VariantPart<'_>> = self.parts(names, self.metrics.1, self.sides.1);
        let of_base: BTreeSet<VariantPart<'_>> = self.parts(names, self.metrics.0, self.sides.0);
        let types = |parts: &BTreeSet<VariantPart<'a>>| -> BTreeSet<&'a str> {
            parts.iter().filter_map(|part| part.unit_type).collect()
        };
        found.withdrawn_types = types(&of_base)
            .difference(&types(&of_head))
            .copied()
            .collect();
        let kinds = |parts: &BTreeSet<VariantPart<'a>>| -> BTreeSet<&'a str> {
            parts.iter().filter_map(|part| part.kind).collect()
        };
        let withdrawn = kinds(&of_base);
        found.withdrawn_kinds = withdrawn
            .into_iter()
            .filter(|kind| self.is_withdrawn(kind))
            .collect();
        // With another configuration fewer variants may be planned; with the same configuration this never happens.
        let mut planned_fewer = BTreeSet::new();
        if self.is_configured_otherwise() {
            planned_fewer = kinds(&of_head);
            planned_fewer.extend(&found.withdrawn_kinds);
        }
        for &name in names {
            self.case(name, &planned_fewer, &mut found);
        }
        found
    }

    /// Whether the metric counts missing answers.
    pub(super) fn is_failure_rate(&self) -> bool {
        let mut sides = [self.metrics.0, self.metrics.1].into_iter().flatten();
        sides.any(|side| side.is_failure_rate)
    }

    /// The parts of some cases that a side measured or planned; on the base only those with a value.
    pub(super) fn parts(
        &self,
        names: &BTreeSet<&'a str>,
        metric: Option<&'a Metric>,
        side: &Measured<'a>,
    ) -> BTreeSet<VariantPart<'a>> {
        names
            .iter()
            .filter_map(|name| Some((*name, metric?.per_case.get(*name)?)))
            .flat_map(|(name, value)| self.cells(name, value, side))
            .map(|cell| cell.part)
            .collect()
    }

    /// Whether the head's configuration leaves out a kind that the base's configuration had. A kind that is still made
    /// but contributes to another metric is not withdrawn, and neither is a kind that this version does not know.
    fn is_withdrawn(&self, kind: &str) -> bool {
        let made = |items: Option<&ComparedItems<'a>>| {
            let items = items.into_iter().flat_map(|items| items.by_name.values());
            let mut parts = items.flat_map(|item| item.variants.values());
            parts.find(|part| part.kind == Some(kind)).copied()
        };
        let (base, head) = self.items();
        self.is_configured_otherwise()
            && made(base).is_some_and(|part| part.is_known)
            && made(head).is_none()
    }

    fn is_configured_otherwise(&self) -> bool {
        let (base, head) = self.items();
        let settings = |items: Option<&ComparedItems<'_>>| items.and_then(|items| items.settings);
        settings(base) != settings(head)
    }

    /// The items of the metric's probe on both sides.
    fn items(&self) -> (Option<&ComparedItems<'a>>, Option<&ComparedItems<'a>>) {
        let probe = probe_of(self.id);
        let (base, head) = self.sides;
        (base.items.get(probe), head.items.get(probe))
    }

    fn cells(&self, name: &str, value: &'a CaseValue, side: &Measured<'a>) -> Vec<PlannedCell<'a>> {
        if value.cells.is_empty() {
            return vec![PlannedCell {
                part: VariantPart::default(),
                input: None,
                measured: value.value.is_some_and(f64::is_finite),
            }];
        }
        value
            .cells
            .iter()
            .map(|(variant, cell)| PlannedCell {
                part: self.part(name, variant, side),
                input: Some(cell.input),
                measured: mean(&cell.values).is_some(),
            })
            .collect()
    }

    /// The kind and the type of a variant. For a failure rate, types do not matter.
    pub(super) fn part(&self, name: &str, variant: &str, side: &Measured<'a>) -> VariantPart<'a> {
        if self.is_failure_rate() {
            return VariantPart::default();
        }
        let part = side
            .item(self.id, name)
            .and_then(|item| item.variants.get(variant));
        part.copied().unwrap_or_default()
    }

    fn case(&self, name: &'a str, planned_fewer: &BTreeSet<&str>, found: &mut Coverage<'a>) {
        let per_case = |metric: Option<&'a Metric>| metric?.per_case.get(name);
        let (base, head) = (per_case(self.metrics.0), per_case(self.metrics.1));
        let of = |value: Option<&'a CaseValue>, side| {
            value.map_or_else(Vec::new, |value| self.cells(name, value, side))
        };
        let (mut base, mut head) = (of(base, self.sides.0), of(head, self.sides.1));
        // If one side has no cells, the case is paired as a whole.
        let whole = [&base, &head]
            .iter()
            .any(|side| matches!(side.as_slice(), [cell] if cell.input.is_none()));
        if whole {
            (base, head) = (joined(base), joined(head));
        }
        let is_of_both = !base.is_empty() || self.sides.0.item(self.id, name).is_some();
        let by_input: BTreeMap<Option<Digest>, &PlannedCell<'_>> = match self.is_edited(name) {
            true => BTreeMap::new(),
            false => head.iter().map(|cell| (cell.input, cell)).collect(),
        };
        let mut tally: BTreeMap<VariantPart<'a>, CellTally> = BTreeMap::new();
        let mut seen: BTreeMap<Option<Digest>, bool> = BTreeMap::new();
        for cell in &base {
            let other = by_input
                .get(&cell.input)
                .filter(|_| !seen.contains_key(&cell.input));
            let tally = tally.entry(cell.part).or_default();
            tally.of_base += 1;
            if !cell.measured {
                if other.is_some() {
                    seen.insert(cell.input, false);
                }
                continue;
            }
            match other {
                Some(other) => {
                    seen.insert(cell.input, true);
                    tally.paired += usize::from(other.measured);
                    tally.failed += usize::from(!other.measured);
                }
                None => tally.alone += 1,
            }
        }
        for cell in &head {
            let tally = tally.entry(cell.part).or_default();
            tally.of_head += 1;
            let failed_on_both = !cell.measured && seen.get(&cell.input) == Some(&false);
            if !failed_on_both {
                tally.planned += 1;
                tally.without += usize::from(!cell.measured);
            }
        }
        let is_gone = self.sides.1.item(self.id, name).is_none() && head.is_empty();
        let mut lost_here = 0;
        let mut paired_here = 0;
        found.base_cases += usize::from(base.iter().any(|cell| cell.measured));
        for (part, tally) in tally {
            let withdrawn = match () {
                () if is_gone => tally.alone,
                // The case still exists, but no cells of this part are planned for it any more.
                () if tally.of_head == 0 && (part.unit_type.is_some() || part.kind.is_none()) => {
                    tally.alone
                }
                // The case was edited, and no cell of this part has a value on the head. So the comparison of the whole
                // case, each side with its own inputs, cannot cover the part either.
                () if tally.of_head > 0 && tally.without == tally.of_head => tally.alone,
                () if part.kind.is_some_and(|kind| planned_fewer.contains(kind)) => {
                    tally.alone.min(tally.of_base.saturating_sub(tally.of_head))
                }
                () => 0,
            };
            let lost = tally.failed + withdrawn;
            lost_here += lost;
            paired_here += tally.paired;
            let extents = std::iter::once(&mut found.whole);
            let of_type = part
                .unit_type
                .map(|unit_type| found.types.entry(unit_type).or_default());
            for extent in extents.chain(of_type) {
                extent.base += tally.paired + tally.failed + tally.alone;
                extent.paired += tally.paired;
                extent.lost += lost;
                extent.turned += tally.alone - withdrawn;
                match is_of_both {
                    true => {
                        extent.planned += tally.planned;
                        extent.failed += tally.without;
                    }
                    false => {
                        extent.added += tally.planned;
                        extent.added_failed += tally.without;
                    }
                }
            }
        }
        found.cases += usize::from(paired_here > 0);
        if lost_here > 0 {
            found.lost.insert(name, lost_here);
        }
    }

    /// Whether both sides know the text of a case, and the texts differ.
    pub(super) fn is_edited(&self, name: &str) -> bool {
        let input = |side: &Measured<'a>| side.item(self.id, name).map(|item| item.digest);
        input(self.sides.0)
            .zip(input(self.sides.1))
            .is_some_and(|(before, after)| before != after)
    }
}

/// Counts of the cells of one part of a case.
#[derive(Default)]
struct CellTally {
    /// Cells of the base, measured or not.
    of_base: usize,
    /// Measured on both sides.
    paired: usize,
    /// Measured on the base; the head has the same input but no value.
    failed: usize,
    /// Measured on the base; the head does not have the input.
    alone: usize,
    /// Cells of the head, measured or not.
    of_head: usize,
    /// Cells of the head, without those that failed on both sides.
    planned: usize,
    /// How many of the planned cells have no value.
    without: usize,
}

/// The cells of a case joined into one, which has a value if any of them has one.
fn joined(cells: Vec<PlannedCell<'_>>) -> Vec<PlannedCell<'_>> {
    if cells.is_empty() {
        return cells;
    }
    vec![PlannedCell {
        part: VariantPart::default(),
        input: None,
        measured: cells.iter().any(|cell| cell.measured),
    }]
}
