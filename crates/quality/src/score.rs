//! The weights of the factors of a score, and the meaning of a score.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest difference between two numbers that count as equal in decimal notation.
const GUARD: f64 = 1e-9;

/// One part of the score.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Factor {
    /// Whether the output has the form that was agreed on.
    Conformance,
    /// How much of what must be in the output is there.
    Completeness,
    /// How many of the tokens were of use.
    Efficiency,
}

impl Factor {
    /// Every factor, in the order in which they are added.
    pub(crate) const ALL: [Self; 3] = [Self::Conformance, Self::Completeness, Self::Efficiency];

    /// The name of the factor in texts.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Completeness => "completeness",
            Self::Efficiency => "efficiency",
        }
    }
}

/// What each factor weighs. The weights add up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Weights {
    /// The weight of conformance.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub conformance: f64,
    /// The weight of completeness.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub completeness: f64,
    /// The weight of efficiency.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub efficiency: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            conformance: 0.40,
            completeness: 0.35,
            efficiency: 0.25,
        }
    }
}

impl Weights {
    /// The configured weight of one factor.
    pub(crate) const fn of(&self, factor: Factor) -> f64 {
        match factor {
            Factor::Conformance => self.conformance,
            Factor::Completeness => self.completeness,
            Factor::Efficiency => self.efficiency,
        }
    }

    /// Parses `0.4,0.35,0.25`, or `conformance=0.4,completeness=0.6`, where a factor that is not
    /// named has the weight 0. Fails with the problem of the text, or of the weights.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut weights = Self {
            conformance: 0.0,
            completeness: 0.0,
            efficiency: 0.0,
        };
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_named = parts.iter().all(|part| part.contains('='));
        if !is_named && parts.len() != Factor::ALL.len() {
            return Err(format!(
                "`{text}` has {} of the three weights for conformance, completeness and efficiency",
                parts.len()
            ));
        }
        let mut named = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let (name, number) = match part.split_once('=') {
                Some((name, number)) => (name.trim(), number.trim()),
                None => (Factor::ALL[at].as_str(), *part),
            };
            let factor = Factor::ALL.into_iter().find(|one| one.as_str() == name);
            let factor = factor.ok_or_else(|| {
                format!("`{name}` is none of conformance, completeness and efficiency")
            })?;
            if named.contains(&factor) {
                return Err(format!("`{name}` has two weights"));
            }
            named.push(factor);
            let weight: f64 = number
                .parse()
                .map_err(|_| format!("the weight of {name}, `{number}`, is no number"))?;
            match factor {
                Factor::Conformance => weights.conformance = weight,
                Factor::Completeness => weights.completeness = weight,
                Factor::Efficiency => weights.efficiency = weight,
            }
        }
        weights.checked()
    }

    /// The weights, if they are valid. Fails with the problem of the weights.
    pub(crate) fn checked(self) -> Result<Self, String> {
        for factor in Factor::ALL {
            let weight = self.of(factor);
            if !(0.0..=1.0).contains(&weight) {
                let name = factor.as_str();
                return Err(format!(
                    "the weight of {name} is {weight}, and not from 0 to 1"
                ));
            }
        }
        let sum = self.sum(&Factor::ALL);
        match (sum - 1.0).abs() <= GUARD {
            true => Ok(self),
            false => Err(format!("the weights add up to {sum} and not to 1")),
        }
    }

    fn sum(&self, factors: &[Factor]) -> f64 {
        factors.iter().map(|factor| self.of(*factor)).sum()
    }

    /// The effective weight of each provided factor: if some factors are not provided, the weights of the others are
    /// scaled to a sum of 1. Empty if no provided factor has weight.
    pub(crate) fn effective(&self, provided: &[Factor]) -> Vec<(Factor, f64)> {
        let here: Vec<Factor> = Factor::ALL
            .into_iter()
            .filter(|factor| provided.contains(factor) && self.of(*factor) > 0.0)
            .collect();
        let sum = self.sum(&here);
        // Weights with a sum of 1 stay exactly as they are.
        let is_whole = (sum - 1.0).abs() <= GUARD;
        let scaled = |weight: f64| if is_whole { weight } else { weight / sum };
        here.into_iter()
            .map(|factor| (factor, scaled(self.of(factor))))
            .collect()
    }

    /// The efficiency that an output needs for a good score if everything else is perfect; none if the score needs no
    /// efficiency.
    pub(crate) fn least_efficiency(&self, provided: &[Factor]) -> Option<f64> {
        let effective = self.effective(provided);
        let weight = |wanted: Factor| {
            let mut found = effective.iter();
            found.find_map(|(factor, weight)| (*factor == wanted).then_some(*weight))
        };
        let own = weight(Factor::Efficiency)?;
        let least = (Band::GOOD - (1.0 - own)) / own;
        (least > GUARD).then_some(least)
    }
}

