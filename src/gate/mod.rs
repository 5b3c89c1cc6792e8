//! The gate: tells a drop from noise, and by its policy says whether the head may pass.
//!
//! A caller asks [`Gate::next`] until there is a verdict, and runs in between what it is told to.

pub(crate) mod approval;
mod approved;
mod assemble;
pub(crate) mod broken;
pub(crate) mod changes;
pub(crate) mod drift;
pub(crate) mod flips;
pub(crate) mod judgement;
pub(crate) mod look;
pub(crate) mod looks;
mod losses;
pub(crate) mod opening;
pub(crate) mod policy;
mod reason;
pub(crate) mod reproduce;
mod sentence;
mod subject;
mod unpaired;
pub(crate) mod verdict;

use std::collections::BTreeMap;

use crate::baseline::compare::{Comparison, Presence};
use crate::probe::{Repeats, WantedRepeats};
use broken::{Finding, Guard};
pub(crate) use judgement::Judgement;
use look::Outcome;
use looks::{Decision, Looks, Means, Rerun, Step, Subject};
use policy::{Attention, Policy, Rule};
use verdict::{BrokenCase, Verdict};

/// The gate of one comparison.
#[derive(Clone, Debug)]
pub(crate) struct Gate<'a> {
    policy: &'a Policy,
    means: Means,
    /// Why the two sides cannot be compared at all, where they cannot.
    incomparable: Option<String>,
    looks: Looks,
    /// Whether cases whose inputs changed were to be run again.
    asked_unpaired: bool,
    /// Whether cases whose inputs changed were run again.
    ran_unpaired: bool,
}

/// What to do next.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// Run cases again and ask again, with the comparison made anew.
    Rerun(Rerun),
    /// This is the verdict.
    Verdict(Box<Verdict>),
}

