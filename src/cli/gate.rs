//! `kelvin gate`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::check::{CheckArgs, print};
use super::inputs::variable;
use super::progress::Progress;
use super::veritas::{self, VeritasArgs};
use crate::check::GateRequest;
use crate::registry::Registry;
use crate::{baseline, check};
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::judgement::AnswersShown;
use kelvin_record::settings::OnSuspected;
use kelvin_run::config::{BaselineOverride, GateOverrides};

/// The arguments of `kelvin gate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct GateArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    options: GateOptions,
    /// The revision to compare with, instead of the commit where the change begins.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Runs doubtful cases again, within the budget of the configuration; the default.
    #[arg(long, overrides_with = "no_rerun")]
    rerun: bool,
    /// Runs no case again: a drop that noise may explain fails, unless `on_suspected` says
    /// otherwise.
    #[arg(long, overrides_with = "rerun")]
    no_rerun: bool,
    /// Shows every answer that changed, instead of the first ten.
    #[arg(long)]
    all: bool,
    /// Judges this report, such as one that `kelvin merge` has written, and runs nothing.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "rerun", "only", "shard", "seed", "repeats", "jobs", "no_cache", "resume", "dry_run",
        ]
    )]
    report: Option<PathBuf>,
    /// The payload of a GitHub event, which says where the change begins [default: the one that
    /// `GITHUB_EVENT_PATH` names].
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
    /// The name of that event [default: the one in `GITHUB_EVENT_NAME`].
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs every input several times, none of them from the cache, and judges the result.
    Veritas(VeritasArgs),
}

/// The options that override `gate` and `baseline` of the configuration.
#[derive(Debug, Args)]
pub(super) struct GateOptions {
    /// Where the baseline comes from: `auto`, `tree`, `branch`, `compute`, `off`, or a file.
    #[arg(long, value_name = "SOURCE", value_parser = baseline_of)]
    baseline: Option<BaselineOverride>,
    /// The name that baseline, comment and artifact are kept under, instead of `name` in the
    /// configuration; one for each job of a matrix.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// How far a metric may drop, instead of `gate.max_drop`.
    #[arg(long, value_name = "X", value_parser = max_drop)]
    max_drop: Option<f64>,
    /// What fails the job: only a `regression`, also an `inconclusive` result, or nothing (`never`).
    #[arg(long, value_name = "WHAT", value_enum)]
    fail_on: Option<FailOn>,
    /// What running doubtful cases again may cost: a number of calls, minutes (`10m`), or both
    /// (`200,10m`).
    #[arg(long, value_name = "BUDGET", value_parser = budget)]
    budget: Option<Spending>,
    /// How often each input of a base is run, instead of `baseline.repeats`: on a push, whose report is kept, and when
    /// the gate measures the base itself.
    #[arg(long, value_name = "N", value_parser = super::whole::<1_000>)]
    base_repeats: Option<NonZeroUsize>,
    /// How often a doubtful input of a change may be run in all, instead of `gate.budget.head_repeats`.
    #[arg(long, value_name = "N", value_parser = super::whole::<100>)]
    head_repeats: Option<NonZeroUsize>,
}

/// What fails the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// What the configuration says; by default a regression, and a possible regression if no case was run again.
    Regression,
    /// A drop that noise may explain as well.
    Inconclusive,
    /// Nothing: the verdict is shown and the job passes.
    Never,
}

/// The budget for re-runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spending {
    calls: Option<usize>,
    minutes: Option<f64>,
}

impl GateOptions {
    /// Applies the arguments to a request.
    pub(super) fn apply(&self, request: &mut GateRequest) {
        let spending = self.budget.unwrap_or_default();
        request.check.overrides.name.clone_from(&self.name);
        request.check.overrides.gate = GateOverrides {
            max_drop: self.max_drop,
            baseline: self.baseline.clone(),
            calls: spending.calls,
            minutes: spending.minutes,
            on_suspected: (self.fail_on == Some(FailOn::Inconclusive)).then_some(OnSuspected::Fail),
            base_repeats: self.base_repeats,
            head_repeats: self.head_repeats,
        };
        request.advisory = self.fail_on == Some(FailOn::Never);
    }
}

