//! A metric: one figure with its sample, its interval, and the reason where there is none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    /// A larger value is better.
    Higher,
    /// A smaller value is better.
    Lower,
}

/// A two-sided 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interval {
    /// The lower end.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
}

/// One figure of a report. Its id is its key there: `probe.name`, e.g. `evidence.invariance`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metric {
    /// Unrounded; null where it could not be measured, never NaN.
    pub(crate) value: Option<f64>,
    /// Why the value is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The value for people: 4 decimals.
    pub(crate) display: String,
    /// How many samples it is the mean of.
    pub(crate) n: usize,
    /// How many invocations failed and are in no score.
    pub(crate) n_failed: usize,
    /// Which way is better.
    pub(crate) direction: Direction,
    /// The 95 % interval; respects that samples of one case belong together. Null below two cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<Interval>,
    /// Whether the gate looks at it unless the configuration says otherwise.
    pub(crate) gated: bool,
    /// Whether its values by case come from ranks. One rank can be half of the whole scale there, so
    /// a large change of one case is no sign that the case broke.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) by_rank: bool,
    /// The same per case, where that is meaningful.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) per_case: BTreeMap<String, CaseValue>,
}

/// A metric in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseValue {
    /// The mean over the samples of the case; null where it has none.
    pub(crate) value: Option<f64>,
    /// How many samples.
    pub(crate) n: usize,
    /// The mean of each repeat, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) repeats: Vec<Option<f64>>,
    /// The samples by variant, for gated metrics: what the gate pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) cells: BTreeMap<String, Cell>,
}

/// One variant's part in a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cell {
    /// The digest of the variant's input and the baseline's: two sides are paired where it is equal.
    pub(crate) input: Digest,
    /// The value of each repeat, in the direction of the metric; null where it failed.
    pub(crate) values: Vec<Option<f64>>,
}

impl Metric {
    /// A measured or unmeasured value; null needs its reason.
    pub(crate) fn new(value: Result<f64, String>, n: usize, n_failed: usize) -> Self {
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
            direction: Direction::Higher,
            interval: None,
            gated: false,
            by_rank: false,
            per_case: BTreeMap::new(),
        }
    }

    /// Turns the direction: a smaller value is better.
    #[must_use]
    pub(crate) const fn lower_is_better(mut self) -> Self {
        self.direction = Direction::Lower;
        self
    }

    /// Shows the value within `[0, 1]`: what noise takes outside of it means no more than its end.
    #[must_use]
    pub(crate) fn shown_within_one(mut self) -> Self {
        if let Some(value) = self.value {
            self.display = display(value.clamp(0.0, 1.0));
        }
        self
    }

    /// Adds the interval.
    #[must_use]
    pub(crate) const fn interval(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval;
        self
    }
}

/// A value for people: 4 decimals, and no minus before a zero.
pub(crate) fn display(value: f64) -> String {
    let text = format!("{value:.4}");
    if text == "-0.0000" {
        "0.0000".to_owned()
    } else {
        text
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

    #[test]
    fn display_has_four_decimals() {
        assert_eq!(display(2.0 / 3.0), "0.6667");
        assert_eq!(display(-1e-9), "0.0000");
    }
}
