//! Compares two measurements: paired by metric, by case and, if both sides had the same input, by variant. Everything
//! else is counted as not comparable. Other stored reports of the base's code are used as additional repeats of the
//! base.

mod answers;
mod coverage;
mod pair;
mod turnover;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::slice;

use kelvin_base::digest::Digest;
use kelvin_record::{ComparedItems, Direction, Metric, Nouns, Range, SectionAnswers, Shard};

pub(crate) use answers::FieldsBeside;
#[cfg(test)]
pub(crate) use answers::SwapAnswers;
pub use answers::{AnswerPairs, ItemAnswers};
pub use coverage::Coverage;
pub use pair::Change;
pub use turnover::{Turnover, Unpaired};

/// Two values that differ by at most this count as equal.
const GUARD: f64 = 1e-9;

/// The part of one side's report that is compared.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The figures, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// The items of each probe, by its name.
    pub items: BTreeMap<&'a str, ComparedItems<'a>>,
    /// The answers to the items, by the name of the probe.
    pub answered: BTreeMap<&'a str, SectionAnswers<'a>>,
    /// The cases to which the run was restricted; empty means all.
    pub only: &'a [String],
    /// The share of the cases that the run measured, as a shard; none means all cases.
    pub shard: Option<Shard>,
}

/// Two sides, metric by metric.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// Every metric that at least one side has, by id.
    pub metrics: BTreeMap<&'a str, MetricPair<'a>>,
    /// The turnover of the items of each probe, by its name.
    pub turnover: BTreeMap<&'a str, Turnover>,
    /// The answers to the items of each probe on both sides, by its name.
    pub answers: BTreeMap<&'a str, AnswerPairs>,
    /// The names of the probes that both sides ran, except those that observe the items of others.
    pub own_probes: BTreeSet<&'a str>,
    /// Other stored reports of the base's code, each compared with the same head.
    pub stored: Vec<StoredComparison<'a>>,
}

/// One metric on both sides.
#[derive(Clone, Debug)]
pub struct MetricPair<'a> {
    /// The words for the items on which the metric is measured.
    pub nouns: Nouns,
    /// Which direction is better.
    pub direction: Direction,
    /// The possible values of the metric.
    pub range: Range,
    /// Whether at least one side gates it by default.
    pub gated: bool,
    /// Whether it is among the first figures that people see, even if it is not gated.
    pub headline: bool,
    /// Whether its values by case come from ranks.
    pub by_rank: bool,
    /// Whether it only counts missing answers.
    pub is_failure_rate: bool,
    /// Whether the configuration requires of every item that it meets the metric.
    pub is_declared: bool,
    /// Whether the head's values were read from what an earlier step has left, so that they cannot be made again.
    pub cannot_rerun: bool,
    /// The significance level of the exact test by which a drop of single runs counts as a regression.
    pub exact_at: Option<f64>,
    /// Whether every answer to a variant is compared with every answer to the item's own input.
    pub crosses: bool,
    /// Which side has the metric.
    pub presence: Presence,
    /// The value of the base, over all of its own samples; null if it has none.
    pub base: Option<f64>,
    /// The value of the head.
    pub head: Option<f64>,
    /// Why a side has no value.
    pub reason: Option<&'a str>,
    /// Why the head has no value although some of it was measured: too little of it, or the measurement cannot be
    /// trusted. Then the cells without a value say nothing of what is missing.
    pub withheld: Option<&'a str>,
    /// Every case that at least one side has, by name; empty for a metric without values by case.
    pub cases: BTreeMap<&'a str, CasePair<'a>>,
    /// How much of the metric both sides measured.
    pub coverage: Coverage<'a>,
}

/// Which side has a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Both sides have the metric, with the same meaning.
    Both,
    /// Only the head has the metric: it is new.
    HeadOnly,
    /// Only the base has the metric: coverage was lost.
    BaseOnly,
    /// Both sides have the metric, but with opposite directions.
    Turned,
}

