//! `kelvin check`.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};

use super::again::Again;
use super::progress::Progress;
use super::{after, forecast};
use crate::check::{self, CheckMode, CheckRequest, Checked};
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::judgement::AnswersShown;
use kelvin_gate::{Judgement, report};
use kelvin_github::publish::comment;
use kelvin_github::publish::mask::Masker;
use kelvin_page::safe;
use kelvin_page::terminal::Style;
use kelvin_record::{ListedVariant, Listing, Shard};
use kelvin_run::config::Overrides;

/// The argument that names a probe. Its possible values are added at run time, from the registered kinds.
pub(super) const PROBE: &str = "probe";

/// The arguments of `kelvin check`.
#[derive(Debug, Default, Args)]
pub(super) struct CheckArgs {
    /// The configuration; its folder is the working directory of the pipeline.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    pub(super) config: PathBuf,
    /// Runs this probe only, of those that are configured.
    #[arg(long, value_name = "PROBE")]
    probe: Option<String>,
    /// Measures this case or query only; units of the other cases are still used. May be repeated.
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Measures one share of the cases, e.g. `3/8` for the third of eight; `kelvin merge` joins the reports of all
    /// shares. Units of the other cases are still used.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Seeds the choice of perturbations, instead of `seed` in the configuration.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How often each input is run, instead of `repeats` in the configuration. With 5, the report is a good base to
    /// compare with.
    #[arg(long, value_name = "N", value_parser = super::whole::<1_000>)]
    pub(super) repeats: Option<NonZeroUsize>,
    /// How many invocations run at the same time, instead of `jobs` in the configuration.
    #[arg(long, value_name = "N", value_parser = super::whole::<1_024>)]
    jobs: Option<NonZeroUsize>,
    /// The folder for inputs, outputs and reports [default: `kelvin` beside the configuration].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Calls the pipeline for every input, even if the cache has the answer.
    #[arg(long)]
    no_cache: bool,
    /// Goes on where an interrupted run stopped.
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// Writes every input and runs nothing.
    #[arg(long)]
    dry_run: bool,
    /// Lists every variant and how many invocations there are, writes nothing and runs nothing.
    #[arg(long, conflicts_with_all = ["dry_run", "resume"])]
    list: bool,
    /// Says how many calls a check and a gate take, and estimates time and money from the last recorded run; writes
    /// nothing and runs nothing.
    #[arg(long, conflicts_with_all = ["dry_run", "resume", "list"])]
    forecast: bool,
    /// With `--forecast`: the price of a call in US dollars. It replaces the price of the recorded runs, if they have
    /// one.
    #[arg(long, value_name = "USD", requires = "forecast")]
    usd_per_call: Option<f64>,
    /// Leaves the run out of the local history.
    #[arg(long)]
    no_history: bool,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// The report for a terminal.
    #[default]
    Text,
    /// The report as JSON, and nothing else.
    Json,
    /// The report as Markdown, and nothing else.
    Markdown,
    /// As JUnit XML: each item is a test case, and the verdict is a suite.
    Junit,
}

/// The names of all probes, each with its question.
pub(super) fn probes(registry: Registry) -> PossibleValuesParser {
    let names = registry.kinds().iter();
    let names = names.map(|kind| PossibleValue::new(kind.name()).help(kind.question()));
    PossibleValuesParser::new(names)
}

impl CheckArgs {
    /// The arguments for a check that is restricted to some items.
    pub(super) fn of_items(config: PathBuf, only: Vec<String>) -> Self {
        Self {
            config,
            only,
            ..Self::default()
        }
    }

    /// The check that the arguments request.
    pub(super) fn request(&self, registry: Registry) -> CheckRequest {
        let probe = self.probe.as_deref().and_then(|name| registry.kind(name));
        CheckRequest {
            overrides: Overrides {
                file: Some(self.config.clone()),
                seed: self.seed,
                repeats: self.repeats,
                jobs: self.jobs,
                no_cache: self.no_cache,
                ..Overrides::default()
            },
            probe: probe.map(|kind| kind.name()),
            only: self.only.clone(),
            shard: self.shard,
            masker: Some(Arc::new(Masker::of_environment([]))),
            out: self.out.clone(),
            mode: match (self.resume, self.dry_run) {
                (true, _) => CheckMode::Resume,
                (_, true) => CheckMode::DryRun,
                _ => CheckMode::Run,
            },
            ..CheckRequest::new(registry)
        }
    }
}

/// Runs `kelvin check`.
pub(super) fn main(args: &CheckArgs, registry: Registry) -> anyhow::Result<Exit> {
    if args.list {
        return list(args, registry);
    }
    if args.forecast {
        return forecast(args, registry);
    }
    let progress = Progress::new();
    let checked = check::check(&args.request(registry), &progress);
    progress.finish();
    let checked = checked?;
    args.record(&checked, registry);
    print(args, registry, &checked, None)?;
    Ok(checked.exit())
}

/// Prints what would be run. Programs read these lines too, so every remark begins with a `#`.
fn list(args: &CheckArgs, registry: Registry) -> anyhow::Result<Exit> {
    let is_json = args.format == CheckFormat::Json;
    let listing = check::list(&args.request(registry), is_json)?;
    super::say(&match is_json {
        true => serde_json::to_string_pretty(&listing)? + "\n",
        false => page(&listing) + &commented(&args.again().next()),
    });
    Ok(Exit::Passed)
}

fn commented(line: &str) -> String {
    match line {
        "" => String::new(),
        line => format!("# {line}"),
    }
}

