//! The grading probe: how good the answers to some prompts are according to a judge, and whether they are as good as
//! those of the base.
//!
//! Makes the metrics `grading.*`; docs/grading.md defines them.

mod asking;
mod base;
mod config;
mod figures;
mod first;
mod kind;
mod ledger;
mod measure;
mod page;
mod plan;
mod planted;
mod prompts;
mod reader;
mod record;
mod references;
mod regrade;
mod section;
mod stored;

pub(crate) use config::GradingSettings;
pub use first::{FirstPrompt, first_prompt};
pub use record::{Answered, GradedSample, GradingBasis, PromptRecord, Scoring};
pub use section::GradingSection;

/// How good are the answers, according to a judge?
pub struct GradingKind;
