//! Tells where a change edits the rules that it is judged by.

use std::path::Path;

use crate::baseline::{self, Hint, Login, Unknown};
use crate::config::{self, Config};
use crate::gate::policy::Effect;
use crate::gate::verdict::Reason;
use crate::probe;

/// A sentence for each section of the configuration that the change edits, compared with the file
/// in the tree of the base commit. Where there is no base commit there is nothing to tell; where it
/// could not be fetched, it is told that nobody knows.
pub(super) fn told(config: &Config, with: (Option<&Login>, &Hint)) -> Vec<Reason> {
    let name = Path::new(config.file.file_name().unwrap_or_default());
    let (commit, base) = match baseline::base_file(&config.root, with, name) {
        Ok(found) => found,
        Err(error) if Unknown::is_in(&error) => {
            return vec![warning(
                "whether this change edits the gate is not known: the base commit could not be \
                 fetched"
                    .to_owned(),
            )];
        }
        Err(_) => return Vec::new(),
    };
    let commit = baseline::short(commit);
    let Some(base) = base else {
        // A configuration that is new brings rules of its own.
        return vec![warning(format!(
            "the base {commit} has no `{}`: the gate is the one that this change brings",
            name.display()
        ))];
    };
    let base = String::from_utf8_lossy(&base);
    let edits = crate::file::read(&config.root.join(name)).and_then(|head| {
        let read = |text: &str| probe::configured_by(text, &config.file);
        config::edits(&read(&base)?, &read(&head)?)
    });
    match edits {
        Ok(edits) => edits
            .into_iter()
            .map(|(section, edits)| {
                warning(format!(
                    "this change edits the {section}: {}",
                    edits.join(", ")
                ))
            })
            .collect(),
        Err(_) => vec![warning(format!(
            "`{}` of the base {commit} cannot be read by this kelvin, so whether this change edits \
             the gate is not known",
            name.display()
        ))],
    }
}

fn warning(text: String) -> Reason {
    Reason {
        effect: Some(Effect::Warn),
        metric: None,
        text: crate::page::safe::line(&text),
    }
}
