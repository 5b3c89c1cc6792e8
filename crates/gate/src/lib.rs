//! The gate: distinguishes a drop from noise, and decides by its policy whether the head may pass.
//!
//! A caller calls [`Gate::next`] until it returns a verdict, and makes the requested runs in between.

pub mod align;
pub mod answers;
pub mod approval;
mod approved;
pub mod asides;
mod assemble;
pub mod broken;
pub mod changes;
pub mod compare;
pub mod demands;
pub mod differences;
pub mod drift;
pub mod foresight;
pub mod governing;
pub mod judgement;
mod junit;
pub mod look;
pub mod looks;
mod losses;
mod missing;
pub mod opening;
pub mod policy;
pub mod provenance;
pub mod readings;
pub mod report;
pub mod reproduce;
mod sentence;
mod subject;
mod unpaired;
mod unscored;
pub mod verdict;

#[cfg(test)]
extern crate self as kelvin_gate;
#[cfg(test)]
#[path = "../../fixtures/src/lib.rs"]
pub mod fixtures;

use std::collections::BTreeMap;

use crate::compare::{AnswerPairs, Change, Comparison, Presence};
use broken::{BrokenFinding, Demand, UsualBreaks};
use governing::{FollowUp, SwapSuite, TypeDecision};
pub use judgement::Judgement;
pub use junit::to_junit;
use kelvin_record::{Repeats, WantedRepeats, probe_of};
use look::LookOutcome;
use looks::{GatedMetric, Looks, LooksEnding, LooksStep, Means, MetricDecision, Rerun};
use policy::{Attention, Policy, Rule};
use verdict::{BrokenCase, Verdict};

/// The gate of one comparison.
#[derive(Clone, Debug)]
pub struct Gate<'a> {
    policy: &'a Policy,
    means: Means,
    /// Why the two sides cannot be compared; none if they can.
    incomparable: Option<String>,
    looks: Looks,
    /// Whether the pipeline answered repeats of the head from its own cache.
    are_kept: bool,
    /// Whether the reports are finished, and their run has already run doubtful cases again.
    was_rerun_before: bool,
    /// The looks at the governing types of each probe that declares governing types.
    types: BTreeMap<String, governing::SuiteLooks>,
    /// How many re-runs were requested, for any reason.
    asked: usize,
    /// Whether a re-run of the missing values was requested.
    asked_missing: bool,
    /// Whether a re-run of the cases whose inputs changed was requested.
    asked_unpaired: bool,
    /// Whether cases whose inputs changed were run again.
    ran_unpaired: bool,
    /// Whether the head can be run again, and the last re-run that was requested was not made.
    gave_up: bool,
}

/// The next step.
#[derive(Clone, Debug)]
pub enum Next {
    /// Run cases again, and call again with a new comparison.
    Rerun(Rerun),
    /// The verdict.
    Verdict(Box<Verdict>),
}

impl<'a> Gate<'a> {
    /// A gate with a policy. `base`: whether the base is stored and can be run again together with the head. `head`:
    /// whether the head can be run again. `incomparable`: why the two cannot be compared.
    pub fn new(policy: &'a Policy, head: bool, base: bool, incomparable: Option<String>) -> Self {
        let by_threshold = policy.rule == Rule::Threshold;
        let means = Means {
            head_runs: if head && !by_threshold {
                policy.budget.head_repeats
            } else {
                1
            },
            base: base && !by_threshold,
        };
        Self {
            policy,
            means,
            incomparable,
            // The loss of cases is judged for the whole comparison, not by the looks.
            looks: Looks::new(means, policy.is_exact(), 1.0),
            are_kept: false,
            was_rerun_before: false,
            types: BTreeMap::new(),
            asked: 0,
            asked_missing: false,
            asked_unpaired: false,
            ran_unpaired: false,
            gave_up: false,
        }
    }

    /// Sets whether the pipeline answered repeats of the head from its own cache.
    pub fn answers_are_kept(&mut self, are_kept: bool) {
        self.are_kept = are_kept;
        self.looks.answers_are_kept(are_kept);
    }

    /// Records that the reports are finished, and that their run has already run doubtful cases again. If the result is
    /// still open, it counts as open after re-runs, although this gate itself makes no re-runs.
    pub const fn was_rerun_before(&mut self) {
        self.was_rerun_before = true;
    }

