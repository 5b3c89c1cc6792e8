//! Computes the scores of a stored report, or of recorded traces, by other rules, without running a pipeline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Checked, recompute, side, write};
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_page as page;
use kelvin_probe::Rescoring;
use kelvin_quality::{Band, ScoredTrace, scored_traces};
use kelvin_run as run;
use kelvin_run::config::Config;
use kelvin_run::trace::{self, ChainVersion, Traces};

/// A stored score with two decimals differs from the unrounded score by at most this.
const ROUNDING: f64 = 0.005;
/// A version is compared with this many traces of the previous version.
const WINDOW: usize = 20;

/// The inputs for computing scores again.
#[derive(Clone, Debug)]
pub(crate) struct RescoreRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The report: a file, a run of the history, or a revision; or a file or a folder of traces.
    pub(crate) report: String,
    /// The configuration with the rules; none if the stored rules are used.
    pub(crate) config: Option<PathBuf>,
    /// The weight of each factor.
    pub(crate) weights: Option<String>,
    /// The name of the scorer.
    pub(crate) scorer: Option<String>,
    /// The output folder.
    pub(crate) out: PathBuf,
}

/// The scores after the change of rules.
pub(crate) enum Rescored {
    /// A report, which was written.
    Report(Box<Checked>),
    /// Traces with their scores.
    Traces(RescoredTraces),
}

/// Traces with their scores.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RescoredTraces {
    /// Every version of every chain, in order.
    pub(crate) chains: Vec<RescoredChain>,
    /// Every trace, in the order of the files.
    pub(crate) traces: Vec<RescoredTrace>,
    /// How many files were read.
    pub(crate) files: usize,
    /// Says, in words, why a file or an entry that was given as a trace is not a trace.
    pub(crate) malformed: Vec<String>,
    /// Warnings about the figures for the reader.
    pub(crate) warnings: Vec<String>,
}

/// One version of a chain.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RescoredChain {
    /// The chain.
    pub(crate) chain: String,
    /// Its version.
    pub(crate) version: String,
    /// How many traces are in the mean.
    pub(crate) n: usize,
    /// How many traces have failed.
    pub(crate) failed: usize,
    /// How many traces are in no mean, because a person still has to decide about them.
    pub(crate) gated: usize,
    /// How many traces are in no mean, because a factor is missing in them.
    pub(crate) unscored: usize,
    /// The mean; null if no trace has a score.
    pub(crate) mean: Option<f64>,
    /// The band of the mean.
    pub(crate) band: Option<&'static str>,
    /// How much lower the mean is than the mean of the newest traces of the previous version; null if there is no
    /// earlier mean.
    pub(crate) drop: Option<f64>,
    /// How many stored scores differ from the new ones by more than rounding errors.
    pub(crate) drifted: usize,
}

/// One trace.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RescoredTrace {
    /// Its id.
    pub(crate) trace_id: String,
    /// The score that was stored in the trace.
    pub(crate) stored: Option<f64>,
    /// The score by the current rules; null if a factor is missing.
    pub(crate) score: Option<f64>,
    /// How much higher the score is than the stored one.
    pub(crate) drift: Option<f64>,
    /// Its units with their scores.
    pub(crate) units: Vec<RescoredUnit>,
}

/// One step of a trace.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RescoredUnit {
    /// The unit.
    pub(crate) unit: String,
    /// Its score.
    pub(crate) score: Option<f64>,
}

/// Computes the scores of a report or of traces again. Fails with a [`Misuse`] if nothing has scores, or if the stored
/// data do not suffice for the rules.
pub(crate) fn rescore(request: &RescoreRequest) -> anyhow::Result<Rescored> {
    let config = match &request.config {
        Some(file) => Some(request.registry.configured_in(file)?),
        None => None,
    };
    let rules = Rescoring {
        config: config.as_ref(),
        weights: request.weights.as_deref(),
        scorer: request.scorer.as_deref(),
    };
    let path = Path::new(&request.report);
    if are_traces(path) {
        let found = trace::read(path)?;
        return Ok(Rescored::Traces(of_traces(&found, &rules)?));
    }
    let checked = report(request, config.as_ref(), &rules)?;
    Ok(Rescored::Report(Box::new(checked)))
}

/// Whether a path contains traces: a folder, a file in a format that is not used for reports, or a file without the
/// section of a probe.
fn are_traces(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        _ if path.is_dir() => true,
        Some("yaml" | "yml" | "jsonl") => path.is_file(),
        Some("json") => {
            let bytes = std::fs::read(path).unwrap_or_default();
            let value = serde_json::from_slice::<serde_json::Value>(&bytes);
            value.is_ok_and(|value| {
                value.is_array() || value.get("trace_id").is_some() || value.get("traces").is_some()
            })
        }
        _ => false,
    }
}

