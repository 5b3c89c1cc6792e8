//! One case that lost everything, where nothing else changed.

use std::fmt::Write as _;

use crate::WORLDS;
use crate::promises::Promises;
use crate::tables::{self, figures, one_metric, percent};
use crate::trial::{Base, judge};
use crate::world::World;

pub(crate) fn table_of(base: Base) -> String {
    let mut table = tables::table(&["noise", "cases", "called broken", "cost of that suite"]);
    for noise in [0.0, 0.05, 0.15] {
        for cases in [20, 50, 200] {
            let setting = one_metric(cases, noise, 0.0);
            let seed = 7 + cases as u64 + (1_000.0 * noise) as u64;
            let found = figures((seed, WORLDS), 0, &|chance| {
                let world = World::with_a_broken_case(chance, &setting);
                judge(&world, chance, base, 1)
            });
            let _ = writeln!(
                table,
                "| {noise} | {cases} | {} | {:.2}x |",
                percent(&[found.red]),
                found.cost
            );
        }
    }
    table
}

/// The base was run five times.
pub(crate) fn table(_: &mut Promises) -> String {
    table_of(Base::stored(5))
}
