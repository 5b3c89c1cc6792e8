//! A check whose texts contain fields of the scenario, so that it requires different things in different scenarios.
//!
//! The value of a field is always treated as data: as text in a text, as a literal in a pattern, as the value itself in
//! JSON, and as a plain word in a path. In a query, values are bound as parameters (`sql/bound`). A command gets the
//! values as variables of the shell, which never executes them as commands.

use std::collections::BTreeMap;

use serde_json::Value;

use super::interpolate::{self, TextPart};
use super::keys::CheckKeys;
use super::kinds::{self, Check, CheckFinding, CheckInterrupted};
use super::scenario::{Scenario, plain};
use super::scene::Scene;
use super::services::DeclaredServices;

/// The check of an invariant.
#[derive(Debug)]
pub(super) enum InvariantCheck {
    /// A check that is the same for all scenarios.
    Shared(Box<dyn Check>),
    /// A check that is opened for each scenario.
    Own(OwnCheck),
}

/// A check that is opened for each scenario.
#[derive(Debug)]
pub(super) struct OwnCheck {
    /// The check as the file has it, with its type.
    written: Value,
    /// The values of the variables of the environment, by name.
    values: BTreeMap<String, String>,
    services: DeclaredServices,
}

/// The place of a text, which decides how a value is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextPlace {
    /// Text.
    Text,
    /// Any JSON value: a text that consists only of a field becomes the value itself, with its type.
    Value,
    /// A regular expression.
    Pattern,
    /// A path into JSON.
    Path,
    /// A text in which the fields are not replaced.
    Left,
}

impl TextPlace {
    /// The place of a text in a check of the type `kind`: under `key`, which is itself under `above`.
    fn of(kind: &str, above: &str, key: &str) -> Self {
        match (kind, above, key) {
            (_, _, key) if interpolate::is_left_as_written(key) => Self::Left,
            ("sql", "", "query") => Self::Left,
            ("json_path" | "numeric", "", "path") | (_, "assertions", "field") => Self::Path,
            (_, _, "pattern" | "matches") => Self::Pattern,
            ("equals", "", "value")
            | (_, _, "equals" | "const")
            | (_, "assertions", "contains" | "not_contains") => Self::Value,
            (_, "filters", key) if !["method", "path", "headers", "query"].contains(&key) => {
                Self::Value
            }
            _ => Self::Text,
        }
    }
}

impl InvariantCheck {
    /// Examines what was left. Fails if the run was interrupted meanwhile.
    pub(super) fn look(&self, scene: &Scene<'_>) -> Result<CheckFinding, CheckInterrupted> {
        match self {
            Self::Shared(check) => check.look(scene),
            Self::Own(own) => match own.open(scene.scenario) {
                Ok(check) => check.look(scene),
                // The scenarios were tested before the first one ran, but the base may have another expected value.
                Err(what) => Ok(CheckFinding::error(what)),
            },
        }
    }

    /// Whether the check can be used for a scenario. Fails with the missing part of the scenario, or with a part that
    /// cannot be used.
    pub(super) fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        match self {
            Self::Shared(check) => check.suits(scenario),
            Self::Own(own) => own.open(scenario)?.suits(scenario),
        }
    }
}

impl OwnCheck {
    /// A check that uses fields of the scenario; none if it uses no such fields.
    pub(super) fn of(
        written: &Value,
        values: &BTreeMap<String, String>,
        services: &DeclaredServices,
    ) -> Option<Self> {
        has_fields(written).then(|| Self {
            written: written.clone(),
            values: values.clone(),
            services: services.clone(),
        })
    }

    fn open(&self, scenario: &Scenario) -> Result<Box<dyn Check>, String> {
        let keys = |environment: &dyn Fn(&str) -> Option<String>| {
            let filling = Filling {
                kind: self.written["type"].as_str().unwrap_or_default(),
                scenario,
                environment,
            };
            let filled = filling.value("", "", &self.written)?;
            serde_json::from_value::<CheckKeys>(filled)
                .map_err(|error| format!("with the fields of the scenario it is no check: {error}"))
        };
        // A message shows the values of the scenario, but not those of the environment.
        let written = keys(&|name| Some(format!("${{{name}}}")))?;
        let filled = keys(&|name| self.values.get(name).cloned())?;
        let opened = kinds::open(&written, &filled, &self.services);
        opened.map_err(|(key, what)| match key {
            "" => what,
            key => format!("`{key}`: {what}"),
        })
    }
}

