//! Makes the metrics from the runs of the scenarios.

use std::collections::BTreeMap;

use super::record::{ChecksBasis, JudgeBasis, Judged, Outcome, ScenarioRecord, ScenarioRun};
use super::scoring::{self, Together};
use kelvin_base::stats::{self, Balanced};
use kelvin_record::{CaseValue, Cells, Interval, Metric};
use kelvin_run::judge::Ungraded;

/// The family of all figures of this probe.
const ALL: &str = "checks";

/// The names of the figures that do not belong to one invariant: no invariant may have such a name.
pub(super) const RESERVED: &[&str] = &[
    "composite",
    "pass_rate",
    "failure_rate",
    "scenario_pass_rate",
    "pass_at_k",
    "pass_hat_k",
    "flaky_rate",
];

/// The scenarios, by id.
type Scenarios = BTreeMap<String, ScenarioRecord>;

/// Every figure, by id.
pub(super) fn figures(scenarios: &Scenarios, basis: &ChecksBasis) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    let mut put = |name: &str, metric: Metric| {
        metrics.insert(format!("{ALL}.{name}"), metric.of_family(ALL));
    };
    let why = "no run of a scenario could be scored";
    let mut composite = of_runs(scenarios.iter(), why, &|run| run.composite);
    let mut pass_rate = of_runs(scenarios.iter(), why, &|run| passes(run.outcome));
    // A run without any score has no figure, and must not pass because of that.
    composite.gated = !scenarios.is_empty();
    pass_rate.gated = !scenarios.is_empty();
    put("composite", composite);
    put("pass_rate", pass_rate);
    for (name, invariant) in &basis.invariants {
        let why = "no run has an outcome of this check";
        // An invariant of single scenarios is measured on the scenarios that define it.
        let looked_at = scenarios.iter().filter(|(_, scenario)| {
            let mut runs = scenario.runs.iter();
            !invariant.own || runs.any(|run| run.checks.contains_key(name))
        });
        let looked_at: Vec<(&String, &ScenarioRecord)> = looked_at.collect();
        let score = |run: &ScenarioRun| run.checks.get(name)?.score;
        let mut metric = of_runs(looked_at.iter().copied(), why, &score);
        metric.is_declared = invariant.gate;
        // A check that never applies has no figure for the gate; if a check could not be made, its figure is missing.
        let mut runs = looked_at.iter().flat_map(|(_, scenario)| &scenario.runs);
        metric.gated = runs.any(|run| {
            let check = run.checks.get(name);
            check.is_none_or(|check| check.outcome != Outcome::Skipped)
        });
        put(name, metric);
    }
    let failed = |run: &ScenarioRun| Some(f64::from(u8::from(run.outcome == Outcome::Error)));
    let mut failure_rate = of_runs(scenarios.iter(), "nothing was run", &failed).lower_is_better();
    failure_rate.gated = failure_rate.value.is_some();
    failure_rate.is_failure_rate = true;
    put("failure_rate", failure_rate);
    let mut whole = of_scenarios(scenarios, &|scenario| {
        passes(scoring::aggregated(&scenario.runs, basis))
    });
    whole.headline = true;
    put("scenario_pass_rate", whole);
    if basis.replicas > 1 {
        let share = |of: fn(&Together) -> bool| {
            of_scenarios(scenarios, &|scenario| {
                let together = scoring::together(&scenario.runs, basis)?;
                Some(f64::from(u8::from(of(&together))))
            })
        };
        put("pass_at_k", share(|together| together.any));
        put("pass_hat_k", share(|together| together.all));
        put(
            "flaky_rate",
            share(|together| together.is_flaky).lower_is_better(),
        );
    }
    for (name, invariant) in &basis.invariants {
        if let Some(judge) = &invariant.judge
            && let Some(why) = too_many_ungraded(scenarios, name, judge)
        {
            // The graded runs are not a fair sample, and these figures are computed from them.
            for figure in ["composite", "pass_rate", name] {
                if let Some(metric) = metrics.get_mut(&format!("{ALL}.{figure}")) {
                    metric.withdraw(&why);
                }
            }
        }
    }
    metrics
}

/// Why the grades of a judge are too few for a figure; none if there are enough.
fn too_many_ungraded(scenarios: &Scenarios, name: &str, judge: &JudgeBasis) -> Option<String> {
    let runs = scenarios.values().flat_map(|scenario| &scenario.runs);
    let judged: Vec<&Judged> = runs
        .filter_map(|run| run.checks.get(name)?.judged.as_deref())
        .collect();
    let unscored = judged.iter().filter_map(|judged| judged.unscored.as_ref());
    let unscored: Vec<&Ungraded> = unscored.collect();
    let first = unscored.first()?;
    let why = judge.max_errors.exceeded(unscored.len(), judged.len())?;
    Some(format!("the judge of `{name}`: {why}; the first: {first}"))
}

/// 1 or 0; none if it is not known whether the run passes, or if the checks do not apply.
fn passes(outcome: Outcome) -> Option<f64> {
    match outcome {
        Outcome::Passed => Some(1.0),
        Outcome::Failed => Some(0.0),
        Outcome::Error | Outcome::Skipped => None,
    }
}

/// The mean over the scenarios, each with the mean of its runs.
fn of_runs<'s>(
    scenarios: impl Iterator<Item = (&'s String, &'s ScenarioRecord)>,
    why: &str,
    value: &dyn Fn(&ScenarioRun) -> Option<f64>,
) -> Metric {
    let mut per_case = BTreeMap::new();
    let (mut all, mut without) = (Balanced::default(), 0);
    for (id, scenario) in scenarios {
        let repeats: Vec<Option<f64>> = scenario.runs.iter().map(value).collect();
        let known: Vec<f64> = repeats.iter().copied().flatten().collect();
        let errors = scenario.runs.iter().zip(&repeats);
        without += errors
            .filter(|(run, value)| value.is_none() && run.outcome == Outcome::Error)
            .count();
        if repeats.is_empty() {
            continue;
        }
        let case = CaseValue {
            value: stats::mean(&known),
            n: known.len(),
            repeats,
            cells: Cells::default(),
        };
        all.add([known]);
        per_case.insert(id.clone(), case);
    }
    let value = all.value().ok_or_else(|| why.to_owned());
    let interval = all.interval().map(|(low, high)| Interval { low, high });
    let mut metric = Metric::new(value, all.samples(), without).interval(interval);
    metric.per_case = per_case.into();
    metric
}

/// The mean over the scenarios of a value that each of them has.
fn of_scenarios(scenarios: &Scenarios, value: &dyn Fn(&ScenarioRecord) -> Option<f64>) -> Metric {
    let values: BTreeMap<&String, Option<f64>> = scenarios
        .iter()
        .map(|(id, scenario)| (id, value(scenario)))
        .collect();
    let known: Vec<f64> = values.values().copied().flatten().collect();
    let mean = stats::mean(&known).ok_or_else(|| "no scenario has a known value".to_owned());
    let clusters: Vec<(f64, usize)> = known.iter().map(|value| (*value, 1)).collect();
    let interval = stats::clustered_interval(&clusters);
    Metric::new(mean, known.len(), values.len() - known.len())
        .interval(interval.map(|(low, high)| Interval { low, high }))
}
