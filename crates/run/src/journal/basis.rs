//! The parts on which the answers of a journal depend, and the environment in which they were given, so that a later
//! run can say what has changed.

use std::collections::BTreeMap;

use crate::config;
use kelvin_base::digest::Fields;
use serde::{Deserialize, Serialize};

/// How many changes are named; the others are only counted.
const NAMED: usize = 5;
/// If there are more files than this, none is recorded: the journal would begin with megabytes.
const MOST_FILES: usize = 20_000;

/// The parts by the names that messages use, including files and programs, each with a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalBasis {
    parts: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

impl JournalBasis {
    /// Collects the parts and the files, under the names that messages use.
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

    /// Describes the changes in words.
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

/// Prefixes of variables of a terminal, a desktop or a login. They differ between two windows, and no pipeline depends
/// on them.
const OF_A_TERMINAL: &[&str] = &[
    "ALACRITTY_",
    "BASH_",
    "COLOR",
    "DBUS_",
    "DESKTOP_",
    "GNOME_",
    "GPG_",
    "HIST",
    "ITERM_",
    "KITTY_",
    "KONSOLE_",
    "LC_TERMINAL",
    "LESS",
    "SSH_",
    "TERM",
    "TMUX",
    "VSCODE_",
    "WAYLAND_",
    "WEZTERM_",
    "WT_",
    "XDG_",
    "ZSH",
    "__CF",
];
/// Full names of such variables.
const OF_A_LOGIN: &[&str] = &[
    "COLUMNS",
    "DISPLAY",
    "EDITOR",
    "LINES",
    "LS_COLORS",
    "MAIL",
    "PAGER",
    "PS1",
    "SESSION_MANAGER",
    "STY",
    "VISUAL",
    "WINDOWID",
    "XAUTHORITY",
];
/// Two hexadecimal digits of a digest detect 255 of 256 changes, and nobody can guess a value from them.
const DIGITS: usize = 2;

/// The undeclared variables of this process that may matter, each with a few digits of its digest.
pub(crate) fn variables_of_process(declared: &[String]) -> BTreeMap<String, String> {
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    kept_variables(variables, declared)
}

fn kept_variables(
    variables: impl IntoIterator<Item = (String, String)>,
    declared: &[String],
) -> BTreeMap<String, String> {
    let matters = |name: &String| {
        let passes = OF_A_TERMINAL.iter().any(|prefix| name.starts_with(prefix));
        let passes = passes || OF_A_LOGIN.contains(&name.as_str());
        config::lasts(name) && !passes && !declared.contains(name)
    };
    let variables = variables.into_iter().filter(|(name, _)| matters(name));
    let told = |(name, value): (String, String)| {
        let fields = Fields::of("kelvin/variable/v1").field("name", &name);
        let digest = fields.field("value", value).digest();
        (name, digest.short(DIGITS))
    };
    variables.map(told).collect()
}

/// The names of the variables that differ.
pub(super) fn differing_variables<'a>(
    before: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a String> {
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let others = now
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value));
    gone.chain(others.map(|(name, _)| name))
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
        insta::assert_snapshot!(before.changes(&now), @"the command, `four.py` is new, `three.py` was removed, `two.py` was edited");
        let many: Vec<String> = (0..9).map(|number| format!("{number}.py")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
        let told = basis("a", &[("0.py", "1")]).changes(&basis("a", &many));
        insta::assert_snapshot!(told, @"`1.py` is new, `2.py` is new, `3.py` is new, `4.py` is new, `5.py` is new, and 3 more");
    }

    #[test]
    fn a_journal_without_parts_names_the_parts_that_there_are() {
        let told = JournalBasis::default().changes(&basis("a", &[("one.py", "1")]));
        assert_eq!(told, "the command");
    }

    fn known(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        kept_variables(pairs, &["DECLARED".to_owned()])
    }

    #[test]
    fn what_differs_is_named_and_what_always_differs_is_not() {
        let before = known(&[
            ("MODEL", "one"),
            ("GONE", "1"),
            ("SAME", "1"),
            ("SHLVL", "1"),
            ("GITHUB_RUN_ID", "1"),
            ("SSH_CLIENT", "1"),
            ("TERM_SESSION_ID", "1"),
            ("COLUMNS", "80"),
            ("DECLARED", "1"),
        ]);
        let now = known(&[
            ("MODEL", "two"),
            ("NEW", "1"),
            ("SAME", "1"),
            ("SHLVL", "2"),
            ("GITHUB_RUN_ID", "2"),
            ("SSH_CLIENT", "2"),
            ("TERM_SESSION_ID", "2"),
            ("COLUMNS", "81"),
            ("DECLARED", "2"),
        ]);
        let names: Vec<&String> = differing_variables(&before, &now).collect();
        assert_eq!(names, ["GONE", "MODEL", "NEW"]);
        assert_eq!(differing_variables(&before, &before).count(), 0);
    }

    #[test]
    fn too_little_is_kept_to_guess_a_value() {
        let kept: std::collections::BTreeSet<String> = (0..10_000)
            .map(|pin| known(&[("PIN", &format!("{pin:04}"))])["PIN"].clone())
            .collect();
        assert!(kept.len() <= 256, "{}", kept.len());
        assert!(kept.iter().all(|kept| kept.len() == DIGITS));
    }
}
