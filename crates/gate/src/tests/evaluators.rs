//! How often the gate is right about the results of an evaluator: 20 cases that pass or fail, three runs of each side, and
//! noise of known size. The seeds are fixed, so that the shares are the same each time; docs/evaluators.md has them.

use kelvin_record::{Cells, Direction};

use super::*;

const CASES: usize = 20;
const RUNS: usize = 3;
const TRIALS: u64 = 200;

/// How many calls the re-runs of one side may take: three times everything once, as the program allows by default.
const CALLS: usize = 3 * CASES * RUNS;

/// What a change does.
#[derive(Clone, Copy, Debug)]
enum Change {
    Nothing,
    /// The first two cases never pass again.
    TwoDead,
    /// Every case fails so much more often.
    Spread(f64),
}

/// A generator of which a seed is the whole state (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014).
struct Chance(u64);

impl Chance {
    fn below(&mut self, share: f64) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 11) as f64) / ((1_u64 << 53) as f64) < share
    }
}

/// The results of an evaluator: the passes of each case, run by run.
#[derive(Clone)]
struct Results(Vec<Vec<bool>>);

impl Results {
    fn new() -> Self {
        Self(vec![Vec::new(); CASES])
    }

    /// Runs a case until it has so many runs.
    fn run(
        &mut self,
        case: usize,
        runs: usize,
        (noise, change): (f64, Change),
        chance: &mut Chance,
    ) {
        let fails = match change {
            Change::TwoDead if case < 2 => 1.0,
            Change::Spread(more) => noise + more,
            Change::Nothing | Change::TwoDead => noise,
        };
        while self.0[case].len() < runs {
            let passes = !chance.below(fails);
            self.0[case].push(passes);
        }
    }

    fn whole(world: (f64, Change), chance: &mut Chance) -> Self {
        let mut results = Self::new();
        (0..CASES).for_each(|case| results.run(case, RUNS, world, chance));
        results
    }

    fn report(&self) -> Report {
        let all: Vec<f64> = self
            .0
            .iter()
            .flatten()
            .map(|pass| f64::from(u8::from(*pass)))
            .collect();
        let value = kelvin_base::stats::mean(&all).ok_or_else(String::new);
        let mut metric = Metric::new(value, all.len(), 0);
        metric.gated = true;
        metric.direction = Direction::Higher;
        metric.exact_at = Some(0.001);
        let mut report = Report::default();
        for (case, runs) in self.0.iter().enumerate() {
            let name = format!("case-{case:02}");
            let repeats: Vec<Option<f64>> = runs
                .iter()
                .map(|pass| Some(f64::from(u8::from(*pass))))
                .collect();
            let here: Vec<f64> = repeats.iter().flatten().copied().collect();
            report.texts.insert(name.clone(), String::new());
            let value = CaseValue {
                value: kelvin_base::stats::mean(&here),
                n: here.len(),
                repeats,
                cells: Cells::default(),
            };
            metric.per_case.insert(name, value);
        }
        report.metrics.insert("m".to_owned(), metric);
        report
    }
}

/// What can be run again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Again {
    /// Nothing: two files.
    Nothing,
    /// The head, beside a base that stays as it is.
    Head,
    /// Both sides, so many calls for each.
    Both(usize),
}

/// The verdict on one change.
fn judged(seed: u64, world: (f64, Change), again: Again) -> Verdict {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let of_base = (world.0, Change::Nothing);
    let mut base = Results::whole(of_base, &mut chance);
    let mut head = Results::whole(world, &mut chance);
    let mut is_fresh = [false; CASES];
    let policy = Policy::default();
    let can_run_base = matches!(again, Again::Both(_));
    let mut gate = Gate::new(&policy, again != Again::Nothing, can_run_base, None);
    let calls = match again {
        Again::Nothing => 0,
        Again::Head => CALLS,
        Again::Both(calls) => 2 * calls,
    };
    let mut spent = 0;
    loop {
        let (before, now) = (base.report(), head.report());
        let comparison = compare(&before.side(), &now.side());
        let rerun = match gate.next(&comparison, calls.saturating_sub(spent)) {
            Next::Verdict(verdict) => return *verdict,
            Next::Rerun(rerun) => rerun,
        };
        let number = |name: &str| -> usize { name["case-".len()..].parse().expect("a number") };
        for (name, wanted) in &rerun.base {
            let case = number(name);
            // The first runs beside the head replace the stored ones.
            if !std::mem::replace(&mut is_fresh[case], true) {
                base.0[case].clear();
            }
            let runs = base.0[case].len();
            base.run(case, wanted.input, of_base, &mut chance);
            spent += base.0[case].len() - runs;
        }
        for (name, wanted) in &rerun.head {
            let case = number(name);
            let runs = head.0[case].len();
            head.run(case, wanted.input, world, &mut chance);
            spent += head.0[case].len() - runs;
        }
    }
}

/// The share of the changes that are a regression.
fn red(world: (f64, Change), again: Again) -> f64 {
    let is_red = |seed: &u64| judged(*seed, world, again).verdict == Word::Regression;
    (1..=TRIALS).filter(is_red).count() as f64 / TRIALS as f64
}

#[test]
fn of_unchanged_evaluators_at_most_one_in_twenty_is_red() {
    for noise in [0.05, 0.15] {
        for again in [Again::Nothing, Again::Head, Again::Both(CALLS)] {
            let red = red((noise, Change::Nothing), again);
            assert!(red <= 0.05, "noise {noise}, {again:?}: {red}");
        }
    }
}

#[test]
fn two_dead_cases_of_twenty_are_found_and_more_often_with_re_runs() {
    for noise in [0.05, 0.15] {
        // With much noise six runs of two cases are mostly no certainty, and what is open does not pass.
        let least = if noise < 0.1 { 0.7 } else { 0.3 };
        let alone = red((noise, Change::TwoDead), Again::Nothing);
        assert!(alone >= least, "noise {noise}: {alone}");
        for again in [Again::Head, Again::Both(CALLS)] {
            let with = red((noise, Change::TwoDead), again);
            assert!(with >= 0.9, "noise {noise}, {again:?}: {with}");
        }
    }
}

#[test]
fn a_drop_that_is_spread_over_the_whole_suite_is_found_by_re_runs_of_both_sides() {
    for noise in [0.05, 0.15] {
        red((noise, Change::Spread(0.1)), Again::Nothing);
        red((noise, Change::Spread(0.1)), Again::Head);
        red((noise, Change::Spread(0.1)), Again::Both(CALLS));
        let found = red((noise, Change::Spread(0.1)), Again::Both(2 * CALLS));
        assert!(found >= 0.85, "noise {noise}: {found}");
    }
}
