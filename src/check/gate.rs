//! The main steps of the gate: measure, then judge.

use anyhow::{Context as _, ensure};

use super::head::{JudgedSide, OtherSettings};
use super::settle::{judge, written};
use super::stage::Stage;
use super::write::JudgedPage;
use super::{
    CheckMode, CheckRequest, Checked, GateRequest, Judged, finished, harmless, stage, write,
};
use crate::baseline::{self, Remote, Unknown};
use kelvin_base::exit::Misuse;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_gate::{Judgement, opening};
use kelvin_record::Ending;
use kelvin_run::Observer;
use kelvin_run::config::{Config, Overrides, hints};

/// Runs a check, compares it with its baseline, and writes the reports and the verdict. Fails like [`super::check`], or
/// if the named baseline cannot be read.
pub(crate) fn gate(request: &GateRequest, observer: &dyn Observer) -> anyhow::Result<Judged> {
    write::forget_verdict(&request.out()?)?;
    if let Some(file) = &request.report {
        return finished::gate(request, file, observer);
    }
    if let Some(judged) = without_a_run(request, observer)? {
        return Ok(judged);
    }
    stage::with(&request.check, observer, |stage| {
        if let Some(tip) = &request.hint.tip {
            tip.demand(&stage.config.root)?;
        }
        demand_base(request, stage.config)?;
        stage.measure()?;
        let (judgement, base) = judge(request, stage.config, stage, observer)?;
        let mut report = stage.report();
        report.run.session.decision = judgement.decision();
        report.run.session.verdict = Some(opening::stored(&judgement));
        let checked = Checked {
            report: request.check.written_report(report, stage.config)?,
            out: stage.out.to_path_buf(),
            ignorable: stage.ignorable(),
        };
        let judgement = request.check.masked_judgement(judgement)?;
        let (report, out) = (&checked.report, &checked.out);
        let page = JudgedPage::of(&judgement, &request.hint);
        write::files(report, out, &stage.texts(), Some(page))?;
        let base = base
            .map(|base| request.check.written_report(base, stage.config))
            .transpose()?;
        written(checked, judgement, base)
    })
}

/// The judgement of a change that needs no run; none if it needs one.
fn without_a_run(request: &GateRequest, observer: &dyn Observer) -> anyhow::Result<Option<Judged>> {
    let config = request
        .check
        .registry
        .configured(&request.check.overrides)?;
    if config.harmless.is_empty() {
        return Ok(None);
    }
    if let Some(tip) = &request.hint.tip {
        tip.demand(&config.root)?;
    }
    demand_base(request, &config)?;
    harmless::gate(request, &config, observer)
}

/// Fails if the named base does not exist. Without a base there is nothing to compare with and the gate may pass, so a
/// misspelt name would pass too.
fn demand_base(request: &GateRequest, config: &Config) -> anyhow::Result<()> {
    let (Some(asked), Ok(repo)) = (&request.hint.asked, baseline::open(&config.root)) else {
        return Ok(());
    };
    let remote = Remote::of(&repo).with(request.login.as_ref(), &request.hint);
    match baseline::base(&remote, &request.hint) {
        Err(why) if !Unknown::is_in(&why) => {
            let meant = branch_like(&repo, asked);
            let meant = meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            Err(Misuse::new(format!(
                "the base `{asked}`, which was asked for, was not found: {why:#}"
            ))
            .help(format!(
                "{meant}name a branch, a tag or a commit of this clone or of its remote; nothing was run"
            ))
            .into())
        }
        _ => Ok(()),
    }
}

/// The branch of the clone or of its remote whose name is most like a misspelt one, if one is alike.
fn branch_like(repo: &git2::Repository, asked: &str) -> Option<String> {
    let branches = repo.branches(None).ok()?.flatten();
    let names = branches.filter_map(|(branch, _)| branch.name().ok()?.map(str::to_owned));
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    hints::nearest(asked, &names).map(str::to_owned)
}

impl JudgedSide for Stage<'_> {
    fn report(&self) -> Report {
        Stage::report(self)
    }

    fn invocations(&self) -> usize {
        Stage::invocations(self)
    }

    fn can_be_run(&self) -> bool {
        true
    }

    fn against(&mut self, base: &Report) -> anyhow::Result<()> {
        Stage::against(self, base)
    }

    fn measured_by(
        &self,
        settings: &OtherSettings<'_>,
        observer: &dyn Observer,
        judge: &mut dyn FnMut(&mut dyn JudgedSide, &Config) -> anyhow::Result<Judgement>,
    ) -> anyhow::Result<Option<Judgement>> {
        let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
        let request = CheckRequest {
            overrides: Overrides {
                text: Some(settings.text.to_owned()),
                rules: Some(settings.rules.to_path_buf()),
                no_cache: settings.no_cache || self.request.overrides.no_cache,
                ..self.request.overrides.clone()
            },
            out: Some(folder.path().join("kelvin")),
            mode: CheckMode::Run,
            only: match settings.only {
                Some(only) => only.to_vec(),
                None => self.request.only.clone(),
            },
            ..self.request.clone()
        };
        stage::with(&request, observer, |stage| {
            stage.measure()?;
            ensure!(
                !matches!(stage.report().run.ending, Ending::Interrupted),
                "that run was stopped"
            );
            let config = stage.config;
            judge(stage, config).map(Some)
        })
    }

    fn run_again(&mut self, rerun: &Rerun) -> anyhow::Result<()> {
        self.repeat(&rerun.head)
    }
}
