//! The course of a measurement: plan, first baseline, other baselines, variants.

use std::collections::BTreeMap;

use anyhow::anyhow;

use super::inputs::Inputs;
use super::schedule::{self, Outcomes, Rounds};
use super::{Evidence, records};
use crate::cases::Corpus;
use crate::config::Config;
use crate::notice::{Code, Notice};
use crate::perturb::{self, Peers, Plan, Subject};
use crate::probe::Ending;
use crate::run::{FailureKind, Outcome, Runner, Task};
use crate::score::Scorer;

/// What a measurement is about.
pub(crate) struct Survey<'a> {
    /// The checked configuration.
    pub(crate) config: &'a Config,
    /// Every case; peers are drawn from all of them.
    pub(crate) corpus: &'a Corpus,
    /// The places of the cases to measure, ascending.
    pub(crate) places: &'a [usize],
    /// Compares decisions.
    pub(crate) scorer: &'a dyn Scorer,
}

/// What is still to be paid when the baselines are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Invocations to come.
    pub(crate) invocations: usize,
    /// Seconds they will take, from the measured baselines and the number of jobs.
    pub(crate) seconds: f64,
}

/// Plans, runs and scores.
///
/// `proceed` is asked once, after the baselines.
///
/// # Errors
///
/// Where the first baseline shows that the decision field is missing or cannot be compared, and
/// where the run cannot go on.
pub(crate) fn measure<'a>(
    survey: &Survey<'a>,
    plans: &BTreeMap<usize, Plan>,
    runner: &Runner<'_>,
    proceed: &dyn Fn(Forecast) -> bool,
) -> anyhow::Result<Evidence> {
    let inputs = Inputs::of(survey, plans);
    let input = |task: &Task| inputs.text(task);
    let rounds = Rounds::of(survey.config);
    let mut outcomes = Outcomes::default();

    let baselines: Vec<Task> = survey
        .places
        .iter()
        .map(|&place| schedule::baseline(&survey.corpus.cases[place].name, 1))
        .collect();
    let (first, others) = baselines.split_at(baselines.len().min(1));
    let done = runner.run_all(first, &input)?;
    if let (Some(task), Some(Some(outcome))) = (first.first(), done.first()) {
        refuse_unusable_decision(survey, task, outcome)?;
    }
    outcomes.take(first.to_vec(), done);
    let done = runner.run_all(others, &input)?;
    outcomes.take(others.to_vec(), done);

    let answered: Vec<usize> = survey
        .places
        .iter()
        .copied()
        .filter(|&place| {
            let name = &survey.corpus.cases[place].name;
            outcomes
                .get(name, None, 1)
                .is_some_and(|outcome| outcome.result.is_ok())
        })
        .collect();
    let tasks = schedule::after_baselines(survey.corpus, plans, &answered, rounds);
    let forecast = forecast(&outcomes, survey, tasks.len());
    let mut ending = Ending::Complete;
    if runner.interrupted() || !proceed(forecast) {
        ending = Ending::Interrupted;
    } else {
        let done = runner.run_all(&tasks, &input)?;
        outcomes.take(tasks, done);
        if runner.interrupted() {
            ending = Ending::Interrupted;
        } else if answered.is_empty() {
            ending = Ending::Failed;
        }
    }

    let mut evidence = records::tell(survey, plans, &outcomes, ending);
    if ending == Ending::Interrupted {
        evidence.notices.push(Notice::new(
            Code::Interrupted,
            "the run was stopped before its end; the figures cover what had finished, and \
             `--resume` goes on from here",
        ));
    }
    Ok(evidence)
}

/// Writes every input and runs nothing.
///
/// # Errors
///
/// Where an input cannot be written.
pub(crate) fn rehearse(
    survey: &Survey<'_>,
    plans: &BTreeMap<usize, Plan>,
    runner: &Runner<'_>,
) -> anyhow::Result<Evidence> {
    let inputs = Inputs::of(survey, plans);
    let once = Rounds {
        repeats: 1,
        baselines: 1,
    };
    let mut tasks: Vec<Task> = survey
        .places
        .iter()
        .map(|&place| schedule::baseline(&survey.corpus.cases[place].name, 1))
        .collect();
    tasks.extend(schedule::after_baselines(
        survey.corpus,
        plans,
        survey.places,
        once,
    ));
    runner.write_inputs(&tasks, &|task: &Task| inputs.text(task))?;
    Ok(records::tell(survey, plans, &Outcomes::default(), Ending::DryRun))
}

/// Plans the variants of every case of the survey, by its place.
pub(crate) fn plan(survey: &Survey<'_>) -> BTreeMap<usize, Plan> {
    let peers = Peers::of(survey.corpus, survey.config);
    survey
        .places
        .iter()
        .map(|&at| {
            let subject = Subject {
                corpus: survey.corpus,
                at,
                config: survey.config,
                peers: &peers,
            };
            (at, perturb::plan(&subject))
        })
        .collect()
}

/// A pipeline that answers without a usable decision is configured wrongly: every further
/// invocation would be paid for nothing.
fn refuse_unusable_decision(
    survey: &Survey<'_>,
    task: &Task,
    outcome: &Outcome,
) -> anyhow::Result<()> {
    match &outcome.result {
        Err(failure)
            if matches!(
                failure.kind,
                FailureKind::DecisionMissing | FailureKind::DecisionRefused
            ) =>
        {
            Err(anyhow!(
                "the first baseline, of case `{}`, has no usable decision: {}\n  help: set \
                 `decision_field` in `{}` to a field whose value the scorer can compare; nothing \
                 else was run",
                task.case,
                failure.message,
                survey.config.file.display(),
            ))
        }
        _ => Ok(()),
    }
}

fn forecast(outcomes: &Outcomes, survey: &Survey<'_>, invocations: usize) -> Forecast {
    let seconds: Vec<f64> = survey
        .places
        .iter()
        .filter_map(|&place| outcomes.get(&survey.corpus.cases[place].name, None, 1))
        .map(|outcome| outcome.seconds)
        .collect();
    let mean = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
    let paid = mean * invocations as f64 / survey.config.jobs.get() as f64;
    let paced = survey
        .config
        .limits
        .max_per_minute
        .map_or(0.0, |most| invocations as f64 * 60.0 / most.get() as f64);
    Forecast {
        invocations,
        seconds: paid.max(paced),
    }
}

