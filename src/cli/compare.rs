//! `kelvin compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::again::Again;
use crate::check;
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::align::{AlignedReports, align, align_by, with_ids_of_the_head};
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::differences::{Differences, differences};
use kelvin_gate::judgement::AnswersShown;
use kelvin_gate::policy::Policy;
use kelvin_gate::provenance::Source;
use kelvin_gate::readings::Readings;
use kelvin_gate::verdict::Word;
use kelvin_gate::{Gate, Judgement, Next, answers, changes};
use kelvin_github::publish::comment;
use kelvin_record::{ItemComparison, Nouns};

/// The arguments of `kelvin compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The base: a report file, the file of an evaluator such as promptfoo, a run of the history, or a git revision. A
    /// prefix `file:`, `run:` or `rev:` says which one, if the name fits several.
    base: String,
    /// The report to compare with the base, given in the same way.
    head: String,
    /// The configuration: the history lies beside it, and a revision is searched for its reports.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// Refuses reports that differ in anything but the pipeline and its figures.
    #[arg(long)]
    strict: bool,
    /// Refuses retrieval runs whose chunker versions differ or are not known.
    #[arg(long)]
    strict_chunker_version: bool,
    /// Shows every answer that changed, instead of the first ten.
    #[arg(long)]
    all: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    format: CompareFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
    /// As Markdown.
    Markdown,
}

/// Runs `kelvin compare`; it does not fail because of a difference.
pub(super) fn main(args: &CompareArgs, registry: Registry) -> anyhow::Result<Exit> {
    let base = check::side(registry, &args.base, &args.config)?;
    let head = check::side(registry, &args.head, &args.config)?;
    let is_foreign = base.is_foreign || head.is_foreign;
    let is_evaluation = base.report.is_evaluation() || head.report.is_evaluation();
    let provenance = base.provenance;
    let (mut base, head) = (base.report, head.report);
    with_ids_of_the_head(&mut base, &head);
    let told = differences(&base, &head);
    if args.strict {
        same_but_for_the_pipeline(&told, &Nouns::common(&head.probes.nouns()))?;
    }
    let AlignedReports {
        base: old,
        head: new,
        comparisons,
    } = align(&base, &head);
    if args.strict_chunker_version {
        let mut each = comparisons.each();
        each.try_for_each(ItemComparison::strict).map_err(|what| {
            Misuse::new(what)
                .help("leave `--strict-chunker-version` out to compare them by document")
        })?;
    }
    let (old, new) = (Measured::from(&old), Measured::from(&new));
    let comparison = compare(&old, &new);
    let policy = Policy::default();
    let incomparable = told.incomparable.as_ref().map(ToString::to_string);
    let mut gate = Gate::new(&policy, false, false, incomparable.clone());
    let verdict = match gate.next(&comparison, 0) {
        Next::Verdict(verdict) => *verdict,
        Next::Rerun(_) => gate.give_up(&comparison),
    };
    let readings = Readings {
        policy: &policy,
        base: &base,
        head: &head,
        incomparable,
    };
    let (mut verdict, reading) = readings.settle(verdict);
    answers::add_hits(&mut verdict, (&base, &head));
    let AlignedReports {
        base,
        head,
        comparisons,
    } = align_by(&base, &head, reading);
    let (old, new) = (Measured::from(&base), Measured::from(&head));
    let comparison = compare(&old, &new);
    verdict.warn_of_alignment(&comparisons, &policy);
    let cases = changes::case_changes(&comparison, &verdict);
    let judgement = Judgement {
        flips: answers::gone_wrong(&cases, &verdict, (&base, &head)),
        cases,
        comparisons,
        ..Judgement::with_base(verdict, provenance)
    }
    .differing(told.told);
    let text = match args.format {
        CompareFormat::Text => {
            judgement.terminal(AnswersShown::by_flag(args.all))
                + &next(args, &judgement, (is_foreign, is_evaluation))
        }
        CompareFormat::Markdown => comment::alone(&head, &judgement, Path::new("kelvin")),
        CompareFormat::Json => serde_json::to_string_pretty(&judgement)? + "\n",
    };
    super::say(&text);
    Ok(Exit::Passed)
}

/// The next step after a comparison. `is_foreign`: whether a side is the file of an evaluator, which can be run again
/// only with a configuration; `is_evaluation`: whether a side was made from a file of hits, which cannot be run again.
fn next(
    args: &CompareArgs,
    judgement: &Judgement,
    (is_foreign, is_evaluation): (bool, bool),
) -> String {
    let again = |command| Again::kelvin(command).config(&args.config);
    // The Markdown page names every case with both answers.
    let shown = || {
        again("compare")
            .word("--format=markdown")
            .switch("--strict", args.strict)
            .switch("--strict-chunker-version", args.strict_chunker_version)
            .word(&args.base)
            .word(&args.head)
            .next()
    };
    let source = judgement.base.as_ref().map(|base| base.source);
    match judgement.verdict.verdict {
        Word::Inconclusive | Word::Unmeasured if is_evaluation => shown(),
        _ if is_foreign && !args.config.exists() => again("init").next(),
        Word::Inconclusive if is_foreign => again("gate").next(),
        Word::Pass | Word::Unaffected => again("history").next(),
        Word::Regression | Word::PendingApproval => shown(),
        // The gate runs cases again that may be noise. Its base can be a file, but not a run of the history.
        Word::Inconclusive if source == Some(Source::File) => {
            let file = args.base.strip_prefix("file:").unwrap_or(&args.base);
            again("gate").flag("--baseline", file).next()
        }
        Word::Inconclusive => again("check").word("--repeats=5").next(),
        Word::Unmeasured | Word::NoBaseline | Word::BaselineUnreachable => again("check").next(),
    }
}

/// Fails if the runs differ in anything but the code of the pipeline.
fn same_but_for_the_pipeline(found: &Differences, nouns: &Nouns) -> Result<(), Misuse> {
    let told = found.told.iter().filter(|told| !told.is_of_the_pipeline());
    let mut differing: Vec<String> = told.map(|one| one.words(nouns)).collect();
    differing.extend(found.incomparable.iter().map(ToString::to_string));
    if differing.is_empty() {
        return Ok(());
    }
    Err(
        Misuse::new(format!("the reports differ: {}", differing.join("; ")))
            .help("leave `--strict` out to compare them all the same"),
    )
}
