//! Questions to a person. Each is a line that is typed, so that a screen reader, a slow connection and a
//! script can answer it; the trait lets tests do so.

use std::fmt;
use std::io::{ErrorKind, Write as _};

use dialoguer::Input;
use dialoguer::theme::Theme;

/// Somebody who answers. Every answer may be a [`Stopped`] instead.
pub(super) trait Ask {
    /// Shows lines on which the next question depends.
    fn show(&self, lines: &[String]);

    /// Asks for a line, again and again until `check` has nothing to say against it. An empty line means
    /// the default, where there is one.
    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String>;
}

/// Why an answer cannot be taken.
pub(super) type Check<'a> = dyn Fn(&str) -> Result<(), String> + 'a;

/// The person does not want to go on.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// The person wants the question before this one.
#[derive(Debug)]
pub(super) struct Back;

impl fmt::Display for Back {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the question before was asked for")
    }
}

impl std::error::Error for Back {}

/// Asks for a text.
pub(super) fn text(
    ask: &dyn Ask,
    question: &str,
    default: Option<&str>,
    check: &Check<'_>,
) -> anyhow::Result<String> {
    let checked = |line: &str| match is_back(line) {
        true => Ok(()),
        false => check(line),
    };
    let line = ask.line(question, default, &checked)?;
    match is_back(&line) {
        true => Err(Back.into()),
        false => Ok(line),
    }
}

/// Asks for one of the choices by its number; hands back its place.
pub(super) fn one(
    ask: &dyn Ask,
    question: &str,
    choices: &[String],
    default: Option<usize>,
) -> anyhow::Result<usize> {
    ask.show(&numbered(choices));
    let check = |line: &str| number(line, choices.len()).map(|_| ());
    let default = default.map(|place| (place + 1).to_string());
    let line = text(ask, question, default.as_deref(), &check)?;
    number(&line, choices.len()).map_err(anyhow::Error::msg)
}

/// Asks for at least one of the choices, by their numbers.
pub(super) fn several(
    ask: &dyn Ask,
    question: &str,
    choices: &[String],
    default: &[usize],
) -> anyhow::Result<Vec<usize>> {
    ask.show(&numbered(choices));
    let check = |line: &str| numbers(line, choices.len()).map(|_| ());
    let places: Vec<String> = default
        .iter()
        .map(|place| (place + 1).to_string())
        .collect();
    let places = (!places.is_empty()).then(|| places.join(","));
    let question = format!("{question} (numbers, with commas between them)");
    let line = text(ask, &question, places.as_deref(), &check)?;
    numbers(&line, choices.len()).map_err(anyhow::Error::msg)
}

/// Asks for a yes or a no.
pub(super) fn yes(ask: &dyn Ask, question: &str, default: bool) -> anyhow::Result<bool> {
    let check = |line: &str| said(line).map(|_| ());
    let default = if default { "yes" } else { "no" };
    let line = text(
        ask,
        &format!("{question} (yes or no)"),
        Some(default),
        &check,
    )?;
    said(&line).map_err(anyhow::Error::msg)
}

fn is_back(line: &str) -> bool {
    matches!(line.trim(), "<" | "back")
}

fn numbered(choices: &[String]) -> Vec<String> {
    let width = choices.len().to_string().len();
    let lines = choices.iter().enumerate();
    lines
        .map(|(place, choice)| format!("  {:>width$}. {choice}", place + 1))
        .collect()
}

/// The place of a choice.
fn number(line: &str, choices: usize) -> Result<usize, String> {
    match line.trim().parse::<usize>() {
        Ok(number) if (1..=choices).contains(&number) => Ok(number - 1),
        _ => Err(format!(
            "type a number from 1 to {choices}, or < to go back"
        )),
    }
}

/// The places of the choices, each once and in their order.
fn numbers(line: &str, choices: usize) -> Result<Vec<usize>, String> {
    let words = line.split([',', ' ']).filter(|word| !word.is_empty());
    let mut places = words
        .map(|word| number(word, choices))
        .collect::<Result<Vec<usize>, String>>()?;
    places.sort_unstable();
    places.dedup();
    match places.is_empty() {
        true => Err("choose at least one".to_owned()),
        false => Ok(places),
    }
}

fn said(line: &str) -> Result<bool, String> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("type yes or no, or < to go back".to_owned()),
    }
}

/// The person at the terminal.
pub(super) struct Terminal;

/// A question that ends with its own question mark.
struct Plain;

impl Theme for Plain {
    fn format_input_prompt(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        default: Option<&str>,
    ) -> fmt::Result {
        match default {
            Some(default) => write!(f, "{prompt} [{default}] "),
            None => write!(f, "{prompt} "),
        }
    }

    fn format_input_prompt_selection(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        answer: &str,
    ) -> fmt::Result {
        write!(f, "{prompt} {answer}")
    }
}

impl Ask for Terminal {
    fn show(&self, lines: &[String]) {
        let mut stderr = anstream::stderr();
        for line in lines {
            // A terminal that went away ends the next question.
            let _ = writeln!(stderr, "{line}");
        }
    }

    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String> {
        let mut input = Input::<String>::with_theme(&Plain)
            .with_prompt(question)
            .validate_with(|text: &String| check(text));
        if let Some(default) = default {
            input = input.default(default.to_owned());
        } else {
            // The check says what an empty line lacks.
            input = input.allow_empty(true);
        }
        input.interact_text().map_err(explain)
    }
}

/// Ctrl-C while a handler for it is installed, and a terminal that went away, end the questions.
fn explain(error: dialoguer::Error) -> anyhow::Error {
    let dialoguer::Error::IO(error) = error;
    // No question ends its line when it is cut off.
    let _ = dialoguer::console::Term::stderr().write_line("");
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::NotConnected => {
            Stopped.into()
        }
        _ => anyhow::Error::new(error).context("failed to ask on the terminal"),
    }
}
