//! Finds out before a run which program a command line would start, and whether it exists.

use std::path::Path;

use super::template::{self, CommandTemplate, CommandWord};
use super::{Launch, locate_program};
use kelvin_base::exit::Misuse;

/// Programs whose first argument is a file that they run.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "node", "perl", "php", "python", "python3", "Rscript", "ruby", "sh",
    "zsh",
];

/// Finds the program of a command line without starting it. Fails with a [`Misuse`] if the command could not be run
/// safely.
pub(in crate::targets) fn look_up(line: &str, root: &Path) -> Result<Launch, Misuse> {
    let words: Vec<Option<String>> = match &CommandTemplate::parse(line)? {
        CommandTemplate::Direct(words) => words
            .iter()
            .map(|word| CommandWord::fixed(word).map(str::to_owned))
            .collect(),
        CommandTemplate::Script(_) => first_command(line),
    };
    let program = words.first().cloned().flatten();
    let found = program
        .as_deref()
        .and_then(|name| locate_program(name, root));
    let argument = words.get(1).cloned().flatten();
    let absent = program
        .as_deref()
        .zip(argument)
        .filter(|(program, argument)| is_script(program, argument))
        .map(|(_, argument)| argument)
        .filter(|argument| !root.join(argument).is_file());
    Ok(Launch {
        program,
        found,
        absent,
        ..Launch::default()
    })
}

/// Whether an argument is a file that the program runs.
fn is_script(program: &str, argument: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    INTERPRETERS.contains(&name) && !argument.starts_with('-')
}

/// The words of the first command of a script, up to the first word with shell syntax, without assignments before the
/// command. The list is empty if the shell runs the command itself.
fn first_command(script: &str) -> Vec<Option<String>> {
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let is_plain = |word: &str| {
        word.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '+'))
    };
    let words: Vec<&str> = script
        .split_whitespace()
        .skip_while(|word| is_assignment(word) && !word.contains(['"', '\'', '$', '`']))
        .take_while(|word| is_plain(word))
        .collect();
    match words.first() {
        Some(first) if !template::SHELL_WORDS.contains(first) => {
            words.iter().map(|word| Some((*word).to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(line: &str, files: &[&str]) -> Launch {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in files {
            std::fs::write(folder.path().join(file), "").expect("written");
        }
        look_up(line, folder.path()).expect("it is safe")
    }

    #[test]
    fn a_program_is_looked_up_in_the_search_path_and_beside_the_configuration() {
        let found = launch("sh pipeline.sh {input} {output}", &["pipeline.sh"]);
        assert_eq!(found.program.as_deref(), Some("sh"));
        assert!(found.found.is_some() && found.absent.is_none());
        let missing = launch("./no-such-thing {input} {output}", &[]);
        assert_eq!(missing.found, None);
        assert_eq!(launch("no-such-thing {input} {output}", &[]).found, None);
    }

    #[test]
    fn the_file_that_an_interpreter_is_to_run_is_looked_for_too() {
        let missing = launch("sh pipeline.sh {input} {output}", &[]);
        assert_eq!(missing.absent.as_deref(), Some("pipeline.sh"));
        assert_eq!(launch("sh -x {input} {output}", &[]).absent, None);
        assert_eq!(launch("cat nothing {input} {output}", &[]).absent, None);
    }

    #[test]
    fn of_a_script_only_the_first_plain_command_is_looked_up() {
        let found = launch("A=1 sh pipeline.sh {input} > {output}", &[]);
        assert!(found.found.is_some());
        assert_eq!(found.absent.as_deref(), Some("pipeline.sh"));
        for script in [
            "cd x && ./y {input} {output}",
            "\"$TOOL\" {input} > {output}",
        ] {
            let unknown = launch(script, &[]);
            assert_eq!((unknown.program, unknown.found), (None, None), "{script}");
        }
    }
}
