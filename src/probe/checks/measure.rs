//! Runs the scenarios and keeps what the checks have said.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize as _;

use super::config::ChecksSettings;
use super::record::{CheckResult, Outcome, ScenarioAnswer, ScenarioRecord, ScenarioRun};
use super::scenario::Scenario;
use super::scoring;
use crate::notice::Notice;
use crate::probe::Ending;
use crate::run::Outcome as Called;
use crate::run::kept::{self, Times};
use crate::run::{Failure, FailureKind, Runner, Task};

/// A measurement under way.
pub(super) struct Measurement<'a> {
    scenarios: Vec<&'a Scenario>,
    settings: &'a ChecksSettings,
    runner: &'a Runner<'a>,
    /// Scenarios that are run more often than the others, by id.
    more: BTreeMap<String, usize>,
    outcomes: BTreeMap<(Arc<str>, usize), Called>,
    ending: Ending,
}

impl<'a> Measurement<'a> {
    /// Nothing has been run yet.
    pub(super) fn new(
        scenarios: Vec<&'a Scenario>,
        settings: &'a ChecksSettings,
        runner: &'a Runner<'a>,
    ) -> Self {
        Self {
            scenarios,
            settings,
            runner,
            more: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            ending: Ending::Interrupted,
        }
    }

    /// Runs every scenario as often as it has replicas.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        self.perform()?;
        let answered = self.outcomes.values().any(|outcome| outcome.result.is_ok());
        self.ending = match (self.runner.stopped(), answered) {
            (true, _) => Ending::Interrupted,
            (false, false) if !self.scenarios.is_empty() => Ending::Failed,
            (false, _) => Ending::Complete,
        };
        Ok(())
    }

    /// Runs some scenarios again until each was run so often.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn repeat(&mut self, wanted: &BTreeMap<String, usize>) -> anyhow::Result<()> {
        for (id, runs) in wanted {
            let so_far = self.more.entry(id.clone()).or_default();
            *so_far = (*runs).max(*so_far);
        }
        self.perform()?;
        if self.runner.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Writes every scenario and runs nothing.
    ///
    /// # Errors
    ///
    /// Where one cannot be written.
    pub(super) fn rehearse(&mut self) -> anyhow::Result<()> {
        let tasks = self.todo();
        let texts = self.texts();
        self.runner
            .write_inputs(&tasks, &|task: &Task| text(&texts, task))?;
        self.ending = Ending::DryRun;
        Ok(())
    }

    fn perform(&mut self) -> anyhow::Result<()> {
        let tasks = self.todo();
        let texts = self.texts();
        let done = self
            .runner
            .run_all("scenarios", &tasks, &|task: &Task| text(&texts, task))?;
        for (task, outcome) in tasks.into_iter().zip(done) {
            if let Some(outcome) = outcome {
                self.outcomes.insert((task.case, task.repeat), outcome);
            }
        }
        Ok(())
    }

    fn runs(&self, id: &str) -> usize {
        let more = self.more.get(id).copied().unwrap_or_default();
        more.max(self.settings.basis.replicas)
    }

    fn todo(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for scenario in &self.scenarios {
            let case: Arc<str> = scenario.id.as_str().into();
            for repeat in 1..=self.runs(&scenario.id) {
                if !self.outcomes.contains_key(&(Arc::clone(&case), repeat)) {
                    tasks.push(Task {
                        case: Arc::clone(&case),
                        variant: None,
                        repeat,
                    });
                }
            }
        }
        tasks
    }

    fn texts(&self) -> BTreeMap<&'a str, String> {
        let scenarios = self.scenarios.iter();
        scenarios
            .map(|scenario| (scenario.id.as_str(), scenario.text()))
            .collect()
    }

    /// How it ended.
    pub(super) const fn ending(&self) -> Ending {
        self.ending
    }

    /// What was found so far, by scenario.
    pub(super) fn records(&self) -> BTreeMap<String, ScenarioRecord> {
        let called: Vec<Vec<&Called>> = self
            .scenarios
            .iter()
            .map(|scenario| {
                let of = |run| self.outcomes.get(&(scenario.id.as_str().into(), run));
                (1..=self.runs(&scenario.id)).map_while(of).collect()
            })
            .collect();
        let times: Vec<Option<Times>> = called
            .iter()
            .map(|outcomes| Times::of(std::slice::from_ref(outcomes)))
            .collect();
        let kept = kept::are_kept(&times);
        let scenarios = self.scenarios.iter().zip(called).zip(kept);
        scenarios
            .map(|((scenario, called), is_kept)| {
                let notice = || kept::notice(&scenario.id);
                let notices: Vec<Notice> = is_kept.then(notice).into_iter().collect();
                let record = ScenarioRecord {
                    input: scenario.digest(),
                    params: scenario.params.clone(),
                    runs: called
                        .iter()
                        .map(|outcome| self.scenario_run(outcome))
                        .collect(),
                    notices,
                };
                (scenario.id.clone(), record)
            })
            .collect()
    }

    fn scenario_run(&self, called: &Called) -> ScenarioRun {
        let answer = match &called.result {
            Ok(value) => ScenarioAnswer::deserialize(value).map_err(|error| {
                // The reader has read the same before.
                let what = format!("what the checks have said cannot be read: {error}");
                Box::new(Failure::new(FailureKind::OutputNotJson, what))
            }),
            Err(failure) => Err(failure.clone()),
        };
        let mut run = match answer {
            Ok(answer) => ScenarioRun {
                outcome: Outcome::Error,
                composite: None,
                checks: answer.checks,
                forbidden: answer.forbidden,
                failure: None,
            },
            Err(failure) => ScenarioRun {
                outcome: Outcome::Error,
                composite: None,
                checks: self.skipped(),
                forbidden: Vec::new(),
                failure: Some(failure),
            },
        };
        scoring::settle(&mut run, &self.settings.basis);
        run
    }

    /// Where the pipeline comes to no end there is nothing to look at.
    fn skipped(&self) -> BTreeMap<String, CheckResult> {
        let invariants = self.settings.invariants.iter();
        invariants
            .map(|invariant| {
                let result = CheckResult {
                    outcome: Outcome::Skipped,
                    score: None,
                    reason: "the pipeline failed".to_owned(),
                    details: None,
                };
                (invariant.name.clone(), result)
            })
            .collect()
    }
}

fn text<'t>(texts: &BTreeMap<&str, String>, task: &Task) -> Cow<'t, str> {
    Cow::Owned(texts.get(&*task.case).cloned().unwrap_or_default())
}
