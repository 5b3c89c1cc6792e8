//! Computes the indicators from the output of an invocation.

use serde_json::Value;

use super::contract::Contract;
use super::read;
use super::record::{QualityIndicators, TokenCounts, UsagePointers};
use super::score::Factor;
use kelvin_base::digest::{Digest, Fields};
use kelvin_page::safe;

/// How many missing outputs are named.
const NAMED: usize = 8;
/// The maximum length of a clause in characters; a longer one is shortened.
const LONGEST: usize = 160;
/// The largest number up to which a 64-bit float can represent every whole number.
const MOST_TOKENS: f64 = 9_007_199_254_740_992.0;

/// The expected properties of an output. A part that is not configured is a factor that is left out.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// The form that the output must have.
    pub(super) contract: Option<Contract>,
    /// The required outputs, as JSON pointers.
    pub(super) required: Option<Vec<String>>,
    /// The fields in which the output reports its cost.
    pub(super) usage: Option<UsagePointers>,
}

impl Expected {
    /// The configured factors.
    pub(super) fn factors(&self) -> Vec<Factor> {
        [
            (Factor::Conformance, self.contract.is_some()),
            (Factor::Completeness, self.required.is_some()),
            (Factor::Efficiency, self.usage.is_some()),
        ]
        .into_iter()
        .filter_map(|(factor, is_there)| is_there.then_some(factor))
        .collect()
    }

    /// Identifies the values that are read from an output. The weights do not belong to it, since they change no
    /// indicator.
    pub(super) fn digest(&self) -> Digest {
        let mut fields = Fields::of("kelvin/quality/v1");
        if let Some(contract) = &self.contract {
            fields = fields
                .field("contract", contract.digest().bytes())
                .field("is_empty", [u8::from(contract.is_empty())]);
        }
        if let Some(required) = &self.required {
            fields = fields.field("required", Value::from(required.clone()).to_string());
        }
        if let Some(usage) = &self.usage {
            let usage = serde_json::to_string(usage).expect("pointers are JSON");
            fields = fields.field("usage", usage);
        }
        fields.digest()
    }

    /// The indicators of an invocation; the bytes are missing for one that left no output. The score is computed
    /// elsewhere, since it depends on the weights.
    pub(super) fn of(&self, output: Option<&[u8]>) -> QualityIndicators {
        let read = output.map(read::json);
        match read {
            None => self.none("the pipeline left no output"),
            Some(Err(why)) => self.none(&format!("the output is no JSON: {why}")),
            Some(Ok(output)) => self.of_value(&output),
        }
    }

    /// The indicators of an unreadable output: it has no form and no required output, and no token was useful, so every
    /// factor is 0. If the factors were null instead, a pipeline that crashes on hard inputs would look better.
    fn none(&self, why: &str) -> QualityIndicators {
        let conformance = self.contract.as_ref();
        QualityIndicators {
            conformance: conformance
                .filter(|contract| !contract.is_empty())
                .map(|_| 0.0),
            completeness: self.required.as_ref().map(|_| 0.0),
            efficiency: self.usage.as_ref().map(|_| 0.0),
            lacks: vec![safe::cut(&safe::line(why), LONGEST)],
            failed: true,
            ..QualityIndicators::default()
        }
    }

    fn of_value(&self, output: &Value) -> QualityIndicators {
        let mut found = QualityIndicators::default();
        if let Some(contract) = self
            .contract
            .as_ref()
            .filter(|contract| !contract.is_empty())
        {
            let differences = contract.differences(output);
            found.conformance = Some(if differences.is_empty() { 1.0 } else { 0.0 });
            found.lacks = differences;
        }
        if let Some(required) = &self.required {
            let is_missing = |pointer: &&String| output.pointer(pointer).is_none_or(is_empty);
            let missing: Vec<&String> = required.iter().filter(is_missing).collect();
            found.completeness = Some(match required.len() {
                0 => 1.0,
                all => (all - missing.len()) as f64 / all as f64,
            });
            let named = missing.iter().take(NAMED);
            found
                .lacks
                .extend(named.map(|pointer| match output.pointer(pointer) {
                    None => not_there(pointer),
                    Some(_) => format!("`{pointer}` is empty"),
                }));
            if let Some(more) = missing.len().checked_sub(NAMED).filter(|more| *more > 0) {
                found
                    .lacks
                    .push(format!("{more} more are missing or empty"));
            }
        }
        if let Some(usage) = &self.usage {
            match token_counts(usage, output) {
                Ok(counts) => {
                    found.token_counts = Some(counts);
                    match efficiency(&counts) {
                        Ok(efficiency) => found.efficiency = Some(efficiency),
                        Err(why) => found.lacks.push(why),
                    }
                }
                Err(why) => found.lacks.push(why),
            }
        }
        found
    }
}

