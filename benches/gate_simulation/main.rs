//! The gate in worlds where the truth is known: how often it cries wolf, what it finds, what it
//! misses and what it costs. Prints the tables of `docs/gate.md`; fails where a promise of that page
//! is broken, or where its figures are others.
//!
//! `cargo bench --bench gate_simulation`; seeded, so that the figures are the same everywhere.

#![allow(
    dead_code,
    unused_imports,
    reason = "the engine's modules are taken whole"
)]
#![allow(
    clippy::print_stdout,
    reason = "the table is what the benchmark is for"
)]

mod gate;
mod small;
#[path = "../../src/stats/mod.rs"]
mod stats;
mod world;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use gate::broken::{Finding, Guard};
use gate::look::{Case, Outcome, Reason};
use gate::looks::{Looks, Means, Step, Subject};
use world::{Chance, World};

/// Worlds in each row.
const WORLDS: u64 = 1_500;

/// The limit of a drop.
const MAX_DROP: f64 = 0.05;

/// What one kind of world is.
#[derive(Clone, Copy)]
struct Setting {
    noise: f64,
    cases: usize,
    base_runs: usize,
    gated: usize,
    drop: f64,
}

/// What came of the worlds of one setting, as shares of them; `cost` in runs of the whole suite.
#[derive(Clone, Copy, Default)]
struct Figures {
    simple: f64,
    red: f64,
    pass: f64,
    suspected: f64,
    cost: f64,
    broken: f64,
}

/// Where the tables stand for people to read; they must be these.
const PAGE: &str = include_str!("../../docs/gate.md");

fn main() -> ExitCode {
    let mut promises = Promises::default();
    for table in [
        power(&mut promises),
        bases(&mut promises),
        broken_cases(),
        small_suites(&mut promises),
    ] {
        println!("{table}");
        promises.hold(PAGE.contains(&table), || {
            "docs/gate.md has other figures".to_owned()
        });
    }
    promises.tell()
}

/// The main table: the gate beside the simple rule.
fn power(promises: &mut Promises) -> String {
    let mut table = table(&[
        "noise",
        "cases",
        "simple rule: false alarms",
        "finds 0.10",
        "gate: false alarms",
        "finds 0.10",
        "finds 0.07",
        "calls 0.10 a pass",
        "0.10 left open",
        "cost with no change",
        "cost at 0.10",
        "broken-case guard: false alarms",
    ]);
    for noise in [0.0, 0.05, 0.15] {
        for cases in [6, 20, 50, 200] {
            let setting = |drop: f64| Setting {
                noise,
                cases,
                base_runs: 5,
                gated: 1,
                drop,
            };
            let [none, some, more] = simulate([setting(0.0), setting(0.07), setting(0.10)]);
            promises.check(noise, cases, &none, &some, &more);
            let open = 1.0 - more.red - more.pass;
            let _ = writeln!(
                table,
                "| {noise} | {cases} | {} | {:.1}x | {:.1}x | {} |",
                percent(&[
                    none.simple,
                    more.simple,
                    none.red,
                    more.red,
                    some.red,
                    more.pass,
                    open
                ]),
                none.cost,
                more.cost,
                percent(&[none.broken]),
            );
        }
    }
    table
}

/// What fewer and more runs of the base do, and more metrics.
fn bases(promises: &mut Promises) -> String {
    let mut table = table(&[
        "base runs",
        "gated metrics",
        "cases",
        "false alarms",
        "finds 0.10",
        "calls 0.10 a pass",
    ]);
    for (base_runs, gated) in [(1, 1), (3, 1), (5, 1), (10, 1), (5, 5)] {
        for cases in [6, 20, 50] {
            let setting = |drop: f64| Setting {
                noise: 0.05,
                cases,
                base_runs,
                gated,
                drop,
            };
            let [none, more] = simulate([setting(0.0), setting(0.10)]);
            let suite = format!("{base_runs} runs of the base, {cases} cases");
            promises.check_errors(&suite, &none, &more);
            let shares = percent(&[none.red, more.red, more.pass]);
            let _ = writeln!(table, "| {base_runs} | {gated} | {cases} | {shares} |");
        }
    }
    table
}

/// What becomes of one case that lost everything where nothing else changed.
fn broken_cases() -> String {
    let mut table = table(&["noise", "cases", "called broken", "cost of that suite"]);
    for noise in [0.0, 0.05, 0.15] {
        for cases in [20, 50, 200] {
            let (found, cost) = broken(noise, cases);
            let found = percent(&[found]);
            let _ = writeln!(table, "| {noise} | {cases} | {found} | {cost:.2}x |");
        }
    }
    table
}

