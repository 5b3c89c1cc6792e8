//! The sequence of looks: what is run again before there is a verdict, and how much of the false alarms
//! each look may spend. It says what to run; the caller runs it.

mod allocate;
mod hope;
mod tested;

use std::collections::{BTreeMap, BTreeSet};

use super::look::{self, Basis, Case, Look, Noise, Outcome, Question, Unmeasured};
use allocate::{Allocation, Open};
use kelvin_record::WantedRepeats;
use tested::tested;

/// How many looks there are after the first one at most.
const ROUNDS: usize = 4;

/// The probability of a false alarm that every look after the first one may spend. Equal parts are those
/// of Pocock, "Group sequential methods in the design and analysis of clinical trials", Biometrika 64
/// (1977), whose bound for four looks and 0.05 in all is 0.0194; it is less here, because variances that
/// are known from few runs are too small now and then.
const ALPHA_OF_A_LOOK: f64 = 0.012;

/// All of it, for a look that is the only one.
const ALPHA: f64 = 0.05;

/// A case that was run so often on the head before the first look is not run again before a regression
/// may be called.
const ENOUGH_RUNS: usize = 3;

/// With one run of the head and no other possible, fewer cases than this that moved are too few
/// for a regression.
const FEWEST_MOVED: usize = 5;

/// One gated metric: its cases by name, in the same order at every look.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The names of the cases.
    pub names: Vec<String>,
    /// The cases, as many.
    pub cases: Vec<Case>,
    /// A drop beyond this is a regression.
    pub max_drop: f64,
    /// No drop can be wider than this: the width of the metric's range, infinite where that is open.
    pub widest: f64,
    /// Whether it says how often there was no answer, and nothing of the answers.
    pub is_failure_rate: bool,
}

/// What may be run between the looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// How often an input of the head may be run in all; below 2 there is no re-run.
    pub head_runs: usize,
    /// Whether the base can be run again beside the head. Then it is, wherever something is open, and no
    /// regression is called against a base that was measured at another time.
    pub base: bool,
}

/// What to do next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Run cases again, never from the cache, and look again.
    Rerun(Rerun),
    /// Every metric is decided.
    Decided(BTreeMap<String, Decision>),
}

/// What to run again: how often each input should have been run in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rerun {
    /// On the base. The first runs of a case take the place of the stored ones.
    pub base: WantedRepeats,
    /// On the head. They are added to those that there are.
    pub head: WantedRepeats,
}

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What the change is compared with.
    Base,
    /// The change.
    Head,
}

/// How one metric came out.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The look that decided, or the last one; or why there was nothing to look at.
    pub look: Result<Look, Unmeasured>,
    /// How it came to its end.
    pub ending: Ending,
}

/// How the looks at a metric came to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is a verdict.
    Decided,
    /// It is open after all re-runs, or nothing that could be afforded would decide it.
    StillOpen,
    /// It is open, and nothing could be run again, or nothing was to be.
    NoRerun,
    /// It is open in a finished report, whose run has run doubtful cases again.
    RerunBefore,
    /// It is open, and the budget does not allow the first re-run.
    NoBudget,
    /// It is open, and the budget ran out after the first re-runs.
    BudgetSpent,
    /// It is open, because the re-runs of the cases that the drop comes from gave no values.
    RerunsFailed,
    /// It is open, because the pipeline answered the re-runs from memory.
    AnswersKept,
}

impl Ending {
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
    /// Whether something was run again for another judgement than these looks.
    was_run_again: bool,
    /// How many looks were taken after something was run again.
    rounds: usize,
    /// How many calls there were to spend before the first re-run.
    calls: usize,
    /// The cases whose base was run beside the head.
    fresh: BTreeSet<String>,
    decided: BTreeMap<String, Decision>,
    /// The last look at every metric that is open.
    open: BTreeMap<String, Look>,
}

impl Looks {
    /// Before the first look. `deterministic`: the configuration declares that the pipeline is.
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

    /// Says whether the pipeline answered repeats of the head from memory, so that they count as one.
    pub const fn answers_are_kept(&mut self, are_kept: bool) {
        self.answers_are_kept = are_kept;
    }

    /// Whether the base of a case was to be run beside the head, so that what was stored of it counts no more.
    pub fn has_run_the_base_of(&self, case: &str) -> bool {
        self.fresh.contains(case)
    }

