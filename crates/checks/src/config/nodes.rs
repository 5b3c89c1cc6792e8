//! What every part of the check of the configuration asks of its tree.

use crate::interpolate;
use kelvin_run::config::Problem;
use kelvin_run::config::yaml::{Content, Key, Node};

/// The entries of the mapping under a key.
pub(super) fn entries<'n>(node: &'n Node, key: &str) -> &'n [(Key, Node)] {
    match node.get(&[key]).map(|node| &node.content) {
        Some(Content::Map(entries)) => entries,
        _ => &[],
    }
}

/// The variables of the environment that are named and not set.
pub(super) fn unset(node: &Node, found: &mut Vec<Problem>) {
    match &node.content {
        Content::Text(text) => {
            for name in interpolate::names(text) {
                if interpolate::of_environment(name).is_none() {
                    let what = format!("the variable `{name}` is not set in the environment");
                    found.push(Problem::new(node.at.clone(), what).help(format!(
                        "set it, or write `$${{{name}}}` where the text itself is meant"
                    )));
                }
            }
        }
        Content::List(items) => items.iter().for_each(|item| unset(item, found)),
        Content::Map(entries) => {
            let others = entries.iter();
            others
                .filter(|(key, _)| !interpolate::is_left_as_written(&key.text))
                .for_each(|(_, node)| unset(node, found));
        }
        Content::Null | Content::Bool(_) | Content::Integer(_) | Content::Float(_) => {}
    }
}
