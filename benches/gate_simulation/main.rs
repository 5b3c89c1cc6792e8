//! The gate in worlds where the truth is known: how often it cries wolf, what it finds, what it
//! misses and what it costs. Prints the tables of `README.md` beside it and of `docs/statistics.md`, whose plot it draws;
//! fails where a promise of these pages is broken, or where their figures are others.
//!
//! `cargo bench --bench gate_simulation`; seeded, so that the figures are the same everywhere.

#![allow(
    clippy::print_stdout,
    reason = "the table is what the benchmark is for"
)]

mod broken;
mod first;
mod gate;
mod governing;
mod plot;
mod probe;
mod promises;
mod real;
mod small;
mod stored;
mod tables;
mod trial;
mod whole;
mod world;

use std::process::ExitCode;

pub(crate) use kelvin_base::stats;

use promises::Promises;

/// Worlds in each row.
const WORLDS: u64 = 1_500;

/// The same in the tables of whole verdicts, of which there are more rows.
const WORLDS_OF_MORE: u64 = 600;

/// Where the tables stand for people to read; they must be these.
const PAGE: &str = include_str!("README.md");

/// The page with the plot.
const PLOTTED: &str = include_str!("../../docs/statistics.md");

/// Makes a table, and looks at the promises of its rows.
type Table = fn(&mut Promises) -> String;

fn main() -> ExitCode {
    let mut promises = Promises::default();
    let all: [(&str, Table); 14] = [
        ("power", tables::power),
        ("bases", tables::bases),
        ("whole", whole::verdicts),
        ("metrics", whole::more_metrics),
        ("sensitivities", whole::sensitivities),
        ("days", whole::days_and_caches),
        ("stored", stored::table_of_stored),
        ("real", whole::real_model),
        ("broken", broken::table),
        ("small", small::table),
        ("types", governing::changes),
        ("types_bases", governing::bases),
        ("types_rules", governing::rules),
        ("plot", plot::table_and_plot),
    ];
    // A name on the command line is that of the only table to make.
    let only = std::env::args()
        .nth(1)
        .filter(|name| !name.starts_with('-'));
    for (name, table) in all {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let table = table(&mut promises);
        println!("## {name}\n{table}");
        promises.hold(PAGE.contains(&table) || PLOTTED.contains(&table), || {
            format!("the documentation has other figures ({name})")
        });
    }
    promises.tell()
}
