//! The sequence of looks: which cases are run again before there is a verdict, and how much of the
//! false alarms each look may spend. It says what to run; the caller runs it.

mod tested;

use std::collections::BTreeMap;

use super::look::{self, Basis, Case, Look, Noise, Outcome, Question, Unmeasured};
use tested::tested;

/// How often an unstable case has been run on the head when each look is taken.
const REPEATS: [usize; 3] = [1, 3, 5];

/// The probability of a false alarm spent up to and including each look (alpha spending: Lan and
/// DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983). The first
/// look spends none: one run of the head never makes a regression.
const SPENT: [f64; 3] = [0.0, 0.02, 0.05];

/// How often a case is run on the head at most.
pub(super) const MOST_RUNS: usize = REPEATS[LAST];

/// The last look.
const LAST: usize = REPEATS.len() - 1;

/// With one run of the head and no other possible, fewer cases than this that moved are too few
/// for a regression.
const FEWEST_MOVED: usize = 5;

/// One gated metric: its cases by name, in the same order at every look.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The names of the cases.
    pub(crate) names: Vec<String>,
    /// The cases, as many.
    pub(crate) cases: Vec<Case>,
    /// A drop beyond this is a regression.
    pub(crate) max_drop: f64,
    /// Whether it says how often there was no answer, and nothing of the answers.
    pub(crate) is_failure_rate: bool,
}

/// What may be run between the looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Means {
    /// How often a case of the head may be run in all; below 3 there is no re-run.
    pub(crate) head_runs: usize,
    /// Whether a base that was measured at another time can be run again beside the head; then no
    /// regression is called against the old one.
    pub(crate) base: bool,
}

/// What to do next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Run cases again, never from the cache, and look again.
    Rerun(Rerun),
    /// Every metric is decided.
    Decided(BTreeMap<String, Decision>),
}

/// Which cases to run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rerun {
    /// On which side. Runs of the head are added to those there are; runs of the base take the
    /// place of the stored ones.
    pub(crate) side: Side,
    /// How many runs of each case there should be in all.
    pub(crate) cases: BTreeMap<String, usize>,
}

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// What the change is compared with.
    Base,
    /// The change.
    Head,
}

/// How one metric came out.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// The look that decided, or the last one; or why there was nothing to look at.
    pub(crate) look: Result<Look, Unmeasured>,
    /// How it came to its end.
    pub(crate) ending: Ending,
}

/// How the looks at a metric came to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// There is a verdict.
    Decided,
    /// All re-runs were made and it is still open.
    StillOpen,
    /// It is open, and nothing could be run again, or nothing was to be.
    NoRerun,
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
    pub(crate) const fn was_rerun(self) -> bool {
        matches!(
            self,
            Self::StillOpen | Self::BudgetSpent | Self::AnswersKept
        )
    }
}

/// The looks at all gated metrics.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    noise: Noise,
    max_missing: f64,
    means: Means,
    base_is_fresh: bool,
    answers_are_kept: bool,
    states: BTreeMap<String, State>,
}

#[derive(Clone, Debug)]
enum State {
    /// The next look to take at least, what the looks before it spent, and what those before the
    /// last one spent.
    Open {
        next: usize,
        spent: f64,
        before: f64,
    },
    Closed(Decision),
}

/// What one metric needs before its next look.
enum Need {
    Nothing(Decision),
    Base(BTreeMap<String, usize>),
    Head {
        cases: BTreeMap<String, usize>,
        taken: usize,
    },
}

impl Looks {
    /// Before the first look. `deterministic`: the configuration declares that the pipeline is.
    pub(crate) const fn new(means: Means, deterministic: bool, max_missing: f64) -> Self {
        Self {
            noise: if deterministic {
                Noise::Declared
            } else {
                Noise::Repeats
            },
            max_missing,
            means,
            base_is_fresh: false,
            answers_are_kept: false,
            states: BTreeMap::new(),
        }
    }

