//! The checks: whether all required conditions hold after the pipeline has run. An invariant is a postcondition on
//! files, exit codes and answers.
//!
//! The crate runs the pipeline on every scenario in its own workspace, examines the resulting files and answers, and
//! computes the metrics `checks.*`; docs/invariants.md defines them.

mod added;
mod answers;
mod conduct;
mod config;
mod figures;
mod forbidden;
mod interpolate;
mod judging;
mod keys;
mod kind;
mod kinds;
mod listing;
mod measure;
mod own_check;
mod page;
mod record;
mod rule_files;
mod same;
mod scenario;
mod scenarios;
mod scene;
mod scoring;
mod selector;
mod services;
mod sql;
mod target;
mod template;

/// The probe that asks: after the pipeline has run, is everything as it must be?
pub struct ChecksKind;

#[cfg(test)]
mod tests;

/// The supervisor of the processes that the tests of this crate start.
#[cfg(test)]
mod supervisor {
    #[test]
    #[ignore = "the other tests start it"]
    fn of_the_tests() {
        kelvin_run::targets::serve_the_tests().expect("served");
    }
}
