//! Asks a person questions one after the other. Each answer is a typed line, so that a screen reader, a slow connection
//! or a script can answer; the trait also lets tests answer.

#[cfg(test)]
mod fake;

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::{fmt, io};

use kelvin_system::signal;

#[cfg(test)]
pub(super) use fake::{Script, ScriptedAnswer};

/// Somebody who answers questions. Every answer may also be a [`Stopped`].
pub(super) trait Ask {
    /// Shows lines that a person needs for the next question.
    fn show(&self, lines: &[String]);

    /// Asks for a line until `check` accepts it. An empty line means the default, if there is one.
    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String>;
}

/// Refuses an answer, with the reason.
pub(super) type Check<'a> = dyn Fn(&str) -> Result<(), String> + 'a;

/// The person does not want to continue.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// Asks for one of the choices by its number and returns its index. An empty line means the default, if there is one.
pub(super) fn one(
    ask: &dyn Ask,
    question: &str,
    choices: &[String],
    default: Option<usize>,
) -> anyhow::Result<usize> {
    ask.show(&numbered(choices));
    let check = |line: &str| number(line, choices.len()).map(|_| ());
    let default = default.map(|place| (place + 1).to_string());
    let line = ask.line(question, default.as_deref(), &check)?;
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
    let default: Vec<String> = default
        .iter()
        .map(|place| (place + 1).to_string())
        .collect();
    let default = (!default.is_empty()).then(|| default.join(","));
    let question = format!("{question} (numbers, with commas between them)");
    let line = ask.line(&question, default.as_deref(), &check)?;
    numbers(&line, choices.len()).map_err(anyhow::Error::msg)
}

/// Asks for a yes or a no.
pub(super) fn yes(ask: &dyn Ask, question: &str, default: bool) -> anyhow::Result<bool> {
    let check = |line: &str| yes_or_no(line).map(|_| ());
    let default = if default { "yes" } else { "no" };
    let line = ask.line(&format!("{question} (yes or no)"), Some(default), &check)?;
    yes_or_no(&line).map_err(anyhow::Error::msg)
}

fn numbered(choices: &[String]) -> Vec<String> {
    let width = choices.len().to_string().len();
    let lines = (1..).zip(choices);
    lines
        .map(|(number, choice)| format!("  {number:>width$}. {choice}"))
        .collect()
}

/// Parses the number of a choice into its index.
fn number(line: &str, choices: usize) -> Result<usize, String> {
    match line.trim().parse::<usize>() {
        Ok(number) if (1..=choices).contains(&number) => Ok(number - 1),
        _ => Err(format!("type a number from 1 to {choices}")),
    }
}

/// Parses several numbers into the indices of the choices, without duplicates and in order.
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

fn yes_or_no(line: &str) -> Result<bool, String> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("type yes or no".to_owned()),
    }
}

/// Reads each answer as a line, which the terminal lets a person edit until Enter is pressed, and which Ctrl-D ends as it
/// ends the input of every other program.
pub(super) struct Terminal;

impl Ask for Terminal {
    fn show(&self, lines: &[String]) {
        let mut stderr = anstream::stderr();
        for line in lines {
            // If the terminal is gone, the next question ends with an error.
            let _ = writeln!(stderr, "{line}");
        }
    }

    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String> {
        let prompt = match default {
            Some(default) => format!("{question} [{default}] "),
            None => format!("{question} "),
        };
        loop {
            let typed = read(&prompt).map_err(|error| {
                // The line with the interrupted question has no line break yet.
                self.show(&[String::new()]);
                explain(error)
            })?;
            let answer = match (typed.trim(), default) {
                ("", Some(default)) => default,
                (typed, _) => typed,
            };
            let complaint = match answer.contains(char::is_control) {
                // An arrow key, for example, sends an escape sequence.
                true => Err("a key was pressed that writes no sign; type the line anew".to_owned()),
                false => check(answer),
            };
            match complaint {
                Ok(()) => return Ok(answer.to_owned()),
                // The check also explains what is wrong with an empty line.
                Err(complaint) => self.show(&[complaint]),
            }
        }
    }
}

fn read(prompt: &str) -> io::Result<String> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    // Reading a line blocks, and a signal would not end it, so the program first waits for input. A pipe whose writer
    // has closed it still contains the written lines, so it is read without waiting.
    if io::stdin().is_terminal() && !signal::can_read(io::stdin().as_fd()) {
        return Err(ErrorKind::Interrupted.into());
    }
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Ctrl-C, Ctrl-D, a signal, and a closed terminal end the questions.
fn explain(error: io::Error) -> anyhow::Error {
    let is_gone = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof => Stopped.into(),
        _ if is_gone => Stopped.into(),
        _ => anyhow::Error::new(error).context("failed to ask on the terminal"),
    }
}