/// Whether a text of a check uses a field of the scenario; texts that are left unchanged do not count.
pub(super) fn has_fields(written: &Value) -> bool {
    fn any(kind: &str, (above, key): (&str, &str), value: &Value) -> bool {
        match value {
            Value::String(text) => {
                TextPlace::of(kind, above, key) != TextPlace::Left
                    && interpolate::names(text).any(interpolate::is_field)
            }
            Value::Array(items) => items.iter().any(|item| any(kind, (above, key), item)),
            Value::Object(entries) => entries
                .iter()
                .any(|(inside, value)| any(kind, (key, inside), value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    let kind = written["type"].as_str().unwrap_or_default();
    any(kind, ("", ""), written)
}

/// Inserts the fields of a scenario into a check.
struct Filling<'a> {
    kind: &'a str,
    scenario: &'a Scenario,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Filling<'_> {
    fn value(&self, above: &str, key: &str, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => self.text(TextPlace::of(self.kind, above, key), text)?,
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(above, key, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(inside, value)| Ok((inside.clone(), self.value(key, inside, value)?)));
                Value::Object(entries.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn text(&self, place: TextPlace, text: &str) -> Result<Value, String> {
        let parts = interpolate::parts(text);
        if let ([TextPart::Variable(name)], TextPlace::Value) = (&parts[..], place)
            && interpolate::is_field(name)
        {
            return self.scenario.field(name);
        }
        if place == TextPlace::Left && self.kind != "sql" {
            return Ok(text.into());
        }
        let mut filled = String::new();
        for part in parts {
            match part {
                TextPart::Text(text) => filled.push_str(text),
                TextPart::Variable(name)
                    if place == TextPlace::Left && interpolate::is_field(name) =>
                {
                    filled.push_str(&format!("${{{name}}}"));
                }
                TextPart::Variable(name) if interpolate::is_field(name) => {
                    filled.push_str(&as_data(place, name, &plain(&self.scenario.field(name)?))?);
                }
                TextPart::Variable(name) => match (self.environment)(name) {
                    Some(value) => filled.push_str(&value),
                    None => filled.push_str(&format!("${{{name}}}")),
                },
            }
        }
        Ok(filled.into())
    }
}

/// A value that is escaped for a text of some kind, so that it is only read as data.
fn as_data(place: TextPlace, name: &str, value: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match place {
        TextPlace::Pattern => Ok(regex::escape(value)),
        TextPlace::Path if !value.chars().all(is_plain) => Err(format!(
            "the value of `${{{name}}}` has characters that mean something in a path: only letters, digits, `_` and `-` \
             may stand there"
        )),
        TextPlace::Path | TextPlace::Text | TextPlace::Value | TextPlace::Left => {
            Ok(value.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scenario() -> Scenario {
        serde_json::from_value(json!({
            "id": "s", "prompt": "What is it?", "expected": {"a": 1},
            "params": {"n": 17, "word": "a.c", "path": "x'] | $"},
        }))
        .expect("a scenario")
    }

    fn filled(check: Value) -> Result<Value, String> {
        let scenario = scenario();
        let filling = Filling {
            kind: check["type"].as_str().unwrap_or_default(),
            scenario: &scenario,
            environment: &|name| Some(format!("<{name}>")),
        };
        filling.value("", "", &check)
    }

    #[test]
    fn a_value_is_data_wherever_it_is_put() {
        for (check, expected) in [
            (
                json!({"type": "contains", "value": "${KELVIN_SCENARIO}: ${KELVIN_PARAM_N} ${HOME} $${KELVIN_PROMPT}"}),
                json!({"type": "contains", "value": "s: 17 <HOME> ${KELVIN_PROMPT}"}),
            ),
            (
                json!({"type": "equals", "value": "${KELVIN_EXPECTED}"}),
                json!({"type": "equals", "value": {"a": 1}}),
            ),
            (
                json!({"type": "json_path", "path": "$.${KELVIN_PARAM_N}", "equals": "${KELVIN_PARAM_N}"}),
                json!({"type": "json_path", "path": "$.17", "equals": 17}),
            ),
            (
                json!({"type": "regex", "pattern": "^${KELVIN_PARAM_WORD}$"}),
                json!({"type": "regex", "pattern": "^a\\.c$"}),
            ),
            (
                json!({"type": "sql", "query": "SELECT ${KELVIN_PARAM_WORD}, ${HOME}", "equals": "${KELVIN_PARAM_N}"}),
                json!({"type": "sql", "query": "SELECT ${KELVIN_PARAM_WORD}, <HOME>", "equals": 17}),
            ),
            (
                json!({"type": "command_exit", "command": "test ${KELVIN_PARAM_N} ${HOME}"}),
                json!({"type": "command_exit", "command": "test ${KELVIN_PARAM_N} ${HOME}"}),
            ),
            (
                json!({"type": "http_mock_assertions", "assertions": [{
                    "field": "last_request.body.f${KELVIN_PARAM_N}", "equals": "${KELVIN_PARAM_N}",
                    "filters": {"order": "${KELVIN_PARAM_N}", "path": "/${KELVIN_PARAM_N}"},
                }]}),
                json!({"type": "http_mock_assertions", "assertions": [{
                    "field": "last_request.body.f17", "equals": 17, "filters": {"order": 17, "path": "/17"},
                }]}),
            ),
        ] {
            assert_eq!(filled(check).expect("filled"), expected);
        }
        let refused = filled(json!({"type": "json_path", "path": "$['${KELVIN_PARAM_PATH}']"}));
        insta::assert_snapshot!(refused.expect_err("a path"), @"the value of `${KELVIN_PARAM_PATH}` has characters that mean something in a path: only letters, digits, `_` and `-` may stand there");
        let refused = filled(json!({"type": "contains", "value": "${KELVIN_PARAM_GONE}"}));
        insta::assert_snapshot!(refused.expect_err("unknown"), @"`${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`");
    }

    #[test]
    fn what_is_left_to_the_shell_a_judge_or_a_database_makes_no_check_of_its_own() {
        for (check, is_own) in [
            (
                json!({"type": "contains", "value": "${KELVIN_PROMPT}"}),
                true,
            ),
            (json!({"type": "contains", "value": "${HOME}"}), false),
            (
                json!({"type": "command_exit", "command": "${KELVIN_PROMPT}"}),
                false,
            ),
            (
                json!({"type": "sql", "query": "SELECT ${KELVIN_PROMPT}"}),
                false,
            ),
            (
                json!({"type": "llm_as_judge", "criteria": "${KELVIN_PROMPT}"}),
                false,
            ),
            (
                json!({"type": "file_exists", "path": "${KELVIN_SCENARIO}.txt"}),
                true,
            ),
        ] {
            assert_eq!(has_fields(&check), is_own, "{check}");
        }
    }
}
