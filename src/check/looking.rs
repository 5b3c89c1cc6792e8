//! Compares the two sides for the gate, and runs doubtful cases again between the comparisons.

use std::collections::BTreeSet;

use super::budget::{Allowance, Payment};
use super::compute::ItemsBeside;
use super::head::JudgedSide;
use super::stored::{self, StoredReports};
use super::{compute, stage, texts, why};
use kelvin_gate::compare::{Comparison, Measured, compare};
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::Verdict;
use kelvin_gate::{Gate, Judgement, Next, align};
use kelvin_record::AnySection;

/// The two sides while the gate compares them and doubtful cases are run again.
pub(super) struct Looking<'l> {
    pub(super) side: &'l mut dyn JudgedSide,
    pub(super) base: &'l mut Report,
    /// The items for which the stored answers of the base are not replaced.
    pub(super) stays: &'l BTreeSet<String>,
    pub(super) head: Report,
    /// Whether the sides are compared without the texts of answers.
    pub(super) withheld: bool,
    pub(super) gate: Gate<'l>,
    /// The share of the items that may be lost.
    pub(super) max_missing: f64,
    /// Other stored reports of the base's code.
    pub(super) stored: StoredReports<'l>,
    pub(super) allowance: Allowance,
    /// How many calls the re-runs of the base took.
    pub(super) base_reruns: usize,
    /// The note that the budget was too small for any re-run.
    pub(super) too_small: Option<Difference>,
    /// Why the stored answers of the base count although its code was run again; none if it could be run.
    pub(super) base_fails: Option<String>,
}

/// How the comparison ended.
pub(super) enum ComparisonEnding {
    /// The gate has reached a verdict.
    Verdict(Box<Verdict>),
    /// It is not known what was measured.
    Unknown(Box<Judgement>),
    /// The base has to be run again, and must be checked out first.
    Base(Rerun),
}

impl Looking<'_> {
    /// Runs the gate, and makes the re-runs that it requests, until there is a verdict. `beside`: the checked-out base,
    /// with the re-run that was requested when it was checked out.
    pub(super) fn look(
        &mut self,
        beside: Option<(&mut ItemsBeside<'_, '_>, Rerun)>,
    ) -> anyhow::Result<ComparisonEnding> {
        let (mut beside, mut first) = beside.unzip();
        let mut beside_the_head: Option<Report> = None;
        let mut has_run = false;
        let mut made_before: Option<Rerun> = None;
        loop {
            let base = texts::compared(self.base, self.withheld)?;
            let head = texts::compared(&self.head, self.withheld)?;
            let aligned = align::align(&base, &head);
            let mut comparison = compare(
                &Measured::from(&aligned.base),
                &Measured::from(&aligned.head),
            );
            let probes = self.head.probes.iter();
            let kept: BTreeSet<&str> = probes.flat_map(|(name, _)| self.head.kept(name)).collect();
            self.gate.answers_are_kept(!kept.is_empty());
            let sides = (&*self.base, &comparison);
            self.stored
                .find_for(&self.gate, sides, self.allowance.left());
            let stored = self.stored.beside(&head);
            comparison.stored = stored.iter().map(stored::ReportBeside::compared).collect();
            let rerun = match first.take() {
                Some(rerun) => rerun,
                None => {
                    if !has_run {
                        self.too_small = self.bought_nothing(&comparison, &kept);
                    }
                    let mut asked = match self.gate.next(&comparison, self.allowance.left()) {
                        Next::Verdict(verdict) => return Ok(ComparisonEnding::Verdict(verdict)),
                        Next::Rerun(rerun) => rerun,
                    };
                    // The pipeline would repeat its cached answers, and they would count as one run.
                    asked.head.retain(|name, _| !kept.contains(name.as_str()));
                    let base_fails = self.base_fails.is_some();
                    asked
                        .base
                        .retain(|name, _| !base_fails && !self.stays.contains(name));
                    let there = beside_the_head.as_ref();
                    match self.allowance.pay(&asked, &self.head, there) {
                        Payment::Paid(rerun) => rerun,
                        // The gate goes on with the runs that it asked for. A gate that asks for the same runs again
                        // cannot go on.
                        Payment::NothingToRun if made_before.as_ref() != Some(&asked) => {
                            made_before = Some(asked);
                            continue;
                        }
                        Payment::NothingToRun | Payment::TooExpensive => {
                            let verdict = self.gate.give_up(&comparison);
                            return Ok(ComparisonEnding::Verdict(Box::new(verdict)));
                        }
                    }
                }
            };
            if !rerun.base.is_empty() {
                let Some(base_code) = &mut beside else {
                    return Ok(ComparisonEnding::Base(rerun));
                };
                let again = base_code.run(&rerun.base)?;
                self.base_reruns = again.run.session.cost.invocations;
                self.base_fails = lost_answers(self.base, &again, self.max_missing);
                if self.base_fails.is_some() {
                    self.gate.base_stays();
                    beside = None;
                    continue;
                }
                beside_the_head = Some(again.clone());
                compute::replace(self.base, again);
                // The measurement of the head may depend on the answers of the base. The base has new answers, so the
                // head is measured against them.
                self.side.against(self.base)?;
            }
            if !rerun.head.is_empty() {
                self.side.run_again(&rerun)?;
            }
            has_run = true;
            self.too_small = None;
            self.head = self.side.report();
            if let Some(judgement) = unknown(&self.head) {
                return Ok(ComparisonEnding::Unknown(Box::new(judgement)));
            }
        }
    }

    /// The note that the gate would run some cases again if the configured number of calls were larger.
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

/// Why a re-run of the base says nothing of the base: more of the items that its stored report answers got no answer than
/// may be missing, or half of a few. Then something is missing beside its checkout, and a change would be held against
/// failures.
fn lost_answers(stored: &Report, again: &Report, max_missing: f64) -> Option<String> {
    let (mut answered, mut lost) = (0_usize, 0_usize);
    let mut first = None;
    for (kind, section) in again.probes.known() {
        let Some(before) = stored.probes.of(kind.name()) else {
            continue;
        };
        let has_answer = |section: &dyn AnySection, id: &str| {
            let item = section.item(id);
            item.is_some_and(|item| item.has_answer)
        };
        for id in section.ids() {
            if !has_answer(before, id) {
                continue;
            }
            answered += 1;
            if !has_answer(section, id) {
                lost += 1;
                first = first.or_else(|| Some(why::in_item(id, &kind.failure(section, id)?)));
            }
        }
    }
    let is_too_many = lost > 1 && lost as f64 > max_missing * answered as f64;
    (is_too_many || lost > 0 && 2 * lost >= answered).then(|| {
        format!(
            "the code of the base gave no answer here to {lost} of {answered} {} that its stored report answers, so that the \
             stored answers count, and no base was run beside the change{}; its checkout has what git keeps, and the \
             environments of the project: see that nothing else is missing there",
            if answered == 1 { "item" } else { "items" },
            first.unwrap_or_default()
        )
    })
}

/// Why it is not known what was measured; none if it is known.
pub(super) fn unknown(head: &Report) -> Option<Judgement> {
    let why = stage::why_nothing_is_shown(head)?;
    let verdict = Verdict::unmeasured(why);
    Some(Judgement::without_base(verdict, Vec::new()))
}
