//! A command line with its placeholders: a program with arguments, or a script for `sh`.

mod scan;

use std::ffi::{OsStr, OsString};

use super::Invocation;
use crate::exit::Misuse;

/// Scripts take the path of the input from this variable: no path can break out of a variable.
const INPUT_VARIABLE: &str = "KELVIN_INPUT";
/// Scripts take the path of the output from this variable.
const OUTPUT_VARIABLE: &str = "KELVIN_OUTPUT";

/// Words that a shell does itself. A program of that name does not exist, or does something else.
pub(super) const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "[[", "alias", "bg", "break", "case", "cd", "command", "continue", "declare",
    "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi",
    "for", "function", "getopts", "hash", "if", "in", "jobs", "let", "local", "pushd", "read",
    "readonly", "return", "select", "set", "shift", "source", "then", "time", "times", "trap",
    "type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}",
];

/// How the command is run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Template {
    /// The words of a command without shell syntax; the first is the program.
    Direct(Vec<Word>),
    /// A script that takes the paths from its environment.
    Script(String),
}

/// A word of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word(Vec<Part>);

/// A part of a word.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Path(Placeholder),
}

/// The two placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Input,
    Output,
}

impl Placeholder {
    const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// How the placeholder is written.
    const fn token(self) -> &'static str {
        match self {
            Self::Input => "{input}",
            Self::Output => "{output}",
        }
    }

    /// The variable from which a script takes the path.
    const fn variable(self) -> &'static str {
        match self {
            Self::Input => INPUT_VARIABLE,
            Self::Output => OUTPUT_VARIABLE,
        }
    }

    /// The placeholder that a text begins with.
    fn at_start_of(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|one| text.starts_with(one.token()))
    }

    /// The path that the placeholder stands for.
    fn path<'a>(self, invocation: &Invocation<'a>) -> &'a OsStr {
        match self {
            Self::Input => invocation.input_file.as_os_str(),
            Self::Output => invocation.output_file.as_os_str(),
        }
    }
}

impl Template {
    /// Reads a command line. Braces other than those of the two placeholders stand for themselves.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where a placeholder stands where no path can be put safely.
    pub(super) fn parse(run: &str) -> Result<Self, Misuse> {
        let run = run.trim();
        let scanned = scan::scan(run)?;
        if !scanned.needs_shell {
            let words = shell_words::split(run)
                .map_err(|_| Misuse::new("the quotes of `run` do not match"))?;
            let first = words.first().map_or("", String::as_str);
            if !first.is_empty() && !first.contains('=') && !SHELL_WORDS.contains(&first) {
                return Ok(Self::Direct(
                    words.iter().map(|word| Word::parse(word)).collect(),
                ));
            }
        }
        Ok(Self::Script(scanned.script))
    }

    /// The variables that a script takes the paths from.
    pub(super) fn environment<'a>(invocation: &Invocation<'a>) -> [(&'static str, &'a OsStr); 2] {
        Placeholder::ALL.map(|one| (one.variable(), one.path(invocation)))
    }
}

impl Word {
    fn parse(mut word: &str) -> Self {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(c) = word.chars().next() {
            if let Some(placeholder) = Placeholder::at_start_of(word) {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Path(placeholder));
                word = &word[placeholder.token().len()..];
            } else {
                text.push(c);
                word = &word[c.len_utf8()..];
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Self(parts)
    }

    /// The word, where it has no placeholder.
    pub(super) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The word with the paths of an invocation in it.
    pub(super) fn fill(&self, invocation: &Invocation<'_>) -> OsString {
        let mut filled = OsString::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push(text),
                Part::Path(placeholder) => filled.push(placeholder.path(invocation)),
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests;
