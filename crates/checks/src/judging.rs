//! After the scenarios have run, lets a judge grade the texts that they left.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize as _;

use super::kinds::CheckFinding;
use super::record::{CheckResult, Judged, ScenarioAnswer};
use super::scenario::Scenario;
use kelvin_page::display;
use kelvin_probe::RepeatedItems;
use kelvin_run::judge::{Exhibit, Judge, JudgeSettings, MaxErrors, Ungraded, UngradedCode};
use kelvin_run::judging::{self, Graded};
use kelvin_run::{Runner, Step, Task};

/// Two scores that differ by no more than this count as equal.
const GUARD: f64 = 1e-9;

/// An invariant that a judge grades.
#[derive(Debug)]
pub(super) struct JudgedCheck {
    /// The name of the invariant.
    pub(super) name: String,
    /// The settings of the judge in the configuration.
    pub(super) settings: JudgeSettings,
    /// The judge.
    pub(super) judge: Box<dyn Judge>,
    /// The score from which the check passes.
    pub(super) pass_threshold: f64,
    /// If the share of runs without a grade is larger than this, the figures are unmeasured.
    pub(super) max_errors: MaxErrors,
    /// Whether the opposite must hold.
    pub(super) is_negated: bool,
}

impl JudgedCheck {
    /// The steps that call the judge, in folders whose names begin with that of the invariant.
    pub(super) fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = judging::steps(&*self.judge);
        for step in &mut steps {
            let folder = step.folder.take().unwrap_or_default();
            step.folder = Some(format!("{}-{folder}", self.name));
        }
        steps
    }

    /// The result of the check that follows from a grade.
    fn finding(&self, graded: &Graded, is_cut: bool) -> CheckResult {
        let mut result = match &graded.grade {
            Err(why) => CheckFinding::error(format!("the judge gave no score: {why}")).stored(),
            Ok(grade) => {
                let holds = grade.score() >= self.pass_threshold - GUARD;
                let (score, needed) = (display(grade.score()), display(self.pass_threshold));
                let less = match is_cut || grade.is_cut() {
                    true => ", having seen less than the whole",
                    false => "",
                };
                let said = match grade.notes().trim() {
                    "" => String::new(),
                    notes => format!(": {notes}"),
                };
                let reason = format!("the judge gave {score}{less}, and {needed} is needed{said}");
                let finding = CheckFinding::scored(holds, grade.score(), reason);
                match self.is_negated {
                    true => finding.negated().stored(),
                    false => finding.stored(),
                }
            }
        };
        let grade = graded.grade.as_ref();
        result.judged = Some(Box::new(Judged {
            grade: grade.ok().cloned(),
            unscored: grade.err().cloned(),
            usage: graded.usage,
            is_cut,
        }));
        result
    }
}

/// The judges of a run and their grades so far.
pub(super) struct Judging<'a> {
    /// The checks, each with the runners of its judge.
    checks: Vec<(&'a JudgedCheck, &'a [Runner<'a>])>,
    said: BTreeMap<(&'a str, Arc<str>, usize), CheckResult>,
}

impl<'a> Judging<'a> {
    /// The state in which no judge has been asked yet. The runners are in the order of the steps of the checks.
    pub(super) fn new(checks: &'a [JudgedCheck], mut runners: &'a [Runner<'a>]) -> Self {
        let mut shared = Vec::with_capacity(checks.len());
        for check in checks {
            let (own, rest) = runners.split_at(check.judge.seats().len());
            shared.push((check, own));
            runners = rest;
        }
        Self {
            checks: shared,
            said: BTreeMap::new(),
        }
    }

    /// Grades everything that the scenarios have left and that was not graded before. Fails if the run cannot continue.
    pub(super) fn ask(
        &mut self,
        scenarios: &[&Scenario],
        called: &RepeatedItems<'_>,
    ) -> anyhow::Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let mut left = Vec::new();
        for scenario in scenarios {
            let case: Arc<str> = scenario.id.as_str().into();
            for (run, outcome) in (1..).zip(called.outcomes(&scenario.id)) {
                // A scenario that failed has left no text.
                if let Ok(value) = &outcome.result
                    && let Ok(answer) = ScenarioAnswer::deserialize(value)
                {
                    left.push((Arc::clone(&case), run, scenario.prompt.as_str(), answer));
                }
            }
        }
        for (check, runners) in &self.checks {
            let name = check.name.as_str();
            let mut is_cut = Vec::new();
            let mut items: Vec<(Task, Exhibit<'_>)> = Vec::new();
            for (case, run, prompt, answer) in &left {
                let is_graded = self.said.contains_key(&(name, Arc::clone(case), *run));
                let Some(shown) = answer.to_judge.get(name).filter(|_| !is_graded) else {
                    continue;
                };
                let task = Task {
                    case: Arc::clone(case),
                    variant: None,
                    repeat: *run,
                };
                let exhibit = Exhibit {
                    passages: None,
                    prompt,
                    response: &shown.text,
                    reference: None,
                    criteria: None,
                    turn: 0,
                };
                is_cut.push(shown.is_cut);
                items.push((task, exhibit));
            }
            if items.is_empty() {
                continue;
            }
            let graded = judging::grade_all(&*check.judge, runners, &items)?;
            for (((task, _), is_cut), graded) in items.into_iter().zip(is_cut).zip(graded) {
                // If a run was stopped before the judge was asked, the error that the scenario left stays the result.
                if !is_not_asked(&graded) {
                    let result = check.finding(&graded, is_cut);
                    self.said.insert((name, task.case, task.repeat), result);
                }
            }
        }
        Ok(())
    }

    /// Whether one of the judges was stopped before all questions were asked.
    pub(super) fn stopped(&self) -> bool {
        let mut runners = self.checks.iter().flat_map(|(_, runners)| *runners);
        runners.any(Runner::stopped)
    }

    /// Adds the results of the judges to the checks of a run.
    pub(super) fn put(&self, case: &str, run: usize, checks: &mut BTreeMap<String, CheckResult>) {
        for (check, _) in &self.checks {
            let key = (check.name.as_str(), Arc::from(case), run);
            if let Some(said) = self.said.get(&key) {
                checks.insert(check.name.clone(), said.clone());
            }
        }
    }
}

fn is_not_asked(graded: &Graded) -> bool {
    let code = |why: &Ungraded| why.code == UngradedCode::NotAsked;
    graded.grade.as_ref().is_err_and(code)
}