    /// Says whether the pipeline answered repeats of the head from memory, so that they count as one.
    pub(crate) const fn answers_are_kept(&mut self, are_kept: bool) {
        self.answers_are_kept = are_kept;
    }

    /// Looks at what was run so far. The subjects are the same metrics every time.
    pub(crate) fn next(&mut self, subjects: &BTreeMap<String, Subject>) -> Step {
        let gated = tested(subjects);
        let (mut base, mut head) = (BTreeMap::new(), BTreeMap::new());
        for (id, subject) in subjects {
            let state = self.states.get(id).cloned();
            let (next, spent, before) = match state {
                Some(State::Closed(_)) => continue,
                Some(State::Open {
                    next,
                    spent,
                    before,
                }) => (next, spent, before),
                None => (0, 0.0, 0.0),
            };
            let state = match self.need(subject, gated, next, spent) {
                Need::Nothing(decision) => State::Closed(decision),
                Need::Base(cases) => {
                    merge(&mut base, cases);
                    State::Open {
                        next,
                        spent,
                        before,
                    }
                }
                Need::Head { cases, taken } => {
                    merge(&mut head, cases);
                    State::Open {
                        next: taken + 1,
                        spent: SPENT[taken],
                        before: spent,
                    }
                }
            };
            self.states.insert(id.clone(), state);
        }
        // The re-run of a base comes first: the same look is then taken again.
        if !base.is_empty() {
            self.base_is_fresh = true;
            return rerun(Side::Base, base);
        }
        if !head.is_empty() {
            return rerun(Side::Head, head);
        }
        Step::Decided(self.decisions())
    }

    /// Ends all looks that are still open, because nothing more may be run. The look that was taken
    /// last becomes the last one, and may spend all of alpha that the looks before it left: what it
    /// has called a regression with a part of alpha, it calls one with all of it.
    pub(crate) fn give_up(
        &mut self,
        subjects: &BTreeMap<String, Subject>,
    ) -> BTreeMap<String, Decision> {
        let gated = tested(subjects);
        for (id, subject) in subjects {
            let (next, before) = match self.states.get(id) {
                Some(State::Closed(_)) => continue,
                Some(State::Open { next, before, .. }) => (*next, *before),
                None => (0, 0.0),
            };
            let look = |alpha| look::look(&subject.cases, &self.question(subject, gated, alpha));
            let decision = match look(0.0) {
                // The last look was the first, with one run of the head, unless a later one was taken.
                Ok(first)
                    if reached(subject, &first).max(next.saturating_sub(1)) == 0
                        && !self.answers_are_kept =>
                {
                    let first = self.without_repeats(subject, gated, first);
                    self.decided(Ok(first), Ending::NoBudget)
                }
                Ok(first) => {
                    let last = careful(look(SPENT[LAST] - before), &first);
                    self.decided(last, Ending::BudgetSpent)
                }
                unmeasured => self.decided(unmeasured, Ending::NoBudget),
            };
            self.states.insert(id.clone(), State::Closed(decision));
        }
        self.decisions()
    }

    /// Whether the base was run again beside the head.
    #[cfg(test)]
    pub(crate) const fn base_is_fresh(&self) -> bool {
        self.base_is_fresh
    }

    fn need(&self, subject: &Subject, gated: usize, next: usize, spent: f64) -> Need {
        let look = |alpha: f64| look::look(&subject.cases, &self.question(subject, gated, alpha));
        let first = match look(0.0) {
            Ok(first) if first.outcome == Outcome::Inconclusive => first,
            done => return Need::Nothing(self.decided(done, Ending::Decided)),
        };
        // What was run may allow for a later look at once; it spends what the skipped ones did not.
        let taken = reached(subject, &first).max(next).min(LAST);
        let last = last_within(self.means.head_runs);
        if taken == 0 && last == 0 {
            let look = self.without_repeats(subject, gated, first);
            return Need::Nothing(self.decided(Ok(look), Ending::NoRerun));
        }
        let is_last = taken >= last;
        let until_now = if is_last { SPENT[LAST] } else { SPENT[taken] };
        match careful(look(until_now - spent), &first) {
            Ok(look)
                if look.outcome == Outcome::Regression
                    && self.means.base
                    && !self.base_is_fresh =>
            {
                Need::Base(wanted(subject, &look, REPEATS[taken]))
            }
            Ok(look) if look.outcome == Outcome::Inconclusive && !is_last => Need::Head {
                cases: wanted(subject, &look, REPEATS[taken + 1]),
                taken,
            },
            look if last == 0 => Need::Nothing(self.decided(look, Ending::NoRerun)),
            look => Need::Nothing(self.decided(look, Ending::StillOpen)),
        }
    }

