//! A metric: one figure with its sample, its interval, the reason if it has no value, and its values in each case by
//! variant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::SharedMap;
use kelvin_base::digest::Digest;
use kelvin_base::stats;
use kelvin_page::{Estimate, Spread, display};

/// Whether a higher or a lower value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A larger value is better.
    Higher,
    /// A smaller value is better.
    Lower,
}

/// What the value of a metric counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A part of a whole, or the mean of values from 0 to 1.
    #[default]
    Share,
    /// Points on a scale that the metric defines.
    Score,
    /// One quantity as a multiple of another.
    Ratio,
    /// A number of things.
    Count,
    /// A duration in seconds.
    Seconds,
    /// A unit that this version does not know.
    #[serde(other)]
    Other,
}

/// The lowest and the highest value that a metric can have; an end that is missing is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The lowest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The highest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Range {
    /// The range of a share.
    pub const SHARE: Self = Self::of(0.0, 1.0);
    /// The range of a count.
    pub const COUNT: Self = Self {
        low: Some(0.0),
        high: None,
    };

    /// A range with two ends.
    pub const fn of(low: f64, high: f64) -> Self {
        Self {
            low: Some(low),
            high: Some(high),
        }
    }

    /// The distance between the ends; infinite if an end is open.
    pub fn width(&self) -> f64 {
        match (self.low, self.high) {
            (Some(low), Some(high)) => high - low,
            _ => f64::INFINITY,
        }
    }

    /// Whether neither end is known.
    pub const fn is_open(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }
}

/// A two-sided 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// One figure of a report. Its id is its key there: `probe.name`, e.g. `evidence.invariance`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Unrounded; null if it could not be measured, never NaN.
    pub value: Option<f64>,
    /// Why the value is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The value for people: 4 decimals.
    pub display: String,
    /// How many samples it is the mean of.
    pub n: usize,
    /// How many invocations failed, and so gave no answer.
    pub n_failed: usize,
    /// What the value counts.
    #[serde(default)]
    pub unit: Unit,
    /// The possible values.
    #[serde(default, skip_serializing_if = "Range::is_open")]
    pub range: Range,
    /// Whether a higher or a lower value is better.
    pub direction: Direction,
    /// The group of figures to which the metric belongs, such as `evidence` or, for one kind of perturbation,
    /// `evidence.invariance`. Empty if the report does not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// Whether it is among the first figures that a person is shown, even if the gate does not look at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
    /// The 95 % interval; respects that samples of one case belong together. Null below two cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Whether the gate looks at it unless the configuration says otherwise.
    pub gated: bool,
    /// Whether its values by case come from ranks. One rank can be half of the whole scale there, so
    /// a large change of one case is no sign that the case broke.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_rank: bool,
    /// Whether the metric only counts missing answers, whatever the other answers are. The gate never takes a missing
    /// answer for a wrong one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_failure_rate: bool,
    /// Whether the configuration requires of every item that it meets the metric: an item that no longer does is
    /// broken, however little the mean changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
    /// Whether its values were read from what an earlier step has left, so that this program cannot make them again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_rerun: bool,
    /// The largest probability of chance at which a drop between single runs of both sides counts as a regression.
    /// Missing if the general rule of the gate for single runs applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_at: Option<f64>,
    /// Whether every answer to a variant is compared with every answer to the item's own input, so that
    /// either can be repeated without the other. It is known while the probe runs, and not stored.
    #[serde(skip)]
    pub crosses: Crosses,
    /// A value below this is poor, whatever the value of the base is. Missing if the metric has no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poor_below: Option<f64>,
    /// The value and the samples of each case, if the metric has values by case.
    #[serde(default, skip_serializing_if = "SharedMap::is_empty")]
    pub per_case: SharedMap<CaseValue>,
}

/// Whether every answer to a variant is compared with every answer to the case. It describes possible runs and not the
/// measurement: two metrics that differ only in it are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crosses(pub bool);

impl PartialEq for Crosses {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A metric in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseValue {
    /// The mean over the samples of the case; null if it has none.
    pub value: Option<f64>,
    /// The number of samples of the case.
    pub n: usize,
    /// The mean of each repeat, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Option<f64>>,
    /// The samples by variant, for gated metrics: the gate pairs them with those of the other side.
    #[serde(default, skip_serializing_if = "Cells::is_empty")]
    pub cells: Cells,
}

impl CaseValue {
    /// The value of each repeat; for a case without repeats, its only value.
    pub fn samples(&self) -> &[Option<f64>] {
        match self.repeats.is_empty() {
            true => std::slice::from_ref(&self.value),
            false => &self.repeats,
        }
    }

