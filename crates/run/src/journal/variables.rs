//! The environment that the answers of a journal were given in, so that a later run can name what differs.

use std::collections::BTreeMap;

use crate::config;
use kelvin_base::digest::Fields;

/// Prefixes of variables of a terminal, a desktop or a login. They differ between two windows, and no
/// pipeline answers by them.
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
/// Two hexadecimal digits of a digest notice a change in 255 of 256 cases, and nobody can guess a value from them.
const DIGITS: usize = 2;

/// The undeclared variables of this process that may matter, each with a few digits of its digest.
pub(crate) fn of_process(declared: &[String]) -> BTreeMap<String, String> {
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    of(variables, declared)
}

fn of(
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
pub(super) fn differing<'a>(
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

    fn known(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        of(pairs, &["DECLARED".to_owned()])
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
        let names: Vec<&String> = differing(&before, &now).collect();
        assert_eq!(names, ["GONE", "MODEL", "NEW"]);
        assert_eq!(differing(&before, &before).count(), 0);
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