/// A case of a metric, with the values of both sides.
#[derive(Clone, Debug)]
pub struct CasePair<'a> {
    /// How the case changed.
    pub change: Change,
    /// The mean over the cells that both sides measured; if there are none, the value that the base reports for the
    /// case.
    pub base: Option<f64>,
    /// The mean over the cells that both sides measured; if there are none, the value that the head reports for the
    /// case.
    pub head: Option<f64>,
    /// How much worse the case is, in the metric's unit; none if there is no cell that both sides measured.
    pub drop: Option<f64>,
    /// How many samples of the metric each cell stands for.
    pub samples: usize,
    /// How many variants of the case the head runs.
    pub variants: usize,
    /// The cells that the base measured, each with the head's values for the same input, which are empty if it has
    /// none. There are no cells for cases that were added or edited.
    pub cells: CellPairs<'a>,
    /// How many variants of either side have no counterpart with the same input.
    pub not_comparable: usize,
    /// Everything that one of the sides measured of the case, including changed inputs. None if a side has no
    /// measurement, or if the case is paired and no input of the metric has changed.
    pub unpaired: Option<Box<Unpaired>>,
}

/// The cells of a case. Most metrics have no variants but thousands of cases, so the only cell of such a case is stored
/// inline.
#[derive(Clone, Debug)]
pub enum CellPairs<'a> {
    /// The case itself.
    Itself(CellPair<'a>),
    /// The variants of the case, or no cell at all.
    Variants(Box<[CellPair<'a>]>),
}

impl Default for CellPairs<'_> {
    fn default() -> Self {
        Self::Variants(Box::default())
    }
}

impl<'a> Deref for CellPairs<'a> {
    type Target = [CellPair<'a>];

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Itself(cell) => slice::from_ref(cell),
            Self::Variants(cells) => cells,
        }
    }
}

impl DerefMut for CellPairs<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Itself(cell) => slice::from_mut(cell),
            Self::Variants(cells) => cells,
        }
    }
}

/// A variant on both sides, or the case itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellPair<'a> {
    /// The variant's name on the base; none for the case itself.
    pub variant: Option<&'a str>,
    /// The digest of its input; none for the case itself.
    pub input: Option<&'a Digest>,
    /// The value of each repeat on the base.
    pub base: &'a [Option<f64>],
    /// The value of each repeat on the head.
    pub head: &'a [Option<f64>],
    /// The value of each pair of answers on the base, if there are any; see [`Cell`](kelvin_record::Cell).
    pub base_pairs: &'a [Vec<Option<f64>>],
    /// The value of each pair of answers on the head, if there are any.
    pub head_pairs: &'a [Vec<Option<f64>>],
}

/// How many cases and variants of a metric can be compared, and how many cannot, by reason.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComparableCounts {
    /// Cases with at least one cell that both sides measured.
    pub compared: usize,
    /// Cells that both sides measured.
    pub cells: usize,
    /// Cases that only the head has.
    pub added: usize,
    /// Cases that only the base has.
    pub removed: usize,
    /// Cases whose text was edited.
    pub edited: usize,
    /// Cases that one side could not measure, or whose variants all have other inputs.
    pub unmeasured: usize,
    /// Variants of compared cases for which the other side has no variant with the same input.
    pub not_comparable: usize,
}

/// Pairs the metrics, the cases and the answers of two sides.
pub fn compare<'a>(base: &Measured<'a>, head: &Measured<'a>) -> Comparison<'a> {
    let ids: BTreeSet<&str> = [base, head]
        .iter()
        .flat_map(|side| side.metrics.keys())
        .map(String::as_str)
        .collect();
    let metrics = ids
        .into_iter()
        .filter_map(|id| Some((id, pair::metric(id, base, head)?)))
        .collect();
    Comparison {
        metrics,
        turnover: turnover(base, head),
        own_probes: own_probes(base, head),
        answers: answers::pair(base, head),
        stored: Vec::new(),
    }
}

fn own_probes<'a>(base: &Measured<'a>, head: &Measured<'a>) -> BTreeSet<&'a str> {
    let own = base.items.iter().filter(|(_, items)| !items.are_of_others);
    let both = own.filter(|(probe, _)| head.items.contains_key(**probe));
    both.map(|(probe, _)| *probe).collect()
}

/// The turnover of the items of each probe that both sides ran.
fn turnover<'a>(base: &Measured<'a>, head: &Measured<'a>) -> BTreeMap<&'a str, Turnover> {
    // A probe that observes others has the same items as those probes, which report the turnover themselves.
    let own = base.items.iter().filter(|(_, items)| !items.are_of_others);
    let both = own.filter_map(|(probe, before)| {
        let found = Turnover::between((base, before), (head, head.items.get(probe)?));
        (!found.is_empty()).then_some((*probe, found))
    });
    both.collect()
}

/// The value as a loss: a larger loss is worse.
pub fn loss(direction: Direction, value: f64) -> f64 {
    match direction {
        Direction::Higher => 1.0 - value,
        Direction::Lower => value,
    }
}