    /// The number of samples of one run of the case, at least 1: the number of its variants in the metric.
    pub fn samples_of_a_run(&self) -> usize {
        let runs = self.repeats.iter().flatten().count().max(1);
        ((self.n as f64 / runs as f64).round() as usize).max(1)
    }
}

impl Metric {
    /// The lowest and the highest possible value; none if one of them is unlimited. A count or a number of seconds has
    /// no such scale, even if its largest value is known.
    pub fn ends(&self) -> Option<(f64, f64)> {
        let Range { low, high } = self.range;
        let is_scaled = matches!(self.unit, Unit::Share | Unit::Score);
        low.zip(high).filter(|(low, high)| is_scaled && low < high)
    }

    /// A measured or unmeasured value; an unmeasured one needs a reason. By default the value is a share, and larger is
    /// better.
    pub fn new(value: Result<f64, String>, n: usize, n_failed: usize) -> Self {
        let (value, reason) = match value {
            Ok(value) if value.is_finite() => (Some(value), None),
            Ok(_) => (None, Some("not a finite number".to_owned())),
            Err(reason) => (None, Some(reason)),
        };
        Self {
            value,
            reason,
            display: value.map_or_else(|| "null".to_owned(), display),
            n,
            n_failed,
            unit: Unit::Share,
            range: Range::SHARE,
            direction: Direction::Higher,
            family: String::new(),
            headline: false,
            interval: None,
            gated: false,
            by_rank: false,
            is_failure_rate: false,
            is_declared: false,
            cannot_rerun: false,
            exact_at: None,
            crosses: Crosses(false),
            poor_below: None,
            per_case: SharedMap::default(),
        }
    }

    /// The mean over all repeats of all items, which the gate judges; a repeat without a value is none.
    pub fn mean_of_items<'i>(items: impl Iterator<Item = (&'i str, &'i [Option<f64>])>) -> Self {
        let (mut all, mut failed, mut per_case) = (Vec::new(), 0, BTreeMap::new());
        for (id, repeats) in items {
            let here: Vec<f64> = repeats.iter().copied().flatten().collect();
            failed += repeats.len() - here.len();
            let value = CaseValue {
                value: stats::mean(&here),
                n: here.len(),
                repeats: repeats.to_vec(),
                cells: Cells::default(),
            };
            per_case.insert(id.to_owned(), value);
            all.extend(here);
        }
        let mean = stats::mean(&all).ok_or_else(|| "nothing was measured".to_owned());
        Self {
            gated: true,
            per_case: per_case.into(),
            ..Self::new(mean, all.len(), failed)
        }
    }

    /// Sets the unit and the range of the value.
    #[must_use]
    pub const fn counts_in(mut self, unit: Unit, range: Range) -> Self {
        self.unit = unit;
        self.range = range;
        self
    }

    /// Sets the family of figures to which it belongs.
    #[must_use]
    pub fn of_family(mut self, family: &str) -> Self {
        family.clone_into(&mut self.family);
        self
    }

    /// Removes the value and everything that was computed with it.
    pub fn withdraw(&mut self, reason: &str) {
        let without = Self::new(Err(reason.to_owned()), self.n, self.n_failed);
        self.value = without.value;
        self.reason = without.reason;
        self.display = without.display;
        self.interval = None;
        self.per_case = SharedMap::default();
    }

    /// Whether the metric is among the first figures that people see.
    pub const fn is_shown_first(&self) -> bool {
        self.gated || self.headline
    }

    /// Sets the direction: a smaller value is better.
    #[must_use]
    pub const fn lower_is_better(mut self) -> Self {
        self.direction = Direction::Lower;
        self
    }

    /// Shows the value within `[0, 1]`: if noise moves it outside, it means no more than the nearest end.
    #[must_use]
    pub fn shown_within_one(mut self) -> Self {
        if let Some(value) = self.value {
            self.display = display(value.clamp(0.0, 1.0));
        }
        self
    }

    /// Adds the interval.
    #[must_use]
    pub const fn interval(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval;
        self
    }
}

/// The name of the metric's probe, with which its id begins.
pub fn probe_of(id: &str) -> &str {
    id.split_once('.').map_or(id, |(probe, _)| probe)
}

/// A metric as a text for people; none if the run has no such metric.
pub fn estimate(metric: Option<&Metric>) -> Estimate<'_> {
    let Some(metric) = metric else {
        return Estimate::new(Err(Some("this run did not look at it")), 0, 0);
    };
    let value = metric.value.ok_or(metric.reason.as_deref());
    let estimate = Estimate::new(value, metric.n, metric.n_failed);
    match metric.interval {
        Some(interval) => estimate.between(interval.low, interval.high),
        None => estimate,
    }
}

