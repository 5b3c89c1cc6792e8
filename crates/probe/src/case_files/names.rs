//! Decides by the name of a file whether it is a case, and if not, why.

use std::collections::BTreeSet;

use super::shown;
use kelvin_base::notice::Code;

/// The folders of reports begin like this, and stand beside the folders of the cases.
const RESERVED: &str = "report.";

/// The longest name: with the added parts, a longer one would be too long for a file system.
const LONGEST_NAME: usize = 200;

/// The number of files that a notice names; further ones are counted.
const NAMED: usize = 5;

/// Why a file is not a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ignored {
    Hidden,
    Nested,
    Extension,
    NotMarkdown,
    NotAFile,
    Dangling,
    Unlisted,
}

impl Ignored {
    /// Only cases that may be missing are worth a warning; other files are not.
    pub(super) const fn code(self) -> Code {
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
pub(super) fn tell(why: Ignored, files: &BTreeSet<String>) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(|file| shown(file)).collect();
    let more = files.len() - named.len();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("ignored: {}{more} ({})", named.join(", "), why.reason())
}

/// The ending of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// `.md`
    Md,
    /// `.MD`, `.markdown`
    Like,
    /// Any other ending, or none.
    Other,
}

impl Extension {
    pub(super) fn of(name: &str) -> Self {
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

/// The name without its extension; a glob may match other extensions than `.md`.
pub fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

/// Why a stem cannot be used as the name of a folder.
pub(super) fn wrong_with(name: &str) -> Option<&'static str> {
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
