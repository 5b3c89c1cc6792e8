//! The usage of a model's calls: tokens and money, as reported by the model's server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tokens that calls have used, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens that were sent.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// What the tokens cost by the prices of the configuration, in US dollars; missing if a call has no price, or if
    /// the server did not tell its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Calls for which the server told no tokens; they are in no sum.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub untold: usize,
}

impl Usage {
    /// A call for which the server reported no tokens.
    pub const fn untold() -> Self {
        Self {
            input_tokens: 0,
            output_tokens: 0,
            usd: None,
            untold: 1,
        }
    }

    /// The sum of all tokens.
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The sum of two usages. The money is known only if it is known for both of them.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            usd: self.usd.zip(other.usd).map(|(one, other)| one + other),
            untold: self.untold.saturating_add(other.untold),
        }
    }

    /// The sum of two usages, each of which may be missing.
    #[must_use]
    pub fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, usd: Option<f64>) -> Usage {
        Usage {
            input_tokens,
            output_tokens: 1,
            usd,
            untold: 0,
        }
    }

    #[test]
    fn sums_know_the_money_only_where_every_part_does() {
        let both = usage(2, Some(0.5)).plus(usage(3, Some(0.25)));
        assert_eq!((both.tokens(), both.usd), (7, Some(0.75)));
        assert_eq!(usage(2, Some(0.5)).plus(usage(3, None)).usd, None);
        let untold = usage(2, Some(0.5)).plus(Usage::untold());
        assert_eq!((untold.tokens(), untold.usd, untold.untold), (3, None, 1));
        // A missing usage beside a known one does not make the sum unknown.
        assert_eq!(
            Usage::sum(None, Some(usage(2, Some(0.5)))),
            Some(usage(2, Some(0.5)))
        );
        assert_eq!(Usage::sum(None, None), None);
    }

    #[test]
    fn what_is_not_there_is_not_written() {
        let text = serde_json::to_string(&usage(2, None)).expect("written");
        assert_eq!(text, r#"{"input_tokens":2,"output_tokens":1}"#);
        assert_eq!(
            serde_json::from_str::<Usage>(&text).expect("read"),
            usage(2, None)
        );
    }
}