    /// Says that something was run again for another judgement, and the base of these cases beside the head.
    pub fn has_run_the_base<'c>(&mut self, cases: impl Iterator<Item = &'c String>) {
        self.was_run_again = true;
        self.fresh.extend(cases.cloned());
    }

    /// Looks at what was run so far, of the same metrics every time. `calls`: how many may still be made, on both sides.
    pub fn next(&mut self, subjects: &BTreeMap<String, Subject>, calls: usize) -> Step {
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
                done => self.close(id, done, Ending::Decided),
            }
        }
        if self.open.is_empty() {
            return Step::Decided(self.decided.clone());
        }
        if self.means.head_runs < 2 && !self.means.base {
            return Step::Decided(self.end(subjects, Ending::NoRerun));
        }
        if self.rounds >= ROUNDS {
            return Step::Decided(self.end(subjects, Ending::StillOpen));
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
                .any(|open| hope::is_there(open, &allocation)) =>
            {
                return Step::Decided(self.end(subjects, Ending::StillOpen));
            }
            _ => allocation
                .next(&doubtful, self.calls / ROUNDS)
                .or_else(|| allocation.next(&doubtful, calls)),
        };
        let Some(rerun) = rerun else {
            let ending = match self.rounds {
                0 if !self.was_run_again => Ending::NoBudget,
                _ => Ending::BudgetSpent,
            };
            return Step::Decided(self.end(subjects, ending));
        };
        self.fresh.extend(rerun.base.keys().cloned());
        self.rounds += 1;
        Step::Rerun(rerun)
    }

    /// Looks again at what is decided, so that every figure is one of all runs. What would not pass any more is open
    /// again, with its share of the false alarms from there on. A regression, or what was left open, stays so.
    fn look_again(&mut self, subjects: &BTreeMap<String, Subject>) {
        let gated = self.undecided(subjects) + 1;
        for (id, Decision { look, ending }) in std::mem::take(&mut self.decided) {
            let before = look.as_ref().ok().map(|look| look.outcome);
            let decision = match (before, self.look(&subjects[&id], gated)) {
                (Some(Outcome::Pass), Ok(now)) if now.outcome != Outcome::Pass => continue,
                (Some(was), Ok(now)) if was == now.outcome => Decision {
                    look: Ok(now),
                    ending,
                },
                _ => Decision { look, ending },
            };
            self.decided.insert(id, decision);
        }
    }

    /// Ends all looks that are still open, because what they asked for could not be run.
    pub fn give_up(&mut self, subjects: &BTreeMap<String, Subject>) -> BTreeMap<String, Decision> {
        // Where the budget ended before the first look, there is one look at what was run.
        if self.open.is_empty()
            && self.decided.is_empty()
            && let Step::Decided(decided) = self.next(subjects, 0)
        {
            return decided;
        }
        // The last re-run that was asked for was not made.
        self.rounds = self.rounds.saturating_sub(1);
        let ending = match self.rounds {
            0 if !self.was_run_again => Ending::NoBudget,
            _ => Ending::BudgetSpent,
        };
        self.end(subjects, ending)
    }

    /// Takes the look that the runs so far allow: the first one spends nothing, unless the cases that
    /// moved were run often enough before it.
    fn look(&self, subject: &Subject, gated: usize) -> Result<Look, Unmeasured> {
        let first = look::look(&subject.cases, &self.question(subject, gated, 0.0))?;
        // What another judgement had run again was chosen by the luck of the head, and that of the base stays.
        let has_enough = !self.was_run_again && runs(subject, &first) >= ENOUGH_RUNS;
        let may_spend = self.rounds > 0 || has_enough;
        if first.outcome != Outcome::Inconclusive || !may_spend {
            return Ok(first);
        }
        let alpha = if self.means.head_runs < 2 {
            ALPHA
        } else {
            ALPHA_OF_A_LOOK
        };
        let look = look::look(&subject.cases, &self.question(subject, gated, alpha))?;
        Ok(careful(look, first))
    }

    /// Whether more must be run before the look counts.
    fn is_open(&self, look: &Look) -> bool {
        match look.outcome {
            Outcome::Inconclusive => true,
            // It may be the day of the base that the drop comes from.
            Outcome::Regression => {
                self.rounds == 0 && self.means.base && self.noise != Noise::Declared
            }
            Outcome::Pass => false,
        }
    }

    /// The open metrics that further runs are for. Once one is a regression, only those that may be one
    /// too: the job fails anyway.
    fn doubtful<'s>(&'s self, subjects: &'s BTreeMap<String, Subject>) -> Vec<Open<'s>> {
        let is_regression = |decision: &Decision| {
            let look = decision.look.as_ref();
            look.is_ok_and(|look| look.outcome == Outcome::Regression)
        };
        let has_failed = self.decided.values().any(is_regression);
        let open = self.open.iter();
        open.filter(|(_, look)| !has_failed || look.reason == look::Reason::Suspected)
            .map(|(id, look)| Open {
                subject: &subjects[id],
                look,
            })
            .collect()
    }

    /// Among how many metrics a look divides its false alarms: those that are not decided yet. What has passed
    /// gives none any more, so that a probe which passes at once takes no power from its neighbours.
    fn undecided(&self, subjects: &BTreeMap<String, Subject>) -> usize {
        let open = subjects.iter();
        tested(open.filter_map(|(id, subject)| (!self.decided.contains_key(id)).then_some(subject)))
    }

    /// Closes everything that is open.
    fn end(
        &mut self,
        subjects: &BTreeMap<String, Subject>,
        ending: Ending,
    ) -> BTreeMap<String, Decision> {
        let gated = tested(subjects.values());
        for (id, look) in std::mem::take(&mut self.open) {
            let subject = &subjects[&id];
            let is_first = self.rounds == 0 && runs(subject, &look) < ENOUGH_RUNS;
            let look = match ending {
                Ending::NoRerun | Ending::NoBudget if is_first && !self.answers_are_kept => {
                    self.without_repeats(subject, gated, look)
                }
                // What another judgement had run again is all that there is. It is looked at once.
                Ending::BudgetSpent if self.rounds == 0 => self.last_look(subject, gated, look),
                _ => look,
            };
            self.close(&id, Ok(look), ending);
        }
        self.decided.clone()
    }

    /// One run of the head and no other possible: the drop must stand out from the differences
    /// between at least five cases that moved.
    fn without_repeats(&self, subject: &Subject, gated: usize, first: Look) -> Look {
        let question = Question {
            noise: Noise::Cases,
            ..self.question(subject, gated, ALPHA)
        };
        match look::look(&subject.cases, &question) {
            Ok(look) if look.outcome == Outcome::Regression && look.moved >= FEWEST_MOVED => look,
            _ => first,
        }
    }

    /// The look at what was run for another judgement.
    fn last_look(&self, subject: &Subject, gated: usize, first: Look) -> Look {
        let question = self.question(subject, gated, ALPHA_OF_A_LOOK);
        match look::look(&subject.cases, &question) {
            Ok(look) => careful(look, first),
            Err(_) => first,
        }
    }

    /// Notes how it ended, if the look left it open; else it is decided.
    fn close(&mut self, id: &str, look: Result<Look, Unmeasured>, open: Ending) {
        let ending = match &look {
            Ok(look) if look.outcome == Outcome::Inconclusive => match open {
                Ending::NoRerun => open,
                _ if self.answers_are_kept => Ending::AnswersKept,
                _ if open.was_rerun() && look.is_unconfirmed => Ending::RerunsFailed,
                _ => open,
            },
            _ => Ending::Decided,
        };
        self.decided
            .insert(id.to_owned(), Decision { look, ending });
    }

    const fn question(&self, subject: &Subject, gated: usize, alpha: f64) -> Question {
        Question {
            max_drop: subject.max_drop,
            widest: subject.widest,
            alpha,
            gated,
            noise: self.noise,
            max_missing: self.max_missing,
        }
    }
}

/// The same look, but no regression that rests on single runs alone unless enough cases moved.
fn careful(look: Look, first: Look) -> Look {
    let is_of_single_runs = look.basis == Basis::Cases && look.moved < FEWEST_MOVED;
    match look.outcome {
        Outcome::Regression if is_of_single_runs => first,
        _ => look,
    }
}

/// Whether all that is in doubt was repeated on the head before the first look.
fn has_repeats(open: &[Open<'_>]) -> bool {
    let runs = open.iter().map(|open| runs(open.subject, open.look));
    runs.min().is_some_and(|runs| runs >= ENOUGH_RUNS)
}

/// How often every unstable case was run on the head at least.
fn runs(subject: &Subject, look: &Look) -> usize {
    let runs = look.unstable.iter();
    let runs = runs.map(|at| subject.cases[*at].head_runs());
    runs.min().unwrap_or(0)
}

#[cfg(test)]
mod again_tests;
#[cfg(test)]
mod tests;
