//! What the command of a configuration starts, and whether it is there, before anything is run.

use std::path::{Path, PathBuf};

use super::command::find_program;
use super::template::{self, Template, Word};
use crate::config::Config;
use crate::exit::Misuse;

/// Programs whose first argument is a file that they run.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "node", "perl", "php", "python", "python3", "Rscript", "ruby", "sh",
    "zsh",
];

/// What a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The program, as it is written; none where a shell decides that only when it runs.
    pub(crate) program: Option<String>,
    /// Where it is; none where it was not found, or is not known.
    pub(crate) found: Option<PathBuf>,
    /// The file that the program is to run and that is not there.
    pub(crate) absent: Option<String>,
    /// Whether it goes through `sh`.
    pub(crate) by_shell: bool,
}

/// Looks up the command of a configuration; nothing is started.
///
/// # Errors
///
/// A [`Misuse`] where the command could not be run safely.
pub(crate) fn look_up(config: &Config) -> Result<Start, Misuse> {
    let template = Template::parse(&config.run)?;
    let (words, by_shell): (Vec<Option<String>>, bool) = match &template {
        Template::Direct(words) => (
            words
                .iter()
                .map(|word| Word::fixed(word).map(str::to_owned))
                .collect(),
            false,
        ),
        Template::Script(_) => (first_command(&config.run), true),
    };
    let program = words.first().cloned().flatten();
    let found = program.as_deref().and_then(|name| find(name, &config.root));
    let argument = words.get(1).cloned().flatten();
    let absent = program
        .as_deref()
        .zip(argument)
        .filter(|(program, argument)| is_script(program, argument))
        .map(|(_, argument)| argument)
        .filter(|argument| !config.root.join(argument).is_file());
    Ok(Start {
        program,
        found,
        absent,
        by_shell,
    })
}

/// A program, where it is one.
fn find(name: &str, root: &Path) -> Option<PathBuf> {
    let path = find_program(name, root);
    let is_there = path.is_absolute() && path.is_file();
    is_there.then_some(path)
}

/// Whether an argument is a file that the program runs.
fn is_script(program: &str, argument: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    INTERPRETERS.contains(&name) && !argument.starts_with('-')
}

/// The words of the first command of a script, as far as they are plain: assignments before it are
/// passed over, and words of the shell itself are no program.
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

/// How many bytes can still be written to the file system of a folder; none where it does not say.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let data = rustix::fs::statvfs(folder).ok()?;
    data.f_bavail.checked_mul(data.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(run: &str, files: &[&str]) -> Start {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in files {
            std::fs::write(folder.path().join(file), "").expect("written");
        }
        let text = format!("run: {run}\ncases: cases\ndecision_field: d\ngoverning_types: [a]\n");
        let config = Config::parse(&text, &folder.path().join("kelvin.yaml")).expect("it is valid");
        look_up(&config).expect("it is safe")
    }

    #[test]
    fn a_program_is_looked_up_in_the_search_path_and_beside_the_configuration() {
        let found = start("sh pipeline.sh {input} {output}", &["pipeline.sh"]);
        assert_eq!(found.program.as_deref(), Some("sh"));
        assert!(found.found.is_some() && found.absent.is_none() && !found.by_shell);
        let missing = start("./no-such-thing {input} {output}", &[]);
        assert_eq!(missing.found, None);
        assert_eq!(start("no-such-thing {input} {output}", &[]).found, None);
    }

    #[test]
    fn the_file_that_an_interpreter_is_to_run_is_looked_for_too() {
        let missing = start("sh pipeline.sh {input} {output}", &[]);
        assert_eq!(missing.absent.as_deref(), Some("pipeline.sh"));
        assert_eq!(start("sh -x {input} {output}", &[]).absent, None);
        assert_eq!(start("cat nothing {input} {output}", &[]).absent, None);
    }

    #[test]
    fn of_a_script_only_the_first_plain_command_is_looked_up() {
        let found = start("'A=1 sh pipeline.sh {input} > {output}'", &[]);
        assert!(found.by_shell && found.found.is_some());
        assert_eq!(found.absent.as_deref(), Some("pipeline.sh"));
        for script in [
            "'cd x && ./y {input} {output}'",
            "'\"$TOOL\" {input} > {output}'",
        ] {
            let unknown = start(script, &[]);
            assert_eq!((unknown.program, unknown.found), (None, None), "{script}");
        }
    }
}
