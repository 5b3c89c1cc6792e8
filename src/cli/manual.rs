//! The description of the command line. `kelvin --help` shows the commands that a newcomer needs, one per line, and the
//! names of all others. `kelvin completions` is for shells, and `kelvin man` writes the manual.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use kelvin_base::exit::Exit;

/// The arguments of `kelvin completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell, e.g. for bash: `source <(kelvin completions bash)`.
    shell: Shell,
}

/// The arguments of `kelvin man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The folder; it is made if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `kelvin completions`.
pub(super) fn completions(args: &CompletionsArgs, command: &mut Command) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "kelvin", &mut text);
    let text = String::from_utf8(text).context("the completions are no text")?;
    super::say(&match args.shell {
        Shell::Elvish => after_arguments(&text)?,
        Shell::Zsh => with_flags_after_files(&text),
        Shell::Fish => text + &values(command),
        _ => text,
    });
    Ok(Exit::Passed)
}

/// Repairs the completions for zsh: with two colons in an argument list, zsh offers no flags after the first of several
/// files.
fn with_flags_after_files(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("'*::") {
            // Three colons mark the arguments of a subcommand, which are not changed.
            Some(rest) if !rest.starts_with(':') => lines.extend(["'*:", rest]),
            _ => lines.push_str(line),
        }
    }
    lines
}

/// Repairs the completions for elvish. They treat every word as a command and fail at the first word that is not one,
/// such as the file in `kelvin lint FILE`. After the repair, a word counts as a command only if a command with this
/// name exists.
fn after_arguments(text: &str) -> anyhow::Result<String> {
    const APPEND: &str = "        set command = $command';'$word\n";
    const GUARDED: &str = "        if (has-key $completions $command';'$word) {\n            \
                           set command = $command';'$word\n        }\n";
    const LAST: &str = "    $completions[$command]\n";
    let begin = text.find("    for word $words").unwrap_or(text.len());
    let (before, rest) = text.split_at(begin);
    let (walk, rest) = rest
        .split_once("    var completions")
        .filter(|(walk, rest)| walk.contains(APPEND) && rest.contains(LAST))
        .context("the completions for elvish have another form than this version knows")?;
    let walk = walk.replace(APPEND, GUARDED) + LAST;
    Ok(format!(
        "{before}    var completions{}",
        rest.replace(LAST, &walk)
    ))
}

/// The lines that are missing for fish, whose completions leave out the possible values of arguments without a flag.
fn values(command: &Command) -> String {
    let mut lines = String::new();
    for below in command.get_subcommands() {
        let name = below.get_name();
        for argument in below.get_positionals() {
            for value in argument.get_possible_values() {
                lines.push_str(&format!(
                    "complete -c kelvin -n \"__fish_kelvin_using_subcommand {name}\" -f -a \"{}\"\n",
                    value.get_name()
                ));
            }
        }
    }
    lines
}

/// Runs `kelvin man`.
pub(super) fn man(args: &ManArgs, command: &Command) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command.clone(), folder))
        .with_context(|| format!("failed to write man pages to `{}`", folder.display()))?;
    Ok(Exit::Passed)
}

/// The commands that are explained, in the order in which a new user needs them.
const FIRST: [&str; 8] = [
    "demo", "init", "check", "gate", "compare", "view", "doctor", "import",
];

/// The other commands, grouped by their purpose.
const OTHERS: [(&str, &[&str]); 4] = [
    (
        "In workflows",
        &["ci", "post", "approve", "merge", "baseline"],
    ),
    ("History", &["history", "ledger", "export"]),
    ("Judges, scores", &["calibrate", "eval", "label", "rescore"]),
    ("Files", &["lint", "schema", "completions", "man"]),
];

/// The command with our own help text for the whole program; the help of each subcommand comes from clap.
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
    use super::*;
    use clap::CommandFactory as _;
    use std::collections::BTreeSet;

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
