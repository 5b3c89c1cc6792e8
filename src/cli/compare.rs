//! `kelvin compare`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::baseline::compare::{Measured, compare};
use crate::baseline::fingerprints::differences;
use crate::baseline::retrieval::{self, RetrievalChange};
use crate::baseline::{Provenance, Source};
use crate::exit::{Exit, Misuse};
use crate::gate::policy::Policy;
use crate::gate::{Gate, Judgement, Next};
use crate::report::{self, Report};

/// The arguments of `kelvin compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The report to compare with.
    base: PathBuf,
    /// The report that is compared.
    head: PathBuf,
    /// Refuses reports that differ in anything but the pipeline and its figures.
    #[arg(long)]
    strict: bool,
    /// Refuses retrieval runs whose chunker versions differ or are not known.
    #[arg(long)]
    strict_chunker_version: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
    /// As Markdown.
    Markdown,
}

/// Runs `kelvin compare`; what it finds never makes it fail.
pub(super) fn main(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (base, head) = (load(&args.base)?, load(&args.head)?);
    let told = differences(&base, &head);
    let differing: Vec<&String> = told
        .told
        .iter()
        .chain(&told.incomparable)
        .filter(|text| !text.contains("pipeline"))
        .collect();
    if args.strict && !differing.is_empty() {
        let listed: Vec<&str> = differing.iter().map(|text| text.as_str()).collect();
        return Err(
            Misuse::new(format!("the reports differ: {}", listed.join("; ")))
                .help("leave `--strict` out to compare them all the same")
                .into(),
        );
    }
    let retrieval = retrieval::change(&base, &head);
    if args.strict_chunker_version
        && let Some(Err(what)) = retrieval.as_ref().map(RetrievalChange::strict)
    {
        return Err(Misuse::new(what)
            .help("leave `--strict-chunker-version` out to compare them by document")
            .into());
    }
    let (base, head) = retrieval::aligned(&base, &head);
    let (old, new) = (Measured::from(&base), Measured::from(&head));
    let comparison = compare(&old, &new);
    let policy = Policy::default();
    let mut gate = Gate::new(&policy, false, false, told.incomparable.clone());
    let verdict = match gate.next(&comparison) {
        Next::Verdict(verdict) => *verdict,
        Next::Rerun(_) => gate.give_up(&comparison),
    };
    let provenance = Provenance {
        source: Source::File,
        place: args.base.display().to_string(),
        commit: base.run.session.commit.clone(),
        why: None,
        behind: 0,
        days: None,
        tried: Vec::new(),
    };
    let judgement = Judgement {
        cases: Judgement::cases(&comparison),
        differences: told.told,
        retrieval,
        ..Judgement::with_base(verdict, provenance)
    };
    let text = match args.format {
        Format::Text => judgement.terminal(),
        Format::Markdown => judgement.markdown(&head),
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
    };
    super::say(&text);
    Ok(Exit::Passed)
}

fn load(path: &Path) -> anyhow::Result<Report> {
    let bytes = std::fs::read(path)
        .map_err(|error| Misuse::new(format!("failed to read `{}`: {error}", path.display())))?;
    report::json::read(&bytes).with_context(|| format!("`{}` cannot be compared", path.display()))
}