fn baseline_of(text: &str) -> Result<BaselineOverride, String> {
    match text.trim() {
        "" => Err("the name of a source, or a file".to_owned()),
        text => Ok(BaselineOverride::read(text)),
    }
}

fn max_drop(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(drop) if (0.0..=2.0).contains(&drop) => Ok(drop),
        _ => Err("a number from 0 to 2, for example 0.05".to_owned()),
    }
}

fn budget(text: &str) -> Result<Spending, String> {
    let mut spending = Spending::default();
    for part in text.split(',').map(str::trim) {
        let minutes = part.strip_suffix('m').map(|number| number.parse::<f64>());
        match (minutes, part.parse()) {
            (Some(Ok(minutes)), _) if minutes.is_finite() && minutes >= 0.0 => {
                spending.minutes = Some(minutes);
            }
            (None, Ok(calls)) => spending.calls = Some(calls),
            _ => return Err("a number of calls, minutes (`10m`), or both (`200,10m`)".to_owned()),
        }
    }
    Ok(spending)
}

/// Runs `kelvin gate`.
pub(super) fn main(args: &GateArgs, registry: Registry) -> anyhow::Result<Exit> {
    if let Some(Verb::Veritas(args)) = &args.verb {
        return veritas::main(args, registry);
    }
    let (name, payload) = payload(args.event.as_ref(), args.event_name.as_ref())?;
    let mut hint = baseline::hint_of_event(&name, &payload);
    hint.asked.clone_from(&args.base);
    let mut request = GateRequest {
        hint,
        rerun: args.rerun || !args.no_rerun,
        report: args.report.clone(),
        ..GateRequest::new(args.check.request(registry))
    };
    if request.hint.in_workflow {
        let file = request.check.overrides.file.as_deref();
        let root = file.and_then(Path::parent).unwrap_or(Path::new(""));
        request.hint.remote = baseline::address(&Path::new(".").join(root));
    }
    args.options.apply(&mut request);
    if args.check.is_dry_run() {
        return Err(Misuse::new("there is nothing to gate in a dry run").into());
    }
    let progress = Progress::new();
    let judged = check::gate(&request, &progress);
    progress.finish();
    let judged = judged?;
    // Judging a finished report is not a run, and a copied report of the base is not one either, so nothing is
    // recorded.
    if args.report.is_none() && !judged.checked.is_a_copy() {
        args.check.record(&judged.checked, registry);
    }
    print(
        &args.check,
        registry,
        &judged.checked,
        Some((&judged.judgement, AnswersShown::by_flag(args.all))),
    )?;
    Ok(judged.exit())
}

/// The name of the event and its payload; an empty name on a laptop. Fails if the payload cannot be read, or its name
/// is missing.
pub(super) fn payload(
    file: Option<&PathBuf>,
    name: Option<&String>,
) -> anyhow::Result<(String, Value)> {
    let path = file
        .cloned()
        .or_else(|| variable("GITHUB_EVENT_PATH").map(PathBuf::from));
    let name = name.cloned().or_else(|| variable("GITHUB_EVENT_NAME"));
    let (Some(path), Some(name)) = (path, name) else {
        if file.is_some() {
            return Err(Misuse::new("`--event` needs the name of the event")
                .help("add `--event-name pull_request`, or whichever it is")
                .into());
        }
        return Ok((String::new(), Value::Null));
    };
    let text = kelvin_base::file::read(&path)
        .map_err(|error| Misuse::new(format!("the event: {error:#}")))?;
    let payload = serde_json::from_str(&text).map_err(|error| {
        Misuse::new(format!(
            "the event `{}` is not JSON: {error}",
            path.display()
        ))
    })?;
    Ok((name, payload))
}
