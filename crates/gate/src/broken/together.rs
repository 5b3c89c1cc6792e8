//! Combines the evidence of all cases if none of them can be run again: two cases that never pass any more are not just
//! bad luck, even if neither of them alone is certain.
//!
//! If nothing has changed, each run of a case could equally be a run of the other side. So the runs of every case are
//! exchanged between the sides in every way (a permutation test within the cases, which is valid for any noise, even if
//! it differs from case to case). The observed evidence has to be larger than what chance produces. The evidence is the
//! likelihood ratio of a suite in which one case is broken on average: each case is broken with probability 1 / N, and
//! its own ratio is the e-value by which a case that can be run again is judged.

use super::{ALPHA, BAD, BadRuns, BrokenFinding, FEWEST_BASE_RUNS, UsualBreaks};
use crate::look::{GUARD, PairedCase, pair};

/// How many steps the logarithm has for a ratio of e. The evidence is a whole number of steps, so that the distribution
/// of its sum is exact.
const STEPS: f64 = 32.0;

/// The runs of one case on both sides.
struct ExchangedCase {
    place: usize,
    /// How often the base was run, and how many of these runs were bad.
    base: (usize, usize),
    /// How often the head was run, and how many of these runs were bad.
    head: (usize, usize),
}

impl UsualBreaks {
    /// The indices of the broken cases, judged together in one look: the cases in which every run of the head is bad,
    /// if chance rarely produces so much evidence. From a case with few runs on a side no conclusion is possible.
    pub fn together(&self, cases: &[PairedCase]) -> Vec<(usize, BrokenFinding)> {
        if self.deterministic || self.are_kept || self.demand.by_rank {
            return Vec::new();
        }
        let all: Vec<ExchangedCase> = self.exchanged(cases);
        let usual = self.of_both_sides(&all);
        let broken: Vec<(usize, BrokenFinding)> = all
            .iter()
            .filter(|case| case.head.1 == case.head.0 && usual.evidence(case, all.len()) > 0)
            .map(|case| {
                let (runs, bad) = case.head;
                (case.place, BrokenFinding::Broken { bad, runs })
            })
            .collect();
        if broken.is_empty() || usual.chance(&all) > ALPHA / self.gated as f64 {
            return Vec::new();
        }
        broken
    }

    /// The cases with enough runs on both sides. A run is bad if it is worse than the best run of either side, so that
    /// a run is equally bad after an exchange.
    fn exchanged(&self, cases: &[PairedCase]) -> Vec<ExchangedCase> {
        let (paired, _) = pair(cases);
        let of_case = |paired: &crate::look::Paired| {
            let (base, head) = paired.sides();
            // Reports of other days cannot be exchanged with runs of today.
            if !base.is_of_one_report() {
                return None;
            }
            let (base, head) = (base.repeats(), head.repeats());
            if base.len().min(head.len()) < FEWEST_BASE_RUNS {
                return None;
            }
            let best = base
                .iter()
                .chain(head)
                .copied()
                .fold(f64::INFINITY, f64::min);
            let bad = |losses: &[f64]| {
                let losses = losses.iter();
                let bad = losses.filter(|loss| **loss - best >= BAD * self.demand.scale - GUARD);
                bad.count()
            };
            Some(ExchangedCase {
                place: paired.place(),
                base: (base.len(), bad(base)),
                head: (head.len(), bad(head)),
            })
        };
        paired.iter().filter_map(of_case).collect()
    }

    /// The usual noise from the runs of both sides; it does not change when runs are exchanged.
    fn of_both_sides(&self, all: &[ExchangedCase]) -> Self {
        let bad: usize = all.iter().map(|case| case.base.1 + case.head.1).sum();
        let runs: usize = all.iter().map(|case| case.base.0 + case.head.0).sum();
        Self {
            rate: (bad as f64 + 0.5) / (runs as f64 + 1.0),
            ..*self
        }
    }

    /// The evidence of one case among this many, in steps; negative if its noise explains its runs better.
    fn evidence(&self, case: &ExchangedCase, count: usize) -> i64 {
        let seen = BadRuns {
            base: case.base.0,
            bad_base: case.base.1,
            head: Vec::new(),
            is_unanswered: false,
            is_better: false,
        };
        let ratio = self.log_e_value(&seen, case.head.1, case.head.0).exp();
        let ratio = 1.0 + (ratio - 1.0) / count as f64;
        (ratio.ln() * STEPS).round() as i64
    }

    /// The probability that chance produces at least as much evidence.
    fn chance(&self, all: &[ExchangedCase]) -> f64 {
        // The sum that must be reached, counted from the lowest evidence that exchanged runs can produce.
        let mut asked = 0_i64;
        let mut likely = vec![1.0];
        for case in all {
            let bad = case.base.1 + case.head.1;
            let of_head = bad.saturating_sub(case.base.0)..=bad.min(case.head.0);
            let exchanged = of_head.map(|of_head| {
                let other = ExchangedCase {
                    place: case.place,
                    base: (case.base.0, bad - of_head),
                    head: (case.head.0, of_head),
                };
                let ways = ways(bad, of_head)
                    * ways(case.base.0 + case.head.0 - bad, case.head.0 - of_head);
                (self.evidence(&other, all.len()), ways)
            });
            let exchanged: Vec<(i64, f64)> = exchanged.collect();
            let least = exchanged.iter().map(|(steps, _)| *steps).min().unwrap_or(0);
            let most = exchanged.iter().map(|(steps, _)| *steps).max().unwrap_or(0);
            asked += self.evidence(case, all.len()) - least;
            if most == least {
                continue;
            }
            let whole = ways(case.base.0 + case.head.0, case.head.0);
            let mut next = vec![0.0; likely.len() + (most - least) as usize];
            for (steps, ways) in exchanged {
                let steps = (steps - least) as usize;
                for (at, likely) in likely.iter().enumerate() {
                    next[at + steps] += likely * ways / whole;
                }
            }
            likely = next;
        }
        likely.iter().skip(asked as usize).sum()
    }
}

