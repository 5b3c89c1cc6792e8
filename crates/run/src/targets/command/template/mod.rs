//! A command line with its placeholders: a program with arguments, or a script for `sh`.

mod plain;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use kelvin_base::exit::Misuse;
pub(in crate::targets) use plain::PlainPaths;

/// The paths to which placeholders of a command refer.
#[derive(Clone, Copy, Debug)]
pub(in crate::targets) struct Paths<'a> {
    /// The file to read.
    pub(in crate::targets) input: &'a Path,
    /// The file to write.
    pub(in crate::targets) output: &'a Path,
    /// The folder of the configuration.
    pub(in crate::targets) root: &'a Path,
    /// The separate working directory of a call, if there is one.
    pub(in crate::targets) workspace: Option<&'a Path>,
}

/// Words that a shell handles itself. A program with such a name does not exist, or does something else.
pub(super) const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "[[", "alias", "bg", "break", "case", "cd", "command", "continue", "declare",
    "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi",
    "for", "function", "getopts", "hash", "if", "in", "jobs", "let", "local", "pushd", "read",
    "readonly", "return", "select", "set", "shift", "source", "then", "time", "times", "trap",
    "type", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}",
];

/// Characters that may have a meaning for a shell. A character between quotes counts too, although it has no meaning
/// there. So a command may use a shell unnecessarily, but never lacks one that it needs.
const SHELL_SIGNS: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '!', '\n',
];

/// How the command is run.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::targets) enum CommandTemplate {
    /// The words of a command without shell syntax; the first is the program.
    Direct(Vec<CommandWord>),
    /// A script in which each placeholder is replaced by a path that needs no quotes. So the placeholder may be within
    /// any quotes, in here-documents, or in scripts for another shell.
    Script(CommandWord),
}

/// A word of a command, or a whole script.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::targets) struct CommandWord(Vec<WordPart>);

/// A part of a word.
#[derive(Debug, PartialEq, Eq)]
enum WordPart {
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

    /// The text of the placeholder in a command line.
    const fn token(self) -> &'static str {
        match self {
            Self::Input => "{input}",
            Self::Output => "{output}",
            Self::Root => "{root}",
            Self::Workspace => "{workspace}",
        }
    }

    /// The placeholder at the beginning of a text.
    fn at_start_of(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|one| text.starts_with(one.token()))
    }

    /// The path that replaces the placeholder. A call without a workspace has no path for `{workspace}`; such a call is
    /// rejected earlier.
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

impl CommandTemplate {
    /// Whether a command line uses the workspace, which only some calls have.
    pub(super) fn names_workspace(run: &str) -> bool {
        run.contains(Placeholder::Workspace.token())
    }

    /// Parses a command line. Braces that are not placeholders stay unchanged.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if the quotes do not match, or a placeholder follows a backslash.
    pub(in crate::targets) fn parse(run: &str) -> Result<Self, Misuse> {
        let run = run.trim();
        for token in Placeholder::ALL.map(Placeholder::token) {
            // Inside double quotes the backslash would become a part of the path.
            if run.contains(&format!("\\{token}")) {
                return Err(
                    Misuse::new(format!("`run` has a backslash before `{token}`"))
                        .help(format!("write `{token}` without the backslash")),
                );
            }
        }
        let words = shell_words::split(run);
        if !run.contains(SHELL_SIGNS) {
            let words = words.map_err(|_| unmatched())?;
            let first = words.first().map_or("", String::as_str);
            if !first.is_empty() && !first.contains('=') && !SHELL_WORDS.contains(&first) {
                return Ok(Self::Direct(
                    words.iter().map(|word| CommandWord::parse(word)).collect(),
                ));
            }
        } else if words.is_err() && !run.contains(['\n', '#']) && !run.contains("$'") {
            // In comments, here-documents and `$'...'`, a single apostrophe is allowed.
            return Err(unmatched());
        }
        Ok(Self::Script(CommandWord::parse(run)))
    }
}

fn unmatched() -> Misuse {
    Misuse::new("the quotes of `run` do not match")
        .help("every quote has to be closed; write `\\'` outside of quotes for an apostrophe")
}

impl CommandWord {
    fn parse(mut word: &str) -> Self {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(c) = word.chars().next() {
            if let Some(placeholder) = Placeholder::at_start_of(word) {
                if !text.is_empty() {
                    parts.push(WordPart::Text(std::mem::take(&mut text)));
                }
                parts.push(WordPart::Path(placeholder));
                word = &word[placeholder.token().len()..];
            } else {
                text.push(c);
                word = &word[c.len_utf8()..];
            }
        }
        if !text.is_empty() {
            parts.push(WordPart::Text(text));
        }
        Self(parts)
    }

    /// The word, if it contains no placeholder.
    pub(in crate::targets) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [WordPart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The word, with its placeholders replaced by the paths of a call.
    pub(in crate::targets) fn fill(&self, paths: &Paths<'_>) -> OsString {
        let mut filled = OsString::new();
        for part in &self.0 {
            match part {
                WordPart::Text(text) => filled.push(text),
                WordPart::Path(placeholder) => filled.extend(placeholder.path(paths)),
            }
        }
        filled
    }

    /// The word, with its placeholders replaced by paths that need no quotes.
    ///
    /// # Errors
    ///
    /// Fails if no name without quotes can be made for a path.
    pub(in crate::targets) fn fill_plainly(
        &self,
        paths: &Paths<'_>,
        names: &PlainPaths,
    ) -> io::Result<OsString> {
        let mut filled = OsString::new();
        for part in &self.0 {
            match part {
                WordPart::Text(text) => filled.push(text),
                WordPart::Path(placeholder) => {
                    if let Some(path) = placeholder.path(paths) {
                        filled.push(names.name(Path::new(path))?);
                    }
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests;