/// The clause for a required output that is missing.
fn not_there(pointer: &str) -> String {
    format!("`{pointer}` is missing")
}

impl QualityIndicators {
    /// Whether a required output was searched for in this output and is missing. If there are many missing outputs,
    /// only the first are named.
    pub(super) fn misses(&self, pointer: &str) -> bool {
        let clause = not_there(pointer);
        !self.failed && self.lacks.contains(&clause)
    }
}

/// Whether a required output has no content. 0 and false count as content.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn token_counts(usage: &UsagePointers, output: &Value) -> Result<TokenCounts, String> {
    let count = |pointer: &String| {
        let value = output
            .pointer(pointer)
            .ok_or_else(|| format!("the count of tokens `{pointer}` is missing"))?;
        tokens(value).ok_or_else(|| {
            let shown = safe::cut(&safe::line(&value.to_string()), 40);
            format!("`{pointer}` is `{shown}`, and no count of tokens")
        })
    };
    let (input, output_tokens) = (count(&usage.input)?, count(&usage.output)?);
    Ok(TokenCounts {
        input,
        output: output_tokens,
        useful: usage.useful.as_ref().map(count).transpose()?,
        total: match &usage.total {
            Some(total) => count(total)?,
            None => input.saturating_add(output_tokens),
        },
    })
}