/// The number of ways to choose `some` of `all`.
fn ways(all: usize, some: usize) -> f64 {
    (0..some)
        .map(|at| (all - at) as f64 / (at + 1) as f64)
        .product()
}

#[cfg(test)]
mod tests {
    use super::super::Demand;
    use super::*;
    use crate::look::{Draws, PairedCell};

    /// A case by the losses of its runs.
    fn case(base: &[f64], head: &[f64]) -> PairedCase {
        let draws = |losses: &[f64]| -> Draws {
            let losses: Vec<Option<f64>> = losses.iter().copied().map(Some).collect();
            losses.into()
        };
        PairedCase {
            cells: vec![PairedCell {
                base: draws(base),
                head: draws(head),
            }],
            weight: 1.0,
            ..PairedCase::default()
        }
    }

    fn usual(cases: &[PairedCase], gated: usize, demand: Demand) -> UsualBreaks {
        UsualBreaks::of(cases, gated, (false, demand))
    }

    fn places(cases: &[PairedCase]) -> Vec<usize> {
        let broken = usual(cases, 1, Demand::default()).together(cases);
        broken.iter().map(|(place, _)| *place).collect()
    }

    const HELD: ([f64; 3], [f64; 3]) = ([0.0; 3], [0.0; 3]);
    const DEAD: ([f64; 3], [f64; 3]) = ([0.0; 3], [1.0; 3]);
    const SHAKY: ([f64; 3], [f64; 3]) = ([1.0, 0.0, 0.0], [1.0; 3]);

    fn suite(of: &[([f64; 3], [f64; 3])], held: usize) -> Vec<PairedCase> {
        let held = std::iter::repeat_n(&HELD, held);
        let all = of.iter().chain(held);
        all.map(|(base, head)| case(base, head)).collect()
    }

    fn chance(cases: &[PairedCase]) -> f64 {
        let usual = usual(cases, 1, Demand::default());
        let all = usual.exchanged(cases);
        usual.of_both_sides(&all).chance(&all)
    }

    #[test]
    fn the_chance_is_that_of_all_exchanges() {
        let is = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        };
        // One of the twenty exchanges of six runs is as bad, for each of the dead cases.
        is(chance(&suite(&[DEAD], 19)), 1.0 / 20.0);
        is(chance(&suite(&[DEAD, DEAD], 18)), 1.0 / 400.0);
        // Four bad runs of six: in 4 of 20 exchanges three of them are of the head.
        is(chance(&suite(&[SHAKY], 19)), 4.0 / 20.0);
        is(chance(&suite(&[], 20)), 1.0);
        let better = (DEAD.1, DEAD.0);
        assert!(chance(&suite(&[better, better], 18)) > 0.99);
    }

    #[test]
    fn two_dead_cases_are_certain_together_and_one_is_not() {
        assert_eq!(places(&suite(&[DEAD], 19)), [0; 0]);
        assert_eq!(places(&suite(&[DEAD, DEAD], 18)), [0, 1]);
        assert_eq!(places(&suite(&[DEAD, SHAKY], 18)), [0, 1]);
        assert_eq!(places(&suite(&[SHAKY], 19)), [0; 0]);
        // As many cases that are better speak for noise.
        let better = (DEAD.1, DEAD.0);
        assert_eq!(places(&suite(&[DEAD, better], 18)), [0; 0]);
        // Among several metrics each has its share of the error.
        let cases = suite(&[DEAD, SHAKY], 18);
        assert!(
            usual(&cases, 3, Demand::default())
                .together(&cases)
                .is_empty()
        );
    }

    #[test]
    fn more_runs_make_one_dead_case_certain_and_fewer_make_none() {
        let suite = |runs: usize, dead: usize| -> Vec<PairedCase> {
            let held = case(&vec![0.0; runs], &vec![0.0; runs]);
            let mut cases = vec![held; 20];
            cases[..dead].fill(case(&vec![0.0; runs], &vec![1.0; runs]));
            cases
        };
        assert_eq!(places(&suite(5, 1)), [0]);
        assert_eq!(places(&suite(2, 20)), [0; 0]);
        assert_eq!(places(&suite(3, 20)).len(), 20);
    }

    #[test]
    fn scores_break_by_half_of_their_scale_and_not_by_less() {
        let scores = |head: f64| -> Vec<PairedCase> {
            let held = case(&[0.1, 0.2, 0.15], &[0.2, 0.1, 0.1]);
            let mut cases = vec![held; 20];
            cases[..2].fill(case(&[0.1, 0.2, 0.15], &[head, head - 0.05, head]));
            cases
        };
        assert_eq!(places(&scores(0.9)), [0, 1]);
        assert_eq!(places(&scores(0.45)), [0; 0]);
        // On a scale of 1 to 5 the same is a tenth of a point.
        let cases = scores(0.9);
        let demand = Demand {
            scale: 4.0,
            ..Demand::default()
        };
        assert!(usual(&cases, 1, demand).together(&cases).is_empty());
    }

    #[test]
    fn two_hundred_noisy_cases_take_no_time() {
        let cases: Vec<PairedCase> = (0..200_u32)
            .map(|at| {
                let losses =
                    |turn: u32| [0, 1, 2].map(|run| f64::from((at * 7 + run * 3 + turn) % 4 / 3));
                case(&losses(0), &losses(2))
            })
            .collect();
        let found = chance(&cases);
        assert!((0.05..=1.0).contains(&found), "{found}");
    }
}
