//! The table of stored reports of the same code, which are repeats of the base for nothing.

use std::fmt::Write as _;

use crate::promises::Promises;
use crate::tables::{percent, simulate, table};
use crate::trial::Base;
use crate::whole::two_metrics;
use crate::world::{Setting, Spread};

/// How many reports serve beside that of the base.
const OTHERS: usize = 4;

pub(crate) fn table_of_stored(promises: &mut Promises) -> String {
    let mut table = table(&[
        "base",
        "noise",
        "cases",
        "no change: red",
        "no change: green",
        "no change: open",
        "no change: cost",
        "invariance fell by 0.10: red",
        "its metric: pass",
    ]);
    let shifted = |base: Base| Base {
        shift: 0.03,
        ..base
    };
    let keeps = |base: Base| Base {
        keeps_unseen: true,
        ..base
    };
    let one = Base::stored(1);
    let five = Base::stored(5);
    let worlds = [
        ("1 run", one),
        ("1 run, 4 more reports", one.beside(OTHERS)),
        ("5 runs", five),
        ("5 runs, 4 more reports", five.beside(OTHERS)),
        (
            "1 run, 4 more reports, each of another day",
            shifted(one.beside(OTHERS)),
        ),
        (
            "5 runs, 4 more reports, each of another day",
            shifted(five.beside(OTHERS)),
        ),
        (
            "5 runs, 4 more reports, answers kept for each report",
            keeps(five.beside(OTHERS)),
        ),
    ];
    let mut without = Vec::new();
    for (name, base) in worlds {
        for noise in [0.05, 0.15] {
            for cases in [6, 20, 50] {
                let setting = two_metrics(cases, noise, Spread::Beta);
                let drop = 0.10;
                let none = simulate(setting, base);
                let worse = simulate(Setting { drop, ..setting }, base);
                let row = format!("{name}, noise {noise}, {cases} cases");
                let say = |what: &str| format!("{row}: {what}");
                let is_plain = base.others == 0;
                if is_plain {
                    without.push((base.runs, noise, cases, none));
                } else {
                    promises.at_most(none.red, 0.05, &say("red without a change"));
                }
                let is_calm = base.shift == 0.0 && !base.keeps_unseen;
                let same = without.iter().find(|(runs, other, size, _)| {
                    (*runs, *size) == (base.runs, cases) && *other == noise
                });
                if let (Some((_, _, _, plain)), false, true) = (same, is_plain, is_calm) {
                    promises.at_most(worse.metric_pass, 0.03, &say("calls 0.10 a pass"));
                    // Below that, the guard for broken cases asks for more than what is saved.
                    if cases >= 20 {
                        promises.at_least(none.green, plain.green, &say("green, next to without"));
                        let most = plain.cost + 0.1;
                        promises.at_most(none.cost, most, &say("cost, next to without"));
                    }
                }
                let _ = writeln!(
                    table,
                    "| {name} | {noise} | {cases} | {} | {:.1}x | {} |",
                    percent(&[none.red, none.green, none.open()]),
                    none.cost,
                    percent(&[worse.red, worse.metric_pass]),
                );
            }
        }
    }
    table
}