/// The mean of the measured values; none if there are none.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values.iter().flatten().filter(|value| value.is_finite()) {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

impl<'a> MetricPair<'a> {
    /// Counts the cases by the way in which they changed.
    #[cfg(test)]
    pub fn counts(&self) -> ComparableCounts {
        let mut counts = ComparableCounts::default();
        for case in self.cases.values() {
            match case.change {
                Change::Added => counts.added += 1,
                Change::Removed => counts.removed += 1,
                Change::Edited => counts.edited += 1,
                Change::Unmeasured => counts.unmeasured += 1,
                Change::Win | Change::Loss | Change::Draw | Change::Regression => {
                    counts.compared += 1;
                    counts.cells += case.cells.iter().filter(|cell| cell.is_common()).count();
                    counts.not_comparable += case.not_comparable;
                }
            }
        }
        counts
    }

    /// The cases in the most useful order for a person: regressions first, then by how much worse they are, then by
    /// name.
    pub fn worst_first(&self) -> Vec<(&'a str, &CasePair<'a>)> {
        let mut cases: Vec<(&str, &CasePair<'_>)> = self
            .cases
            .iter()
            .map(|(name, case)| (*name, case))
            .collect();
        let drop = |case: &CasePair<'_>| case.drop.unwrap_or(f64::NEG_INFINITY);
        cases.sort_by(|(_, one), (_, other)| {
            let regression = |case: &CasePair<'_>| case.change == Change::Regression;
            regression(other)
                .cmp(&regression(one))
                .then(drop(other).total_cmp(&drop(one)))
        });
        cases
    }
}

impl<'a> CasePair<'a> {
    /// The variants that moved and by how much they are worse, worst first.
    pub fn moved(&self, direction: Direction) -> Vec<(&'a str, f64)> {
        let mut moved: Vec<(&str, f64)> = self
            .cells
            .iter()
            .filter_map(|cell| Some((cell.variant?, cell.drop(direction)?)))
            .filter(|(_, drop)| drop.abs() > GUARD)
            .collect();
        moved.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        moved
    }
}

impl CellPair<'_> {
    /// Whether both sides have the metric with the same meaning.
    pub fn is_common(&self) -> bool {
        mean(self.base).is_some() && mean(self.head).is_some()
    }

    fn drop(&self, direction: Direction) -> Option<f64> {
        Some(loss(direction, mean(self.head)?) - loss(direction, mean(self.base)?))
    }
}

/// Another stored report, compared with the head.
#[derive(Clone, Debug)]
pub struct StoredComparison<'a> {
    /// The comparison of the stored report with the head.
    pub comparison: Comparison<'a>,
    /// Whether its first answers may come from Kelvin's cache, and so from another report.
    pub first_is_copied: bool,
}

/// A metric of another stored report.
#[derive(Clone, Copy, Debug)]
pub struct StoredMetric<'s, 'a> {
    metric: &'s MetricPair<'a>,
    first_is_copied: bool,
}

/// The values of the repeats, and those of all pairs.
type Values<'a> = (&'a [Option<f64>], Vec<Vec<Option<f64>>>);

impl<'a> StoredComparison<'a> {
    /// A metric of the stored report.
    pub fn metric(&self, id: &str) -> Option<StoredMetric<'_, 'a>> {
        Some(StoredMetric {
            metric: self.comparison.metrics.get(id)?,
            first_is_copied: self.first_is_copied,
        })
    }
}

impl<'a> StoredMetric<'_, 'a> {
    /// The values for the input of a cell of the base; none if the stored report has no value for it.
    pub fn cell(&self, case: &str, cell: &CellPair<'_>) -> Option<Values<'a>> {
        let cells = &self.metric.cases.get(case)?.cells;
        let same =
            |other: &&CellPair<'_>| other.variant == cell.variant && other.input == cell.input;
        let found = cells.iter().find(same)?;
        answers(found, usize::from(self.first_is_copied))
    }
}

/// The values of a cell of the base, without the first answers to each input; none if no values are left.
fn answers<'a>(cell: &CellPair<'a>, first: usize) -> Option<Values<'a>> {
    let values = cell.base.get(first..)?;
    let pairs = cell.base_pairs.iter().skip(first);
    let pairs: Vec<Vec<Option<f64>>> = pairs
        .map(|own| own.iter().skip(first).copied().collect())
        .collect();
    let mut all = values.iter().chain(pairs.iter().flatten());
    all.any(Option::is_some).then_some((values, pairs))
}

#[cfg(test)]
mod tests;
