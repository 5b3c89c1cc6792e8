//! `kelvin lint`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::again;
use crate::check::lint::{self, Linted};
use crate::exit::Exit;
use crate::gate::reproduce::quoted;
use crate::page::safe;

/// The arguments of `kelvin lint`.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// The configurations; each is checked with the cases and other items that it names.
    #[arg(value_name = "FILE", default_value = "kelvin.yaml")]
    files: Vec<PathBuf>,
}

/// Runs `kelvin lint`: all that is wrong goes to standard output, one file after the other.
pub(super) fn main(args: &LintArgs) -> Exit {
    let mut exit = Exit::Passed;
    for file in &args.files {
        let name = file.display().to_string();
        let linted = lint::lint(file);
        super::tell(&text(&name, &linted));
        if !linted.problems.is_empty() {
            exit = Exit::Misused;
        }
    }
    exit
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
    let again = again::config(Path::new(file));
    let _ = match linted.problems.is_empty() {
        true => writeln!(
            page,
            "{shown}: nothing is wrong with it and {}\nnext: kelvin check{again}",
            linted.read.join(", ")
        ),
        false => writeln!(
            page,
            "{shown}: cannot be run\nnext, when that is mended: kelvin lint{}",
            match file {
                "kelvin.yaml" => String::new(),
                file => format!(" {}", safe::lines(&quoted(file))),
            }
        ),
    };
    page
}
