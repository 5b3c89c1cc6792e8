//! A command line with its placeholders: a program with arguments, or a script for `sh`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Mutex, PoisonError};
use std::{env, io};

use tempfile::TempDir;

use kelvin_base::exit::Misuse;

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

    /// Parses a command line. Braces that are not placeholders stay unchanged. Fails with a [`Misuse`] if the quotes do
    /// not match, or a placeholder follows a backslash.
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

    /// The word, with its placeholders replaced by paths that need no quotes. Fails if no name without quotes can be
    /// made for a path.
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

/// Gives names to paths so that they need no quotes. A path that needs quotes, e.g. below `My Projects`, is reached
/// through a link in a folder of this process. The folder is removed with the value.
#[derive(Debug, Default)]
pub(in crate::targets) struct PlainPaths {
    links: Mutex<Option<Links>>,
}

#[derive(Debug)]
struct Links {
    folder: TempDir,
    /// The link that was made for each path.
    to: BTreeMap<PathBuf, PathBuf>,
}

impl PlainPaths {
    /// A name for this path that needs no quotes. Fails if no link can be made.
    pub(super) fn name(&self, path: &Path) -> io::Result<PathBuf> {
        if is_plain(path) {
            return Ok(path.to_owned());
        }
        // The part that needs quotes is nearly always a folder near the root, so one link to that folder is enough for
        // every call.
        let path = absolute(path)?;
        let mut odd = &*path;
        let mut rest = Path::new("");
        for above in path.ancestors() {
            let below = path.strip_prefix(above).unwrap_or(rest);
            if !is_plain(below) {
                break;
            }
            (odd, rest) = (above, below);
        }
        let link = self.link(odd)?;
        // Joining an empty path would add a slash to the link of a file.
        Ok(match rest.as_os_str().is_empty() {
            true => link,
            false => link.join(rest),
        })
    }

    fn link(&self, to: &Path) -> io::Result<PathBuf> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let links = match &mut *links {
            Some(links) => links,
            none => none.insert(Links {
                folder: folder()?,
                to: BTreeMap::new(),
            }),
        };
        if let Some(link) = links.to.get(to) {
            return Ok(link.clone());
        }
        let link = links.folder.path().join(links.to.len().to_string());
        symlink(to, &link)?;
        links.to.insert(to.to_owned(), link.clone());
        Ok(link)
    }
}

/// The folder of the links. If the path of the folder for temporary files needs quotes too, `/tmp` is used.
fn folder() -> io::Result<TempDir> {
    let usual = env::temp_dir();
    let place = match is_plain(&usual) {
        true => &usual,
        false => Path::new("/tmp"),
    };
    tempfile::Builder::new().prefix("kelvin-").tempdir_in(place)
}

/// Whether every shell reads a path unchanged: outside of quotes, inside quotes, and in scripts for other shells.
fn is_plain(path: &Path) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,@:%".contains(&byte);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .copied()
        .all(is_fine)
}