    /// Records that the base could not be run, although the last re-run asked for it: its stored runs count, and only the
    /// head is run again.
    pub fn base_stays(&mut self) {
        self.means.base = false;
        self.asked = self.asked.saturating_sub(1);
        self.looks.base_stays();
    }

    /// Whether noise can explain a drop, so that repeats are useful.
    pub fn reads_noise(&self) -> bool {
        !self.policy.is_exact() && self.incomparable.is_none()
    }

    /// Looks at all runs so far. `calls`: how many calls may still be made, on both sides together.
    pub fn next(&mut self, comparison: &Comparison<'_>, calls: usize) -> Next {
        let next = self.step(comparison, calls);
        self.asked += usize::from(matches!(next, Next::Rerun(_)));
        next
    }

    fn step(&mut self, comparison: &Comparison<'_>, calls: usize) -> Next {
        // A caller that calls again has made the requested runs; a caller that gives up has not.
        self.ran_unpaired |= self.asked_unpaired;
        let missing = self.missing_rerun(comparison);
        if !missing.is_empty() {
            self.asked_missing = true;
            return Next::Rerun(of_head(missing));
        }
        let types = match self.look_at_types(comparison) {
            Ok(types) => types,
            Err(rerun) => return Next::Rerun(rerun),
        };
        let gated: BTreeMap<String, GatedMetric> =
            self.subjects(comparison, Attention::Gate).collect();
        let decisions = match self.looks.next(&gated, calls) {
            LooksStep::Rerun(rerun) => return Next::Rerun(rerun),
            LooksStep::Decided(decisions) => decisions,
        };
        let cases = self.unpaired_rerun(comparison);
        if !cases.is_empty() {
            self.asked_unpaired = true;
            return Next::Rerun(of_head(cases));
        }
        let (broken, rerun) = self.broken(comparison, &gated, &decisions);
        if !rerun.head.is_empty() || !rerun.base.is_empty() {
            self.looks.has_run_the_base(rerun.base.keys());
            return Next::Rerun(rerun);
        }
        // The verdict needs only the decisions, and takes as much memory as these values.
        drop(gated);
        Next::Verdict(Box::new(self.verdict(
            comparison,
            decisions,
            (types, broken),
        )))
    }

    /// The verdict if no more runs are possible: everything that is open stays open.
    pub fn give_up(&mut self, comparison: &Comparison<'_>) -> Verdict {
        let types = self.types_as_they_are(comparison);
        let gated: BTreeMap<String, GatedMetric> =
            self.subjects(comparison, Attention::Gate).collect();
        let decisions = self.looks.give_up(&gated);
        self.gave_up = self.means.head_runs > 1;
        self.means.head_runs = 1;
        // The last re-run was not made.
        self.asked = self.asked.saturating_sub(1);
        let (broken, _) = self.broken(comparison, &gated, &decisions);
        self.verdict(comparison, decisions, (types, broken))
    }

    fn verdict(
        &self,
        comparison: &Comparison<'_>,
        mut decisions: BTreeMap<String, MetricDecision>,
        (mut types, broken): (BTreeMap<String, TypeDecision>, Vec<BrokenCase>),
    ) -> Verdict {
        if self.was_rerun_before {
            let endings = decisions.values_mut().map(|decision| &mut decision.ending);
            let of_types = types.values_mut().map(|decision| &mut decision.ending);
            for ending in endings.chain(of_types) {
                if *ending == LooksEnding::NoRerun {
                    *ending = LooksEnding::RerunBefore;
                }
            }
        }
        for attention in [Attention::Warn, Attention::Info] {
            for (id, subject) in self.subjects(comparison, attention) {
                let alone = BTreeMap::from([(id, subject)]);
                let still = Means {
                    head_runs: 1,
                    base: false,
                };
                let mut looks = Looks::new(still, self.policy.is_exact(), 1.0);
                if let LooksStep::Decided(decided) = looks.next(&alone, 0) {
                    decisions.extend(decided);
                }
            }
        }
        let unpaired = self.unpaired(comparison);
        assemble::Assembly {
            policy: self.policy,
            incomparable: self.incomparable.as_deref(),
            comparison,
            decisions,
            types,
            unpaired,
            unpaired_ending: self.unpaired_ending(),
        }
        .verdict(broken)
    }

