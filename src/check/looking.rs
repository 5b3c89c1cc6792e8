//! The looks of the gate at two sides, and what is run between them.

use std::collections::BTreeSet;

use super::budget::Allowance;
use super::compute::Beside;
use super::head::Head;
use super::stored::{self, Stored};
use super::{changed, compute};
use kelvin_gate::align;
use kelvin_gate::compare::{Comparison, Measured, compare};
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::Verdict;
use kelvin_gate::{Gate, Judgement, Next};

/// The two sides, while the gate looks at them and has doubtful cases run again.
pub(super) struct Looking<'l> {
    pub(super) side: &'l mut dyn Head,
    pub(super) base: &'l mut Report,
    /// The items whose report of the base is not replaced.
    pub(super) stays: &'l BTreeSet<String>,
    pub(super) head: Report,
    pub(super) gate: Gate<'l>,
    /// Other stored reports of the base's code.
    pub(super) stored: Stored<'l>,
    pub(super) allowance: Allowance,
    /// How many calls running the base again took.
    pub(super) base_reruns: usize,
    /// That the budget did not reach for anything.
    pub(super) too_small: Option<Difference>,
}

/// How looking came to its end.
pub(super) enum Ending {
    /// There is a verdict.
    Verdict(Box<Verdict>),
    /// Nobody knows what was measured.
    Unknown(Box<Judgement>),
    /// The base is to be run again, which needs it to be checked out.
    Base(Rerun),
}

impl Looking<'_> {
    /// Asks the gate, and runs what it asks for, until there is a verdict. `beside`: the base, once it is
    /// checked out, with what was asked for then.
    pub(super) fn look(
        &mut self,
        beside: Option<(&mut Beside<'_, '_>, Rerun)>,
    ) -> anyhow::Result<Ending> {
        let (mut beside, mut first) = beside.unzip();
        let mut beside_the_head: Option<Report> = None;
        let mut has_run = false;
        loop {
            let aligned = align::align(self.base, &self.head);
            let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
            let mut comparison = compare(&old, &new);
            let probes = self.head.probes.iter();
            let kept: BTreeSet<&str> = probes.flat_map(|(name, _)| self.head.kept(name)).collect();
            self.gate.answers_are_kept(!kept.is_empty());
            let sides = (&*self.base, &comparison);
            self.stored
                .find_for(&self.gate, sides, self.allowance.left());
            let stored = self.stored.beside(&self.head);
            comparison.stored = stored.iter().map(stored::Beside::compared).collect();
            let rerun = match first.take() {
                Some(rerun) => rerun,
                None => {
                    if !has_run {
                        self.too_small = self.bought_nothing(&comparison, &kept);
                    }
                    let mut asked = match self.gate.next(&comparison, self.allowance.left()) {
                        Next::Verdict(verdict) => return Ok(Ending::Verdict(verdict)),
                        Next::Rerun(rerun) => rerun,
                    };
                    // The pipeline would give the same answers again, and they would count as one run.
                    asked.head.retain(|name, _| !kept.contains(name.as_str()));
                    asked.base.retain(|name, _| !self.stays.contains(name));
                    let there = beside_the_head.as_ref();
                    let Some(rerun) = self.allowance.pay(&asked, &self.head, there) else {
                        let verdict = self.gate.give_up(&comparison);
                        return Ok(Ending::Verdict(Box::new(verdict)));
                    };
                    rerun
                }
            };
            if !rerun.base.is_empty() {
                let Some(beside) = &mut beside else {
                    return Ok(Ending::Base(rerun));
                };
                let again = beside.run(&rerun.base)?;
                self.base_reruns = again.run.session.cost.invocations;
                beside_the_head = Some(again.clone());
                compute::replace(self.base, again);
                // What was measured next to the base was measured next to other answers.
                self.side.against(self.base)?;
            }
            if !rerun.head.is_empty() {
                self.side.run_again(&rerun)?;
            }
            has_run = true;
            self.too_small = None;
            self.head = self.side.report();
            if let Some(judgement) = unknown(&self.head) {
                return Ok(Ending::Unknown(Box::new(judgement)));
            }
        }
    }

    /// That the gate would run something again, had it more calls than a number that was asked for.
    fn bought_nothing(
        &self,
        comparison: &Comparison<'_>,
        kept: &BTreeSet<&str>,
    ) -> Option<Difference> {
        let calls = self.allowance.of_default(&self.head)?;
        let Next::Rerun(mut asked) = self.gate.clone().next(comparison, calls) else {
            return None;
        };
        asked.head.retain(|name, _| !kept.contains(name.as_str()));
        self.allowance.bought_nothing(&asked, &self.head)
    }
}

/// Why nobody knows what was measured, where that is so.
pub(super) fn unknown(head: &Report) -> Option<Judgement> {
    let why = changed::told(head)?;
    let verdict = Verdict::unmeasured(why);
    Some(Judgement::without_base(verdict, Vec::new()))
}
