//! The summary of a period, over all its stored runs.

use std::path::{Path, PathBuf};

use super::doctor::{self, DoctorRequest};
use super::runs::{RunsRequest, demand_metrics};
use super::{CheckRequest, asked, folder, past};
use crate::registry::{Registry, overrides_naming};
use crate::trend::{MadeOf, PastRun, Period, Summary, SummaryInputs, differing, summarize};
use kelvin_base::calendar;
use kelvin_base::exit::Misuse;
use kelvin_run::config::{Config, Overrides};
use kelvin_system::pipeline::{self, Made};

/// The inputs of a summary.
#[derive(Clone, Debug)]
pub(crate) struct SummaryRequest {
    /// The runs.
    pub(crate) runs: RunsRequest,
    /// The beginning of the period.
    pub(crate) since: String,
    /// The end of the period; now unless given.
    pub(crate) until: Option<String>,
    /// Traces of chains that another tool has recorded, to be read in place of reports: a file or a folder.
    pub(crate) traces: Option<PathBuf>,
}

/// Makes the summary. Fails with a [`Misuse`] if the period is invalid, or a metric is asked for that no run has.
pub(crate) fn summary(request: &SummaryRequest) -> anyhow::Result<Summary> {
    let of = &request.runs;
    let period = period(&request.since, request.until.as_deref(), of.now)?;
    let root = folder(&of.config)?;
    let overrides = overrides_naming(&of.config);
    let config = of.registry.configured(&overrides);
    let (runs, read) = match &request.traces {
        Some(path) => past::read_traces(path)?,
        None => {
            let sources = of.sources(&root, config.as_ref().ok());
            past::in_order(&sources, of.now.max(period.until))
        }
    };
    demand_metrics(&runs, &of.metrics)?;
    let asked = SummaryInputs {
        period,
        metrics: &of.metrics,
    };
    let mut summary = summarize(&runs, read, asked);
    summary.validation = match &config {
        // Traces belong to no configuration of this program.
        _ if request.traces.is_some() => Vec::new(),
        Ok(config) => valid((of.registry, config), &overrides, &runs),
        Err(error) => vec![("missing".to_owned(), format!("config: {error:#}"))],
    };
    Ok(summary)
}

/// Reads both ends of a period. A duration counts back from the end of the period.
fn period(since: &str, until: Option<&str>, now: i64) -> Result<Period, Misuse> {
    let wrong = |name: &str, why: String| Misuse::new(format!("`--{name}`: {why}"));
    let until = until.map_or(Ok(now), |until| {
        calendar::asked(until, now).map_err(|why| wrong("until", why))
    })?;
    let since = calendar::asked(since, until).map_err(|why| wrong("since", why))?;
    if since >= until {
        let (since, until) = (calendar::written(since), calendar::written(until));
        let what = format!("the period from {since} to {until} is empty");
        return Err(Misuse::new(what).help("let `--since` name a time before `--until`"));
    }
    Ok(Period { since, until })
}

/// Whether the configuration can be run, and whether it still measures the same as in the last run.
fn valid(
    (registry, config): (Registry, &Config),
    overrides: &Overrides,
    runs: &[PastRun],
) -> Vec<(String, String)> {
    let request = DoctorRequest::of_project(registry, overrides.clone());
    let findings = doctor::project(config, &request).into_iter();
    let said = findings.map(|finding| {
        let text = format!("{}: {}", finding.subject, finding.text);
        (finding.status.word().to_owned(), text)
    });
    let mut found: Vec<(String, String)> = said.collect();
    found.push(fingerprints((registry, config), overrides, runs));
    found
}

fn fingerprints(
    (registry, config): (Registry, &Config),
    overrides: &Overrides,
    runs: &[PastRun],
) -> (String, String) {
    let say = |word: &str, text: String| (word.to_owned(), format!("fingerprints: {text}"));
    let name = super::configuration(config);
    let own = runs.iter().filter(|run| run.configuration == name);
    let Some(last) = own.max_by_key(|run| run.at) else {
        return say(
            "warn",
            format!("no run of `{name}` was found to compare with"),
        );
    };
    let today = match today(registry, config, overrides) {
        Ok(today) => today,
        Err(error) => return say("missing", format!("{error:#}")),
    };
    let when = calendar::written(last.at);
    match differing(&last.made_of, &today).as_slice() {
        [] => say("ok", format!("all are those of the last run, of {when}")),
        changed => say(
            "warn",
            format!(
                "since the last run, of {when}, these have changed: {}",
                changed.join(", ")
            ),
        ),
    }
}

/// The properties on which the figures of a run would depend if it were made now.
fn today(registry: Registry, config: &Config, overrides: &Overrides) -> anyhow::Result<MadeOf> {
    let request = CheckRequest {
        overrides: overrides.clone(),
        ..CheckRequest::new(registry)
    };
    let sides = asked::read(&request, config)?;
    let out = config.root.join("kelvin");
    let beside = asked::not_pipeline(config, &sides, &out);
    let (code, _) = pipeline::begin(&config.root, &config.fingerprint, &beside, Made::default())?;
    Ok(MadeOf::by_this(
        (config.measured(), config.seed, code.digest),
        sides
            .iter()
            .map(|side| (side.kind.name(), side.items.fingerprint())),
    ))
}

/// The name of the file for a summary in a folder: the last day that the summary covers.
pub(crate) fn file_name(summary: &Summary, folder: &Path, ending: &str) -> PathBuf {
    let until = calendar::moment(&summary.until).map_or(0, |until| until - 1);
    folder.join(format!("{}.{ending}", calendar::day(until)))
}
