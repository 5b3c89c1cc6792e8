//! `kelvin` reports on every pull request whether a change made the AI pipeline of a team worse, and where. This crate
//! is the top layer: the commands, the check from its first step to its last, the search for the report of the base,
//! and the history of earlier runs. `docs/architecture.md` describes the crates below it.

mod baseline;
mod check;
mod cli;
mod history;
mod personal;
mod registry;
mod sentence;
mod trend;

pub use cli::main;
pub use registry::Registry;

#[cfg(any(test, fuzzing))]
pub mod fuzz;

#[cfg(test)]
mod configuration_tests;
#[cfg(test)]
mod figure_tests;
#[cfg(test)]
mod schema_tests;

/// Supervises the processes that the tests of this crate start.
#[cfg(test)]
mod supervisor {
    #[test]
    #[ignore = "the other tests start it"]
    fn of_the_tests() {
        kelvin_run::targets::serve_the_tests().expect("served");
    }
}
