//! `kelvin export`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::check::{self, ExportRequest, Form, Manifest};
use crate::exit::Exit;
use crate::page::counted;
use crate::publish::mask::Masker;

/// The arguments of `kelvin export`.
#[derive(Debug, Args)]
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
    /// The least score of an invocation that is exported.
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
    #[arg(long, value_name = "DIR", default_value = "kelvin-export")]
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
pub(super) fn main(args: ExportArgs) -> anyhow::Result<Exit> {
    let ExportArgs {
        report,
        config,
        format,
        min_score,
        metric,
        variants,
        out,
    } = args;
    let report = match report {
        Some(report) => report,
        None => check::folder(&config)?.join("kelvin/report.json"),
    };
    let request = ExportRequest {
        report,
        form: match format {
            ExportFormat::Jsonl => Form::Jsonl,
            ExportFormat::Dspy => Form::Dspy,
            ExportFormat::Csv => Form::Csv,
        },
        min_score,
        metric,
        variants,
        out,
        masker: Masker::of_environment([]),
    };
    let manifest = check::export(&request)?;
    super::say(&told(&request, &manifest));
    Ok(Exit::Passed)
}

fn told(request: &ExportRequest, manifest: &Manifest) -> String {
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
