//! The grading probe: how good are the answers to some prompts, in the eyes of a judge, and are they as good
//! as those of the base?
//!
//! Makes the metrics `grading.*`; docs/grading.md defines them.

mod asking;
mod base;
mod config;
mod figures;
mod kind;
mod ledger;
mod measure;
mod page;
mod plan;
mod planted;
mod prompts;
mod reader;
mod record;
mod regrade;
mod section;
mod stored;

pub use config::GradingSettings;
pub use record::{Answered, GradedSample, GradingBasis, PromptRecord, Scoring};
pub use section::GradingSection;

/// How good are the answers, in the eyes of a judge?
pub struct GradingKind;
