//! The evidence probe: does the decision move only when the evidence that should govern it moves?
//!
//! Plans the variants of every case, runs baselines and variants, compares decisions, and makes the
//! metrics `evidence.*`.

mod aggregate;
mod answered;
mod basis;
pub(crate) mod cases;
pub(crate) mod config;
mod course;
mod decision;
mod failures;
mod figures;
mod flip;
mod following;
mod inputs;
mod judged;
mod kind;
mod measure;
mod noise;
pub(crate) mod page;
pub(crate) mod perturb;
mod recompute;
mod record;
mod records;
mod schedule;
mod section;
mod survey;
#[cfg(test)]
pub(crate) mod trial;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::notice::Notice;
use crate::probe::Metric;

pub(crate) use basis::{Basis, Settings};
pub(crate) use config::{EvidenceSettings, SwapCount};
pub(crate) use decision::DecisionReader;
pub(crate) use measure::unusable_decision;
pub(crate) use recompute::recompute;
pub(crate) use record::{CaseRecord, Sample, SwapRecord, UnitRecord, VariantRecord};
pub(crate) use section::EvidenceSection;

/// Does the decision move only when the evidence that should govern it moves?
pub(crate) struct EvidenceKind;

/// What the evidence probe hands on.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The figures, by id.
    pub(crate) metrics: BTreeMap<String, Metric>,
    /// Every case that was looked at, by name.
    pub(crate) cases: BTreeMap<String, CaseRecord>,
    /// What is not about one case.
    pub(crate) notices: Vec<Notice>,
}
