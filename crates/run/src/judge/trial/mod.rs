//! Tests a judge: how far its grades can be trusted before a gate uses them.
//!
//! A trial takes answers, makes copies whose order is known, lets the judge grade everything, and says whether the
//! judge is fit for a gate. This module makes no calls; `run` does.

mod fitness;
mod given;
mod grades;
mod measure;
mod plan;
mod plant;
mod record;
mod samples;
#[cfg(test)]
mod simulation_tests;

pub use fitness::{Fitness, Ruling};
pub use given::{GivenAnswer, read};
pub use grades::{Grades, Scored};
pub use plan::{TrialExhibit, TrialSettings, TrialTask, tasks};
pub use plant::Plant;
pub(crate) use plant::{contradicted, dressed, obedient, padded, truncated};
pub use record::{FinishedTrial, RESAMPLES, TrialRecord, conclude};
pub use samples::TrialFigure;
