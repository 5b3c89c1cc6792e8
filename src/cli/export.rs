//! `kelvin export`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::again::Again;
use crate::check::{self, DataSetForm, ExportRequest, LeftOut, Manifest};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_github::publish::mask::Masker;
use kelvin_page::counted;

/// The default folder of a data set.
const FOLDER: &str = "kelvin-export";

/// The arguments of `kelvin export`.
#[derive(Clone, Debug, Args)]
pub(super) struct ExportArgs {
    /// The report, with the inputs and outputs of its run beside it [default: `kelvin/report.json` beside the
    /// configuration].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The configuration of the run.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The form of the data set.
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// The lowest score with which an invocation is exported.
    #[arg(
        long,
        value_name = "SCORE",
        default_value_t = 0.7,
        allow_negative_numbers = true
    )]
    min_score: f64,
    /// The metric that is the score, instead of the quality score.
    #[arg(long, value_name = "ID")]
    metric: Option<String>,
    /// Exports variants too, whose inputs were changed on purpose.
    #[arg(long)]
    variants: bool,
    /// The folder for the examples and for `manifest.json`, which says what they are.
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A JSON object a line, with inputs, outputs and indicators in objects of their own.
    Jsonl,
    /// A flat JSON object a line, for `dspy.Example`.
    Dspy,
    /// Comma-separated values.
    Csv,
}

/// Runs `kelvin export`.
pub(super) fn main(args: ExportArgs, registry: Registry) -> anyhow::Result<Exit> {
    let report = match &args.report {
        Some(report) => report.clone(),
        None => check::folder(&args.config)?.join("kelvin/report.json"),
    };
    let request = ExportRequest {
        registry,
        report,
        form: match args.format {
            ExportFormat::Jsonl => DataSetForm::Jsonl,
            ExportFormat::Dspy => DataSetForm::Dspy,
            ExportFormat::Csv => DataSetForm::Csv,
        },
        min_score: args.min_score,
        metric: args.metric.clone(),
        variants: args.variants,
        out: args.out.clone(),
        masker: Masker::of_environment([]),
    };
    let manifest = check::export(&request)?;
    super::say(&(manifest_text(&request, &manifest) + &next(&args, &request, &manifest)));
    Ok(Exit::Passed)
}

fn manifest_text(request: &ExportRequest, manifest: &Manifest) -> String {
    let mut page = format!(
        "wrote {} to {}\n",
        counted(manifest.examples, "example"),
        request.out.join(manifest.file).display()
    );
    for (why, count) in &manifest.left_out {
        let _ = writeln!(
            page,
            "left out: {} {}",
            counted(*count, "invocation"),
            why.words()
        );
    }
    if manifest.masked > 0 {
        let _ = writeln!(
            page,
            "secrets were taken out of {}",
            counted(manifest.masked, "example")
        );
    }
    page
}

/// The next step: to use the examples, or to get some if there are none.
fn next(args: &ExportArgs, request: &ExportRequest, manifest: &Manifest) -> String {
    if manifest.examples > 0 {
        // The first line of a table is its header.
        let lines = if request.form == DataSetForm::Csv {
            "2"
        } else {
            "1"
        };
        return Again::program("head")
            .words("-n")
            .word(lines)
            .word(request.out.join(manifest.file))
            .next();
    }
    let again = || {
        Again::kelvin("export")
            .config(&args.config)
            .given("--report", args.report.as_ref())
            .given("--metric", args.metric.as_ref())
            .choice("--format", Some(args.format))
            .given(
                "--out",
                Some(&args.out).filter(|out| *out != Path::new(FOLDER)),
            )
    };
    let is_left = |why| manifest.left_out.contains_key(&why);
    if is_left(LeftOut::BelowMinScore) && args.min_score > 0.0 {
        return again()
            .switch("--variants", args.variants)
            .word("--min-score=0")
            .next();
    }
    if is_left(LeftOut::Variant) && manifest.left_out.len() == 1 {
        return again()
            .word("--variants")
            .flag("--min-score", args.min_score.to_string())
            .next();
    }
    // A new run writes inputs, outputs and scores that belong together.
    Again::kelvin("check").config(&args.config).next()
}
