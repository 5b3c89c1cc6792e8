//! The main steps of a check, each called once, in order.

mod absent;
mod again;
mod approval;
mod as_it_was;
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
mod elsewhere;
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
use std::path::{Path, PathBuf};
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
use kelvin_record::{Ending, KeptTexts, Shard};
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
    /// The changes that the command line makes to the configuration.
    pub(crate) overrides: Overrides,
    /// The name of the one probe to run; by default all configured probes.
    pub(crate) probe: Option<&'static str>,
    /// The cases to measure; empty means all.
    pub(crate) only: Vec<String>,
    /// The share of the cases to measure; by default all of them.
    pub(crate) shard: Option<Shard>,
    /// The output folder; by default `kelvin` beside the configuration.
    pub(crate) out: Option<PathBuf>,
    /// What to do with the inputs.
    pub(crate) mode: CheckMode,
    /// The masker that removes secrets from everything that is written; none if no secrets are known.
    pub(crate) masker: Option<Arc<Masker>>,
    /// Whether the base of a change is measured; the base may not have had the probe yet.
    pub(crate) is_base: bool,
    /// Whether other people can read the written files, as in a workflow: then, if the configuration does not allow
    /// texts of answers to be stored, no file contains them.
    pub(crate) is_shared: bool,
}

impl CheckRequest {
    /// A check of everything in `kelvin.yaml`.
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

    /// The output folder, known before the configuration is read: an error in the configuration must not leave the
    /// verdict of an earlier run there.
    fn folder(&self) -> std::io::Result<PathBuf> {
        if let Some(out) = &self.out {
            return std::path::absolute(out);
        }
        let file = self.overrides.file.as_deref();
        let file = std::path::absolute(file.unwrap_or(Path::new("kelvin.yaml")))?;
        Ok(file.parent().unwrap_or(Path::new("/")).join("kelvin"))
    }

    /// The report in the form in which it is written: without known secrets and, if other people can read it, without
    /// the texts that the configuration does not keep.
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
    /// Run the pipeline on the inputs, and reuse the answers of an interrupted run.
    Resume,
    /// Write the inputs, and run nothing.
    DryRun,
}

/// A finished check.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The measurement; it is written under `out`.
    pub(crate) report: Report,
    /// The output folder.
    pub(crate) out: PathBuf,
    /// The lines for the `.gitignore` at the top of the repository: they name the files that the pipeline leaves there.
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

    /// Whether no pipeline was run and the figures are copies of the base's figures.
    pub(crate) const fn is_a_copy(&self) -> bool {
        self.report.run.session.copied_from.is_some()
    }

    /// The exit code if no gate was requested: a run without any figure measured nothing.
    pub(crate) fn exit(&self) -> Exit {
        match self.ended() {
            Exit::Passed if self.is_empty() => Exit::Unmeasurable,
            other => other,
        }
    }

    fn is_empty(&self) -> bool {
        self.report.run.ending == Ending::Complete && self.report.lacks_figures()
    }

    /// The exit code that follows from the ending of the run. The gate judges the figures.
    fn ended(&self) -> Exit {
        let notices = &self.report.notices;
        match self.report.run.ending {
            Ending::Complete | Ending::DryRun => Exit::Passed,
            // No signal has stopped the run; the measurement could not be finished.
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
    /// The known data about the commit where the change begins.
    pub(crate) hint: Hint,
    /// The artifacts of earlier workflow runs, if GitHub can be asked.
    pub(crate) artifacts: Option<Artifacts>,
    /// The token of the action, for git; none if there is no workflow.
    pub(crate) login: Option<Login>,
    /// Whether doubtful cases are run again within the budget.
    pub(crate) rerun: bool,
    /// Whether the job passes regardless of the verdict.
    pub(crate) advisory: bool,
    /// The pull request on which a regression can be approved; none if there is no pull request.
    pub(crate) approval: Option<approval::ApprovalSite>,
    /// Whether the configuration comes from the base branch, so that its differences from an older commit are not edits
    /// of the change.
    pub(crate) by_the_base: bool,
    /// A finished report to judge without changes; then no pipeline is run.
    pub(crate) report: Option<PathBuf>,
    /// The base that the run of this report has measured itself. It replaces stored reports if the configuration allows
    /// a job to measure the base.
    pub(crate) base_of_the_run: Option<BaseOfTheRun>,
}

impl GateRequest {
    /// The folder of the verdict.
    fn out(&self) -> std::io::Result<PathBuf> {
        match (&self.report, &self.check.out) {
            (Some(report), None) => {
                let report = std::path::absolute(report)?;
                Ok(report.parent().unwrap_or(Path::new("/")).to_path_buf())
            }
            _ => self.check.folder(),
        }
    }

    /// The gate of a check outside a workflow; it runs nothing again.
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

/// The base, if a run has measured it together with its change.
#[derive(Clone, Debug)]
pub(crate) struct BaseOfTheRun {
    /// The commit of the base, according to the run.
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
    /// The base, if it was measured for this judgement, as a whole or for some of its cases.
    pub(crate) base: Option<Report>,
}

impl Judged {
    /// The exit code. A measurement that failed is more important than a gate that did not pass.
    pub(crate) fn exit(&self) -> Exit {
        match self.checked.ended() {
            Exit::Passed => self.judgement.verdict.exit(),
            other => other,
        }
    }
}

/// Runs a check and writes its reports. Fails with a [`Misuse`](kelvin_base::exit::Misuse) if the configuration, the
/// cases or the request are wrong; any other error if the measurement was impossible.
pub(crate) fn check(request: &CheckRequest, observer: &dyn Observer) -> anyhow::Result<Checked> {
    write::forget_verdict(&request.folder()?)?;
    stage::with(request, observer, |stage| {
        stage.measure()?;
        let report = request.written_report(stage.report(), stage.config)?;
        write::files(&report, stage.out, &stage.texts(), None)?;
        Ok(Checked {
            report,
            out: stage.out.to_path_buf(),
            ignorable: stage.ignorable(),
        })
    })
}
