//! Grades the stored answers of a report with another judge; no pipeline is run.

use std::path::PathBuf;

use super::{Checked, recompute, side, write};
use crate::registry::Registry;
use kelvin_base::cost::Cost;
use kelvin_base::exit::Misuse;
use kelvin_record::Ending;
use kelvin_run as run;
use kelvin_run::config::Overrides;
use kelvin_run::{Observer, Rules, Runner, RunnerSettings, Start, judging};

/// The inputs for grading answers again.
#[derive(Clone, Debug)]
pub(crate) struct RejudgeRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The report: a file, a run of the history, or a revision.
    pub(crate) report: String,
    /// The changes that the command line makes to the configuration, which names the judge.
    pub(crate) overrides: Overrides,
    /// The output folder.
    pub(crate) out: PathBuf,
}

/// Grades the answers of a report with the judge of the configuration, and writes a report. Fails with a [`Misuse`] if
/// some or all answers of the report are missing, or the configuration has no judge.
pub(crate) fn rejudge(
    request: &RejudgeRequest,
    observer: &dyn Observer,
) -> anyhow::Result<Checked> {
    let config = request.registry.configured(&request.overrides)?;
    let stored = side(request.registry, &request.report, &config.file)?.report;
    let (mut found, mut refused) = (None, None);
    for (kind, section) in request.registry.known(&stored.probes) {
        match kind.rejudging(section, &config) {
            Ok(None) => {}
            Ok(Some(rejudging)) => {
                found = Some((kind, section, rejudging));
                break;
            }
            // Other probes in the report may still have answers.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let Some((kind, section, rejudging)) = found else {
        if let Some(refused) = refused {
            return Err(refused);
        }
        let what = format!("the report `{}` has no graded answers", request.report);
        return Err(Misuse::new(what)
            .help("name a report of a run whose answers a judge has graded")
            .into());
    };
    let name = kind.name();
    let out = std::path::absolute(&request.out)?;
    let _claim = run::claim(&out)?;
    let steps = rejudging.steps();
    let outs: Vec<PathBuf> = steps
        .iter()
        .map(|step| {
            out.join(name)
                .join(step.folder.as_deref().unwrap_or_default())
        })
        .collect();
    let mut runners = Vec::new();
    for (step, out) in steps.iter().zip(&outs) {
        let settings = RunnerSettings {
            rules: Rules::of(&config, &step.program),
            out,
            start: Start::Fresh,
            fingerprint: None,
            watch: None,
            reader: step.reader,
            observer,
            observing: None,
        };
        runners.push(Runner::open(
            |site| step.program.target.open(site),
            settings,
        )?);
    }
    let found = rejudging.run(&runners)?;
    let mut report = stored.clone();
    // The notices about the former grades are removed and made again.
    let former = kind.recompute(section.boxed()).notices;
    report.notices.retain(|notice| !former.contains(notice));
    let ending = found.section.ending();
    report.probes.put(name, found.section);
    let mut report = recompute(name, report).report;
    if ending == Ending::Interrupted {
        report.run.ending = ending;
    }
    report.run.fingerprints.config = config.measured();
    // No pipeline was called.
    report.run.session.cost = Cost::default();
    report.run.session.judge_cost = Some(judging::cost(&runners));
    for runner in &runners {
        runner.conclude()?;
    }
    write::files(&report, &out, &|_, _| None, None)?;
    Ok(Checked::of(report, out))
}
