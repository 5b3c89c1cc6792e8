//! A command line with its placeholders: a program with arguments, or a script for `sh`.

mod scan;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use kelvin_base::exit::Misuse;

/// The paths that a command can name by a placeholder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths<'a> {
    /// The file to read.
    pub(super) input: &'a Path,
    /// The file to write.
    pub(super) output: &'a Path,
    /// The folder of the configuration.
    pub(super) root: &'a Path,
    /// The working directory of a call that has one of its own.
    pub(super) workspace: Option<&'a Path>,
}

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

/// The placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Input,
    Output,
    Root,
    Workspace,
}

impl Placeholder {
    const ALL: [Self; 4] = [Self::Input, Self::Output, Self::Root, Self::Workspace];

    /// How the placeholder is written.
    const fn token(self) -> &'static str {
        match self {
            Self::Input => "{input}",
            Self::Output => "{output}",
            Self::Root => "{root}",
            Self::Workspace => "{workspace}",
        }
    }

    /// The variable from which a script takes the path: no path can break out of a variable.
    const fn variable(self) -> &'static str {
        match self {
            Self::Input => "KELVIN_INPUT",
            Self::Output => "KELVIN_OUTPUT",
            Self::Root => "KELVIN_ROOT",
            Self::Workspace => "KELVIN_WORKSPACE",
        }
    }

    /// The placeholder that a text begins with.
    fn at_start_of(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|one| text.starts_with(one.token()))
    }

    /// The path that the placeholder stands for. A call without a workspace has none for it, and is
    /// refused before it comes this far.
    fn path<'a>(self, paths: &Paths<'a>) -> Option<&'a OsStr> {
        let path = match self {
            Self::Input => paths.input,
            Self::Output => paths.output,
            Self::Root => paths.root,
            Self::Workspace => return paths.workspace.map(Path::as_os_str),
        };
        Some(path.as_os_str())
    }
}

impl Template {
    /// Whether a command line names the workspace, which only some calls have.
    pub(super) fn names_workspace(run: &str) -> bool {
        run.contains(Placeholder::Workspace.token())
    }

    /// Reads a command line. Braces other than those of the placeholders stand for themselves.
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
    pub(super) fn environment<'a>(
        paths: &Paths<'a>,
    ) -> impl Iterator<Item = (&'static str, &'a OsStr)> {
        let all = Placeholder::ALL.into_iter();
        all.filter_map(|one| Some((one.variable(), one.path(paths)?)))
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

    /// The word with the paths of a call in it.
    pub(super) fn fill(&self, paths: &Paths<'_>) -> OsString {
        let mut filled = OsString::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push(text),
                Part::Path(placeholder) => filled.extend(placeholder.path(paths)),
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests;
