//! Changes of the conditions on which the figures depend, with their time.

use serde::Serialize;

use super::past::{MadeOf, PastRun};
use kelvin_base::calendar;

/// A change of a condition on which the figures depend, before a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ConditionChange {
    /// When the first run after the change started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// The conditions that changed, in words.
    pub(crate) what: Vec<&'static str>,
}

/// Names the conditions that differ.
pub(crate) fn differing(old: &MadeOf, new: &MadeOf) -> Vec<&'static str> {
    let of_sections = |of: fn(&(Option<_>, Option<_>)) -> Option<_>| {
        let mut both = old.sections.iter();
        both.any(|(name, section)| {
            let there = new.sections.get(name);
            there.is_some_and(|there| of(section) != of(there))
        })
    };
    let probes = |of: &MadeOf| of.sections.keys().cloned().collect::<Vec<_>>();
    let mut what = Vec::new();
    for (word, differs) in [
        ("the configuration", old.configuration != new.configuration),
        ("the probes", probes(old) != probes(new)),
        ("the cases", of_sections(|(items, _)| *items)),
        ("the command", of_sections(|(_, command)| *command)),
        ("the code of the pipeline", old.pipeline != new.pipeline),
        ("the seed", old.seed != new.seed),
        ("the version of kelvin", old.tool != new.tool),
    ] {
        if differs {
            what.push(word);
        }
    }
    what
}

/// The changes from one run to the next, oldest first.
pub(super) fn find_changes(runs: &[&PastRun]) -> Vec<ConditionChange> {
    let pairs = runs.windows(2);
    let changes = pairs.map(|pair| ConditionChange {
        at: calendar::written(pair[1].at),
        commit: pair[1].commit.clone(),
        what: differing(&pair[0].made_of, &pair[1].made_of),
    });
    changes.filter(|change| !change.what.is_empty()).collect()
}
