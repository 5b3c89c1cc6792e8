//! Lists the invocations that a run needs, and stores their outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::EvidenceSettings;
use crate::cases::Corpus;
use crate::perturb::Plan;
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{Repeats, Wanted};
use kelvin_run::config::Config;
use kelvin_run::{Outcome, Task};

/// How often the inputs of each case are run.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// The number of repeats of every input, unless its case has its own number.
    repeats: usize,
    /// The number of runs of each baseline; more than the repeats if the noise floor needs more.
    baselines: usize,
    /// The cases that are repeated more often than the others, by index.
    more: BTreeMap<usize, Wanted>,
}

impl Rounds {
    /// The repeats according to the configuration.
    pub(super) fn of(config: &Config, settings: &EvidenceSettings) -> Self {
        Self {
            repeats: config.repeats.get(),
            baselines: settings.noise_floor.map_or(0, std::num::NonZeroUsize::get),
            more: BTreeMap::new(),
        }
    }

    /// Every input once, without regard to the configuration.
    pub(super) const fn once() -> Self {
        Self {
            repeats: 1,
            baselines: 0,
            more: BTreeMap::new(),
        }
    }

    /// Requests more repeats of a case; the number never becomes smaller.
    pub(super) fn raise(&mut self, place: usize, wanted: &Wanted) {
        let more = self.more.entry(place);
        more.or_insert_with(|| Repeats::of_all(self.repeats).into())
            .raise(wanted);
    }

    /// How often the baseline of a case is repeated.
    pub(super) fn inputs(&self, place: usize) -> usize {
        let more = self.more.get(&place).map(|wanted| wanted.input);
        more.unwrap_or(self.repeats)
    }

    /// How often a variant of a case is run.
    pub(super) fn of_variant(&self, place: usize, variant: &str) -> usize {
        let more = self.more.get(&place);
        more.map_or(self.repeats, |wanted| wanted.of_variant(variant))
    }

    /// How often any input of a case is run at most.
    pub(super) fn most_of(&self, place: usize) -> usize {
        let more = self.more.get(&place).map(Wanted::most);
        more.unwrap_or(self.repeats).max(self.baselines)
    }

    /// How often the baseline of a case is run, including the replays for the noise floor.
    pub(super) fn baselines(&self, place: usize) -> usize {
        self.inputs(place).max(self.baselines)
    }

    fn most(&self) -> usize {
        let more = self.more.values().map(Wanted::most);
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

/// Every task that follows the first baselines, for the cases at `places`.
///
/// The tasks are ordered repeat by repeat, so that replays of a baseline are spread over the run: immediate replays
/// would miss the drift of a service during the run. The order of the inputs of a case reveals nothing: a pipeline that
/// counts its calls cannot find out the kind of an input, or which input is the original. The inputs of a case still
/// stay together, because a server that caches the beginning of a prompt is then faster.
pub(super) fn after_baselines(
    corpus: &Corpus,
    plans: &BTreeMap<usize, Plan>,
    places: &[usize],
    rounds: &Rounds,
    seed: u64,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    for repeat in 1..=rounds.most() {
        for &place in places {
            let name = &corpus.cases[place].name;
            let begin = tasks.len();
            if repeat > 1 && repeat <= rounds.baselines(place) {
                tasks.push(baseline(name, repeat));
            }
            if let Some(plan) = plans.get(&place) {
                let variants = plan.variants.iter();
                let wanted =
                    variants.filter(|variant| repeat <= rounds.of_variant(place, &variant.id));
                tasks.extend(wanted.map(|variant| Task {
                    case: Arc::clone(name),
                    variant: Some(Arc::clone(&variant.id)),
                    repeat,
                }));
            }
            tasks[begin..].sort_by_cached_key(|task| turn(task, seed));
        }
    }
    tasks
}

/// The key by which a task is sorted among those of its case and repeat.
fn turn(task: &Task, seed: u64) -> Digest {
    let fields = Fields::of("kelvin/order/v1")
        .field("seed", seed.to_be_bytes())
        .field("case", &*task.case)
        .field("repeat", task.repeat.to_be_bytes());
    match &task.variant {
        Some(variant) => fields.field("variant", &**variant).digest(),
        None => fields.digest(),
    }
}

/// The outcomes of a run, by task.
#[derive(Debug, Default)]
pub(super) struct Outcomes(BTreeMap<Task, Outcome>);

impl Outcomes {
    /// Adds the outcomes of the tasks that were run; a task that was not run because of an interruption gets no entry.
    pub(super) fn take(&mut self, tasks: Vec<Task>, outcomes: Vec<Option<Outcome>>) {
        let done = tasks.into_iter().zip(outcomes);
        let mut done = done
            .filter_map(|(task, outcome)| Some((task, outcome?)))
            .collect();
        // Appending fills the tree nodes completely; inserting in order would leave them half empty.
        self.0.append(&mut done);
    }

    /// Whether a task is done.
    pub(super) fn has(&self, task: &Task) -> bool {
        self.0.contains_key(task)
    }

    /// The outcome of one invocation.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64) -> Vec<Option<String>> {
        let variants = ["reorder-01", "reorder-02", "swap-rule-01", "swap-rule-02"];
        let variants = variants.into_iter().map(Some).chain([None]);
        let mut tasks: Vec<Task> = variants
            .map(|variant| Task {
                case: "alder".into(),
                variant: variant.map(Into::into),
                repeat: 2,
            })
            .collect();
        tasks.sort_by_cached_key(|task| turn(task, seed));
        let names = tasks.iter().map(|task| task.variant.as_deref());
        names.map(|name| name.map(str::to_owned)).collect()
    }

    #[test]
    fn the_turn_of_an_input_hangs_on_the_seed_and_not_on_its_kind() {
        assert_eq!(order(1), order(1));
        let orders: Vec<_> = (0..40).map(order).collect();
        for first in [None, Some("reorder-01"), Some("swap-rule-02")] {
            let is_first = |order: &&Vec<Option<String>>| order[0].as_deref() == first;
            let times = orders.iter().filter(is_first).count();
            assert!((1..20).contains(&times), "{first:?}: {times} of 40");
        }
    }
}
