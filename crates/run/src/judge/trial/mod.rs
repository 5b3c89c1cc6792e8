//! The judge on trial: how far its grades can be trusted, before anything is gated on them.
//!
//! A trial takes answers, makes copies of them whose order is known, has the judge grade everything, and
//! says whether the judge is fit to gate on. What happens here is pure; the calls are made by `run`.

mod bootstrap;
mod fitness;
mod given;
mod grades;
mod limit;
mod measure;
mod plan;
mod plant;
mod record;
mod samples;
#[cfg(test)]
mod simulation;

pub use fitness::Fitness;
pub use given::{GivenAnswer, read};
pub use grades::{Grades, Scored};
pub use limit::Ruling;
pub use plan::{TrialExhibit, TrialSettings, TrialTask, tasks};
pub use plant::Plant;
pub(crate) use plant::{contradicted, dressed, obedient, padded, truncated};
pub use record::{FinishedTrial, RESAMPLES, TrialRecord, conclude};
pub use samples::TrialFigure;
