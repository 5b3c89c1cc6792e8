//! The limits for re-runs of doubtful cases, in calls and minutes. The cost of a re-run is subtracted before the re-run
//! starts.

use std::num::NonZeroUsize;
use std::time::Instant;

use anyhow::ensure;

use kelvin_gate::differences::Difference;
use kelvin_gate::looks::{Rerun, Side};
use kelvin_gate::report::Report;
use kelvin_record::settings::Budget;
use kelvin_record::{Glance, Repeats, Wanted, WantedRepeats};
use kelvin_run::config::Config;

/// The calls and the time that are left for re-runs.
pub(super) struct Allowance {
    calls: usize,
    /// Whether the configuration gives the number of calls.
    is_explicit: bool,
    minutes: Option<f64>,
    start: Instant,
    /// How long a call takes, in minutes, when as many calls run at the same time as there are jobs; none if no call
    /// was made.
    minutes_a_call: Option<f64>,
}

impl Allowance {
    /// The allowance under a configuration, for a head that was measured once. `sides`: how many sides can be run
    /// again.
    pub(super) fn of(config: &Config, head: &Report, sides: usize) -> Self {
        let Budget { calls, minutes, .. } = config.gate.budget;
        let cost = &head.run.session.cost;
        let seconds = cost.pipeline_seconds / cost.invocations as f64 / config.at_once() as f64;
        Self {
            calls: calls.unwrap_or_else(|| sides * reruns_of_a_side(head)),
            is_explicit: calls.is_some(),
            minutes,
            start: Instant::now(),
            minutes_a_call: (cost.invocations > 0).then_some(seconds / 60.0),
        }
    }

    /// How many calls can still be made before the time limit.
    pub(super) fn left(&self) -> usize {
        let Some(minutes) = self.minutes else {
            return self.calls;
        };
        let left = minutes - self.start.elapsed().as_secs_f64() / 60.0;
        match self.minutes_a_call {
            _ if left <= 0.0 => 0,
            Some(a_call) if a_call > 0.0 => self.calls.min((left / a_call) as usize),
            _ => self.calls,
        }
    }

    /// How many calls the default would allow; none if the configuration sets a number, or if that number is 0.
    pub(super) fn of_default(&self, head: &Report) -> Option<usize> {
        let is_small = self.is_explicit && self.calls > 0;
        is_small.then(|| 2 * reruns_of_a_side(head))
    }

    /// Notes that the configured number of calls is too small for one more run of the doubtful cases. `asked`: the
    /// re-run that would be made without this limit.
    pub(super) fn bought_nothing(&self, asked: &Rerun, head: &Report) -> Option<Difference> {
        let mut once = asked.clone();
        for (name, wanted) in &mut once.head {
            let sections = head.probes.iter();
            let there = sections.filter_map(|(_, section)| Some(section.item(name)?.repeats));
            let (input, variants) = there.fold((0, 0), |(input, variants), runs| {
                (input.max(runs.input), variants.max(runs.variants))
            });
            *wanted = wanted.at_most(variants + 1);
            wanted.input = wanted.input.min(input + 1);
        }
        // The cases of the base were not run together with the head yet.
        for wanted in once.base.values_mut() {
            *wanted = wanted.at_most(1);
        }
        let needed = cost(&once, head, None);
        (needed > self.calls).then_some(Difference::BudgetTooSmall {
            calls: self.calls,
            needed,
        })
    }

    /// Subtracts the cost of running the base on some items of the head, `repeats` times each, if the configuration
    /// sets a number of calls. Fails with the cost if it is higher than what is left.
    pub(super) fn pay_for_the_base(
        &mut self,
        names: &[String],
        repeats: NonZeroUsize,
        head: &Report,
    ) -> anyhow::Result<()> {
        let wanted = Repeats::of_all(repeats.get());
        let base = names.iter().map(|name| (name.clone(), wanted.into()));
        let base = base.collect();
        let asked = Rerun {
            base,
            head: WantedRepeats::new(),
        };
        let calls = cost(&asked, head, None);
        if self.is_explicit {
            ensure!(
                calls <= self.calls,
                "it takes {calls} calls, and the budget has {}",
                self.calls
            );
            self.calls -= calls;
        }
        Ok(())
    }

