//! One scenario: what the pipeline is asked, and with which parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interpolate;
use super::keys::Parameter;
use kelvin_base::digest::Digest;

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The name of the scenario, which is unique.
    pub(super) id: String,
    /// What the pipeline is asked: the text of the case.
    #[serde(default)]
    pub(super) prompt: String,
    /// The parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) params: BTreeMap<String, Value>,
    /// The answer that is expected, for checks that compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<Value>,
    /// The invariants that hold for this scenario alone, by name, as they are written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) invariants: BTreeMap<String, Value>,
    /// The folder that its workspace is a copy of, in place of that of all scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    /// The line that it stands in; 0 where it is in no file of scenarios.
    #[serde(skip)]
    pub(super) line: usize,
}

impl Scenario {
    /// A scenario of which nothing is known but what it asks.
    pub(super) const fn asking(id: String, prompt: String) -> Self {
        Self {
            id,
            prompt,
            params: BTreeMap::new(),
            expected: None,
            invariants: BTreeMap::new(),
            template: None,
            line: 0,
        }
    }

    /// Whether another scenario expects the same, and looks at it in the same way.
    pub(super) fn is_judged_as(&self, other: &Self) -> bool {
        self.expected == other.expected
            && self.invariants == other.invariants
            && self.template == other.template
    }

    /// Takes over what another scenario expects, and how it looks at it.
    pub(super) fn judge_as(&mut self, other: &Self) {
        self.expected.clone_from(&other.expected);
        self.invariants.clone_from(&other.invariants);
        self.template.clone_from(&other.template);
    }

    /// The input of the wrapped call: the whole scenario.
    pub(super) fn text(&self) -> String {
        let text = serde_json::to_string(self).expect("every part of it is JSON");
        text + "\n"
    }

    /// The value that a name such as `KELVIN_PARAM_USER` stands for.
    ///
    /// # Errors
    ///
    /// Where the scenario has no such value.
    pub(super) fn field(&self, name: &str) -> Result<Value, String> {
        let found = match name {
            interpolate::ID => Some(self.id.as_str().into()),
            interpolate::PROMPT => Some(self.prompt.as_str().into()),
            interpolate::EXPECTED => self.expected.clone(),
            name => self
                .params
                .iter()
                .find(|(parameter, _)| interpolate::of_parameter(parameter) == name)
                .map(|(_, value)| value.clone()),
        };
        found.ok_or_else(|| match name.strip_prefix("KELVIN_PARAM_") {
            Some(parameter) => format!(
                "`${{{name}}}` stands for a parameter, and the scenario has no parameter `{}`",
                parameter.to_lowercase()
            ),
            None => {
                format!("`${{{name}}}` stands for what is `expected`, and the scenario has nothing")
            }
        })
    }

    /// The values that several names stand for.
    ///
    /// # Errors
    ///
    /// As for [`field`](Self::field).
    pub(super) fn values(&self, names: &[String]) -> Result<Vec<Value>, String> {
        names.iter().map(|name| self.field(name)).collect()
    }

    /// The digest of the scenario.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// The scenario with the values of one combination of the matrix.
    pub(super) fn with(&self, combination: &[(&str, &Parameter)]) -> Self {
        let mut scenario = self.clone();
        if combination.is_empty() {
            return scenario;
        }
        let shown: Vec<String> = combination
            .iter()
            .map(|(name, value)| format!("{name}={}", plain(&value.to_json())))
            .collect();
        scenario.id = format!("{}[{}]", self.id, shown.join(","));
        for (name, value) in combination {
            scenario.params.insert((*name).to_owned(), value.to_json());
        }
        scenario
    }
}

/// A parameter as it is written into the environment.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
