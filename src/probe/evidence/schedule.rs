//! Which invocations there are, and where the outcome of each belongs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cases::Corpus;
use crate::config::Config;
use crate::perturb::Plan;
use crate::run::{Outcome, Task};

/// How often each input is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// Repeats of everything.
    pub(super) repeats: usize,
    /// Runs of each baseline, the repeats included; more where the noise floor asks for them.
    pub(super) baselines: usize,
}

impl Rounds {
    /// What the configuration asks for.
    pub(super) fn of(config: &Config) -> Self {
        let repeats = config.repeats.get();
        Self {
            repeats,
            baselines: config
                .noise_floor
                .map_or(repeats, |replays| replays.get().max(repeats)),
        }
    }
}

/// The baseline invocation of a case.
pub(super) fn baseline(case: &Arc<str>, repeat: usize) -> Task {
    Task {
        case: Arc::clone(case),
        variant: None,
        repeat,
    }
}

/// Everything that follows the first baselines, for the cases at `places`.
///
/// Round by round, so that replays of a baseline are spread over the run: replays made back to back
/// would miss the drift of a service within it.
pub(super) fn after_baselines(
    corpus: &Corpus,
    plans: &BTreeMap<usize, Plan>,
    places: &[usize],
    rounds: Rounds,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    for repeat in 1..=rounds.repeats.max(rounds.baselines) {
        for &place in places {
            let name = &corpus.cases[place].name;
            if repeat > 1 {
                tasks.push(baseline(name, repeat));
            }
            if repeat <= rounds.repeats
                && let Some(plan) = plans.get(&place)
            {
                tasks.extend(plan.variants.iter().map(|variant| Task {
                    case: Arc::clone(name),
                    variant: Some(Arc::clone(&variant.id)),
                    repeat,
                }));
            }
        }
    }
    tasks
}

/// The outcomes of a run, by task.
#[derive(Debug, Default)]
pub(super) struct Outcomes(BTreeMap<Task, Outcome>);

impl Outcomes {
    /// Takes in what was run; a task that an interruption left undone has no entry.
    pub(super) fn take(&mut self, tasks: Vec<Task>, outcomes: Vec<Option<Outcome>>) {
        let done = tasks.into_iter().zip(outcomes);
        self.0
            .extend(done.filter_map(|(task, outcome)| Some((task, outcome?))));
    }

    /// What became of one invocation.
    pub(super) fn get(
        &self,
        case: &Arc<str>,
        variant: Option<&Arc<str>>,
        repeat: usize,
    ) -> Option<&Outcome> {
        self.0.get(&Task {
            case: Arc::clone(case),
            variant: variant.map(Arc::clone),
            repeat,
        })
    }
}
