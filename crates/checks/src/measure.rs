//! Makes records from the results of the checks.

use std::collections::BTreeMap;

use serde::Deserialize as _;

use super::config::ChecksSettings;
use super::judging::Judging;
use super::record::{
    CheckResult, MOST_OF_OUTPUT, Outcome, ScenarioAnswer, ScenarioRecord, ScenarioRun,
};
use super::scenario::Scenario;
use super::scoring;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::RepeatedItems;
use kelvin_record::KeptText;
use kelvin_run::{Outcome as Called, kept};

/// The records of the scenarios, with the results so far.
pub(super) fn records(
    scenarios: &[&Scenario],
    settings: &ChecksSettings,
    (called, judging): (&RepeatedItems<'_>, &Judging<'_>),
) -> BTreeMap<String, ScenarioRecord> {
    let kept = called.kept();
    let record = |scenario: &&Scenario| {
        let id = scenario.id.as_str();
        let is_kept = kept.contains(&id);
        let runs = called.outcomes(id);
        let record = ScenarioRecord {
            runs: (1..)
                .zip(runs)
                .map(|(run, called)| {
                    let mut ran = scenario_run(called, settings, scenario);
                    judging.put(id, run, &mut ran.checks);
                    scoring::settle(&mut ran, &settings.basis);
                    ran
                })
                .collect(),
            notices: is_kept.then(|| kept::notice(id)).into_iter().collect(),
            ..ScenarioRecord::of(scenario)
        };
        (scenario.id.clone(), record)
    };
    scenarios.iter().map(record).collect()
}

fn scenario_run(called: &Called, settings: &ChecksSettings, scenario: &Scenario) -> ScenarioRun {
    let answer = match &called.result {
        Ok(value) => ScenarioAnswer::deserialize(value).map_err(|error| {
            // The reader has already read the same value, so this cannot happen.
            let what = format!("what the checks have said cannot be read: {error}");
            Box::new(Failure::new(FailureKind::OutputNotJson, what))
        }),
        Err(failure) => Err(failure.clone()),
    };
    match answer {
        Ok(answer) => ScenarioRun {
            outcome: Outcome::Error,
            composite: None,
            checks: answer.checks,
            output: Some(
                answer
                    .whole_output
                    .unwrap_or_else(|| KeptText::beginning(&answer.agent_output, MOST_OF_OUTPUT)),
            ),
            calls: answer.calls,
            events: answer.events,
            forbidden: answer.forbidden,
            failure: None,
        },
        Err(failure) => ScenarioRun {
            outcome: Outcome::Error,
            composite: None,
            checks: skipped(settings, scenario, &failure.kind),
            output: None,
            calls: None,
            events: None,
            forbidden: Vec::new(),
            failure: Some(failure),
        },
    }
}

/// The results of the checks if the pipeline did not finish, so that there is no result to check.
fn skipped(
    settings: &ChecksSettings,
    scenario: &Scenario,
    why: &FailureKind,
) -> BTreeMap<String, CheckResult> {
    let reason = match why {
        FailureKind::ServiceFailed => "a service of the scenario failed",
        FailureKind::NotStarted => "the scenario could not be carried out",
        _ => "the pipeline failed",
    };
    let invariants = settings.invariants_of(scenario);
    invariants
        .map(|invariant| {
            let result = CheckResult {
                outcome: Outcome::Skipped,
                score: None,
                reason: reason.to_owned(),
                details: None,
                judged: None,
            };
            (invariant.name.clone(), result)
        })
        .collect()
}