/// The meaning of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// From 0.80.
    Good,
    /// From 0.60, and below 0.80.
    Review,
    /// Below 0.60.
    Poor,
}

impl Band {
    /// Every band, the best first.
    pub const ALL: [Self; 3] = [Self::Good, Self::Review, Self::Poor];
    /// The lower end of the best band.
    pub const GOOD: f64 = 0.80;
    /// The lower end of the middle band.
    pub(crate) const REVIEW: f64 = 0.60;

    /// The band of a score. A score that equals the limit in decimal notation has reached it.
    pub fn of(score: f64) -> Self {
        match score {
            score if score >= Self::GOOD - GUARD => Self::Good,
            score if score >= Self::REVIEW - GUARD => Self::Review,
            _ => Self::Poor,
        }
    }

    /// The name in texts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Review => "review",
            Self::Poor => "poor",
        }
    }

    /// The advice for a score in this band.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Good => "keep it",
            Self::Review => "have a person look at the outputs",
            Self::Poor => "fix it, or return to the last good version",
        }
    }
}

/// A score, or a limit, with the number of decimals for texts.
pub(crate) fn points(value: f64) -> String {
    format!("{value:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_02_weights_add_up_to_one_within_a_billionth() {
        for text in [
            "0.4,0.35,0.25",
            "0.4, 0.35, 0.2500000005",
            "conformance=1",
            "efficiency=0.5,completeness=0.5",
        ] {
            assert!(Weights::parse(text).is_ok(), "{text}");
        }
        let mut told = Vec::new();
        for text in [
            "0.4,0.35,0.26",
            "0.4,0.35,0.250000002",
            "0.4,0.6",
            "0.5,0.75,-0.25",
            "NaN,0.5,0.5",
            "0.4,0.35,x",
            "conformance=0.5,conformance=0.5",
            "correctness=1",
            "",
        ] {
            told.push(Weights::parse(text).expect_err(text));
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the weights add up to 1.01 and not to 1
        the weights add up to 1.000000002 and not to 1
        `0.4,0.6` has 2 of the three weights for conformance, completeness and efficiency
        the weight of efficiency is -0.25, and not from 0 to 1
        the weight of conformance is NaN, and not from 0 to 1
        the weight of efficiency, `x`, is no number
        `conformance` has two weights
        `correctness` is none of conformance, completeness and efficiency
        `` has 1 of the three weights for conformance, completeness and efficiency
        ");
    }

    #[test]
    fn qlt_05_the_bands_are_half_open() {
        for (score, band) in [
            (1.0, Band::Good),
            (0.80, Band::Good),
            (0.4 + 0.35 + 0.25 * 0.2, Band::Good),
            (0.1 + 0.7, Band::Good),
            (0.799_999, Band::Review),
            (0.795, Band::Review),
            (0.60, Band::Review),
            (0.2 + 0.4, Band::Review),
            (0.599_999, Band::Poor),
            (0.0, Band::Poor),
        ] {
            assert_eq!(Band::of(score), band, "{score}");
        }
    }
}
