//! The tables of one metric: the gate beside the simple rule, and what more runs of the base do.

use std::fmt::Write as _;

use crate::gate::look::LookOutcome;
use crate::promises::Promises;
use crate::trial::{Base, Trial, judge};
use crate::world::{Chance, Setting, Spread, World};
use crate::{WORLDS, WORLDS_OF_MORE};

/// What came of the worlds of one setting, as shares of them; `cost` in runs of the whole suite.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) simple: f64,
    /// The whole verdict.
    pub(crate) red: f64,
    pub(crate) green: f64,
    /// The metric that dropped, or the first one.
    pub(crate) metric_red: f64,
    pub(crate) metric_pass: f64,
    pub(crate) broken: f64,
    pub(crate) cost: f64,
}

impl Figures {
    pub(crate) fn open(&self) -> f64 {
        1.0 - self.red - self.green
    }
}

/// Judges as many worlds as a row has, on two threads.
pub(crate) fn figures(
    (seed, worlds): (u64, u64),
    target: usize,
    one: &(dyn Fn(&mut Chance) -> Trial + Sync),
) -> Figures {
    let sum = |first: u64| {
        let mut sum = Figures::default();
        let flag = |is: bool| f64::from(u8::from(is));
        for world in (first..worlds).step_by(2) {
            let trial = one(&mut Chance::of(seed, world));
            sum.simple += flag(trial.simple);
            sum.red += flag(trial.is_red());
            sum.green += flag(trial.is_green());
            sum.metric_red += flag(trial.outcomes[target] == LookOutcome::Regression);
            sum.metric_pass += flag(trial.outcomes[target] == LookOutcome::Pass);
            sum.broken += flag(trial.broken);
            sum.cost += trial.cost;
        }
        sum
    };
    let [one, other] = std::thread::scope(|scope| {
        let running = [0, 1].map(|first| scope.spawn(move || sum(first)));
        running.map(|thread| thread.join().expect("a simulation does not panic"))
    });
    let share = |of: fn(&Figures) -> f64| (of(&one) + of(&other)) / worlds as f64;
    Figures {
        simple: share(|sum| sum.simple),
        red: share(|sum| sum.red),
        green: share(|sum| sum.green),
        metric_red: share(|sum| sum.metric_red),
        metric_pass: share(|sum| sum.metric_pass),
        broken: share(|sum| sum.broken),
        cost: share(|sum| sum.cost),
    }
}

/// The worlds of a setting, with a base.
pub(crate) fn simulate(setting: Setting, base: Base) -> Figures {
    let worlds = if setting.metrics > 1 {
        WORLDS_OF_MORE
    } else {
        WORLDS
    };
    figures((seed(setting, base), worlds), setting.dropped, &|chance| {
        let world = World::draw(chance, &setting);
        judge(&world, chance, base, setting.metrics)
    })
}

/// What the seed of a row's worlds is made of.
pub(crate) fn seed(setting: Setting, base: Base) -> u64 {
    let thousandths = |value: f64| (value * 1_000.0).round() as u64;
    let parts = [
        thousandths(setting.noise),
        setting.cases as u64,
        u64::from(setting.spread == Spread::Uniform),
        thousandths(setting.drop),
        thousandths(setting.sensitivity),
        base.runs as u64,
        u64::from(base.can_be_run),
        setting.dropped as u64,
    ];
    let parts = parts.iter();
    parts.fold(setting.metrics as u64, |seed, part| {
        seed.wrapping_mul(1_009).wrapping_add(*part)
    })
}

/// One metric with spread noise.
pub(crate) const fn one_metric(cases: usize, noise: f64, drop: f64) -> Setting {
    Setting {
        cases,
        noise,
        spread: Spread::Beta,
        metrics: 1,
        sensitivity: 0.5,
        drop,
        dropped: 0,
    }
}

/// The head of a table.
pub(crate) fn table(columns: &[&str]) -> String {
    format!(
        "| {} |\n|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    )
}

pub(crate) fn percent(shares: &[f64]) -> String {
    let shares: Vec<String> = shares
        .iter()
        .map(|share| format!("{:.1} %", 100.0 * share.max(0.0)))
        .collect();
    shares.join(" | ")
}

/// The main table: the gate beside the simple rule.
pub(crate) fn power(promises: &mut Promises) -> String {
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
            let of = |drop| simulate(one_metric(cases, noise, drop), Base::stored(5));
            let (none, some, more) = (of(0.0), of(0.07), of(0.10));
            let row = format!("one metric, 5 base runs, noise {noise}, {cases} cases");
            let say = |what: &str| format!("{row}: {what}");
            promises.at_most(none.metric_red, 0.05, &say("false alarms"));
            promises.at_most(more.metric_pass, 0.03, &say("calls 0.10 a pass"));
            if cases >= 50 || cases >= 20 && noise <= 0.05 {
                promises.at_least(more.metric_red, 0.95, &say("finds 0.10"));
            }
            if cases >= 50 {
                promises.at_least(some.metric_red, 0.85, &say("finds 0.07"));
            }
            if cases >= 20 && noise <= 0.05 {
                promises.at_most(none.cost, 2.0, &say("cost with no change"));
            }
            if noise == 0.0 {
                let is_free = none.red == 0.0 && none.cost == 1.0;
                promises.hold(is_free, || say("no noise, but not free"));
                promises.hold(more.metric_pass == 0.0, || {
                    say("no noise, but a drop passes")
                });
            }
            let _ = writeln!(
                table,
                "| {noise} | {cases} | {} | {:.1}x | {:.1}x | {} |",
                percent(&[
                    none.simple,
                    more.simple,
                    none.metric_red,
                    more.metric_red,
                    some.metric_red,
                    more.metric_pass,
                    1.0 - more.metric_red - more.metric_pass,
                ]),
                none.cost,
                more.cost,
                percent(&[none.broken]),
            );
        }
    }
    table
}

/// What fewer and more runs of the base do.
pub(crate) fn bases(promises: &mut Promises) -> String {
    let mut table = table(&[
        "base runs",
        "cases",
        "false alarms",
        "finds 0.10",
        "calls 0.10 a pass",
    ]);
    let bases = [
        ("1", Base::stored(1)),
        ("3", Base::stored(3)),
        ("5", Base::stored(5)),
        ("10", Base::stored(10)),
        ("1, can be run again", Base::run_again(1)),
    ];
    for (name, base) in bases {
        for cases in [6, 20, 50] {
            let of = |drop| simulate(one_metric(cases, 0.05, drop), base);
            let (none, more) = (of(0.0), of(0.10));
            let say = |what: &str| format!("one metric, base runs {name}, {cases} cases: {what}");
            promises.at_most(none.metric_red, 0.05, &say("false alarms"));
            promises.at_most(more.metric_pass, 0.03, &say("calls 0.10 a pass"));
            let shares = percent(&[none.metric_red, more.metric_red, more.metric_pass]);
            let _ = writeln!(table, "| {name} | {cases} | {shares} |");
        }
    }
    table
}
