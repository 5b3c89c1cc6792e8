//! The files of an evaluation made elsewhere: relevance judgements and runs, as TREC text, JSON or
//! JSON lines.

mod hits;
mod json;
mod lines;
mod qrels;
mod run;

use std::path::Path;

use kelvin_base::exit::Misuse;

pub use hits::Ranked;
pub use qrels::{Judgements, Qrels};
pub use run::scan;

/// How a file is written; its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// One object: queries to documents to numbers.
    Json,
    /// One object a line.
    JsonLines,
    /// Columns.
    Trec,
}

impl Format {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Self::Json,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            _ => Self::Trec,
        }
    }
}

/// Something that is wrong in a line of a file.
fn wrong(path: &Path, line: u64, what: &str) -> Misuse {
    Misuse::new(format!("`{}`, line {line}: {what}", path.display()))
}

/// A file that cannot be read.
fn unreadable(path: &Path, error: &std::io::Error) -> Misuse {
    Misuse::new(format!("failed to read `{}`: {error}", path.display()))
}

/// Text of a file in a message: short, in one line.
fn quoted(text: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(text);
    let short: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_default)
        .collect();
    let more = if text.chars().nth(MOST).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{short}{more}`")
}
