//! Items without variants, each of which is run several times, and again if the gate requests more repeats. The checks,
//! the retrieval and the grading share this code.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kelvin_record::{Ending, WantedRepeats};
use kelvin_run::kept::{self, Times};
use kelvin_run::{Outcome, Runner, Task};

/// The items of one step of a probe, with the outcomes so far.
pub struct RepeatedItems<'a> {
    runner: &'a Runner<'a>,
    /// The name of the calls in the progress display.
    phase: &'static str,
    /// The items in the order in which they are run.
    items: Vec<RepeatedItem<'a>>,
    places: BTreeMap<Arc<str>, usize>,
    ending: Ending,
}

struct RepeatedItem<'a> {
    id: Arc<str>,
    input: Cow<'a, str>,
    /// How often the item should be run.
    repeats: usize,
    /// The outcome of each repeat. A run that was stopped leaves gaps.
    outcomes: Vec<Option<Outcome>>,
    /// How many of the first outcomes were passed on.
    taken: usize,
}

impl RepeatedItem<'_> {
    /// The outcomes up to the first missing repeat, so that the index of each shows its repeat.
    fn in_order(&self) -> impl Iterator<Item = &Outcome> {
        let outcomes = self.outcomes.iter().take(self.repeats);
        outcomes.map_while(Option::as_ref)
    }

    /// The repeats without an outcome, from 1.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let is_there = |repeat| self.outcomes.get(repeat - 1).is_some_and(Option::is_some);
        (1..=self.repeats).filter(move |repeat| !is_there(*repeat))
    }

    /// Adds the outcome of a repeat. Thousands of items have a single repeat, so no unused capacity is kept.
    fn put(&mut self, repeat: usize, outcome: Outcome) {
        let more = repeat.saturating_sub(self.outcomes.len());
        self.outcomes.reserve_exact(more);
        self.outcomes.extend((0..more).map(|_| None));
        self.outcomes[repeat - 1] = Some(outcome);
    }
}

impl<'a> RepeatedItems<'a> {
    /// The items before any call. Their ids are distinct; each item comes with its input.
    pub fn new<'i>(
        runner: &'a Runner<'a>,
        phase: &'static str,
        repeats: usize,
        items: impl Iterator<Item = (&'i str, Cow<'a, str>)>,
    ) -> Self {
        let items: Vec<RepeatedItem<'a>> = items
            .map(|(id, input)| RepeatedItem {
                id: id.into(),
                input,
                repeats,
                outcomes: Vec::new(),
                taken: 0,
            })
            .collect();
        let ids = items.iter().map(|item| Arc::clone(&item.id));
        Self {
            places: ids.zip(0..).collect(),
            runner,
            phase,
            items,
            ending: Ending::Interrupted,
        }
    }

    /// Runs every item as often as requested.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue.
    pub fn run(&mut self) -> anyhow::Result<()> {
        self.ask()?;
        let mut outcomes = self
            .items
            .iter()
            .flat_map(|item| item.outcomes.iter().flatten());
        let answered = outcomes.any(|outcome| outcome.result.is_ok());
        self.ending = match (self.runner.stopped(), answered) {
            (true, _) => Ending::Interrupted,
            (false, false) if !self.items.is_empty() => Ending::Failed,
            (false, _) => Ending::Complete,
        };
        Ok(())
    }

    /// Runs some items again until each was run this often. Unknown ids are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue.
    pub fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        for (id, repeats) in wanted {
            if let Some(place) = self.places.get(id.as_str()) {
                let item = &mut self.items[*place];
                item.repeats = item.repeats.max(repeats.input);
            }
        }
        self.ask()?;
        if self.runner.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Writes every input, without running the pipeline.
    ///
    /// # Errors
    ///
    /// Fails if an input cannot be written.
    pub fn rehearse(&mut self) -> anyhow::Result<()> {
        self.runner
            .write_inputs(&self.todo(), &|task: &Task| self.input(task))?;
        self.ending = Ending::DryRun;
        Ok(())
    }

    fn ask(&mut self) -> anyhow::Result<()> {
        let tasks = self.todo();
        let done = self
            .runner
            .run_all(self.phase, &tasks, &|task: &Task| self.input(task))?;
        for (task, outcome) in tasks.into_iter().zip(done) {
            if let Some(outcome) = outcome {
                let place = self.places[&task.case];
                self.items[place].put(task.repeat, outcome);
            }
        }
        Ok(())
    }

    fn todo(&self) -> Vec<Task> {
        let of_item = |item: &RepeatedItem<'_>| {
            let task = |repeat| Task {
                case: Arc::clone(&item.id),
                variant: None,
                repeat,
            };
            item.missing().map(task).collect::<Vec<Task>>()
        };
        self.items.iter().flat_map(of_item).collect()
    }

    fn input(&self, task: &Task) -> Cow<'_, str> {
        let place = self.places[&task.case];
        Cow::Borrowed(&*self.items[place].input)
    }

    /// How the step ended.
    pub const fn ending(&self) -> Ending {
        self.ending
    }

    /// Whether no more calls are made.
    pub fn stopped(&self) -> bool {
        self.runner.stopped()
    }

    /// The outcomes of an item so far: of the first repeat, of the second, and so on.
    pub fn outcomes(&self, id: &str) -> impl Iterator<Item = &Outcome> {
        let place = self.places.get(id);
        let item = place.map(|place| &self.items[*place]);
        item.into_iter().flat_map(RepeatedItem::in_order)
    }

    /// Passes on each outcome that was not passed on before, with the id of its item, for a probe that stores the
    /// needed data of an answer. The answer itself is then dropped: the remaining data in [`outcomes`](Self::outcomes)
    /// only show whether two answers are equal.
    pub fn take(&mut self, mut keep: impl FnMut(&str, &Outcome)) {
        for item in &mut self.items {
            let outcomes = item.outcomes.iter_mut().take(item.repeats);
            let in_order = outcomes.map_while(Option::as_mut);
            for outcome in in_order.skip(item.taken) {
                keep(&item.id, outcome);
                outcome.let_go();
                item.taken += 1;
            }
        }
    }

    /// The items whose repeats the pipeline answered from its own cache.
    pub fn kept(&self) -> Vec<&str> {
        let times = |item: &RepeatedItem<'_>| Times::of(&[item.in_order().collect()]);
        let times: Vec<Option<Times>> = self.items.iter().map(times).collect();
        let items = self.items.iter().zip(kept::are_kept(&times));
        let kept = items.filter(|(_, is_kept)| *is_kept);
        kept.map(|(item, _)| &*item.id).collect()
    }
}

#[cfg(test)]
mod tests;
