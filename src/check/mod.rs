//! The main steps of a check, each called once, in order.

mod absent;
mod again;
mod approval;
mod asked;
pub(crate) mod bill;
mod budget;
mod calibrate;
mod calibrated;
pub(crate) mod ci;
mod claims;
mod compute;
pub(crate) mod doctor;
mod drift;
pub(crate) mod echo;
mod eval;
mod export;
mod finished;
mod gate;
mod harmless;
mod head;
mod head_items;
mod label;
pub(crate) mod ledger;
pub(crate) mod lint;
mod looking;
mod measure;
mod merge;
mod named;
#[cfg(test)]
mod noisy_judge_tests;
mod past;
#[cfg(test)]
mod prose_tests;
mod record;
mod regression;
mod rejudge;
mod rescore;
mod rule_files;
mod rules;
mod runs;
mod save;
mod settle;
mod side;
mod stage;
mod stored;
mod summary;
mod texts;
mod why;
mod write;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::baseline::{Artifacts, Hint, Login};
use crate::registry::Registry;
pub(crate) use asked::{list, not_code};
pub(crate) use bill::{Bill, Spent, bill};
pub(crate) use calibrate::{CalibrateRequest, Calibrated, TriedAnswers, calibrate};
pub(crate) use eval::eval;
pub(crate) use export::{DataSetForm, ExportRequest, LeftOut, Manifest, export};
pub(crate) use gate::gate;
use kelvin_base::exit::Exit;
use kelvin_base::notice::Code;
use kelvin_gate::Judgement;
use kelvin_gate::report::Report;
use kelvin_github::publish::mask::Masker;
use kelvin_record::{Ending, Forecast, KeptTexts, Shard};
use kelvin_run::Observer;
use kelvin_run::config::{Config, Overrides};
pub(crate) use label::{BlindPair, LabelRequest, Labelling, Preference};
pub(crate) use merge::{MergeRequest, merge};
pub(crate) use named::configuration;
pub(crate) use record::{Recomputed, recompute, record, record_eval};
pub(crate) use regression::{RegressionRequest, regression};
pub(crate) use rejudge::{RejudgeRequest, rejudge};
pub(crate) use rescore::{RescoreRequest, Rescored, RescoredTraces, rescore};
pub(crate) use runs::{RunsRequest, runs};
pub(crate) use save::{SaveRequest, finished, is_one_kept, save, writer};
pub(crate) use side::{folder, recorded, run, side};
pub(crate) use summary::{SummaryRequest, file_name, summary};
pub(crate) use write::report as write_report;

/// The inputs of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// What the command line changes in the configuration.
    pub(crate) overrides: Overrides,
    /// The name of the one probe to run; all configured probes unless given.
    pub(crate) probe: Option<&'static str>,
    /// The cases to measure; empty means all.
    pub(crate) only: Vec<String>,
    /// The share of these cases to measure; all of them unless given.
    pub(crate) shard: Option<Shard>,
    /// The output folder; `kelvin` beside the configuration unless given.
    pub(crate) out: Option<PathBuf>,
    /// What to do with the inputs.
    pub(crate) mode: CheckMode,
    /// The masker that removes secrets from everything that is written; none where no secrets are known.
    pub(crate) masker: Option<Arc<Masker>>,
    /// Whether the base of a change is measured; the base may not have had the probe yet.
    pub(crate) is_base: bool,
    /// Whether others can read what is written, as in a workflow: then a configuration that keeps no texts of answers
    /// holds for all of it.
    pub(crate) is_shared: bool,
}

impl CheckRequest {
    /// A whole check of `kelvin.yaml`.
    pub(crate) fn new(registry: Registry) -> Self {
        Self {
            registry,
            overrides: Overrides::default(),
            probe: None,
            only: Vec::new(),
            shard: None,
            out: None,
            mode: CheckMode::Run,
            masker: None,
            is_base: false,
            is_shared: false,
        }
    }

    /// The report in the form in which it is written: without known secrets and, where others can read it, without the
    /// texts that the configuration does not keep.
    fn written_report(&self, report: Report, config: &Config) -> anyhow::Result<Report> {
        let report = match self.is_shared && config.baseline.texts == KeptTexts::None {
            true => texts::shortened(report, KeptTexts::None)?,
            false => report,
        };
        match &self.masker {
            Some(masker) if masker.may_find(&report)? => masker.report(&report),
            _ => Ok(report),
        }
    }

    /// The judgement with all known secrets removed.
    fn masked_judgement(&self, judgement: Judgement) -> anyhow::Result<Judgement> {
        let Some(masker) = &self.masker else {
            return Ok(judgement);
        };
        if !masker.may_find(&judgement)? {
            return Ok(judgement);
        }
        let mut masked: Judgement = masker.value(&judgement)?;
        let read = masked.comparisons.read_by(&self.registry.of_sections());
        read.map_err(anyhow::Error::msg)?;
        Ok(masked)
    }
}

/// What to do with the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckMode {
    /// Run the pipeline on them.
    Run,
    /// Run the pipeline on them, and reuse the answers that an interrupted run has left.
    Resume,
    /// Write them, and run nothing.
    DryRun,
}

