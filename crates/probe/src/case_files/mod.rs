//! The files of the cases, unchanged: which files these are, and their texts.

mod folder;
mod names;

use std::path::Path;
use std::sync::Arc;

use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;

pub use folder::{CaseFile, Found, LABELS, base, find, read};
pub use names::stem;

/// A case as a whole, not cut into units.
#[derive(Debug)]
pub struct CaseText {
    /// The stem of the file.
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

/// A user's text for a message: control characters, and those that change the direction of the following text, are
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

/// Joins all problems in one, since nobody wants to fix a corpus one run at a time.
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
