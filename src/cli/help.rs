//! What `kelvin --help` shows: the commands that a newcomer needs, one a line, and the names of all others.

use std::fmt::Write as _;

use clap::Command;

/// The commands that are explained, in the order in which somebody meets them.
const FIRST: [&str; 8] = [
    "demo", "init", "check", "gate", "compare", "view", "doctor", "import",
];

/// The others, by what brings somebody to them.
const OTHERS: [(&str, &[&str]); 4] = [
    (
        "In workflows",
        &["ci", "post", "approve", "merge", "baseline"],
    ),
    ("History", &["history", "ledger", "export"]),
    ("Judges, scores", &["calibrate", "eval", "label", "rescore"]),
    ("Files", &["lint", "schema", "cache", "completions", "man"]),
];

/// The command with the help of the whole program; the help of each of its commands is that of clap.
pub(super) fn with_short_help(command: Command) -> Command {
    let text = help(&command);
    command.override_help(text)
}

fn help(command: &Command) -> String {
    let heading = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let about = |name: &str| {
        let found = command.find_subcommand(name);
        found.and_then(Command::get_about).map(ToString::to_string)
    };
    let mut text = format!(
        "{}\n\n{heading}Usage:{heading:#} {literal}kelvin{literal:#} <COMMAND>\n\n",
        command.get_about().cloned().unwrap_or_default()
    );
    let _ = writeln!(text, "{heading}Commands:{heading:#}");
    for name in FIRST {
        let about = about(name).unwrap_or_default();
        let _ = writeln!(text, "  {literal}{name:<8}{literal:#}  {about}");
    }
    text.push('\n');
    for (title, names) in OTHERS {
        let space = " ".repeat(16 - title.len());
        let names = names.join(", ");
        let _ = writeln!(text, "{heading}{title}:{heading:#}{space}{names}");
    }
    text + "\n`kelvin COMMAND --help` says more of one; `kelvin --version` prints the version.\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_stands_in_the_help_once_and_the_help_on_one_screen() {
        let command = super::super::Args::command();
        let shown: Vec<&str> = FIRST
            .into_iter()
            .chain(OTHERS.iter().flat_map(|(_, names)| names.iter().copied()))
            .collect();
        let names: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(shown.iter().copied().collect::<BTreeSet<_>>(), names);
        assert_eq!(shown.len(), names.len(), "none twice");
        let text = anstream::adapter::strip_str(&help(&command)).to_string();
        assert!(text.lines().count() <= 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
