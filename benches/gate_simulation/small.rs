//! Suites of a few cases with one cell each, as scenarios with checks are: what the gate says of them
//! where nothing changed, and where one case no longer holds at all.

use std::fmt::Write as _;

use crate::WORLDS;
use crate::gate::look::{LookOutcome, PairedCase, PairedCell};
use crate::gate::looks::{GatedMetric, Looks, LooksStep, Means};
use crate::promises::Promises;
use crate::tables::{self, percent};
use crate::trial::{MAX_DROP, name};
use crate::world::{ALIKE, Chance};

/// What re-runs may cost, in runs of the whole suite.
const RUNS_OF_THE_SUITE: usize = 3;

/// The table.
pub(crate) fn table(promises: &mut Promises) -> String {
    let mut table = tables::table(&[
        "base runs",
        "noise",
        "cases",
        "nothing changed: red",
        "nothing changed: pass",
        "one case broke: red",
        "one case broke: pass",
    ]);
    for base_runs in [1, 5] {
        for noise in [0.0, 0.05, 0.15] {
            for cases in [1, 4, 11] {
                let same = judged(noise, cases, base_runs, false);
                let broke = judged(noise, cases, base_runs, true);
                let suite = format!("{base_runs} base runs, noise {noise}, {cases} cases");
                promises.at_most(
                    same.red,
                    0.05,
                    &format!("small suite, {suite}: false alarms"),
                );
                promises.hold(noise > 0.0 || broke.red >= 1.0, || {
                    format!("a broken case is found in {:.3} ({suite})", broke.red)
                });
                let shares = percent(&[same.red, same.pass, broke.red, broke.pass]);
                let _ = writeln!(table, "| {base_runs} | {noise} | {cases} | {shares} |");
            }
        }
    }
    table
}

/// What came of the suites of one kind, as shares of them.
pub(crate) struct Shares {
    pub(crate) red: f64,
    pub(crate) pass: f64,
}

/// Judges as many suites as a row has worlds. `breaks`: whether the first case never holds on the head.
pub(crate) fn judged(noise: f64, cases: usize, base_runs: usize, breaks: bool) -> Shares {
    let (mut red, mut pass) = (0_u64, 0_u64);
    for world in 0..WORLDS {
        let seed = (1_000.0 * noise) as u64 * 1_009 + (cases * 10 + base_runs) as u64;
        let mut chance = Chance::of(seed, world);
        match outcome(&mut chance, noise, (cases, base_runs), breaks) {
            LookOutcome::Regression => red += 1,
            LookOutcome::Pass => pass += 1,
            LookOutcome::Inconclusive => {}
        }
    }
    let share = |count: u64| count as f64 / WORLDS as f64;
    Shares {
        red: share(red),
        pass: share(pass),
    }
}

fn outcome(
    chance: &mut Chance,
    noise: f64,
    (cases, base_runs): (usize, usize),
    breaks: bool,
) -> LookOutcome {
    let rates: Vec<f64> = (0..cases)
        .map(|_| match noise > 0.0 {
            true => chance.beta(ALIKE * noise, ALIKE * (1.0 - noise)).min(0.5),
            false => 0.0,
        })
        .collect();
    let head = |at: usize| if breaks && at == 0 { 1.0 } else { rates[at] };
    let run = |chance: &mut Chance, rate: f64| Some(f64::from(u8::from(chance.hits(rate))));
    let suite = (0..cases).map(|at| PairedCase {
        cells: vec![PairedCell {
            base: (0..base_runs)
                .map(|_| run(chance, rates[at]))
                .collect::<Vec<Option<f64>>>()
                .into(),
            head: vec![run(chance, head(at))].into(),
        }],
        weight: 1.0,
        variants: 0,
        crosses: false,
    });
    let suite = suite.collect();
    let names = (0..cases).map(name).collect();
    let subject = GatedMetric {
        names,
        cases: suite,
        max_drop: MAX_DROP,
        widest: 1.0,
        is_failure_rate: false,
        by_rank: false,
        cannot_rerun: false,
        exact_at: None,
    };
    let mut subjects = [("metric".to_owned(), subject)].into();
    let means = Means {
        head_runs: 20,
        base: false,
    };
    let mut left = RUNS_OF_THE_SUITE * cases;
    let mut looks = Looks::new(means, false, 0.1);
    loop {
        let rerun = match looks.next(&subjects, left) {
            LooksStep::Rerun(rerun) => rerun,
            LooksStep::Decided(decisions) => {
                let look = decisions["metric"].look.as_ref();
                return look.expect("every case was measured").outcome;
            }
        };
        let subject: &mut GatedMetric = subjects.get_mut("metric").expect("it is there");
        for (name, runs) in rerun.head {
            let at = name.parse::<usize>().expect("names are numbers");
            let cell = &mut subject.cases[at].cells[0].head.values;
            while cell.len() < runs.input {
                cell.push(run(chance, head(at)));
                left -= 1;
            }
        }
    }
}
