//! The sequence of looks: which runs are made before there is a verdict, and how much of the false-alarm probability
//! each look may use. This module decides what to run; the caller runs it.

mod allocate;

use allocate::{Allocation, OpenMetric};
use std::collections::{BTreeMap, BTreeSet};

use super::broken;
use super::look::{
    self, BoundsSource, Look, LookOutcome, LookSettings, Noise, PairedCase, Unmeasured,
};
use kelvin_record::WantedRepeats;

/// The maximum number of looks after the first one.
const ROUNDS: usize = 4;

/// The probability of a false alarm that every look after the first one may use. Equal parts are those of Pocock,
/// "Group sequential methods in the design and analysis of clinical trials", Biometrika 64 (1977), whose bound for four
/// looks and 0.05 in total is 0.0194. It is lower here, because variances that are estimated from few runs are
/// sometimes too small.
const ALPHA_OF_A_LOOK: f64 = 0.012;

/// The whole false-alarm probability, for a single look.
const ALPHA: f64 = 0.05;

/// The false-alarm probability for the mean at a single look, if single cases are judged as well.
const ALPHA_BESIDE_CASES: f64 = ALPHA - broken::ALPHA;

/// A case with at least this many runs on the head before the first look needs no re-run before a regression is
/// reported.
const ENOUGH_RUNS: usize = 3;

/// If the head has a single run and cannot be run again, a regression needs at least this many cases that moved.
const FEWEST_MOVED: usize = 5;

/// A gated metric: its cases by name, in the same order at every look.
#[derive(Clone, Debug)]
pub struct GatedMetric {
    /// The names of the cases.
    pub names: Vec<String>,
    /// The cases, in the same order as the names.
    pub cases: Vec<PairedCase>,
    /// The limit of the drop. A larger drop is a regression.
    pub max_drop: f64,
    /// The largest possible drop: the width of the metric's range, infinite if the range is open.
    pub widest: f64,
    /// Whether the metric only counts missing answers.
    pub is_failure_rate: bool,
    /// Whether its values come from ranks, so that they are not used to judge single cases.
    pub by_rank: bool,
    /// Whether the head's values were read from what an earlier step has left, so that no re-run can add to them.
    pub cannot_rerun: bool,
    /// The significance level of the exact test by which a drop of single runs counts as a regression; none if the rule
    /// of the looks applies.
    pub exact_at: Option<f64>,
}

impl GatedMetric {
    /// The scale on which a case may break.
    pub(super) fn scale(&self) -> f64 {
        broken::scale(&self.cases, self.widest)
    }

    /// Whether single cases may break in this metric.
    fn judges_cases(&self) -> bool {
        !self.by_rank && self.scale().is_finite()
    }
}

/// The runs that are allowed between the looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// The maximum number of runs of an input on the head; with less than 2 there is no re-run.
    pub head_runs: usize,
    /// Whether the base can be run again together with the head. If so, it is run whenever a metric is open, and no
    /// regression is reported against a base that was measured at another time.
    pub base: bool,
}

/// The next step.
#[derive(Clone, Debug)]
pub enum LooksStep {
    /// Run cases again, without the cache, and then make another look.
    Rerun(Rerun),
    /// Every metric is decided.
    Decided(BTreeMap<String, MetricDecision>),
}

/// The runs to make: how often each input should have been run in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rerun {
    /// The runs of the base. The first runs of a case replace the stored ones.
    pub base: WantedRepeats,
    /// The runs of the head. They are added to the existing ones.
    pub head: WantedRepeats,
}

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The version with which the change is compared.
    Base,
    /// The change.
    Head,
}

/// The decision about one metric.
#[derive(Clone, Debug)]
pub struct MetricDecision {
    /// The look that decided, or else the last look; or why no look was possible.
    pub look: Result<Look, Unmeasured>,
    /// How the looks ended.
    pub ending: LooksEnding,
}

/// How the looks at a metric ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksEnding {
    /// There is a verdict.
    Decided,
    /// The metric is open after all re-runs, or no affordable run would decide it.
    StillOpen,
    /// The metric is open, and no re-run was possible or allowed.
    NoRerun,
    /// The metric is open, and nothing here can make its values again: an earlier step has left them.
    CannotRerun,
    /// The metric is open in a finished report, whose run has already run doubtful cases again.
    RerunBefore,
    /// The metric is open, and the budget does not allow the first re-run.
    NoBudget,
    /// The metric is open, and the budget ran out after the first re-runs.
    BudgetSpent,
    /// The metric is open, because the re-runs of the cases that cause the drop gave no values.
    RerunsFailed,
    /// The metric is open, because the pipeline answered the re-runs from its own cache.
    AnswersKept,
}

