//! The limit for a figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit for a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Within(f64),
}

/// The result of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The limit is kept.
    Kept,
    /// The limit is not kept.
    Broken,
    /// It is not known whether the limit is kept; more prompts would be needed.
    Open,
    /// The criterion was not tried, and the judge can be fit without it.
    Unasked,
}

impl Limit {
    /// Compares an interval with the limit.
    pub(super) fn ruling(self, (low, high): (f64, f64)) -> Ruling {
        let (is_kept, is_broken) = match self {
            Self::AtLeast(limit) => (low >= limit, high < limit),
            Self::AtMost(limit) => (high <= limit, low > limit),
            Self::Within(limit) => (-limit <= low && high <= limit, high < -limit || limit < low),
        };
        match (is_kept, is_broken) {
            (true, _) => Ruling::Kept,
            (_, true) => Ruling::Broken,
            _ => Ruling::Open,
        }
    }

    /// The distance of the value from the limit; none if the value breaks the limit.
    pub(super) fn room(self, value: f64) -> Option<f64> {
        let room = match self {
            Self::AtLeast(limit) => value - limit,
            Self::AtMost(limit) => limit - value,
            Self::Within(limit) => limit - value.abs(),
        };
        (room > 0.0).then_some(room)
    }

    /// The lowest and the highest value within the limit, for a figure in `[-1, 1]`.
    pub(super) const fn ends(self) -> (f64, f64) {
        match self {
            Self::AtLeast(limit) => (limit, 1.0),
            Self::AtMost(limit) => (-1.0, limit),
            Self::Within(limit) => (-limit, limit),
        }
    }

    pub(super) fn said(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("at least {limit}"),
            Self::AtMost(limit) => format!("at most {limit}"),
            Self::Within(limit) => format!("between -{limit} and {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_keeps_to_a_limit_breaks_it_or_leaves_it_open() {
        let rulings = |limit: Limit| {
            [(0.81, 0.9), (0.7, 0.9), (0.5, 0.79)].map(|interval| limit.ruling(interval))
        };
        use Ruling::{Broken, Kept, Open};
        assert_eq!(rulings(Limit::AtLeast(0.8)), [Kept, Open, Broken]);
        assert_eq!(rulings(Limit::AtMost(0.8)), [Broken, Open, Kept]);
        let within = Limit::Within(0.1);
        assert_eq!(within.ruling((-0.1, 0.1)), Kept);
        assert_eq!(within.ruling((-0.3, -0.11)), Broken);
        assert_eq!(within.ruling((0.11, 0.3)), Broken);
        assert_eq!(within.ruling((0.05, 0.3)), Open);
    }
}