fn report(
    request: &RescoreRequest,
    config: Option<&Config>,
    rules: &Rescoring<'_>,
) -> anyhow::Result<Checked> {
    let file = config.map_or(Path::new("kelvin.yaml"), |config| &config.file);
    let stored = side(request.registry, &request.report, file)?.report;
    let mut report = stored.clone();
    let mut found = false;
    for (kind, section) in request.registry.known(&stored.probes) {
        if let Some(section_now) = kind.rescored(section, rules)? {
            // The notices about the former scores are removed and made again.
            let former = kind.recompute(section.boxed()).notices;
            report.notices.retain(|notice| !former.contains(notice));
            report.probes.put(kind.name(), section_now);
            found = true;
        }
    }
    if !found {
        let what = format!(
            "the report `{}` has no scores of stored factors",
            request.report
        );
        return Err(Misuse::new(what)
            .help(
                "name a report of a run that was configured with `quality`, or a folder of traces",
            )
            .into());
    }
    let out = std::path::absolute(&request.out)?;
    let _claim = run::claim(&out)?;
    let report = recompute(&request.report, report).report;
    write::files(&report, &out, &|_, _| None, None)?;
    Ok(Checked::of(report, out))
}

fn of_traces(found: &Traces, rules: &Rescoring<'_>) -> anyhow::Result<RescoredTraces> {
    let scored = scored_traces(&found.traces, rules)?;
    let by_id: BTreeMap<&str, &ScoredTrace<'_>> = scored
        .iter()
        .map(|scored| (scored.trace.trace_id.as_str(), scored))
        .collect();
    let sorted = trace::chains(&found.traces);
    let mut warnings = sorted.warnings.clone();
    let mut chains = Vec::new();
    for (name, chain) in &sorted.by_name {
        for version in &chain.versions {
            let of = |most: usize, version: &ChainVersion<'_>| -> Vec<&ScoredTrace<'_>> {
                let newest = version.newest(most).into_iter();
                newest
                    .filter_map(|trace| by_id.get(trace.trace_id.as_str()).copied())
                    .collect()
            };
            let scores = |traces: &[&ScoredTrace<'_>]| -> Vec<f64> {
                traces.iter().filter_map(|one| one.score).collect()
            };
            let counting = of(usize::MAX, version);
            let known = scores(&counting);
            let mean = kelvin_base::stats::mean(&known);
            let prior = chain.with_prior(version.name).and_then(|(_, prior)| prior);
            let prior =
                prior.and_then(|prior| kelvin_base::stats::mean(&scores(&of(WINDOW, prior))));
            let failed = counting.iter().filter(|one| one.trace.has_failed());
            chains.push(RescoredChain {
                chain: (*name).to_owned(),
                version: version.name.to_owned(),
                n: known.len(),
                failed: failed.count(),
                gated: version.traces.len() - counting.len(),
                unscored: counting.len() - known.len(),
                mean,
                band: mean.map(|mean| Band::of(mean).as_str()),
                drop: prior.zip(mean).map(|(prior, mean)| prior - mean),
                drifted: counting.iter().filter(|one| has_drifted(one)).count(),
            });
        }
    }
    if chains.iter().any(|chain| chain.failed > 0) {
        warnings.push(
            "failed traces count: where only some of the other traces were kept, as by sampling, the means \
             are lower than those of all runs"
                .to_owned(),
        );
    }
    let off = scored.iter().filter(|one| one.is_off).count();
    if off > 0 {
        warnings.push(format!(
            "{off} of {} traces tell a total of tokens that is not the sum of input and output",
            scored.len()
        ));
    }
    let malformed = found.malformed.iter().map(|one| match one.number {
        Some(number) => format!("{}, trace {number}: {}", one.file.display(), one.why),
        None => format!("{}: {}", one.file.display(), one.why),
    });
    let malformed: Vec<String> = malformed.collect();
    if scored.is_empty() {
        let what = format!(
            "there is no trace in {}",
            page::counted(found.files, "file")
        );
        return Err(Misuse::new(what).help(malformed.join("; ")).into());
    }
    Ok(RescoredTraces {
        chains,
        traces: scored.iter().map(written).collect(),
        files: found.files,
        malformed,
        warnings,
    })
}

fn drift(scored: &ScoredTrace<'_>) -> Option<f64> {
    Some(scored.score? - scored.trace.quality_score?)
}

fn has_drifted(scored: &ScoredTrace<'_>) -> bool {
    // A score that only one side has is no drift; it is reported as a missing score.
    drift(scored).is_some_and(|drift| drift.abs() > ROUNDING)
}

fn written(scored: &ScoredTrace<'_>) -> RescoredTrace {
    let units = scored.units.iter();
    RescoredTrace {
        trace_id: scored.trace.trace_id.clone(),
        stored: scored.trace.quality_score,
        score: scored.score,
        drift: drift(scored),
        units: units
            .map(|(unit, score)| RescoredUnit {
                unit: (*unit).to_owned(),
                score: *score,
            })
            .collect(),
    }
}
