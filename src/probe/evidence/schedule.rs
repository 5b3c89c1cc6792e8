//! Which invocations there are, and where the outcome of each belongs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Config;
use crate::probe::Repeats;
use crate::probe::evidence::EvidenceSettings;
use crate::probe::evidence::cases::Corpus;
use crate::probe::evidence::perturb::Plan;
use crate::run::{Outcome, Task};

/// How often the inputs of each case are run.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// Repeats of everything, unless a case has its own.
    repeats: usize,
    /// Runs of each baseline; more than the repeats where the noise floor asks for them.
    baselines: usize,
    /// Cases that are repeated more often than the others, by place.
    more: BTreeMap<usize, Repeats>,
}

impl Rounds {
    /// What the configuration asks for.
    pub(super) fn of(config: &Config, settings: &EvidenceSettings) -> Self {
        Self {
            repeats: config.repeats.get(),
            baselines: settings.noise_floor.map_or(0, std::num::NonZeroUsize::get),
            more: BTreeMap::new(),
        }
    }

    /// Every input once, whatever the configuration asks for.
    pub(super) const fn once() -> Self {
        Self {
            repeats: 1,
            baselines: 0,
            more: BTreeMap::new(),
        }
    }

    /// Asks for more repeats of a case; never for fewer.
    pub(super) fn raise(&mut self, place: usize, repeats: Repeats) {
        let most = self.repeats(place).or_more(repeats);
        self.more.insert(place, most);
    }

    /// How often the baseline and the variants of a case are run.
    pub(super) fn repeats(&self, place: usize) -> Repeats {
        let more = self.more.get(&place).copied();
        more.unwrap_or(Repeats::of_all(self.repeats))
    }

    /// How often the baseline of a case is run, the replays for the noise floor counted in.
    pub(super) fn baselines(&self, place: usize) -> usize {
        self.repeats(place).input.max(self.baselines)
    }

    fn most(&self) -> usize {
        let more = self.more.values();
        let more = more.map(|repeats| repeats.input.max(repeats.variants));
        self.repeats
            .max(self.baselines)
            .max(more.max().unwrap_or(0))
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
    rounds: &Rounds,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    for repeat in 1..=rounds.most() {
        for &place in places {
            let name = &corpus.cases[place].name;
            if repeat > 1 && repeat <= rounds.baselines(place) {
                tasks.push(baseline(name, repeat));
            }
            if repeat <= rounds.repeats(place).variants
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
        let mut done = done
            .filter_map(|(task, outcome)| Some((task, outcome?)))
            .collect();
        // Packs the nodes, which inserting in order would leave half empty.
        self.0.append(&mut done);
    }

    /// Whether a task is done.
    pub(super) fn has(&self, task: &Task) -> bool {
        self.0.contains_key(task)
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