/// Suites of a few cases with one cell each.
fn small_suites(promises: &mut Promises) -> String {
    let mut table = table(&[
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
                let same = small::judged(noise, cases, base_runs, false);
                let broke = small::judged(noise, cases, base_runs, true);
                let suite = format!("{base_runs} base runs, noise {noise}, {cases} cases");
                promises.hold(same.red <= 0.05, || {
                    format!("false alarms {:.3} > 0.05 ({suite})", same.red)
                });
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

/// The head of a table.
fn table(columns: &[&str]) -> String {
    format!(
        "| {} |\n|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    )
}

fn percent(shares: &[f64]) -> String {
    let shares: Vec<String> = shares
        .iter()
        .map(|share| format!("{:.1} %", 100.0 * share))
        .collect();
    shares.join(" | ")
}

/// Runs the settings side by side.
fn simulate<const N: usize>(settings: [Setting; N]) -> [Figures; N] {
    std::thread::scope(|scope| {
        let running = settings.map(|setting| scope.spawn(move || figures(setting)));
        running.map(|thread| thread.join().expect("a simulation does not panic"))
    })
}

fn figures(setting: Setting) -> Figures {
    let mut sums = Figures::default();
    for world in 0..WORLDS {
        let mut chance = Chance::of(row(setting), world);
        let truth = World::draw(&mut chance, setting.cases, setting.noise, setting.drop);
        let cases = truth.run(&mut chance, setting.base_runs);
        let one = one_world(&truth, &mut chance, cases, setting.gated);
        sums.simple += one.simple;
        sums.red += one.red;
        sums.pass += one.pass;
        sums.suspected += one.suspected;
        sums.cost += one.cost;
        sums.broken += one.broken;
    }
    let share = |sum: f64| sum / WORLDS as f64;
    Figures {
        simple: share(sums.simple),
        red: share(sums.red),
        pass: share(sums.pass),
        suspected: share(sums.suspected),
        cost: share(sums.cost),
        broken: share(sums.broken),
    }
}

/// What the seed of a row's worlds is made of.
fn row(setting: Setting) -> u64 {
    let thousandths = |value: f64| (value * 1_000.0).round() as u64;
    [
        thousandths(setting.noise),
        setting.cases as u64,
        setting.base_runs as u64,
        thousandths(setting.drop),
    ]
    .iter()
    .fold(setting.gated as u64, |seed, part| seed * 1_009 + part)
}

fn one_world(truth: &World, chance: &mut Chance, cases: Vec<Case>, gated: usize) -> Figures {
    let simple = mean_loss(&cases, true) - mean_loss(&cases, false) > MAX_DROP + 1e-9;
    let means = Means {
        head_runs: 5,
        base: false,
    };
    let mut looks = Looks::new(means, false, 0.1);
    // The other gated metrics take their share of alpha and are otherwise out of the way.
    let mut subjects: BTreeMap<String, Subject> = (1..gated)
        .map(|at| (name(at), subject(Vec::new(), Vec::new())))
        .collect();
    let names = (0..cases.len()).map(name).collect();
    subjects.insert("metric".to_owned(), subject(names, cases));
    let decided = loop {
        let cases = |subjects: &mut BTreeMap<String, Subject>| {
            subjects.remove("metric").expect("it is there")
        };
        match looks.next(&subjects) {
            Step::Decided(mut decisions) => {
                break decisions.remove("metric").expect("it was asked for").look;
            }
            Step::Rerun(rerun) => {
                let mut subject = cases(&mut subjects);
                for (name, runs) in rerun.cases {
                    let at = name.parse::<usize>().expect("names are numbers");
                    while subject.cases[at].head_runs() < runs {
                        truth.rerun(chance, &mut subject.cases, at);
                    }
                }
                subjects.insert("metric".to_owned(), subject);
            }
        }
    };
    let look = decided.expect("every case was measured");
    let cases = &subjects["metric"].cases;
    let flag = |is: bool| f64::from(u8::from(is));
    Figures {
        simple: flag(simple),
        red: flag(look.outcome == Outcome::Regression),
        pass: flag(look.outcome == Outcome::Pass),
        suspected: flag(look.reason == Reason::Suspected),
        cost: runs(cases),
        broken: flag(guarded(truth, chance, cases.clone()).0 > 0),
    }
}

/// The name of a case, by its place.
fn name(at: usize) -> String {
    format!("{at:04}")
}

const fn subject(names: Vec<String>, cases: Vec<Case>) -> Subject {
    Subject {
        names,
        cases,
        max_drop: MAX_DROP,
        is_failure_rate: false,
    }
}

/// How many cases are called broken, and what that cost in all.
fn guarded(truth: &World, chance: &mut Chance, mut cases: Vec<Case>) -> (usize, f64) {
    let guard = Guard::of(&cases, 1, false);
    let mut broken = 0;
    for at in 0..cases.len() {
        loop {
            match guard.judge(&cases[at], true) {
                Finding::Rerun(runs) => {
                    while cases[at].head_runs() < runs {
                        truth.rerun(chance, &mut cases, at);
                    }
                }
                Finding::Broken { .. } => {
                    broken += 1;
                    break;
                }
                Finding::Clear | Finding::Suspected { .. } => break,
            }
        }
    }
    (broken, runs(&cases))
}

fn broken(noise: f64, cases: usize) -> (f64, f64) {
    let (mut found, mut cost) = (0, 0.0);
    for world in 0..WORLDS {
        let mut chance = Chance::of(7 + cases as u64 + (1_000.0 * noise) as u64, world);
        let truth = World::with_a_broken_case(&mut chance, cases, noise);
        let cases = truth.run(&mut chance, 5);
        let (count, runs) = guarded(&truth, &mut chance, cases);
        found += u64::from(count > 0);
        cost += runs;
    }
    (found as f64 / WORLDS as f64, cost / WORLDS as f64)
}

/// Runs of the head, in runs of the whole suite.
fn runs(cases: &[Case]) -> f64 {
    cases.iter().map(Case::head_runs).sum::<usize>() as f64 / cases.len() as f64
}

/// The mean loss of the first run.
fn mean_loss(cases: &[Case], head: bool) -> f64 {
    let losses: Vec<f64> = cases
        .iter()
        .flat_map(|case| &case.cells)
        .filter_map(|cell| if head { cell.head[0] } else { cell.base[0] })
        .collect();
    losses.iter().sum::<f64>() / losses.len() as f64
}

/// What `docs/gate.md` promises.
#[derive(Default)]
struct Promises {
    kept: usize,
    broken: Vec<String>,
}

impl Promises {
    /// What holds in every row.
    fn check_errors(&mut self, suite: &str, none: &Figures, more: &Figures) {
        self.hold(none.red <= 0.05, || {
            format!("false alarms {:.3} > 0.05 ({suite})", none.red)
        });
        self.hold(more.pass <= 0.03, || {
            format!("a drop of 0.10 passes: {:.3} > 0.03 ({suite})", more.pass)
        });
    }

    fn check(&mut self, noise: f64, cases: usize, none: &Figures, some: &Figures, more: &Figures) {
        self.check_errors(&format!("noise {noise}, {cases} cases"), none, more);
        let mut hold = |is: bool, what: String| {
            self.hold(is, || format!("{what} (noise {noise}, {cases} cases)"));
        };
        if cases >= 50 || cases >= 20 && noise <= 0.05 {
            hold(
                more.red >= 0.95,
                format!("finds 0.10 in {:.3} < 0.95", more.red),
            );
        }
        if cases >= 50 {
            hold(
                some.red >= 0.85,
                format!("finds 0.07 in {:.3} < 0.85", some.red),
            );
        }
        if cases >= 20 && noise <= 0.05 {
            hold(
                none.cost <= 2.0,
                format!("costs {:.2}x > 2x with no change", none.cost),
            );
        }
        if noise == 0.0 {
            hold(
                none.red == 0.0 && none.cost == 1.0,
                "no noise, but not free".to_owned(),
            );
            hold(
                more.pass == 0.0,
                "no noise, but a drop of 0.10 passes".to_owned(),
            );
        }
    }

    fn hold(&mut self, is: bool, what: impl FnOnce() -> String) {
        if is {
            self.kept += 1;
        } else {
            self.broken.push(what());
        }
    }

    fn tell(&self) -> ExitCode {
        for promise in &self.broken {
            println!("broken: {promise}");
        }
        println!("{} promises kept, {} broken", self.kept, self.broken.len());
        if self.broken.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
