//! Makes the calls of a trial in the same way as any other call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_run::config::Config;
use kelvin_run::judge::trial::{TrialExhibit, TrialTask};
use kelvin_run::judge::{Exhibit, Grade, Judge, Ungraded, UngradedCode};
use kelvin_run::judging::Graded;
use kelvin_run::{Observer, Rules, Runner, RunnerSettings, Start, Task, judging};
use kelvin_system::pipeline::Watch;

/// How many first answers a judge may fail to grade: if it grades none of them, it does not get the others.
const FIRST: usize = 3;

/// The settings for the calls of a trial.
pub(super) struct Calls<'a> {
    pub(super) config: &'a Config,
    pub(super) out: &'a Path,
    pub(super) start: Start,
    pub(super) code: Option<Digest>,
    pub(super) watch: Option<&'a Watch>,
    pub(super) observer: &'a dyn Observer,
}

/// The totals over the calls of all judges of a trial.
#[derive(Default)]
pub(super) struct TrialCalls {
    pub(super) cost: Cost,
    pub(super) notices: Vec<String>,
    /// Whether a signal, or a change of the files, stopped the calls.
    pub(super) is_stopped: bool,
    /// The first text of each reason for having no grade.
    pub(super) first_reasons: BTreeMap<String, String>,
}

impl TrialCalls {
    /// Lets a judge grade the given tasks; their files are in a separate folder.
    pub(super) fn all(
        &mut self,
        calls: &Calls<'_>,
        folder: &str,
        (judge, needs_reference): (&dyn Judge, bool),
        tasks: &BTreeMap<TrialTask, TrialExhibit<'_>>,
        is_wanted: impl Fn(TrialTask, &TrialExhibit<'_>) -> bool,
    ) -> anyhow::Result<Vec<(TrialTask, Result<Grade, Ungraded>)>> {
        if self.is_stopped {
            return Ok(Vec::new());
        }
        let steps = judging::steps(judge);
        let outs: Vec<PathBuf> = steps
            .iter()
            .enumerate()
            .map(|(at, _)| calls.out.join(format!("{folder}-{}", at + 1)))
            .collect();
        let mut runners = Vec::new();
        for (step, out) in steps.iter().zip(&outs) {
            let settings = RunnerSettings {
                rules: Rules::of(calls.config, &step.program),
                out,
                start: calls.start,
                fingerprint: calls.code,
                watch: calls.watch,
                reader: step.reader,
                observer: calls.observer,
                observing: None,
            };
            let target = step.program.target;
            runners.push(Runner::open(|site| target.open(site), settings)?);
        }
        let wanted = tasks
            .iter()
            .filter(|(task, exhibit)| is_wanted(**task, exhibit));
        let wanted: Vec<(&TrialTask, &TrialExhibit<'_>)> = wanted.collect();
        let items: Vec<_> = wanted
            .iter()
            .map(|(task, exhibit)| (call(**task), shown(exhibit, needs_reference)))
            .collect();
        // A judge that cannot be reached, or that answers in a wrong form, is likely to do so every time.
        let (first, rest) = items.split_at(items.len().min(FIRST));
        let mut graded = judging::grade_all(judge, &runners, first)?;
        let is_stopped = runners.iter().any(Runner::stopped);
        if let (false, Some(why)) = (is_stopped, nothing(&graded)) {
            anyhow::bail!(
                "the judge gave no grade to the first {} answers, and every further call would be paid for \
                 nothing: {why}",
                graded.len()
            );
        }
        graded.extend(judging::grade_all(judge, &runners, rest)?);
        if let Some(watch) = calls.watch {
            watch.look_at_the_end();
        }
        for runner in &runners {
            runner.conclude()?;
            self.is_stopped |= runner.stopped();
            self.notices
                .extend(runner.notices().into_iter().map(|notice| notice.text));
        }
        self.cost = self.cost.plus(judging::cost(&runners));
        let mut grades = Vec::with_capacity(graded.len());
        for ((task, _), graded) in wanted.into_iter().zip(graded) {
            if let Err(why) = &graded.grade {
                let reason = self.first_reasons.entry(code_of(why.code));
                reason.or_insert_with(|| why.text.clone());
            }
            grades.push((*task, graded.grade));
        }
        Ok(grades)
    }
}

/// The reason why there is no grade; none if there is a grade.
fn nothing(graded: &[Graded]) -> Option<&Ungraded> {
    let mut reasons = graded.iter().map(|graded| graded.grade.as_ref().err());
    let first = reasons.next()??;
    reasons.all(|reason| reason.is_some()).then_some(first)
}

/// The task of a run: a variant of the answer, and the number of the repeat.
fn call(task: TrialTask) -> Task {
    Task {
        case: task.folder().into(),
        variant: Some(task.plant.name().into()),
        repeat: task.repeat,
    }
}

/// The texts that a judge sees. A judge with criteria sees a reference only if somebody has given one, as in a normal
/// run.
fn shown<'a>(exhibit: &'a TrialExhibit<'_>, needs_reference: bool) -> Exhibit<'a> {
    let is_shown = needs_reference || exhibit.is_reference_given;
    Exhibit {
        passages: None,
        prompt: exhibit.prompt,
        response: &exhibit.response,
        reference: is_shown.then_some(exhibit.reference),
        criteria: None,
        turn: 0,
    }
}

/// The code as it is written in reports.
pub(super) fn code_of(code: UngradedCode) -> String {
    let written = serde_json::to_value(code).ok();
    let text = written.as_ref().and_then(|code| code.as_str());
    text.unwrap_or("other").to_owned()
}
