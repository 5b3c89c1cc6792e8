//! Checks of numbers: the output, and the time that the pipeline took.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::json::{json, path};
use super::text::{name, nothing_expected, selector, text};
use super::{Check, CheckFinding, EarlyEnd, shown};
use crate::keys::{LatencyKeys, NumericKeys};
use crate::scenario::Scenario;
use crate::scene::Scene;
use crate::selector::Selector;

/// Checks that the output is the number, or within the limits.
#[derive(Debug)]
pub(super) struct Numeric {
    keys: NumericKeys,
    path: Option<JsonPath>,
    from: Selector,
}

impl Numeric {
    pub(super) fn of(keys: &NumericKeys) -> Result<Self, (&'static str, String)> {
        if let (Some(min), Some(max)) = (keys.min, keys.max)
            && min > max
        {
            return Err(("min", format!("nothing is from {min} to {max}")));
        }
        let path = keys.path.as_deref().map(path).transpose();
        Ok(Self {
            path: path.map_err(|what| ("path", what))?,
            from: selector(&keys.input_from)?,
            keys: keys.clone(),
        })
    }

    fn number(&self, scene: &Scene<'_>) -> Result<f64, CheckFinding> {
        let name = name(&self.from);
        let Some(path) = &self.path else {
            let text = text(scene, &self.from)?;
            let number = text.trim().parse::<f64>().ok();
            return number.filter(|number| number.is_finite()).ok_or_else(|| {
                CheckFinding::of(false, format!("{name} is no number: {}", shown(&text)))
            });
        };
        let value = json(scene, &self.from)?;
        let found = path.query(&value).first().cloned();
        let number = match &found {
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| {
            let at = self.keys.path.as_deref().unwrap_or_default();
            CheckFinding::of(false, format!("{name} has no number at `{at}`"))
        })
    }
}

/// The number that a scenario expects; none if it expects no number.
fn expected_number(scenario: &Scenario) -> Result<Option<f64>, String> {
    let Some(expected) = &scenario.expected else {
        return Ok(None);
    };
    let number = match expected {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        other => other.as_f64(),
    };
    let number = number.filter(|number| number.is_finite());
    number.map(Some).ok_or_else(|| {
        let expected = shown(&expected.to_string());
        format!("what is `expected`, {expected}, is no number: give the check its own `equals`")
    })
}

impl Check for Numeric {
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let NumericKeys {
            equals, min, max, ..
        } = &self.keys;
        match equals.or(*min).or(*max) {
            Some(_) => Ok(()),
            None => expected_number(scenario).map(|_| ()),
        }
    }

    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let NumericKeys {
            equals,
            tolerance,
            min,
            max,
            ..
        } = &self.keys;
        let mut equals = *equals;
        if equals.is_none() && min.is_none() && max.is_none() {
            let expected = expected_number(scene.scenario).map_err(CheckFinding::error)?;
            equals = Some(expected.ok_or_else(nothing_expected)?);
        }
        let number = self.number(scene)?;
        let mut wrong = Vec::new();
        if let Some(equals) = equals
            && (number - equals).abs() > *tolerance
        {
            wrong.push(format!("expected {equals}, give or take {tolerance}"));
        }
        wrong.extend(
            min.filter(|min| number < *min)
                .map(|min| format!("expected at least {min}")),
        );
        wrong.extend(
            max.filter(|max| number > *max)
                .map(|max| format!("expected at most {max}")),
        );
        let told = format!("{} is {number}", name(&self.from));
        Ok(match wrong.is_empty() {
            true => CheckFinding::of(true, told),
            false => CheckFinding::of(false, format!("{told}, {}", wrong.join(" and "))),
        })
    }
}

/// Checks that the pipeline took no longer than allowed.
impl Check for LatencyKeys {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (most, took) = (self.max_s, scene.seconds);
        // The time itself is reported only if it was too long, so that two equal runs have the same text.
        Ok(match took <= most {
            true => CheckFinding::of(true, format!("took no longer than {most} s")),
            false => CheckFinding::of(
                false,
                format!("took {took:.2} s, expected at most {most} s"),
            ),
        })
    }
}
