//! The files of the cases, unchanged: their names and texts.

mod folder;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};

pub use folder::{CaseFile, Found, LABELS, base, find, read};

/// A whole case, not split into units.
#[derive(Debug)]
pub struct CaseText {
    /// The file name without its extension.
    pub name: Arc<str>,
    /// The file, relative to the root of the configuration.
    pub file: Arc<str>,
    /// The text of the file, unchanged.
    pub text: String,
}

/// Reads every case that a folder or a glob names, for probes that do not need the units. Notices report ignored files.
///
/// # Errors
///
/// A [`Misuse`] that lists every case that cannot be used.
pub fn texts(root: &Path, cases: &str) -> anyhow::Result<(Vec<CaseText>, Vec<Notice>)> {
    let found = folder::find(root, cases)?;
    let mut problems = found.problems;
    let mut texts = Vec::with_capacity(found.files.len());
    let mut bytes = Vec::new();
    for entry in &found.files {
        match folder::read(entry, &mut bytes) {
            Ok(text) => texts.push(CaseText {
                name: Arc::clone(&entry.name),
                file: Arc::clone(&entry.shown),
                text,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(one(problems).into());
    }
    Ok((texts, found.notices))
}

/// A user's text for a message: control characters, and those that change the direction of the text after them, are
/// escaped.
pub fn shown(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Joins all problems into one error, since nobody wants to fix one problem per run.
pub fn one(mut problems: Vec<Misuse>) -> Misuse {
    if problems.len() == 1 {
        return problems.remove(0);
    }
    let findings = problems.iter().flat_map(Misuse::findings).collect();
    let mut what = format!("{} problems in the cases", problems.len());
    for problem in problems {
        what.push_str(&format!("\n- {}", problem.what));
        if let Some(help) = problem.help {
            what.push_str(&format!("\n  help: {help}"));
        }
    }
    Misuse {
        findings,
        ..Misuse::new(what)
    }
}

/// The prefix of report files, which are in the same folder as the folders of the cases.
const RESERVED: &str = "report.";

/// The maximum length of a name: with the added parts, a longer name would be too long for a file system.
const LONGEST_NAME: usize = 200;

/// How many files a notice names; the others are only counted.
const NAMED: usize = 5;

/// Why a file is not a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ignored {
    Hidden,
    Nested,
    Extension,
    NotMarkdown,
    NotAFile,
    Dangling,
    Unlisted,
}

impl Ignored {
    /// A warning is made only for files that may be missing cases.
    const fn code(self) -> Code {
        match self {
            Self::Unlisted => Code::UnreadFolder,
            _ => Code::IgnoredFile,
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Nested => {
                "in a folder below the one of the cases; a glob such as `cases/**/*.md` takes them in"
            }
            Self::Extension => "the name does not end in `.md`, in lower case",
            Self::NotMarkdown => "not Markdown",
            Self::NotAFile => "not a regular file",
            Self::Dangling => "a link to nothing, or unreadable",
            Self::Unlisted => "a folder that cannot be read, so that its cases are not here",
        }
    }
}

/// The sentence about one reason, with its files.
fn ignored_sentence(why: Ignored, files: &BTreeSet<String>) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(|file| shown(file)).collect();
    let more = files.len() - named.len();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("ignored: {}{more} ({})", named.join(", "), why.reason())
}

/// The extension of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// `.md`
    Md,
    /// `.MD`, `.markdown`
    Like,
    /// Any other extension, or none.
    Other,
}

impl Extension {
    fn of(name: &str) -> Self {
        let lower = name.to_lowercase();
        if name.ends_with(".md") {
            Self::Md
        } else if lower.ends_with(".md") || lower.ends_with(".markdown") {
            Self::Like
        } else {
            Self::Other
        }
    }
}

/// The name without its extension; a glob may match extensions other than `.md`.
pub fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

/// Why a file name without its extension cannot be used as the name of a folder.
fn wrong_with(name: &str) -> Option<&'static str> {
    if name.chars().all(|c| c == '.') {
        Some("is no name")
    } else if name.chars().any(char::is_control) {
        Some("has a control character in it")
    } else if name.len() > LONGEST_NAME {
        Some("is over 200 bytes long")
    } else if name.to_lowercase().starts_with(RESERVED) {
        Some("is kept for the report itself")
    } else {
        None
    }
}