    /// Requests the values that the base has and the head lacks, once: calls that failed by bad luck then succeed.
    fn missing_rerun(&self, comparison: &Comparison<'_>) -> WantedRepeats {
        let can_rerun = self.means.head_runs > 1 && !self.policy.is_exact();
        if self.asked_missing || !can_rerun || self.incomparable.is_some() {
            return WantedRepeats::new();
        }
        let metrics = comparison.metrics.iter();
        let gated: Vec<_> = metrics
            .filter(|(id, metric)| self.policy.attention(id, metric) == Attention::Gate)
            .filter(|(_, metric)| metric.presence == Presence::Both && !metric.cannot_rerun)
            .map(|(_, metric)| metric)
            .collect();
        missing::rerun(&gated)
    }

    /// Looks at the governing types of every probe, by metric.
    ///
    /// # Errors
    ///
    /// Fails with the runs that are needed before the types are decided.
    fn look_at_types(
        &mut self,
        comparison: &Comparison<'_>,
    ) -> Result<BTreeMap<String, TypeDecision>, Rerun> {
        let mut decided = BTreeMap::new();
        let mut rerun = Rerun::default();
        for (probe, pairs) in self.suites(comparison) {
            let max_drop = self.max_drop(pairs);
            let rules = self.rules(&max_drop);
            let looks = self.types.entry(probe.to_owned()).or_default();
            let means = (self.means, self.are_kept);
            match looks.next(&SwapSuite::of(pairs), &rules, means) {
                FollowUp::Decided(ended) => {
                    decided.extend(governing::by_metric(pairs, ended, (looks, &rules)));
                }
                FollowUp::Rerun(asked) => {
                    rerun.base.extend(asked.base);
                    rerun.head.extend(asked.head);
                }
            }
        }
        match rerun.base.is_empty() && rerun.head.is_empty() {
            true => Ok(decided),
            false => {
                self.looks.has_run_the_base(rerun.base.keys());
                Err(rerun)
            }
        }
    }

    /// The decisions about the types if no more runs are possible.
    fn types_as_they_are(&self, comparison: &Comparison<'_>) -> BTreeMap<String, TypeDecision> {
        let suites = self.suites(comparison).into_iter();
        let decided = suites.flat_map(|(probe, pairs)| {
            let max_drop = self.max_drop(pairs);
            let looks = self.types.get(probe).cloned().unwrap_or_default();
            let rules = self.rules(&max_drop);
            let ended = looks.give_up(&SwapSuite::of(pairs), &rules);
            governing::by_metric(pairs, ended, (&looks, &rules))
        });
        decided.collect()
    }

