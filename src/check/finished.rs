//! Judges a finished report, such as a report that was joined from shards.

use std::path::Path;

use super::head::{JudgedSide, OtherSettings};
use super::measure::leave_open;
use super::settle::{judge, written};
use super::write::JudgedPage;
use super::{Checked, GateRequest, Judged, write};
use crate::baseline::CheckedOut;
use kelvin_base::exit::Misuse;
use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// Judges the report in a file. The verdict is written to the folder of the file, unless another folder is given. Fails
/// with a [`Misuse`] if the file is not a report, or is the report of a shard; otherwise fails like [`super::gate()`].
pub(super) fn gate(
    request: &GateRequest,
    file: &Path,
    observer: &dyn Observer,
) -> anyhow::Result<Judged> {
    let registry = request.check.registry;
    let config = registry.configured(&request.check.overrides)?;
    let shown = file.display();
    let bytes = std::fs::read(file)
        .map_err(|error| Misuse::new(format!("failed to read the report `{shown}`: {error}")))?;
    let report = registry
        .report(&bytes)
        .map_err(|error| Misuse::new(format!("the report `{shown}` is unusable: {error:#}")))?;
    if let Some(share) = report.run.shard {
        return Err(Misuse::new(format!(
            "the report `{shown}` is that of shard {}, not of a whole run",
            share.shard()
        ))
        .help("join all shards with `kelvin merge`, and judge what it writes")
        .into());
    }
    if report.run.session.copied_from.is_some() {
        return Err(Misuse::new(format!(
            "the report `{shown}` repeats the figures of its base, since nothing was run"
        ))
        .help("run `kelvin check`, which runs whatever a change touches, and judge its report")
        .into());
    }
    if let Some(tip) = &request.hint.tip {
        tip.demand_of_report(&config.root, report.run.session.commit.as_deref())?;
    }
    let out = match &request.check.out {
        Some(out) => std::path::absolute(out)?,
        None => {
            let file = std::path::absolute(file)?;
            file.parent().unwrap_or(Path::new("/")).to_path_buf()
        }
    };
    let mut head = Finished(report);
    let (mut judgement, _) = judge(request, &config, &mut head, observer)?;
    let Finished(mut report) = head;
    // An event of a server demands the right commit already, and a job that publishes has checked out another one.
    if request.hint.tip.is_none()
        && !request.by_the_base
        && matches!(judgement.verdict.verdict, Word::Pass | Word::Inconclusive)
        && let Some(text) = of_another_commit(&config, &report)
    {
        leave_open(&mut judgement, ReasonCode::NotMeasured, &text);
    }
    report.run.session.decision = judgement.decision();
    let judgement = request.check.masked_judgement(judgement)?;
    let report = match request.check.is_shared {
        // The job that measured the report may have stored more texts than the rules of this job allow people to read.
        true => {
            let report = request.check.written_report(report, &config)?;
            write::over(&report, &out)?;
            report
        }
        false => report,
    };
    write::judged_page(&report, &out, JudgedPage::of(&judgement, &request.hint))?;
    written(Checked::of(report, out), judgement, None)
}

/// The words for a report that was measured at another commit than the one that is checked out.
fn of_another_commit(config: &Config, report: &Report) -> Option<String> {
    let measured = report.run.session.commit.as_deref()?;
    let head = CheckedOut::of(&config.root).ok()?.commit.to_string();
    let short = |commit: &str| commit.chars().take(7).collect::<String>();
    (measured != head).then(|| {
        format!(
            "the report was measured at commit {}, and {} is checked out: what lies between was not measured",
            short(measured),
            short(&head)
        )
    })
}

/// A report that stays unchanged, because nothing can be run again.
struct Finished(Report);

impl JudgedSide for Finished {
    fn report(&self) -> Report {
        self.0.clone()
    }

    fn invocations(&self) -> usize {
        0
    }

    fn can_be_run(&self) -> bool {
        false
    }

    fn measured_by(
        &self,
        _: &OtherSettings<'_>,
        _: &dyn Observer,
        _: &mut dyn FnMut(&mut dyn JudgedSide, &Config) -> anyhow::Result<Judgement>,
    ) -> anyhow::Result<Option<Judgement>> {
        Ok(None)
    }

    fn differences(&self, config: &Config) -> Vec<Difference> {
        let mut told = vec![Difference::FinishedBefore];
        if self.0.run.fingerprints.config != config.measured() {
            told.push(Difference::MeasuredOtherwise {
                file: config.file.display().to_string(),
            });
        }
        told
    }

    fn against(&mut self, _: &Report) -> anyhow::Result<()> {
        Ok(())
    }

    fn run_again(&mut self, _: &Rerun) -> anyhow::Result<()> {
        Err(anyhow::anyhow!("a finished report cannot be run again"))
    }
}
