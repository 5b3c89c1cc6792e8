//! The looks at a suite, and the re-runs between them. This module decides what to run; the caller runs it.

use super::look::{Status, SuiteLook, TypeFigures, TypeVerdict, look};
use super::{SuiteRules, SwapSuite};
use crate::looks::{LooksEnding, Means, Rerun, Side as Which};
use kelvin_record::{Wanted, WantedRepeats};

/// The number of runs at each look, for the head, and for a base that can be run again.
const LOOKS: [(usize, usize); 4] = [(1, 0), (2, 3), (4, 5), (8, 8)];

/// If a base that can be run again has fewer runs than this, there is no decision about a type that it does not seem to
/// follow.
const FEWEST_BASE_RUNS: usize = 3;

/// What to do next.
#[derive(Clone, Debug)]
pub enum FollowUp {
    /// Make the given runs, and look again.
    Rerun(Rerun),
    /// No more runs are needed: every type is decided or left open.
    Decided(TypeEnding),
}

/// The end of the looks at a suite.
#[derive(Clone, Debug)]
pub struct TypeEnding {
    /// The result for each type, in the order of the suite.
    pub types: Vec<(TypeFigures, Status, TypeVerdict)>,
    /// The names of the cases that were left out, because their answers vary too much on the base.
    pub unsteady: Vec<String>,
    /// How the looks ended.
    pub ending: LooksEnding,
    /// How often the base was run.
    pub base_runs: usize,
}

/// The looks at one suite.
#[derive(Clone, Debug, Default)]
pub struct SuiteLooks {
    /// How often there were re-runs for this suite.
    rounds: usize,
}

impl SuiteLooks {
    /// Looks at all runs so far. `are_kept`: whether the pipeline answers repeats of the head from its own cache.
    pub fn next(
        &mut self,
        suite: &SwapSuite,
        rules: &SuiteRules<'_>,
        (means, are_kept): (Means, bool),
    ) -> FollowUp {
        let (base_runs, head_runs) = suite.draws();
        let can_rerun = means.head_runs > 1 && !rules.is_exact;
        let next = LOOKS.into_iter().find(|(runs, _)| *runs > head_runs);
        let next = next.filter(|(runs, _)| *runs <= means.head_runs);
        let more_base = can_rerun && means.base && next.is_some() && base_runs < FEWEST_BASE_RUNS;
        let look = look(suite, rules, more_base);
        let is_done = look.open().is_empty() || look.has_failed();
        let end = |ending| FollowUp::Decided(ended(&look, suite, ending));
        let Some(next) = next.filter(|_| can_rerun && !is_done) else {
            return end(match () {
                () if is_done => LooksEnding::Decided,
                () if self.rounds == 0 && !can_rerun && head_runs < 2 => LooksEnding::NoRerun,
                () => LooksEnding::StillOpen,
            });
        };
        if are_kept {
            return end(LooksEnding::AnswersKept);
        }
        let rerun = wanted(suite, &look, next, (means.base, base_runs));
        if rerun.head.is_empty() && rerun.base.is_empty() {
            return end(LooksEnding::StillOpen);
        }
        self.rounds += 1;
        FollowUp::Rerun(rerun)
    }

    /// Ends all looks because the requested runs could not be made.
    pub fn give_up(&self, suite: &SwapSuite, rules: &SuiteRules<'_>) -> TypeEnding {
        let look = look(suite, rules, false);
        let is_done = look.open().is_empty() || look.has_failed();
        let ending = match self.rounds {
            _ if is_done => LooksEnding::Decided,
            0 | 1 => LooksEnding::NoBudget,
            _ => LooksEnding::BudgetSpent,
        };
        ended(&look, suite, ending)
    }
}

fn ended(look: &SuiteLook, suite: &SwapSuite, ending: LooksEnding) -> TypeEnding {
    let unsteady = look.whole.unsteady.iter();
    TypeEnding {
        types: look.types.clone(),
        unsteady: unsteady
            .map(|case| suite.cases[*case].name.clone())
            .collect(),
        ending,
        base_runs: suite.draws().0,
    }
}

/// The runs before the next look. The second look runs the doubtful items of all types again, or everything if none is
/// doubtful. These runs are made on both sides: the gain of one type may explain the loss of another, so no case may be
/// run again on one side only. Later looks run the unsettled items of the open types again. Each time, the inputs for
/// the own answers of the same cases are run again too.
fn wanted(
    suite: &SwapSuite,
    look: &SuiteLook,
    (head_runs, base_runs): (usize, usize),
    (runs_base, base_has): (bool, usize),
) -> Rerun {
    let open = look.open();
    let whole = &look.whole;
    let unsettled = |unsettled: &[bool]| -> Vec<usize> {
        let all = 0..suite.items.len();
        all.filter(|place| open.contains(&suite.items[*place].of_type) && unsettled[*place])
            .collect()
    };
    let all = 0..suite.items.len();
    let (base, head) = match head_runs {
        2 => {
            let doubtful = all.clone().filter(|place| whole.doubtful[*place]);
            let doubtful: Vec<usize> = match whole.doubtful.contains(&true) {
                true => doubtful.collect(),
                false => all.collect(),
            };
            (doubtful.clone(), doubtful)
        }
        _ => (unsettled(&whole.unsettled.0), unsettled(&whole.unsettled.1)),
    };
    let base = match runs_base && base_runs > base_has {
        true => base,
        false => Vec::new(),
    };
    Rerun {
        base: suite.asking(&base, (Which::Base, base_runs)),
        head: suite.asking(&head, (Which::Head, head_runs)),
    }
}

impl SwapSuite {
    /// Requests this many runs of some items on a side, together with the inputs for the own answers of their cases.
    fn asking(&self, places: &[usize], (side, runs): (Which, usize)) -> WantedRepeats {
        let mut wanted = WantedRepeats::new();
        for place in places {
            let item = &self.items[*place];
            let case = &self.cases[item.case];
            let of_side = |pair: &(String, String)| match side {
                Which::Base => pair.0.clone(),
                Which::Head => pair.1.clone(),
            };
            let of_case = wanted.entry(case.name.clone()).or_insert_with(|| {
                let own = match side {
                    Which::Base => &case.own.0,
                    Which::Head => &case.own.1,
                };
                Wanted {
                    input: runs,
                    variants: 0,
                    single: own.iter().map(|name| (name.clone(), runs)).collect(),
                }
            });
            of_case.single.insert(of_side(&item.variants), runs);
        }
        wanted
    }
}
