//! Checks that the output is JSON that matches a schema, or has a value at a path.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::text::{name, nothing_expected, selector, text};
use super::{Check, CheckFinding, EarlyEnd, shown};
use crate::keys::{JsonPathKeys, JsonSchemaKeys};
use crate::same::same;
use crate::scene::Scene;
use crate::selector::Selector;

/// How many differences from a schema are reported at most.
const TOLD: usize = 5;

/// The output as JSON, or the finding that it is not JSON.
pub(super) fn json(scene: &Scene<'_>, from: &Selector) -> Result<Value, CheckFinding> {
    let text = text(scene, from)?;
    serde_json::from_str(&text)
        .map_err(|error| CheckFinding::of(false, format!("{} is not JSON: {error}", name(from))))
}

/// Checks that the output matches the schema.
#[derive(Debug)]
pub(super) struct FitsSchema {
    validator: Validator,
    from: Selector,
}

impl FitsSchema {
    pub(super) fn of(keys: &JsonSchemaKeys) -> Result<Self, (&'static str, String)> {
        if !keys.schema.is_object() && !keys.schema.is_boolean() {
            return Err(("schema", "a JSON schema is a mapping".to_owned()));
        }
        // Patterns use the regular expression engine with linear time; no `$ref` is fetched.
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options
            .build(&keys.schema)
            .map_err(|error| ("schema", format!("this is no JSON schema: {error}")))?;
        Ok(Self {
            validator,
            from: selector(&keys.input_from)?,
        })
    }
}

impl Check for FitsSchema {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let value = json(scene, &self.from)?;
        let mut errors = self.validator.iter_errors(&value);
        let told: Vec<String> = errors
            .by_ref()
            .take(TOLD)
            .map(|error| {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() { "/".to_owned() } else { at };
                format!("at `{}`: {}", shown(&at), shown(&error.to_string()))
            })
            .collect();
        if told.is_empty() {
            let reason = format!("{} fits the schema", name(&self.from));
            return Ok(CheckFinding::of(true, reason));
        }
        let more = errors.count();
        let more = match more {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Ok(CheckFinding::of(
            false,
            format!(
                "{} does not fit the schema: {}{more}",
                name(&self.from),
                told.join("; ")
            ),
        ))
    }
}

/// Checks that the output has a value at the path.
#[derive(Debug)]
pub(super) struct HasPath {
    written: JsonPathKeys,
    path: JsonPath,
    equals: Option<Value>,
    exists: bool,
    from: Selector,
}

impl HasPath {
    pub(super) fn of(
        written: &JsonPathKeys,
        keys: &JsonPathKeys,
    ) -> Result<Self, (&'static str, String)> {
        if keys.exists && keys.equals.is_some() {
            let what =
                "`exists: true` asks for any value, and `equals` for one: leave one of the two out";
            return Err(("exists", what.to_owned()));
        }
        Ok(Self {
            exists: keys.exists,
            written: written.clone(),
            path: path(&keys.path).map_err(|what| ("path", what))?,
            equals: keys.equals.clone(),
            from: selector(&keys.input_from)?,
        })
    }
}

/// A JSONPath.
pub(super) fn path(text: &str) -> Result<JsonPath, String> {
    JsonPath::parse(text).map_err(|error| {
        format!("this is no JSONPath: {error}; it begins with `$`, as in `$.items[0].name`")
    })
}

impl Check for HasPath {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let wanted = match self.exists {
            true => None,
            false => {
                let wanted = self.equals.as_ref().or(scene.scenario.expected.as_ref());
                Some(wanted.ok_or_else(nothing_expected)?)
            }
        };
        let value = json(scene, &self.from)?;
        let found = self.path.query(&value).all();
        let (name, path) = (name(&self.from), &self.written.path);
        let Some(first) = found.first() else {
            return Ok(CheckFinding::of(
                false,
                format!("{name} has nothing at `{path}`"),
            ));
        };
        let Some(wanted) = wanted else {
            return Ok(CheckFinding::of(
                true,
                format!("{name} has something at `{path}`"),
            ));
        };
        let told = self.written.equals.as_ref().unwrap_or(wanted).to_string();
        let told = shown(&told);
        Ok(match found.iter().any(|value| same(value, wanted)) {
            true => CheckFinding::of(true, format!("{name} has `{told}` at `{path}`")),
            false => {
                let first = shown(&first.to_string());
                CheckFinding::of(
                    false,
                    format!("{name} has `{first}` at `{path}`, expected `{told}`"),
                )
            }
        })
    }
}