/// A finished check.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The measurement; written under `out`.
    pub(crate) report: Report,
    /// The output folder.
    pub(crate) out: PathBuf,
    /// The lines for a `.gitignore` at the top of the repository that name what the pipeline leaves there itself.
    pub(crate) ignorable: BTreeSet<String>,
}

impl Checked {
    /// A report that needed no run.
    pub(crate) const fn of(report: Report, out: PathBuf) -> Self {
        Self {
            report,
            out,
            ignorable: BTreeSet::new(),
        }
    }

    /// Whether nothing was run, and the figures are those of the base.
    pub(crate) const fn is_a_copy(&self) -> bool {
        self.report.run.session.copied_from.is_some()
    }

    /// The exit code where no gate was asked for: a run without any figure measured nothing.
    pub(crate) fn exit(&self) -> Exit {
        match self.ended() {
            Exit::Passed if self.is_empty() => Exit::Unmeasurable,
            other => other,
        }
    }

    fn is_empty(&self) -> bool {
        self.report.run.ending == Ending::Complete && self.report.lacks_figures()
    }

    /// The exit code by the ending of the run. The figures are left to the gate.
    fn ended(&self) -> Exit {
        let notices = &self.report.notices;
        match self.report.run.ending {
            Ending::Complete | Ending::DryRun => Exit::Passed,
            // No signal has stopped the run: the measurement could not be finished.
            Ending::Interrupted if notices.iter().any(|notice| notice.code == Code::Spent) => {
                Exit::Unmeasurable
            }
            Ending::Interrupted => Exit::Interrupted,
            Ending::Failed | Ending::Changed => Exit::Unmeasurable,
        }
    }
}

/// The inputs of the gate.
#[derive(Debug)]
pub(crate) struct GateRequest {
    /// The check of the head.
    pub(crate) check: CheckRequest,
    /// What is known of the commit that the change begins at.
    pub(crate) hint: Hint,
    /// The artifacts of earlier workflow runs, where there is a GitHub to ask.
    pub(crate) artifacts: Option<Artifacts>,
    /// The token of the action, for git; none where there is no workflow.
    pub(crate) login: Option<Login>,
    /// Whether doubtful cases are run again, as far as the budget goes.
    pub(crate) rerun: bool,
    /// Whether the job passes whatever the verdict is.
    pub(crate) advisory: bool,
    /// Where a regression can be approved; none where there is no pull request to ask on.
    pub(crate) approval: Option<approval::ApprovalSite>,
    /// Whether the configuration is that of the base branch, so that its differences from an older commit are no edits
    /// of the change.
    pub(crate) by_the_base: bool,
    /// A finished report to judge as it is; then nothing is run.
    pub(crate) report: Option<PathBuf>,
    /// The base that the run of this report has measured itself. It replaces stored reports where the configuration
    /// lets a job measure the base.
    pub(crate) base_of_the_run: Option<BaseOfTheRun>,
}

impl GateRequest {
    /// A gate of a check on a laptop, which runs nothing again.
    pub(crate) fn new(check: CheckRequest) -> Self {
        Self {
            check,
            hint: Hint::default(),
            artifacts: None,
            login: None,
            rerun: false,
            advisory: false,
            approval: None,
            by_the_base: false,
            report: None,
            base_of_the_run: None,
        }
    }
}

/// The base that a run has measured beside its change.
#[derive(Clone, Debug)]
pub(crate) struct BaseOfTheRun {
    /// The commit of the base, as the run says.
    pub(crate) commit: String,
    /// Whether the run has run doubtful cases again.
    pub(crate) was_rerun: bool,
    /// The measurement of the base.
    pub(crate) report: Report,
}

/// A finished check with its verdict.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The check of the head.
    pub(crate) checked: Checked,
    /// The judgement of the gate; written as `gate.json`.
    pub(crate) judgement: Judgement,
    /// The base, where all of it or some of its cases were measured for this judgement.
    pub(crate) base: Option<Report>,
}

impl Judged {
    /// The exit code: a measurement that failed outranks a gate that did not pass.
    pub(crate) fn exit(&self) -> Exit {
        match self.checked.ended() {
            Exit::Passed => self.judgement.verdict.exit(),
            other => other,
        }
    }
}

/// Runs a check and writes its reports.
///
/// `proceed` is asked once, when the baselines are in and their cost is known.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) where the configuration, the cases or the request are wrong;
/// any other error where the measurement was impossible.
pub(crate) fn check(
    request: &CheckRequest,
    observer: &dyn Observer,
    proceed: &dyn Fn(Forecast) -> bool,
) -> anyhow::Result<Checked> {
    stage::with(request, observer, |stage| {
        stage.measure(proceed)?;
        let report = request.written_report(stage.report(), stage.config)?;
        write::files(&report, stage.out, &stage.texts(), None)?;
        Ok(Checked {
            report,
            out: stage.out.to_path_buf(),
            ignorable: stage.ignorable(),
        })
    })
}