/// Prints the cost of a run.
fn forecast(args: &CheckArgs, registry: Registry) -> anyhow::Result<Exit> {
    if args
        .usd_per_call
        .is_some_and(|usd| !(usd.is_finite() && usd >= 0.0))
    {
        return Err(Misuse::new("`--usd-per-call` must be a number from 0")
            .help("such as 0.002")
            .into());
    }
    let bill = check::bill(&args.request(registry), args.usd_per_call)?;
    super::say(&match args.format {
        CheckFormat::Json => serde_json::to_string_pretty(&bill)? + "\n",
        CheckFormat::Markdown => forecast::page(&bill),
        CheckFormat::Junit => {
            let what = "a forecast has no items that could be test cases";
            return Err(Misuse::new(what).help("leave `--format junit` out").into());
        }
        CheckFormat::Text => {
            format!("{}\n{}", forecast::page(&bill), args.again().next())
        }
    });
    Ok(Exit::Passed)
}

/// The list as text, with remarks.
fn page(listing: &Listing) -> String {
    let mut page = String::new();
    for ListedVariant { case, variant, .. } in &listing.variants {
        page.extend([&*safe::line(case), "\t", variant, "\n"]);
    }
    for notice in &listing.notices {
        page.extend(["# ", &*safe::line(&notice.text), "\n"]);
    }
    let total: usize = listing.invocations.values().sum();
    let kinds: Vec<String> = listing
        .invocations
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    page.push_str(&format!("# {total} invocations: {}\n", kinds.join(", ")));
    page
}

impl CheckArgs {
    /// The command for the same check, with the flags that choose its cases and its folder.
    pub(super) fn again(&self) -> Again {
        self.again_with(self.repeats)
    }

    /// The command for the same check with another number of repeats.
    pub(super) fn again_with(&self, repeats: Option<NonZeroUsize>) -> Again {
        let number = |number: Option<NonZeroUsize>| number.map(|number| number.to_string());
        let again = Again::kelvin("check")
            .config(&self.config)
            .given("--probe", self.probe.as_ref());
        let again = self
            .only
            .iter()
            .fold(again, |again, case| again.flag("--only", case));
        again
            .given("--shard", self.shard.map(|shard| shard.to_string()))
            .given("--seed", self.seed.map(|seed| seed.to_string()))
            .given("--repeats", number(repeats))
            .given("--jobs", number(self.jobs))
            .given("--out", self.out.as_ref())
            .switch("--no-cache", self.no_cache)
            .switch("--no-history", self.no_history)
    }

    /// Whether some cases or probes were left out on purpose.
    pub(super) fn is_restricted(&self) -> bool {
        self.probe.is_some() || !self.only.is_empty() || self.shard.is_some()
    }

    /// Records a finished check in the history, unless that was turned off.
    pub(super) fn record(&self, checked: &Checked, registry: Registry) {
        super::history::record(registry, &self.config, &checked.report, self.no_history);
    }

    /// Whether the command only shows what it would run.
    pub(super) const fn is_dry_run(&self) -> bool {
        self.dry_run || self.list || self.forecast
    }
}

/// Prints a finished check and its verdict, if there is one. The second part of `judged` limits how many changed
/// answers are shown.
pub(super) fn print(
    args: &CheckArgs,
    registry: Registry,
    checked: &Checked,
    judged: Option<(&Judgement, AnswersShown)>,
) -> anyhow::Result<()> {
    show(args.format, checked, judged)?;
    if args.format == CheckFormat::Text {
        let judgement = judged.map(|(judgement, _)| judgement);
        super::say(&after::after(args, registry, checked, judgement));
    }
    Ok(())
}

/// Prints a report or its verdict in a format; a text shows at most this many changed answers.
pub(super) fn show(
    format: CheckFormat,
    checked: &Checked,
    judged: Option<(&Judgement, AnswersShown)>,
) -> anyhow::Result<()> {
    let text = match format {
        CheckFormat::Json => {
            if let Some((judgement, _)) = judged {
                super::say(&(serde_json::to_string_pretty(judgement)? + "\n"));
                return Ok(());
            }
            let mut text = Vec::new();
            report::json::write(&mut text, &checked.report)?;
            text
        }
        CheckFormat::Markdown => match judged {
            Some((judgement, _)) => {
                comment::alone(&checked.report, judgement, &checked.out).into_bytes()
            }
            None => report::page::to_markdown(&checked.report).into_bytes(),
        },
        CheckFormat::Junit => {
            let judgement = judged.map(|(judgement, _)| judgement);
            kelvin_gate::to_junit(&checked.report, judgement).into_bytes()
        }
        CheckFormat::Text => {
            let folder = shown(&checked.out);
            let mut page = report::page::to_terminal(&checked.report, &folder, style());
            if let Some((judgement, answers)) = judged {
                page.push('\n');
                page.push_str(&judgement.terminal(answers));
            }
            page.into_bytes()
        }
    };
    let mut stdout = anstream::stdout().lock();
    // A closed pipe (`| head`) does not mean that the check failed.
    match stdout.write_all(&text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// The style for the terminal: its width, and colours unless `NO_COLOR` or a similar variable forbids them.
fn style() -> Style {
    let stdout = std::io::stdout();
    let choice = anstream::AutoStream::choice(&stdout);
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    Style::of(choice != anstream::ColorChoice::Never, columns)
}

/// A path as a person would type it: relative if it is below the working directory.
pub(super) fn shown(path: &std::path::Path) -> String {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
        .display()
        .to_string()
}