    /// Subtracts the cost of a re-run. If the whole re-run is too expensive, all its cases are run with fewer repeats; a
    /// re-run that cannot be finished is not started. `base`: the cases of the base that were run together with the
    /// head.
    pub(super) fn pay(&mut self, rerun: &Rerun, head: &Report, base: Option<&Report>) -> Payment {
        let wanted = rerun.head.values().chain(rerun.base.values());
        let most = wanted.map(Wanted::most).max().unwrap_or(0);
        if most > 0 && cost(rerun, head, base) == 0 {
            return Payment::NothingToRun;
        }
        let affordable = (1..=most).rev().map(|repeats| at_most(rerun, repeats));
        for rerun in affordable {
            let calls = cost(&rerun, head, base);
            if calls == 0 {
                break;
            }
            if calls <= self.left() {
                self.calls -= calls;
                return Payment::Paid(rerun);
            }
        }
        Payment::TooExpensive
    }
}

/// What became of a request for a re-run.
pub(super) enum Payment {
    /// It is paid, possibly with fewer repeats than requested.
    Paid(Rerun),
    /// Every run of the request exists already.
    NothingToRun,
    /// Not even one repeat of each case can be paid, or nothing that can be run is left of the request.
    TooExpensive,
}

/// The same re-run with at most this many repeats of each input.
fn at_most(rerun: &Rerun, repeats: usize) -> Rerun {
    let fewer = |wanted: &WantedRepeats| {
        let cases = wanted.iter();
        let fewer = cases.map(|(name, runs)| (name.clone(), runs.at_most(repeats)));
        fewer.collect()
    };
    Rerun {
        base: fewer(&rerun.base),
        head: fewer(&rerun.head),
    }
}

/// How many calls one run of all items needs.
pub(super) fn one_run(head: &Report) -> usize {
    over_items(head, |item| item.inputs)
}

/// How many calls one run of some items takes.
pub(super) fn calls_of<'n>(head: &Report, names: impl IntoIterator<Item = &'n String>) -> usize {
    let inputs = |name: &String| {
        let sections = head.probes.iter();
        let items = sections.filter_map(|(_, section)| section.item(name));
        items.map(|item| item.inputs).sum::<usize>()
    };
    names.into_iter().map(inputs).sum()
}

/// How many calls all re-runs of a side may take together unless the configuration says so.
fn reruns_of_a_side(head: &Report) -> usize {
    over_items(head, |item| item.reruns)
}

fn over_items(head: &Report, calls: impl Fn(Glance<'_>) -> usize) -> usize {
    let sections = head.probes.iter().map(|(_, section)| section);
    let of_sections = sections.map(|section| {
        let ids = section.ids().into_iter();
        ids.filter_map(|id| Some(calls(section.item(id)?)))
            .sum::<usize>()
    });
    of_sections.sum()
}

/// How many calls a re-run takes. The stored results of the base are replaced, so that none of them counts as a repeat.
fn cost(rerun: &Rerun, head: &Report, base: Option<&Report>) -> usize {
    let of_side = |side: Side, wanted: &WantedRepeats| -> usize {
        let of_item = |(name, wanted): (&String, &Wanted)| {
            let items = head.probes.iter().filter_map(|(probe, section)| {
                let item = section.item(name)?;
                let of_side = match side {
                    Side::Head => Some(section),
                    Side::Base => base.and_then(|base| base.probes.of(probe)),
                };
                let there = of_side.and_then(|section| Some(section.item(name)?.repeats));
                let made = |variant: &str| {
                    let made = of_side.and_then(|section| section.runs_of(name, variant));
                    made.unwrap_or(0)
                };
                let variants = item.inputs.checked_sub(1)?;
                Some(wanted.missing(there.unwrap_or_default(), variants, made))
            });
            items.sum::<usize>()
        };
        wanted.iter().map(of_item).sum()
    };
    of_side(Side::Base, &rerun.base) + of_side(Side::Head, &rerun.head)
}
