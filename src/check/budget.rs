//! What the re-runs of doubtful cases may cost: calls and minutes, paid before anything is run.

use std::time::Instant;

use crate::config::{Budget, Config};
use crate::gate::looks::{Rerun, Side};
use crate::report::Report;

/// How many calls all re-runs of the head may take together unless the configuration says so, in
/// runs of the whole suite. With the run that the gate begins with, a gate costs at most four runs:
/// the second look takes every doubtful case to three runs and fits always, the third takes at most
/// half of the suite to five runs, or all of it to four.
const RUNS_OF_THE_SUITE: usize = 3;

/// What is left for re-runs.
pub(super) struct Allowance {
    calls: usize,
    /// Whether the configuration or the command line names the number of calls.
    is_explicit: bool,
    minutes: Option<f64>,
    start: Instant,
    /// How long a call takes, in minutes, with as many at the same time as there are jobs; none
    /// where no call was made.
    minutes_a_call: Option<f64>,
}

impl Allowance {
    /// What the configuration allows, for a head that was measured once.
    pub(super) fn of(config: &Config, head: &Report) -> Self {
        let Budget { calls, minutes, .. } = config.gate.budget;
        let cost = &head.run.session.cost;
        let seconds = cost.pipeline_seconds / cost.invocations as f64 / config.jobs.get() as f64;
        Self {
            calls: calls.unwrap_or_else(|| RUNS_OF_THE_SUITE * one_run(head)),
            is_explicit: calls.is_some(),
            minutes,
            start: Instant::now(),
            minutes_a_call: (cost.invocations > 0).then_some(seconds / 60.0),
        }
    }

    /// Takes the cost of a re-run: of the whole of it, or of all its cases with fewer repeats where
    /// the whole is too much. None where not a single repeat of each case is left: a look that
    /// cannot be finished is not begun.
    pub(super) fn pay(&mut self, rerun: &Rerun, head: &Report) -> Option<Rerun> {
        let most = rerun.cases.values().copied().max()?;
        let affordable = (1..=most).rev().map(|repeats| at_most(rerun, repeats));
        for rerun in affordable {
            let calls = cost(&rerun, head);
            if calls == 0 {
                return None;
            }
            // The base is run again once at most, before a regression is called, and only where
            // the configuration lets it be run; only a budget that was asked for limits that.
            let counts = self.is_explicit || rerun.side == Side::Head;
            let left = if counts { self.calls } else { usize::MAX };
            if calls > left || !self.has_time_for(calls) {
                if rerun.side == Side::Base {
                    return None;
                }
                continue;
            }
            if counts {
                self.calls -= calls;
            }
            return Some(rerun);
        }
        None
    }

    /// Whether so many calls are likely to end in time.
    fn has_time_for(&self, calls: usize) -> bool {
        let Some(minutes) = self.minutes else {
            return true;
        };
        let spent = self.start.elapsed().as_secs_f64() / 60.0;
        let more = self.minutes_a_call.unwrap_or(0.0) * calls as f64;
        spent < minutes && spent + more <= minutes
    }
}

/// The same with at most so many repeats of each case.
fn at_most(rerun: &Rerun, repeats: usize) -> Rerun {
    let cases = rerun.cases.iter();
    Rerun {
        side: rerun.side,
        cases: cases
            .map(|(name, wanted)| (name.clone(), repeats.min(*wanted)))
            .collect(),
    }
}

/// How many calls it takes to run everything once.
fn one_run(head: &Report) -> usize {
    let sections = head.probes.iter().map(|(_, section)| section);
    let inputs = sections.map(|section| {
        let ids = section.ids().into_iter();
        ids.filter_map(|id| Some(section.item(id)?.inputs))
            .sum::<usize>()
    });
    inputs.sum()
}

/// How many calls a re-run takes: everything of each case, once a missing repeat. What the base has
/// is replaced, so that no repeat of it is there already.
fn cost(rerun: &Rerun, head: &Report) -> usize {
    let missing = |wanted: usize, runs: usize| match rerun.side {
        Side::Head => wanted.saturating_sub(runs),
        Side::Base => wanted,
    };
    let of_item = |(name, wanted): (&String, &usize)| {
        let items = head.probes.iter();
        let items = items.filter_map(|(_, section)| section.item(name));
        items
            .map(|item| missing(*wanted, item.repeats) * item.inputs)
            .sum::<usize>()
    };
    rerun.cases.iter().map(of_item).sum()
}
