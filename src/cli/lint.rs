//! `kelvin lint`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::again::{Again, MENDED};
use crate::check::lint::{self, Linted};
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Finding};
use kelvin_page::safe;

/// The arguments of `kelvin lint`.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// The configurations; each is checked with the cases and other items that it names [default: kelvin.yaml].
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A configuration, given as for the other commands. May be repeated.
    #[arg(long = "config", value_name = "FILE")]
    configs: Vec<PathBuf>,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = LintFormat::Text)]
    format: LintFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// For a terminal.
    Text,
    /// A list of what was found as JSON, and nothing else.
    Json,
}

impl LintArgs {
    /// The configurations that were named, without duplicates.
    fn named(&self) -> Vec<&Path> {
        let mut named: Vec<&Path> = Vec::new();
        for file in self.files.iter().chain(&self.configs) {
            if !named.contains(&&**file) {
                named.push(file);
            }
        }
        if named.is_empty() {
            named.push(Path::new("kelvin.yaml"));
        }
        named
    }
}

/// A finding in the JSON output.
#[derive(Debug, Serialize)]
struct Told<'a> {
    /// `error` prevents a run, `note` does not.
    level: &'static str,
    /// The configuration that was checked.
    configuration: String,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// Runs `kelvin lint`: all findings go to standard output, one file after the other.
pub(super) fn main(args: &LintArgs, registry: Registry) -> anyhow::Result<Exit> {
    let linted: Vec<(&Path, Linted)> = args
        .named()
        .into_iter()
        .map(|file| (file, lint::lint(registry, file)))
        .collect();
    match args.format {
        LintFormat::Text => super::say_remark(&page(&linted)),
        LintFormat::Json => super::say(&json(&linted)?),
    }
    Ok(match linted.iter().any(|(_, linted)| !linted.is_fine()) {
        true => Exit::Misused,
        false => Exit::Passed,
    })
}

fn page(linted: &[(&Path, Linted)]) -> String {
    let mut page = String::new();
    for (file, linted) in linted {
        page.push_str(&text(&file.display().to_string(), linted));
    }
    let wrong: Vec<&Path> = linted
        .iter()
        .filter(|(_, linted)| !linted.is_fine())
        .map(|(file, _)| *file)
        .collect();
    page + &match (&*wrong, linted) {
        ([], [(_, linted), ..]) if linted.judges_only => String::new(),
        ([], [(file, _), ..]) => Again::kelvin("check").config(file).next(),
        ([only], _) if *only == Path::new("kelvin.yaml") => Again::kelvin("lint").next_when(MENDED),
        (wrong, _) => wrong
            .iter()
            .fold(Again::kelvin("lint"), |again, file| again.word(file))
            .next_when(MENDED),
    }
}

fn text(file: &str, linted: &Linted) -> String {
    let mut page = String::new();
    for problem in &linted.problems {
        let _ = writeln!(page, "error: {}", safe::lines(&format!("{problem:#}")));
    }
    for notice in &linted.notices {
        let _ = writeln!(page, "note: {}", safe::line(&notice.text));
    }
    let shown = safe::line(file);
    let read = linted.read.join(", ");
    let has_doubts = linted.doubts > 0;
    // What only says how the items were read is printed in the same way, so "the note" has to be the only one.
    let _ = match (linted.is_fine(), has_doubts, linted.notices.len()) {
        (true, false, _) => writeln!(page, "{shown}: nothing is wrong with it; read: {read}"),
        (true, true, 1) => writeln!(
            page,
            "{shown}: can be run, but look at the note above; read: {read}"
        ),
        (true, true, _) => writeln!(
            page,
            "{shown}: can be run, but look at the notes above; read: {read}"
        ),
        (false, ..) => writeln!(page, "{shown}: cannot be run"),
    };
    page
}

/// Every finding of every file, in the order in which the files were read.
fn json(linted: &[(&Path, Linted)]) -> anyhow::Result<String> {
    let mut all = Vec::new();
    let found: Vec<(&Path, &'static str, Vec<Finding>)> = linted
        .iter()
        .flat_map(|(file, linted)| {
            [
                (*file, "error", linted.errors()),
                (*file, "note", linted.notes()),
            ]
        })
        .collect();
    for (file, level, findings) in &found {
        all.extend(findings.iter().map(|finding| Told {
            level,
            configuration: file.display().to_string(),
            finding,
        }));
    }
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}