    /// One run of the head and no other possible: the drop must stand out from the differences
    /// between at least five cases that moved.
    fn without_repeats(&self, subject: &Subject, gated: usize, first: Look) -> Look {
        let question = Question {
            noise: Noise::Cases,
            ..self.question(subject, gated, SPENT[LAST])
        };
        match look::look(&subject.cases, &question) {
            Ok(look) if look.outcome == Outcome::Regression && look.moved >= FEWEST_MOVED => look,
            _ => first,
        }
    }

    /// How it ended, if the look left it open; else it is decided.
    fn decided(&self, look: Result<Look, Unmeasured>, open: Ending) -> Decision {
        let ending = match &look {
            Ok(look) if look.outcome == Outcome::Inconclusive => match open {
                Ending::NoRerun => open,
                _ if self.answers_are_kept => Ending::AnswersKept,
                _ if open.was_rerun() && look.is_unconfirmed => Ending::RerunsFailed,
                _ => open,
            },
            _ => Ending::Decided,
        };
        Decision { look, ending }
    }

    const fn question(&self, subject: &Subject, gated: usize, alpha: f64) -> Question {
        Question {
            max_drop: subject.max_drop,
            alpha,
            gated,
            noise: self.noise,
            max_missing: self.max_missing,
        }
    }

    fn decisions(&self) -> BTreeMap<String, Decision> {
        self.states
            .iter()
            .filter_map(|(id, state)| match state {
                State::Closed(decision) => Some((id.clone(), decision.clone())),
                State::Open { .. } => None,
            })
            .collect()
    }
}

/// The same look, but no regression that rests on single runs alone unless enough cases moved.
fn careful(look: Result<Look, Unmeasured>, first: &Look) -> Result<Look, Unmeasured> {
    match look {
        Ok(look) if look.basis == Basis::Cases && look.moved < FEWEST_MOVED => match look.outcome {
            Outcome::Regression => Ok(first.clone()),
            Outcome::Pass | Outcome::Inconclusive => Ok(look),
        },
        look => look,
    }
}

/// The last look that every unstable case has been run often enough for.
fn reached(subject: &Subject, look: &Look) -> usize {
    let runs = look
        .unstable
        .iter()
        .map(|at| subject.cases[*at].head_runs());
    last_within(runs.min().unwrap_or(0))
}

/// The last look that so many runs are enough for.
fn last_within(runs: usize) -> usize {
    REPEATS
        .iter()
        .rposition(|repeats| runs >= *repeats)
        .unwrap_or(0)
}

/// The unstable cases, and how many runs of each there should be.
fn wanted(subject: &Subject, look: &Look, repeats: usize) -> BTreeMap<String, usize> {
    look.unstable
        .iter()
        .map(|at| (subject.names[*at].clone(), repeats))
        .collect()
}

fn merge(all: &mut BTreeMap<String, usize>, more: BTreeMap<String, usize>) {
    for (case, repeats) in more {
        let most = all.entry(case).or_default();
        *most = repeats.max(*most);
    }
}

const fn rerun(side: Side, cases: BTreeMap<String, usize>) -> Step {
    Step::Rerun(Rerun { side, cases })
}

#[cfg(test)]
mod tests;
