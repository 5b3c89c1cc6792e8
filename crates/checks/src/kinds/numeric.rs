//! The output is a number within limits.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::json::{json, path};
use super::text::{name, nothing_expected, selector, text};
use super::{Check, Finding, Stopped, shown};
use crate::keys::NumericKeys;
use crate::scene::Scene;
use crate::selector::Selector;

/// Is the number, or within the limits.
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

    fn number(&self, scene: &Scene<'_>) -> Result<f64, Finding> {
        let name = name(&self.from);
        let Some(path) = &self.path else {
            let text = text(scene, &self.from)?;
            let number = text.trim().parse::<f64>().ok();
            return number.filter(|number| number.is_finite()).ok_or_else(|| {
                Finding::of(false, format!("{name} is no number: {}", shown(&text)))
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
            Finding::of(false, format!("{name} has no number at `{at}`"))
        })
    }
}

impl Check for Numeric {
    fn look(&self, scene: &Scene<'_>) -> Result<Finding, Stopped> {
        let NumericKeys {
            equals,
            tolerance,
            min,
            max,
            ..
        } = &self.keys;
        let mut equals = *equals;
        if equals.is_none() && min.is_none() && max.is_none() {
            equals = scene
                .scenario
                .expected
                .as_ref()
                .and_then(|expected| match expected {
                    Value::String(text) => text.trim().parse().ok(),
                    other => other.as_f64(),
                });
            if equals.is_none() {
                return Ok(nothing_expected());
            }
        }
        let number = match self.number(scene) {
            Ok(number) => number,
            Err(finding) => return Ok(finding),
        };
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
            true => Finding::of(true, told),
            false => Finding::of(false, format!("{told}, {}", wrong.join(" and "))),
        })
    }
}