/// A whole number of tokens, even if it is written as `12.0`.
fn tokens(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    let is_whole = (0.0..=MOST_TOKENS).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

/// The share of all tokens that were useful. Fails with the reason why the share cannot be computed.
pub(super) fn efficiency(counts: &TokenCounts) -> Result<f64, String> {
    let useful = counts.useful.unwrap_or(counts.output);
    if counts.total == 0 {
        return Err("it has used no tokens, so no share of them was of use".to_owned());
    }
    if useful > counts.total {
        return Err(format!(
            "{useful} useful tokens are more than all {} tokens",
            counts.total
        ));
    }
    Ok(useful as f64 / counts.total as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::ContractKeys;

    fn expected(contract: &str, required: &[&str]) -> Expected {
        let outputs: ContractKeys = serde_json::from_str(contract).expect("a contract");
        Expected {
            contract: Some(Contract::of_outputs(&outputs).expect("it can be looked at")),
            required: Some(required.iter().map(|one| (*one).to_owned()).collect()),
            usage: Some(UsagePointers {
                input: "/usage/input".to_owned(),
                output: "/usage/output".to_owned(),
                useful: None,
                total: Some("/usage/total".to_owned()),
            }),
        }
    }

    fn of(output: &Value) -> QualityIndicators {
        let expected = expected(r#"{"decision": "string"}"#, &["/decision", "/reasons"]);
        expected.of(Some(output.to_string().as_bytes()))
    }

    fn with_usage(input: Value, output: Value, total: Value) -> QualityIndicators {
        of(
            &json!({"decision": "yes", "reasons": [1], "usage": {"input": input, "output": output, "total": total}}),
        )
    }

    #[test]
    fn qlt_09_a_whole_output_has_every_factor() {
        let found = with_usage(json!(4200), json!(1850), json!(6050));
        assert_eq!(
            (found.conformance, found.completeness),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(found.efficiency, Some(1850.0 / 6050.0));
        assert!(found.lacks.is_empty() && !found.failed);
    }

    #[test]
    fn qlt_10_zero_and_false_are_there_and_what_says_nothing_is_not() {
        let expected = expected("{}", &["/it"]);
        for (value, share) in [
            (json!(0), 1.0),
            (json!(0.0), 1.0),
            (json!(false), 1.0),
            (json!("x"), 1.0),
            (json!([null]), 1.0),
            (json!({"a": null}), 1.0),
            (json!(null), 0.0),
            (json!(""), 0.0),
            (json!(" \t\n"), 0.0),
            (json!([]), 0.0),
            (json!({}), 0.0),
        ] {
            let found = expected.of(Some(json!({ "it": value }).to_string().as_bytes()));
            assert_eq!(found.completeness, Some(share), "{value}");
        }
        assert_eq!(expected.of(Some(b"{}")).completeness, Some(0.0));
    }

    #[test]
    fn qlt_11_zero_denominators_have_no_quotient() {
        // For a contract that names no output, no output conforms, and none fails to.
        let nothing = expected("{}", &[]);
        let found = nothing.of(Some(b"{}"));
        assert_eq!((found.conformance, found.completeness), (None, Some(1.0)));
        assert_eq!(nothing.of(None).conformance, None);
        assert_eq!(with_usage(json!(0), json!(0), json!(0)).efficiency, None);
    }

    #[test]
    fn qlt_12_what_is_no_count_of_tokens_is_null_and_said() {
        for wrong in [
            json!(null),
            json!(-1),
            json!(1.5),
            json!("12"),
            json!(1e300),
            json!([]),
            json!(true),
        ] {
            let found = with_usage(wrong.clone(), json!(1), json!(2));
            assert_eq!(found.efficiency, None, "{wrong}");
            assert!(
                found.lacks.iter().any(|lack| lack.contains("/usage/input")),
                "{found:?}"
            );
        }
        let absent = of(&json!({"decision": "yes", "reasons": [1]}));
        assert_eq!((absent.efficiency, absent.failed), (None, false));
        // There are more useful tokens than tokens: the pipeline counts wrongly.
        assert_eq!(with_usage(json!(1), json!(5), json!(3)).efficiency, None);
        assert_eq!(
            with_usage(json!(6.0), json!(2), json!(8)).efficiency,
            Some(0.25)
        );
    }

    #[test]
    fn qlt_13_a_total_that_is_not_the_sum_is_told() {
        let found = with_usage(json!(10), json!(5), json!(20));
        assert_eq!(found.efficiency, Some(0.25));
        assert!(!found.token_counts.expect("told").adds_up());
        let found = with_usage(json!(10), json!(5), json!(15));
        assert!(found.token_counts.expect("told").adds_up());
    }

    #[test]
    fn qlt_14_a_crash_and_an_output_that_is_no_json_have_zero_and_not_null() {
        let expected = expected(r#"{"decision": "string"}"#, &["/decision"]);
        for output in [
            None,
            Some(&b"all is well"[..]),
            Some(b""),
            Some(br#"{"decision": "a", "decision": "b"}"#),
        ] {
            let found = expected.of(output);
            let factors = (found.conformance, found.completeness, found.efficiency);
            assert_eq!(factors, (Some(0.0), Some(0.0), Some(0.0)), "{output:?}");
            assert!(found.failed && found.lacks.len() == 1);
        }
    }

    #[test]
    fn what_was_lost_is_named() {
        let found = of(&json!({"decision": 1, "usage": {"input": 1, "output": 1, "total": 2}}));
        assert_eq!(found.conformance, Some(0.0));
        assert_eq!(found.completeness, Some(0.5));
        assert!(found.lacks[0].starts_with("`/decision`: "), "{found:?}");
        assert_eq!(found.lacks[1], "`/reasons` is missing");
        let hostile = of(&json!({"decision": {"\u{1b}[31m": "\u{202e}"}, "reasons": []}));
        let told = hostile.lacks.join("\n");
        assert!(
            !told.contains('\u{1b}') && !told.contains('\u{202e}'),
            "{told:?}"
        );
    }
}
