//! The evidence probe: does the decision move only when the evidence that should govern it moves?
//!
//! Plans the variants of every case, runs baselines and variants, compares decisions, and computes the metrics
//! `evidence.*`.

mod aggregate;
mod answered;
mod basis;
pub mod cases;
pub mod config;
mod course;
mod decision;
#[cfg(test)]
pub mod fake;
mod figures;
mod flip;
mod following;
mod judged;
mod kind;
mod label;
mod labelled;
mod labels_edited;
mod measure;
mod noise;
pub mod page;
pub mod perturb;
mod places;
mod recompute;
mod record;
mod records;
mod renamed;
mod schedule;
mod section;
mod survey;
mod turns;
pub mod words;

use std::collections::BTreeMap;

use kelvin_base::notice::Notice;
use kelvin_record::Metric;

pub use basis::{Basis, Settings};
pub use config::{EvidenceSettings, SwapCount};
pub use decision::DecisionReader;
pub use label::Label;
pub use measure::unusable_decision;
pub use recompute::recompute;
pub use record::{CaseRecord, Sample, SwapRecord, UnitRecord, VariantRecord};
pub use section::EvidenceSection;

/// The kind of the evidence probe: does the decision move only when the evidence that should govern it moves?
pub struct EvidenceKind;

/// The result of the evidence probe.
#[derive(Debug)]
pub struct Evidence {
    /// The figures, by id.
    pub metrics: BTreeMap<String, Metric>,
    /// Every measured case, by name.
    pub cases: BTreeMap<String, CaseRecord>,
    /// Notices that do not concern a single case.
    pub notices: Vec<Notice>,
}