    /// The answers of each probe that declares governing types.
    fn suites<'c>(&self, comparison: &'c Comparison<'_>) -> Vec<(&'c str, &'c AnswerPairs)> {
        let answers = comparison.answers.iter();
        answers
            .filter(|(_, pairs)| !pairs.types.is_empty() && self.incomparable.is_none())
            .map(|(probe, pairs)| (*probe, pairs))
            .collect()
    }

    /// How much each type may lose.
    fn max_drop(&self, pairs: &AnswerPairs) -> Vec<governing::LossLimit> {
        let metrics = pairs.types.iter();
        let limits = metrics.map(|(_, metric)| governing::LossLimit {
            max_drop: self.policy.max_drop(metric),
            is_whole: self.policy.is_set_for(metric),
        });
        limits.collect()
    }

    fn rules<'m>(&self, max_drop: &'m [governing::LossLimit]) -> governing::SuiteRules<'m> {
        governing::SuiteRules {
            max_drop,
            is_exact: self.policy.is_exact(),
        }
    }

    /// The looks at the cases with the same name, for every metric whose inputs changed.
    fn unpaired(&self, comparison: &Comparison<'_>) -> BTreeMap<String, unpaired::SameNames> {
        match self.incomparable {
            Some(_) => BTreeMap::new(),
            None => unpaired::looks(comparison, self.policy),
        }
    }

    /// How the looks at the cases with the same name ended, if they are open.
    const fn unpaired_ending(&self) -> LooksEnding {
        match (self.ran_unpaired, self.gave_up) {
            (true, _) => LooksEnding::StillOpen,
            (false, true) if self.asked > 0 => LooksEnding::BudgetSpent,
            (false, true) => LooksEnding::NoBudget,
            (false, false) if self.was_rerun_before => LooksEnding::RerunBefore,
            (false, false) => LooksEnding::NoRerun,
        }
    }

    /// The cases to run again if the cases with the same name are worse than allowed; this happens once. A pipeline
    /// that is declared deterministic would give the same answers again.
    fn unpaired_rerun(&self, comparison: &Comparison<'_>) -> WantedRepeats {
        let mut cases = BTreeMap::new();
        let runs = self.means.head_runs.min(unpaired::MOST_RUNS);
        if self.ran_unpaired || self.policy.is_exact() || runs < 2 {
            return cases;
        }
        for (id, seen) in self.unpaired(comparison) {
            let metric = &comparison.metrics[id.as_str()];
            if metric.cannot_rerun {
                continue;
            }
            if self.policy.attention(&id, metric) == Attention::Gate && seen.is_beyond() {
                cases.extend(seen.moved(runs));
            }
        }
        cases
    }

    /// The metrics of one kind that can be looked at, with their cases.
    fn subjects(
        &self,
        comparison: &Comparison<'_>,
        attention: Attention,
    ) -> impl Iterator<Item = (String, GatedMetric)> {
        comparison
            .metrics
            .iter()
            .filter(|_| self.incomparable.is_none())
            .filter(|(_, metric)| metric.presence == Presence::Both)
            .filter(move |(id, _)| !is_of_type(comparison, id))
            .filter(move |(id, metric)| self.policy.attention(id, metric) == attention)
            .map(move |(id, metric)| {
                let stored = comparison.stored.iter();
                let stored: Vec<_> = stored
                    .filter_map(|stored| stored.metric(id))
                    .filter(|_| !self.policy.is_exact())
                    .collect();
                let is_fresh = |case: &str| self.looks.has_run_the_base_of(case);
                let subject =
                    subject::gated_metric(metric, self.policy.max_drop(id), (&stored, &is_fresh));
                ((*id).to_owned(), subject)
            })
            .filter(|(_, subject)| !subject.cases.is_empty())
    }

    /// The metrics that the configuration requires of every item and whose mean is not gated.
    fn declared(&self, comparison: &Comparison<'_>) -> BTreeMap<String, GatedMetric> {
        let metrics = comparison.metrics.iter();
        let declared = metrics
            .filter(|(_, metric)| metric.is_declared && metric.presence == Presence::Both)
            .filter(|(id, metric)| {
                let is_chosen = self
                    .policy
                    .metrics
                    .get(**id)
                    .is_some_and(|one| one.policy.is_some());
                !is_chosen && self.policy.attention(id, metric) == Attention::Info
            })
            .filter(|_| self.incomparable.is_none())
            .map(|(id, metric)| {
                let subject =
                    subject::gated_metric(metric, self.policy.max_drop(id), (&[], &|_| true));
                ((*id).to_owned(), subject)
            });
        declared.collect()
    }

    /// Whether this is the only look at these runs: no run was chosen because of the results of earlier runs.
    const fn is_the_only_look(&self) -> bool {
        self.means.head_runs < 2 && self.asked == 0 && !self.was_rerun_before
    }

    /// The cases that broke or may have broken, and the runs that are needed before that can be decided.
    fn broken(
        &self,
        comparison: &Comparison<'_>,
        subjects: &BTreeMap<String, GatedMetric>,
        decisions: &BTreeMap<String, MetricDecision>,
    ) -> (Vec<BrokenCase>, Rerun) {
        let (mut broken, mut rerun) = (Vec::new(), Rerun::default());
        if self.policy.rule == Rule::Threshold {
            return (broken, rerun);
        }
        let declared = self.declared(comparison);
        let mut all: Vec<(&String, &GatedMetric)> = subjects.iter().chain(&declared).collect();
        // An item without an answer also has no values, and one that breaks a requirement is worse in other metrics
        // too: each is reported once, by the first of these metrics.
        all.sort_by_key(|(id, subject)| {
            let is_declared = comparison.metrics[id.as_str()].is_declared;
            (!subject.is_failure_rate, !is_declared)
        });
        for (id, subject) in all {
            let pair = &comparison.metrics[id.as_str()];
            let demand = Demand {
                scale: subject.scale(),
                is_declared: pair.is_declared || pair.is_failure_rate,
                by_rank: pair.by_rank,
            };
            // If the metric is already a regression, no case is run again just to report single cases.
            let regressed = decisions
                .get(id)
                .and_then(|decision| decision.look.as_ref().ok())
                .is_some_and(|look| look.outcome == LookOutcome::Regression);
            let kind = (self.policy.deterministic, demand);
            let guard = UsualBreaks::of(&subject.cases, subjects.len(), kind);
            let together: BTreeMap<usize, BrokenFinding> = match self.is_the_only_look() {
                true => guard.together(&subject.cases).into_iter().collect(),
                false => BTreeMap::new(),
            };
            // If too much is missing, the metric itself reports that.
            let is_lacking = pair
                .coverage
                .whole
                .misses_more_than(self.policy.max_missing);
            let edited = match demand.is_declared {
                true => unpaired::edited(pair),
                false => Vec::new(),
            };
            let edited = edited.iter().map(|(name, case)| (name, case, None, false));
            let own = (subject.names.iter().zip(&subject.cases)).zip(0..);
            let own = own.map(|((name, case), place)| {
                let has_base = self.means.base && !self.looks.has_run_the_base_of(name);
                (name, case, together.get(&place), has_base)
            });
            // What was removed is counted among what is missing, with the limit that is set for it.
            let is_removed = |name: &str| {
                let paired = pair.cases.get(name);
                paired.is_some_and(|paired| paired.change == Change::Removed)
            };
            for (name, case, together, may_run_base) in own.chain(edited) {
                if is_removed(name) || is_lacking && !pair.is_failure_rate {
                    continue;
                }
                let may_rerun = self.means.head_runs > 1 && !regressed && !pair.cannot_rerun;
                if may_rerun && may_run_base && guard.wants_base_runs(case) {
                    let raise = |side: &mut WantedRepeats, runs| {
                        let most = side.entry(name.clone()).or_default();
                        most.raise(&Repeats::of_all(runs).into());
                    };
                    raise(&mut rerun.base, broken::FEWEST_BASE_RUNS);
                    raise(&mut rerun.head, case.head_runs() + 1);
                    continue;
                }
                let found = together.copied();
                let found = found.unwrap_or_else(|| guard.judge(case, may_rerun));
                let (certain, bad, runs) = match found {
                    BrokenFinding::Clear => continue,
                    BrokenFinding::Suspected { .. } if regressed => continue,
                    // The failure rate itself reports missing answers.
                    _ if regressed && subject.is_failure_rate => continue,
                    _ if is_told(&broken, name, id) => continue,
                    BrokenFinding::Rerun(runs) => {
                        let most = rerun.head.entry(name.clone()).or_default();
                        most.raise(&Repeats::of_all(runs).into());
                        continue;
                    }
                    BrokenFinding::Broken { bad, runs } => (true, bad, runs),
                    BrokenFinding::Suspected { bad, runs } => (false, bad, runs),
                };
                broken.push(BrokenCase {
                    case: name.clone(),
                    metric: id.clone(),
                    certain,
                    bad,
                    runs,
                    valueless: broken::is_unanswered(case),
                });
            }
        }
        (broken, rerun)
    }
}

/// Whether an item of the same probe was already reported as broken.
fn is_told(broken: &[BrokenCase], case: &str, metric: &str) -> bool {
    let mut broken = broken.iter();
    broken.any(|one| one.certain && one.case == case && probe_of(&one.metric) == probe_of(metric))
}

/// Whether a metric is judged by the swaps of a governing type, not by its mean.
fn is_of_type(comparison: &Comparison<'_>, id: &str) -> bool {
    let mut types = comparison.answers.values().flat_map(|pairs| &pairs.types);
    types.any(|(_, metric)| metric == id)
}

/// A re-run of the head only.
fn of_head(cases: WantedRepeats) -> Rerun {
    Rerun {
        base: WantedRepeats::new(),
        head: cases,
    }
}

#[cfg(test)]
mod tests;
