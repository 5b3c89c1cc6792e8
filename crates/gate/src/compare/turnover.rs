//! Inputs that differ on the head: how many cases were edited, and the values of the cases with the same name if their
//! cells are not paired.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::coverage::MetricSides;
use super::{Measured, mean};
use kelvin_base::digest::Digest;
use kelvin_record::{CaseValue, Cell, ComparedItems, VariantPart};

/// What became of the items of a probe, such as cases or queries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Turnover {
    /// What one of them is called.
    pub item: String,
    /// What several of them are called.
    pub items: String,
    /// How many items the base has.
    pub base: usize,
    /// How many items of the base have another text on the head.
    pub edited: usize,
    /// How many items of the base the head does not have.
    pub removed: usize,
    /// How many of them the run of the head has skipped, as it says itself.
    #[serde(skip_serializing_if = "kelvin_base::is_default")]
    pub skipped: usize,
    /// How many items only the head has.
    pub added: usize,
}

impl Turnover {
    /// The turnover of the items of one probe. Each side is given completely and by its items of that probe.
    pub(super) fn between(
        (base, before): (&Measured<'_>, &ComparedItems<'_>),
        (head, after): (&Measured<'_>, &ComparedItems<'_>),
    ) -> Self {
        let nouns = before.nouns.clone();
        let (before, after) = (&before.by_name, &after.by_name);
        // If one side did not run a probe at all, the metrics of that probe report it.
        if before.is_empty() || after.is_empty() {
            return Self::default();
        }
        let covered = |name: &&&str| base.covers(name) && head.covers(name);
        let mut found = Self {
            item: nouns.item.into_owned(),
            items: nouns.items.into_owned(),
            ..Self::default()
        };
        for (name, item) in before.iter().filter(|(name, _)| covered(name)) {
            found.base += 1;
            match after.get(name) {
                None => found.removed += 1,
                Some(now) => found.edited += usize::from(now.digest != item.digest),
            }
        }
        let new = after.keys().filter(covered);
        found.added = new.filter(|name| !before.contains_key(*name)).count();
        found
    }

    /// Whether neither side has any items.
    pub const fn is_empty(&self) -> bool {
        self.base == 0 && self.added == 0
    }
}

/// A case as both sides measured it, each with its own inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpaired {
    /// The mean of every repeat on the base.
    pub base: Vec<Option<f64>>,
    /// The mean of every repeat on the head.
    pub head: Vec<Option<f64>>,
    /// The number of samples of the metric in the case on the base.
    pub samples: usize,
}

/// Computes [`Unpaired`] from the cases of a metric.
pub(super) struct WholeMetric<'s, 'a> {
    both: &'s MetricSides<'s, 'a>,
    /// The kinds and types that contribute to the metric on both sides.
    common: BTreeSet<VariantPart<'a>>,
}

impl<'s, 'a> WholeMetric<'s, 'a> {
    pub(super) fn of(both: &'s MetricSides<'s, 'a>, names: &BTreeSet<&'a str>) -> Self {
        let base = both.parts(names, both.metrics.0, both.sides.0);
        let head = both.parts(names, both.metrics.1, both.sides.1);
        Self {
            both,
            common: base.intersection(&head).copied().collect(),
        }
    }

    /// The means of a case. An input is left out of both means if both sides have it but only one has a value for it,
    /// and so is every part that contributes to the metric on one side only.
    pub(super) fn case(
        &self,
        name: &str,
        values: (Option<&CaseValue>, Option<&CaseValue>),
    ) -> Option<Unpaired> {
        let (base, head) = (values.0?, values.1?);
        let measured = |side: &[Option<f64>]| mean(side).is_some();
        if base.cells.is_empty() || head.cells.is_empty() {
            let (before, after) = (base.samples(), head.samples());
            return (measured(before) && measured(after)).then(|| Unpaired {
                base: before.to_vec(),
                head: after.to_vec(),
                samples: base.samples_of_a_run(),
            });
        }
        let (before, after) = (by_input(base), by_input(head));
        let of = |value: &'_ CaseValue, side: &Measured<'a>, other: &BTreeMap<Digest, bool>| {
            let cells = value.cells.iter().filter(|(variant, cell)| {
                self.common.contains(&self.both.part(name, variant, side))
                    && other.get(&cell.input) != Some(&false)
            });
            cells
                .map(|(_, cell)| cell.values.clone())
                .collect::<Vec<_>>()
        };
        let base = of(base, self.both.sides.0, &after);
        let head = of(head, self.both.sides.1, &before);
        let samples = base.iter().filter(|cell| mean(cell).is_some()).count();
        let (base, head) = (means(&base), means(&head));
        (measured(&base) && measured(&head)).then_some(Unpaired {
            base,
            head,
            samples,
        })
    }
}

/// Whether each input has a value.
fn by_input(value: &CaseValue) -> BTreeMap<Digest, bool> {
    let measured = |cell: &Cell| (cell.input, mean(&cell.values).is_some());
    value.cells.values().map(measured).collect()
}

/// The mean over the cells, for every repeat.
fn means(cells: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let rounds = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .map(|round| {
            let values: Vec<Option<f64>> = cells
                .iter()
                .map(|cell| cell.get(round).copied().flatten())
                .collect();
            mean(&values)
        })
        .collect()
}