impl<'a> Gate<'a> {
    /// A gate with a policy. `base`: whether the base is a stored one that can be run again beside
    /// the head. `head`: whether the head can. `incomparable`: why nothing can be compared.
    pub(crate) fn new(
        policy: &'a Policy,
        head: bool,
        base: bool,
        incomparable: Option<String>,
    ) -> Self {
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
            // What is lost is judged of the comparison as a whole.
            looks: Looks::new(means, policy.is_exact(), 1.0),
            asked_unpaired: false,
            ran_unpaired: false,
        }
    }

    /// Says whether the pipeline answered repeats of the head from memory.
    pub(crate) const fn answers_are_kept(&mut self, are_kept: bool) {
        self.looks.answers_are_kept(are_kept);
    }

    /// Whether noise can explain a drop, so that repeats tell something.
    pub(crate) fn reads_noise(&self) -> bool {
        !self.policy.is_exact() && self.incomparable.is_none()
    }

    /// Looks at what was run so far. `calls`: how many calls may still be made, on both sides together.
    pub(crate) fn next(&mut self, comparison: &Comparison<'_>, calls: usize) -> Next {
        // Whoever asks again has run what it was told to; whoever gives up has not.
        self.ran_unpaired |= self.asked_unpaired;
        let gated = self.subjects(comparison, Attention::Gate);
        let decisions = match self.looks.next(&gated, calls) {
            Step::Rerun(rerun) => return Next::Rerun(rerun),
            Step::Decided(decisions) => decisions,
        };
        let cases = self.unpaired_rerun(comparison, gated.len());
        if !cases.is_empty() {
            self.asked_unpaired = true;
            return Next::Rerun(of_head(cases));
        }
        let (broken, cases) = self.broken(comparison, &gated, &decisions);
        if !cases.is_empty() {
            return Next::Rerun(of_head(cases));
        }
        Next::Verdict(Box::new(self.verdict(comparison, decisions, broken)))
    }

    /// The verdict when nothing more may be run: what is open stays open.
    pub(crate) fn give_up(&mut self, comparison: &Comparison<'_>) -> Verdict {
        let gated = self.subjects(comparison, Attention::Gate);
        let decisions = self.looks.give_up(&gated);
        self.means.head_runs = 1;
        let (broken, _) = self.broken(comparison, &gated, &decisions);
        self.verdict(comparison, decisions, broken)
    }

    fn verdict(
        &self,
        comparison: &Comparison<'_>,
        mut decisions: BTreeMap<String, Decision>,
        broken: Vec<BrokenCase>,
    ) -> Verdict {
        for attention in [Attention::Warn, Attention::Info] {
            for (id, subject) in self.subjects(comparison, attention) {
                let alone = BTreeMap::from([(id, subject)]);
                let still = Means {
                    head_runs: 1,
                    base: false,
                };
                let mut looks = Looks::new(still, self.policy.is_exact(), 1.0);
                if let Step::Decided(decided) = looks.next(&alone, 0) {
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
            unpaired,
            ran_unpaired: self.ran_unpaired,
        }
        .verdict(broken)
    }

    /// The looks at the cases of the same name, of every metric whose inputs changed.
    fn unpaired(&self, comparison: &Comparison<'_>) -> BTreeMap<String, unpaired::Seen> {
        let gated = self.subjects(comparison, Attention::Gate).len();
        comparison
            .metrics
            .iter()
            .filter(|_| self.incomparable.is_none())
            .filter_map(|(id, metric)| {
                let seen = unpaired::look(metric, self.policy, id, gated)?;
                Some(((*id).to_owned(), seen))
            })
            .collect()
    }

    /// The cases to run again, once, because the cases of the same name are worse than allowed. A
    /// pipeline that is declared deterministic would say the same again.
    fn unpaired_rerun(&self, comparison: &Comparison<'_>, gated: usize) -> WantedRepeats {
        let mut cases = BTreeMap::new();
        let runs = self.means.head_runs.min(unpaired::MOST_RUNS);
        if self.ran_unpaired || self.policy.is_exact() || runs < 2 || self.incomparable.is_some() {
            return cases;
        }
        for (id, metric) in &comparison.metrics {
            if self.policy.attention(id, metric) != Attention::Gate {
                continue;
            }
            let seen = unpaired::look(metric, self.policy, id, gated);
            if let Some(seen) = seen.filter(unpaired::Seen::is_beyond) {
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
    ) -> BTreeMap<String, Subject> {
        comparison
            .metrics
            .iter()
            .filter(|_| self.incomparable.is_none())
            .filter(|(_, metric)| metric.presence == Presence::Both)
            .filter(|(id, metric)| self.policy.attention(id, metric) == attention)
            .map(|(id, metric)| {
                let stored = comparison.stored.iter();
                let stored: Vec<_> = stored
                    .filter_map(|stored| stored.metric(id))
                    .filter(|_| !self.policy.is_exact())
                    .collect();
                let is_fresh = |case: &str| self.looks.has_run_the_base_of(case);
                let subject = subject::of(metric, self.policy.max_drop(id), (&stored, &is_fresh));
                ((*id).to_owned(), subject)
            })
            .filter(|(_, subject)| !subject.cases.is_empty())
            .collect()
    }

    /// The cases that broke or may have, and those to run again before that can be said. Metrics of
    /// ranks are left out: from rank 1 to 2 is half of a reciprocal rank, and nothing broke.
    fn broken(
        &self,
        comparison: &Comparison<'_>,
        subjects: &BTreeMap<String, Subject>,
        decisions: &BTreeMap<String, Decision>,
    ) -> (Vec<BrokenCase>, WantedRepeats) {
        let (mut broken, mut rerun) = (Vec::new(), WantedRepeats::new());
        if self.policy.rule == Rule::Threshold {
            return (broken, rerun);
        }
        let by_rank = |id: &str| comparison.metrics.get(id).is_some_and(|pair| pair.by_rank);
        // An answer that is missing is no wrong answer: what is lost is told by case elsewhere.
        let answers = subjects
            .iter()
            .filter(|(id, subject)| !by_rank(id) && !subject.is_failure_rate);
        for (id, subject) in answers {
            // Where the metric is a regression already, nothing is run to say so of single cases.
            let regressed = decisions
                .get(id)
                .and_then(|decision| decision.look.as_ref().ok())
                .is_some_and(|look| look.outcome == Outcome::Regression);
            let guard = Guard::of(&subject.cases, subjects.len(), self.policy.deterministic);
            for (name, case) in subject.names.iter().zip(&subject.cases) {
                let may_rerun = self.means.head_runs > 1 && !regressed;
                let (certain, bad, runs) = match guard.judge(case, may_rerun) {
                    Finding::Clear => continue,
                    Finding::Suspected { .. } if regressed => continue,
                    Finding::Rerun(runs) => {
                        let most = rerun.entry(name.clone()).or_default();
                        *most = most.or_more(Repeats::of_all(runs));
                        continue;
                    }
                    Finding::Broken { bad, runs } => (true, bad, runs),
                    Finding::Suspected { bad, runs } => (false, bad, runs),
                };
                broken.push(BrokenCase {
                    case: name.clone(),
                    metric: id.clone(),
                    certain,
                    bad,
                    runs,
                });
            }
        }
        (broken, rerun)
    }
}

/// A re-run of the head alone.
fn of_head(cases: WantedRepeats) -> Rerun {
    Rerun {
        base: WantedRepeats::new(),
        head: cases,
    }
}

#[cfg(test)]
mod tests;
