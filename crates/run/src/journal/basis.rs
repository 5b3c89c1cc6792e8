//! What the answers of a journal depend on, in parts, so that a later run can say which parts have changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The number of changes that are named; further ones are counted.
const NAMED: usize = 5;
/// Where there are more files than this, none is noted down: the journal would begin with megabytes.
const MOST_FILES: usize = 20_000;

/// The parts by their names, with files and programs as messages name them, each with a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalBasis {
    parts: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

impl JournalBasis {
    /// Collects the parts, as messages name them, and the files.
    pub(crate) fn of(
        parts: impl IntoIterator<Item = (&'static str, String)>,
        files: BTreeMap<String, String>,
    ) -> Self {
        let parts = parts.into_iter();
        Self {
            parts: parts
                .map(|(name, digest)| (name.to_owned(), digest))
                .collect(),
            files: match files.len() {
                0..=MOST_FILES => files,
                _ => BTreeMap::new(),
            },
        }
    }

    /// The names of the files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(|name| name.trim_matches('`'))
    }

    /// Describes in words what differs now.
    pub(super) fn changes(&self, now: &Self) -> String {
        let mut changes: Vec<String> = now
            .parts
            .iter()
            .filter(|(name, digest)| self.parts.get(*name) != Some(digest))
            .map(|(name, _)| name.clone())
            .collect();
        if !self.files.is_empty() && !now.files.is_empty() {
            let names = self.files.keys().chain(now.files.keys());
            let mut names: Vec<&String> = names.collect();
            names.sort();
            names.dedup();
            for name in names {
                let what = match (self.files.get(name), now.files.get(name)) {
                    (before, after) if before == after => continue,
                    (None, _) => "is new",
                    (_, None) => "was removed",
                    _ => "was edited",
                };
                changes.push(format!("{name} {what}"));
            }
        }
        if changes.is_empty() {
            return "what its answers rest on".to_owned();
        }
        let more = match changes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        changes.truncate(NAMED);
        format!("{}{more}", changes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basis(command: &str, files: &[(&str, &str)]) -> JournalBasis {
        let quoted = |(name, digest): (String, String)| (format!("`{name}`"), digest);
        let owned = |(name, digest): &(&str, &str)| ((*name).to_owned(), (*digest).to_owned());
        JournalBasis::of(
            [("the command", command.to_owned())],
            files.iter().map(owned).map(quoted).collect(),
        )
    }

    #[test]
    fn each_change_is_named() {
        let before = basis("a", &[("one.py", "1"), ("two.py", "2"), ("three.py", "3")]);
        let now = basis("b", &[("one.py", "1"), ("two.py", "9"), ("four.py", "3")]);
        assert_eq!(
            before.changes(&now),
            "the command, `four.py` is new, `three.py` was removed, `two.py` was edited"
        );
        let many: Vec<String> = (0..9).map(|number| format!("{number}.py")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
        let told = basis("a", &[("0.py", "1")]).changes(&basis("a", &many));
        assert!(told.ends_with("`5.py` is new, and 3 more"), "{told}");
    }

    #[test]
    fn a_journal_without_parts_names_the_parts_that_there_are() {
        let told = JournalBasis::default().changes(&basis("a", &[("one.py", "1")]));
        assert_eq!(told, "the command");
    }
}
