//! Finds the variables and fields that are used in texts of the configuration.

use crate::interpolate;
use kelvin_run::config::Problem;
use kelvin_run::config::yaml::{Content, Node};

/// Whether a text may use fields of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScenarioFields {
    /// The text may contain fields: it belongs to one scenario.
    Allowed,
    /// The text may not contain fields: it is the same for all scenarios.
    Refused,
}

/// Finds environment variables that are used but not set, and fields of a scenario where none are allowed.
pub(super) fn unset(node: &Node, fields: ScenarioFields, found: &mut Vec<Problem>) {
    match &node.content {
        Content::Text(text) => {
            for name in interpolate::names(text) {
                if interpolate::is_field(name) {
                    if fields == ScenarioFields::Refused {
                        let what = format!(
                            "`${{{name}}}` is a field of the scenario, and a service is declared for all of them"
                        );
                        found.push(Problem::new(node.at.clone(), what).help(
                            "fields may stand in checks, in the file of `init`, and in `workspace.template`",
                        ));
                    }
                } else if interpolate::of_environment(name).is_none() {
                    let what = format!("the variable `{name}` is not set in the environment");
                    found.push(Problem::new(node.at.clone(), what).help(format!(
                        "set it, or write `$${{{name}}}` where the text itself is meant"
                    )));
                }
            }
        }
        Content::List(items) => items.iter().for_each(|item| unset(item, fields, found)),
        Content::Map(entries) => {
            let others = entries.iter();
            others
                .filter(|(key, _)| !interpolate::is_left_as_written(&key.text))
                .for_each(|(_, node)| unset(node, fields, found));
        }
        Content::Null | Content::Bool(_) | Content::Integer(_) | Content::Float(_) => {}
    }
}