impl LooksEnding {
    /// Whether the noise was measured by running doubtful cases again.
    pub const fn was_rerun(self) -> bool {
        matches!(
            self,
            Self::StillOpen | Self::BudgetSpent | Self::AnswersKept | Self::RerunBefore
        )
    }
}

/// The looks at all gated metrics.
#[derive(Clone, Debug)]
pub struct Looks {
    noise: Noise,
    max_missing: f64,
    means: Means,
    answers_are_kept: bool,
    /// Whether a re-run was requested by another judgement than these looks.
    was_run_again: bool,
    /// The number of looks after a re-run.
    rounds: usize,
    /// The number of calls in the budget before the first re-run.
    calls: usize,
    /// The cases whose base was run together with the head.
    fresh: BTreeSet<String>,
    decided: BTreeMap<String, MetricDecision>,
    /// The last look at every open metric.
    open: BTreeMap<String, Look>,
}

impl Looks {
    /// The state before the first look. `deterministic`: whether the configuration declares that the pipeline is
    /// deterministic.
    pub const fn new(means: Means, deterministic: bool, max_missing: f64) -> Self {
        Self {
            noise: if deterministic {
                Noise::Declared
            } else {
                Noise::Repeats
            },
            max_missing,
            means,
            answers_are_kept: false,
            was_run_again: false,
            rounds: 0,
            calls: 0,
            fresh: BTreeSet::new(),
            decided: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Sets whether the pipeline answered repeats of the head from its own cache, so that they count as one.
    pub const fn answers_are_kept(&mut self, are_kept: bool) {
        self.answers_are_kept = are_kept;
    }

    /// Whether the base of a case was run together with the head, so that its stored runs do not count any more.
    pub(crate) fn has_run_the_base_of(&self, case: &str) -> bool {
        self.fresh.contains(case)
    }

    /// Records that another judgement requested a re-run, and that the base of these cases was run together with the
    /// head.
    pub(crate) fn has_run_the_base<'c>(&mut self, cases: impl Iterator<Item = &'c String>) {
        self.was_run_again = true;
        self.fresh.extend(cases.cloned());
    }

    /// Records that the base could not be run: its stored runs count, and the last re-run was not made.
    pub fn base_stays(&mut self) {
        self.means.base = false;
        self.fresh.clear();
        self.rounds = self.rounds.saturating_sub(1);
    }

    /// Looks at all runs so far, with the same metrics every time. `calls`: how many calls may still be made, on both
    /// sides together.
    pub fn next(&mut self, subjects: &BTreeMap<String, GatedMetric>, calls: usize) -> LooksStep {
        if self.rounds == 0 {
            self.calls = calls;
        }
        self.look_again(subjects);
        let gated = self.undecided(subjects);
        self.open.clear();
        for (id, subject) in subjects {
            if self.decided.contains_key(id) {
                continue;
            }
            match self.look(subject, gated) {
                Ok(look) if self.is_open(&look) => drop(self.open.insert(id.clone(), look)),
                done => self.close(id, done, LooksEnding::Decided),
            }
        }
        if self.open.is_empty() {
            return LooksStep::Decided(self.decided.clone());
        }
        if self.means.head_runs < 2 && !self.means.base {
            return LooksStep::Decided(self.end(subjects, LooksEnding::NoRerun));
        }
        if self.open.keys().all(|id| subjects[id].cannot_rerun) {
            return LooksStep::Decided(self.end(subjects, LooksEnding::CannotRerun));
        }
        if self.rounds >= ROUNDS {
            return LooksStep::Decided(self.end(subjects, LooksEnding::StillOpen));
        }
        let doubtful = self.doubtful(subjects);
        let allocation = Allocation {
            means: self.means,
            fresh: &self.fresh,
            left: calls,
        };
        let rerun = match self.rounds {
            0 if self.means.base || !has_repeats(&doubtful) => allocation.opening(&doubtful),
            _ if !doubtful
                .iter()
                .any(|open| allocate::may_decide(open, &allocation)) =>
            {
                return LooksStep::Decided(self.end(subjects, LooksEnding::StillOpen));
            }
            _ => allocation
                .next(&doubtful, self.calls / ROUNDS)
                .or_else(|| allocation.next(&doubtful, calls)),
        };
        let Some(rerun) = rerun else {
            let ending = match self.rounds {
                0 if !self.was_run_again => LooksEnding::NoBudget,
                _ => LooksEnding::BudgetSpent,
            };
            return LooksStep::Decided(self.end(subjects, ending));
        };
        self.fresh.extend(rerun.base.keys().cloned());
        self.rounds += 1;
        LooksStep::Rerun(rerun)
    }

    /// Looks again at the decided metrics, so that every figure covers all runs. A metric that would not pass any more
    /// is open again, and gets its share of the false alarms from then on. A regression, or a metric that was left
    /// open, does not change.
    fn look_again(&mut self, subjects: &BTreeMap<String, GatedMetric>) {
        let gated = self.undecided(subjects) + 1;
        for (id, MetricDecision { look, ending }) in std::mem::take(&mut self.decided) {
            // A metric of which no value is left has nothing to look at again.
            let Some(subject) = subjects.get(&id) else {
                self.decided.insert(id, MetricDecision { look, ending });
                continue;
            };
            let before = look.as_ref().ok().map(|look| look.outcome);
            let decision = match (before, self.look(subject, gated)) {
                (Some(LookOutcome::Pass), Ok(now)) if now.outcome != LookOutcome::Pass => continue,
                (Some(was), Ok(now)) if was == now.outcome => MetricDecision {
                    look: Ok(now),
                    ending,
                },
                _ => MetricDecision { look, ending },
            };
            self.decided.insert(id, decision);
        }
    }

    /// Ends all looks that are still open because the requested runs could not be made.
    pub fn give_up(
        &mut self,
        subjects: &BTreeMap<String, GatedMetric>,
    ) -> BTreeMap<String, MetricDecision> {
        // If the budget was used up before the first look, there is one look at the existing runs.
        if self.open.is_empty()
            && self.decided.is_empty()
            && let LooksStep::Decided(decided) = self.next(subjects, 0)
        {
            return decided;
        }
        // The last requested re-run was not made.
        self.rounds = self.rounds.saturating_sub(1);
        let ending = match self.rounds {
            0 if !self.was_run_again => LooksEnding::NoBudget,
            _ => LooksEnding::BudgetSpent,
        };
        self.end(subjects, ending)
    }

    /// Makes the look that the runs so far allow. The first look uses no alpha, unless the cases that moved were run
    /// often enough before it.
    fn look(&self, subject: &GatedMetric, gated: usize) -> Result<Look, Unmeasured> {
        let first = look::look(&subject.cases, &self.question(subject, gated, 0.0))?;
        // The runs for another judgement were requested because the head looked bad, possibly by bad luck, and they do
        // not repeat the runs of the base.
        let has_enough = !self.was_run_again && runs(subject, &first) >= ENOUGH_RUNS;
        let may_spend = self.rounds > 0 || has_enough;
        if first.outcome != LookOutcome::Inconclusive || !may_spend {
            return Ok(first);
        }
        let alpha = match self.means.head_runs {
            0 | 1 if subject.judges_cases() => ALPHA_BESIDE_CASES,
            0 | 1 => ALPHA,
            _ => ALPHA_OF_A_LOOK,
        };
        let look = look::look(&subject.cases, &self.question(subject, gated, alpha))?;
        Ok(careful(look, first, subject))
    }

    /// Whether more runs are needed before the look counts.
    fn is_open(&self, look: &Look) -> bool {
        match look.outcome {
            LookOutcome::Inconclusive => true,
            // The drop may be due to the day on which the base was measured.
            LookOutcome::Regression => {
                self.rounds == 0 && self.means.base && self.noise != Noise::Declared
            }
            LookOutcome::Pass => false,
        }
    }

    /// The open metrics that need more runs. Once one metric is a regression, these are only the possible regressions:
    /// the job fails anyway.
    fn doubtful<'s>(&'s self, subjects: &'s BTreeMap<String, GatedMetric>) -> Vec<OpenMetric<'s>> {
        let is_regression = |decision: &MetricDecision| {
            let look = decision.look.as_ref();
            look.is_ok_and(|look| look.outcome == LookOutcome::Regression)
        };
        let has_failed = self.decided.values().any(is_regression);
        let open = self.open.iter();
        open.filter(|(id, _)| !subjects[*id].cannot_rerun)
            .filter(|(_, look)| !has_failed || look.reason == look::LookReason::Suspected)
            .map(|(id, look)| OpenMetric {
                subject: &subjects[id],
                look,
            })
            .collect()
    }

    /// The number of metrics among which a look divides its false alarms: those that are not decided yet. A metric that
    /// has passed cannot cause one any more, so a probe that passes at once does not reduce the power of the others.
    fn undecided(&self, subjects: &BTreeMap<String, GatedMetric>) -> usize {
        let open = subjects.iter();
        tested(open.filter_map(|(id, subject)| (!self.decided.contains_key(id)).then_some(subject)))
    }

    /// Closes every open metric.
    fn end(
        &mut self,
        subjects: &BTreeMap<String, GatedMetric>,
        ending: LooksEnding,
    ) -> BTreeMap<String, MetricDecision> {
        let gated = tested(subjects.values());
        for (id, look) in std::mem::take(&mut self.open) {
            let subject = &subjects[&id];
            let ending = match subject.cannot_rerun {
                true => LooksEnding::CannotRerun,
                false => ending,
            };
            let has_no_rerun = self.rounds == 0 || subject.cannot_rerun;
            let is_first = has_no_rerun && runs(subject, &look) < ENOUGH_RUNS;
            let look = match ending {
                LooksEnding::NoRerun | LooksEnding::CannotRerun | LooksEnding::NoBudget
                    if is_first && !self.answers_are_kept =>
                {
                    self.without_repeats(subject, gated, look)
                }
                // The only new runs are those for another judgement; there is one look at them.
                LooksEnding::BudgetSpent if self.rounds == 0 => {
                    self.last_look(subject, gated, look)
                }
                _ => look,
            };
            self.close(&id, Ok(look), ending);
        }
        self.decided.clone()
    }

    /// The decision if the head was run once and cannot be run again. The drop must be clear compared with the
    /// differences between at least five cases that moved. If the metric has an exact test, the drop must also be
    /// significant in that test.
    fn without_repeats(&self, subject: &GatedMetric, gated: usize, first: Look) -> Look {
        let question = LookSettings {
            noise: Noise::Cases,
            ..self.question(subject, gated, ALPHA)
        };
        match look::look(&subject.cases, &question) {
            Ok(look) if look.outcome == LookOutcome::Regression => careful(look, first, subject),
            _ => tested_exactly(first, subject),
        }
    }

    /// The look at the runs that another judgement requested.
    fn last_look(&self, subject: &GatedMetric, gated: usize, first: Look) -> Look {
        let question = self.question(subject, gated, ALPHA_OF_A_LOOK);
        match look::look(&subject.cases, &question) {
            Ok(look) => careful(look, first, subject),
            Err(_) => first,
        }
    }

    /// Records how the looks at a metric ended if it is still open; a metric that is not open is decided.
    fn close(&mut self, id: &str, look: Result<Look, Unmeasured>, open: LooksEnding) {
        let ending = match &look {
            Ok(look) if look.outcome == LookOutcome::Inconclusive => match open {
                LooksEnding::NoRerun | LooksEnding::CannotRerun => open,
                _ if self.answers_are_kept => LooksEnding::AnswersKept,
                _ if open.was_rerun() && look.is_unconfirmed => LooksEnding::RerunsFailed,
                _ => open,
            },
            _ => LooksEnding::Decided,
        };
        self.decided
            .insert(id.to_owned(), MetricDecision { look, ending });
    }

    const fn question(&self, subject: &GatedMetric, gated: usize, alpha: f64) -> LookSettings {
        LookSettings {
            max_drop: subject.max_drop,
            widest: subject.widest,
            alpha,
            gated,
            noise: self.noise,
            max_missing: self.max_missing,
        }
    }
}

/// The same look, with an additional condition for a regression that is based only on single runs: it counts only if
/// enough cases moved, and, if the metric has an exact test, only if that test confirms it.
fn careful(look: Look, first: Look, subject: &GatedMetric) -> Look {
    if look.basis != BoundsSource::Cases {
        return look;
    }
    let look = tested_exactly(look, subject);
    let may_be_chance =
        (look.chance.zip(subject.exact_at)).is_some_and(|(chance, limit)| chance > limit);
    match look.outcome {
        LookOutcome::Regression if look.moved < FEWEST_MOVED || may_be_chance => {
            tested_exactly(first, subject)
        }
        _ => look,
    }
}

/// Adds the probability that chance alone produces the drop, if the metric requires it.
fn tested_exactly(look: Look, subject: &GatedMetric) -> Look {
    Look {
        chance: subject.exact_at.map(|_| look::chance(&look.shares)),
        ..look
    }
}

/// Whether all doubtful cases were repeated on the head before the first look.
fn has_repeats(open: &[OpenMetric<'_>]) -> bool {
    let runs = open.iter().map(|open| runs(open.subject, open.look));
    runs.min().is_some_and(|runs| runs >= ENOUGH_RUNS)
}

/// The smallest number of runs of an unstable case on the head.
fn runs(subject: &GatedMetric, look: &Look) -> usize {
    let runs = look.unstable.iter();
    let runs = runs.map(|at| subject.cases[*at].head_runs());
    runs.min().unwrap_or(0)
}

#[cfg(test)]
mod again_tests;

/// The number of metrics among which a false alarm is divided. If a pipeline never failed on either side, its failure
/// rate cannot cause one and does not count.
pub(super) fn tested<'s>(subjects: impl Iterator<Item = &'s GatedMetric>) -> usize {
    let has_failures = |subject: &GatedMetric| {
        let cells = subject.cases.iter().flat_map(|case| &case.cells);
        let mut losses = cells.flat_map(|cell| cell.base.values.iter().chain(&cell.head.values));
        losses.any(|loss| loss.is_some_and(|loss| loss > look::GUARD))
    };
    let counts = |subject: &&GatedMetric| !subject.is_failure_rate || has_failures(subject);
    subjects.filter(counts).count().max(1)
}

#[cfg(test)]
mod tests;
