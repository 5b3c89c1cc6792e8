//! `kelvin calibrate`.

mod render;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::TextOrJson;
use super::again::Again;
use super::progress::Progress;
use crate::check::{self, CalibrateRequest, Calibrated, TriedAnswers};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_run::config::Overrides;
use kelvin_run::judge::trial::{Fitness, TrialSettings};

/// The arguments of `kelvin calibrate`.
#[derive(Debug, Args)]
pub(super) struct CalibrateArgs {
    /// The configuration that names the judge.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The answers that the judge is tried on: JSON lines with `prompt` and `response`, and optionally
    /// `reference`, `label` (what a person says the answer is worth, from 0 to 1) and `family` (of the
    /// model that wrote it).
    #[arg(long, value_name = "FILE", required_unless_present = "report")]
    answers: Option<PathBuf>,
    /// A report whose graded answers the judge is tried on, with their prompts and references: a file, a run of the
    /// history, or a revision.
    #[arg(long, value_name = "REPORT", conflicts_with = "answers")]
    report: Option<String>,
    /// The judge, if several ask a language model: its place in the configuration, such as `grading.judge`.
    #[arg(long, value_name = "PLACE")]
    judge: Option<String>,
    /// Compares the judge with embedding similarity by this model of `models`, instead of with equality of texts.
    #[arg(long, value_name = "MODEL")]
    embeddings: Option<String>,
    /// The model family of the judge [default: the family whose name is a part of the name of its model].
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
    /// The lowest score with which an answer passes.
    #[arg(long, value_name = "SCORE", default_value_t = 0.5, value_parser = pass)]
    pass: f64,
    /// How often the same copy is graded, to measure the noise of the judge.
    #[arg(long, value_name = "N", default_value = "3", value_parser = crate::cli::whole::<1_000>)]
    repeats: NonZeroUsize,
    /// How many calls are made at the same time, instead of `jobs` in the configuration.
    #[arg(long, value_name = "N", value_parser = crate::cli::whole::<1_024>)]
    jobs: Option<NonZeroUsize>,
    /// The folder for the calls [default: `kelvin-calibrate` beside the configuration].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Calls the judge for every copy, even if the cache has the answer.
    #[arg(long)]
    no_cache: bool,
    /// Goes on where an interrupted trial stopped.
    #[arg(long)]
    resume: bool,
    /// Does not keep the result for the gate.
    #[arg(long)]
    no_save: bool,
    /// Ends with exit code 3 unless the judge is fit to gate on.
    #[arg(long)]
    strict: bool,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Parses a threshold that some scores reach and others do not reach.
fn pass(text: &str) -> Result<f64, String> {
    let score: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    match score > 0.0 && score <= 1.0 {
        true => Ok(score),
        false => Err("it must be above 0 and at most 1".to_owned()),
    }
}

/// Runs `kelvin calibrate`.
pub(super) fn main(args: &CalibrateArgs, registry: Registry) -> anyhow::Result<Exit> {
    let progress = Progress::new();
    let calibrated = check::calibrate(&request(args, registry), &progress);
    progress.finish();
    let calibrated = calibrated?;
    super::say(&shown(args.format, &calibrated)?);
    if args.format == TextOrJson::Text {
        super::say(&next(args, &calibrated));
    }
    Ok(exit(&calibrated, args.strict))
}

fn request(args: &CalibrateArgs, registry: Registry) -> CalibrateRequest {
    CalibrateRequest {
        registry,
        overrides: Overrides {
            file: Some(args.config.clone()),
            jobs: args.jobs,
            no_cache: args.no_cache,
            ..Overrides::default()
        },
        judge: args.judge.clone(),
        answers: match (&args.report, &args.answers) {
            (Some(report), _) => TriedAnswers::Report(report.clone()),
            (None, file) => TriedAnswers::File(file.clone().unwrap_or_default()),
        },
        embeddings: args.embeddings.clone(),
        family: args.family.clone(),
        settings: TrialSettings {
            pass: args.pass,
            repeats: args.repeats.get(),
        },
        out: args.out.clone(),
        resume: args.resume,
        save: !args.no_save,
    }
}

fn shown(format: TextOrJson, calibrated: &Calibrated) -> anyhow::Result<String> {
    Ok(match format {
        TextOrJson::Text => render::terminal(calibrated),
        TextOrJson::Json => {
            let page = json!({
                "trial": calibrated.record,
                "judge_cost": calibrated.cost,
                "kept_in": calibrated.file,
                "notices": calibrated.notices,
            });
            serde_json::to_string_pretty(&page)? + "\n"
        }
    })
}

/// The next step for a judge that was tested.
fn next(args: &CalibrateArgs, calibrated: &Calibrated) -> String {
    let again = || {
        let again = Again::kelvin("calibrate")
            .config(&args.config)
            .given("--answers", args.answers.as_ref())
            .given("--report", args.report.as_ref())
            .given("--judge", args.judge.as_ref())
            .given("--embeddings", args.embeddings.as_ref())
            .given("--family", args.family.as_ref())
            .flag("--pass", args.pass.to_string())
            .flag("--repeats", args.repeats.to_string());
        again
            .given("--out", args.out.as_ref())
            .switch("--strict", args.strict)
    };
    match calibrated.record.as_ref().map(|record| record.fitness) {
        None => again()
            .switch("--no-save", args.no_save)
            .word("--resume")
            .next(),
        // No result was stored for the gate. If there is a cache, the next trial reuses the calls.
        Some(Fitness::Fit) if calibrated.file.is_none() => again().next(),
        Some(Fitness::Fit) => Again::kelvin("check").config(&args.config).next(),
        Some(Fitness::Undecided) => again().next_when(match args.report {
            Some(_) => "with a report of more prompts",
            None => "with more answers in that file",
        }),
        Some(Fitness::Unfit) => again().next_when("with another model or another prompt as judge"),
    }
}

/// A finished trial is a success, whatever its result is; with `strict`, the result decides the exit code.
fn exit(calibrated: &Calibrated, strict: bool) -> Exit {
    match &calibrated.record {
        None => Exit::Interrupted,
        Some(record) if strict && record.fitness != Fitness::Fit => Exit::GateFailed,
        Some(_) => Exit::Passed,
    }
}

#[cfg(test)]
mod tests;
