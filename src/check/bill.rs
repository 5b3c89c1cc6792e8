//! The expected cost of a check and a gate: calls, time and money, before anything is called.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CheckRequest, list};
use crate::history::{History, KEPT, ListedRun};
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::foresight::{UnseenType, unseen_types};
use kelvin_gate::policy::Policy;
use kelvin_gate::report::Report;
use kelvin_record::settings::GateSettings;
use kelvin_record::{JudgeTrialCost, RUNS_OF_THE_SUITE};
use kelvin_run::config::Config;

/// The expected cost of a check and of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bill {
    /// How many calls a check makes if nothing comes from the cache, by their purpose.
    pub(crate) calls_by: BTreeMap<&'static str, usize>,
    /// The cost of all calls of a check.
    pub(crate) check: Spent,
    /// The highest cost of a gate that runs its doubtful cases again on both sides.
    pub(crate) gate_at_most: Spent,
    /// How many calls are made at the same time.
    pub(crate) jobs: usize,
    /// The average cost of a call; none if no run with a call was recorded.
    pub(crate) call: Option<CallCost>,
    /// The cost of testing the judge with planted answers in each gate, in addition to the other costs; null if no
    /// judge is tested.
    pub(crate) judge_trial: Option<JudgeTrialCost>,
    /// The governing types whose loss this gate could not detect, judging by the newest recorded run; null if there is
    /// no such run.
    pub(crate) unseen: Option<Vec<UnseenType>>,
}

/// Calls and their cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Spent {
    /// Calls of the pipeline, and of judges if there are any.
    pub(crate) calls: usize,
    /// Seconds by the clock, with as many calls at the same time as there are jobs; null if no call was recorded.
    pub(crate) seconds: Option<f64>,
    /// Tokens; null if no recorded call has a token count.
    pub(crate) tokens: Option<u64>,
    /// US dollars; null if the price is not known.
    pub(crate) usd: Option<f64>,
}

/// The average cost of a call of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CallCost {
    /// The id of the run.
    pub(crate) run: String,
    /// When the run started.
    pub(crate) time: String,
    /// Seconds.
    pub(crate) seconds: f64,
    /// Tokens.
    pub(crate) tokens: Option<f64>,
    /// US dollars.
    pub(crate) usd: Option<f64>,
}

/// Makes the bill. `usd` is the price of a call; without it, the price in the recorded runs is used if they have one.
/// Fails like [`list()`], or if the history cannot be read.
pub(crate) fn bill(request: &CheckRequest, usd: Option<f64>) -> anyhow::Result<Bill> {
    let config = request.registry.configured(&request.overrides)?;
    let listing = list(request, false)?;
    let mut calls_by = listing.invocations;
    // Only these are made once more for each re-run of the suite.
    let repeated: usize = calls_by.values().sum();
    if listing.of_the_order > 0 {
        calls_by.insert("to compare the order of the calls", listing.of_the_order);
    }
    let calls: usize = calls_by.values().sum();
    let configuration = super::configuration(&config);
    let history = History::open(&config.root)?;
    let mut runs = match &history {
        Some(history) => history.runs(KEPT)?,
        None => Vec::new(),
    };
    runs.retain(|run| run.configuration == configuration);
    let newest = history.zip(runs.last());
    let newest = newest.map(|(history, run)| history.report(&run.id, request.registry));
    let unseen = newest.transpose()?.map(|report| unseen(&config, &report));
    let call = runs.into_iter().rev().find_map(cost_of_a_call);
    let jobs = config.at_once();
    let turns_of_a_call = listing.further_turns as f64 / repeated.max(1) as f64;
    let paced = |calls: usize| {
        let starts = calls as f64 * (1.0 + turns_of_a_call);
        let most = config.limits.max_per_minute;
        most.map_or(0.0, |most| starts * 60.0 / most.get() as f64)
    };
    let spent = |calls: usize| Spent {
        calls,
        // Fewer calls than jobs all run at the same time, and the rate limit spreads their starts.
        seconds: call.as_ref().map(|call| {
            let paid = call.seconds * calls.div_ceil(jobs) as f64;
            paid.max(paced(calls))
        }),
        tokens: call
            .as_ref()
            .and_then(|call| Some((call.tokens? * calls as f64).round() as u64)),
        usd: usd
            .or_else(|| call.as_ref()?.usd)
            .map(|usd| usd * calls as f64),
    };
    Ok(Bill {
        check: spent(calls),
        gate_at_most: spent(calls + reruns(&config.gate, repeated, listing.more_reruns)),
        calls_by,
        jobs,
        call,
        judge_trial: listing.judge_trial,
        unseen,
    })
}

/// The governing types whose loss a gate against this report could not detect.
pub(super) fn unseen(config: &Config, report: &Report) -> Vec<UnseenType> {
    let policy = Policy::of(&config.gate);
    let own = Measured::from(report);
    unseen_types(&policy, &compare(&own, &own))
}

/// The largest number of calls for all re-runs together, for a gate that can run both sides again.
fn reruns(gate: &GateSettings, calls: usize, more: usize) -> usize {
    let policy = Policy::of(gate);
    if policy.is_exact() || policy.budget.head_repeats == 1 {
        return 0;
    }
    let by_default = 2 * (RUNS_OF_THE_SUITE * calls + more);
    policy.budget.calls.unwrap_or(by_default)
}

/// The average cost of a call of a run; none if the run made no calls.
fn cost_of_a_call(run: ListedRun) -> Option<CallCost> {
    let cost = run.cost.filter(|cost| cost.invocations > 0)?;
    let each = |sum: f64| sum / cost.invocations as f64;
    // If a call without a token count were included, the average of the other calls would be too low.
    let usage = cost.usage.filter(|usage| usage.untold == 0);
    Some(CallCost {
        run: run.id,
        time: run.time,
        seconds: each(cost.pipeline_seconds),
        tokens: usage.map(|usage| each(usage.tokens() as f64)),
        usd: usage.and_then(|usage| usage.usd).map(each),
    })
}
