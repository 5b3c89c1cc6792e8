//! The decisions of people about regressions: they explain a mean that fell on purpose.

use std::collections::BTreeSet;

use serde::Serialize;

use super::past::PastRun;
use kelvin_base::calendar;
use kelvin_gate::report::Decision;

/// A decision, with the first run that was made after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DecidedRun {
    /// When the first run with the decision started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// The decision.
    #[serde(flatten)]
    pub(crate) decision: Decision,
}

/// The decisions in the reports of these runs, oldest first. A job that was run again repeats the decision of the run
/// before it, which counts once.
pub(super) fn find(runs: &[&PastRun]) -> Vec<DecidedRun> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for run in runs {
        let Some(decision) = &run.decision else {
            continue;
        };
        let key = (
            &decision.at,
            &decision.by,
            decision.pull_request,
            decision.approved,
        );
        if seen.insert(key) {
            found.push(DecidedRun {
                at: calendar::written(run.at),
                commit: run.commit.clone(),
                decision: decision.clone(),
            });
        }
    }
    found
}
