//! Questions to a person, behind a trait so that tests can answer them.

use std::fmt;
use std::io::ErrorKind;

use dialoguer::{Confirm, Input, MultiSelect, Select};

/// Somebody who answers. Every answer may be [`Stopped`] instead.
pub(super) trait Ask {
    /// Asks for a text, again and again until `check` has nothing to say against it.
    fn text(
        &self,
        question: &str,
        default: Option<&str>,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> anyhow::Result<String>;

    /// Asks for one of the choices; hands back its place.
    fn one(&self, question: &str, choices: &[String]) -> anyhow::Result<usize>;

    /// Asks for any number of the choices, some of which may be chosen beforehand.
    fn several(&self, question: &str, choices: &[(String, bool)]) -> anyhow::Result<Vec<usize>>;

    /// Asks for a yes or a no.
    fn yes(&self, question: &str, default: bool) -> anyhow::Result<bool>;
}

/// The person does not want to go on.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// The person at the terminal.
pub(super) struct Terminal;

impl Ask for Terminal {
    fn text(
        &self,
        question: &str,
        default: Option<&str>,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> anyhow::Result<String> {
        let mut input = Input::<String>::new()
            .with_prompt(question)
            .validate_with(|text: &String| check(text));
        if let Some(default) = default {
            input = input.default(default.to_owned());
        }
        input.interact_text().map_err(explain)
    }

    fn one(&self, question: &str, choices: &[String]) -> anyhow::Result<usize> {
        Select::new()
            .with_prompt(question)
            .items(choices)
            .default(0)
            .interact_opt()
            .map_err(explain)?
            .ok_or_else(|| Stopped.into())
    }

    fn several(&self, question: &str, choices: &[(String, bool)]) -> anyhow::Result<Vec<usize>> {
        MultiSelect::new()
            .with_prompt(format!("{question} (space chooses, enter goes on)"))
            .items_checked(choices.iter().cloned())
            .interact_opt()
            .map_err(explain)?
            .ok_or_else(|| Stopped.into())
    }

    fn yes(&self, question: &str, default: bool) -> anyhow::Result<bool> {
        Confirm::new()
            .with_prompt(question)
            .default(default)
            .interact_opt()
            .map_err(explain)?
            .ok_or_else(|| Stopped.into())
    }
}

/// Ctrl-C while a handler for it is installed, and a terminal that went away, end the questions.
fn explain(error: dialoguer::Error) -> anyhow::Error {
    let dialoguer::Error::IO(error) = error;
    // A list of choices hides the cursor, and no question ends its line when it is cut off.
    let term = dialoguer::console::Term::stderr();
    let _ = term.show_cursor().and_then(|()| term.write_line(""));
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::NotConnected => {
            Stopped.into()
        }
        _ => anyhow::Error::new(error).context("failed to ask on the terminal"),
    }
}