/// The distribution of the items' values of a metric; none if fewer than two have one, or if the metric has no scale.
pub fn spread(name: &'static str, items: &'static str, metric: Option<&Metric>) -> Option<Spread> {
    let metric = metric?;
    let values = metric.per_case.values().filter_map(|case| case.value);
    let spread = Spread {
        metric: name,
        items,
        ends: metric.ends()?,
        values: values.collect(),
    };
    (spread.values.len() > 1).then_some(spread)
}

/// The metrics whose id is `prefix` followed by one more part, by that part.
pub fn family<'a>(
    metrics: &'a BTreeMap<String, Metric>,
    prefix: &str,
) -> Vec<(&'a str, &'a Metric)> {
    let with_part = metrics.iter().filter_map(|(id, metric)| {
        let part = id.strip_prefix(prefix)?.strip_prefix('.')?;
        Some((part, metric))
    });
    with_part.collect()
}

/// One variant's part in a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The digest of the variant's input and the baseline's: two sides are paired if it is equal.
    pub input: Digest,
    /// The value of each repeat, in the direction of the metric; null if it failed.
    pub values: Vec<Option<f64>>,
    /// The value of each pair of answers: a list for each answer to the variant, and in it a value for each answer to
    /// the input of the case. Missing if there is one pair, or each repeat was compared with itself alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Box<Pairs>>,
}

/// The values of all pairs of answers: a list for each answer to a variant, in it a value for each answer to
/// the input of the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pairs(pub Vec<Vec<Option<f64>>>);

impl Cell {
    /// The values of all pairs; empty if there are none.
    pub fn pairs(&self) -> &[Vec<Option<f64>>] {
        self.pairs.as_ref().map_or(&[], |pairs| &pairs.0)
    }
}

/// A read-only map from the names of variants to their samples.
///
/// It is a sorted list: a run has one list for every case of every gated metric, many lists contain a single variant,
/// and a `BTreeMap` with a single variant needs eleven times the space.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<Arc<str>, Cell>")]
pub struct Cells(Box<[(Arc<str>, Cell)]>);

impl Cells {
    /// How many variants there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no variant, as in metrics that are not gated.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every variant with its samples, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Cell)> {
        self.0.iter().map(|(variant, cell)| (variant, cell))
    }

    /// The samples of one variant.
    pub fn get(&self, variant: &str) -> Option<&Cell> {
        let at = self.0.binary_search_by(|(name, _)| (**name).cmp(variant));
        Some(&self.0[at.ok()?].1)
    }

    /// The samples of every variant, in the order of the names.
    pub fn values(&self) -> impl Iterator<Item = &Cell> {
        self.0.iter().map(|(_, cell)| cell)
    }

    /// Mutable access to the samples of every variant.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.0.iter_mut().map(|(_, cell)| cell)
    }
}

impl From<BTreeMap<Arc<str>, Cell>> for Cells {
    fn from(cells: BTreeMap<Arc<str>, Cell>) -> Self {
        Self(cells.into_iter().collect())
    }
}

impl FromIterator<(Arc<str>, Cell)> for Cells {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Cell)>>(cells: I) -> Self {
        Self::from(cells.into_iter().collect::<BTreeMap<_, _>>())
    }
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl JsonSchema for Cells {
    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<Arc<str>, Cell>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<Arc<str>, Cell>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_number_becomes_null_with_a_reason() {
        let metric = Metric::new(Ok(f64::NAN), 0, 0);
        assert_eq!(metric.value, None);
        assert_eq!(metric.reason.as_deref(), Some("not a finite number"));
    }

    fn cell(value: f64) -> Cell {
        Cell {
            input: Digest::of(b"input"),
            values: vec![Some(value)],
            pairs: None,
        }
    }

    #[test]
    fn cells_read_and_write_as_a_map_that_is_in_order_and_names_each_once() {
        let names = ["b", "a", "b"].map(Arc::from);
        let cells: Cells = names.into_iter().zip([0.0, 0.5, 1.0].map(cell)).collect();
        assert_eq!(cells.len(), 2);
        let text = serde_json::to_string(&cells).expect("writes");
        let input = Digest::of(b"input");
        let expected = format!(
            r#"{{"a":{{"input":"{input}","values":[0.5]}},"b":{{"input":"{input}","values":[1.0]}}}}"#
        );
        assert_eq!(text, expected);
        let again: Cells = serde_json::from_str(&text).expect("reads");
        assert_eq!(again, cells);
        assert!(
            serde_json::from_str::<Cells>("{}")
                .expect("reads")
                .is_empty()
        );
    }
}
