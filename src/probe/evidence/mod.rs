//! The evidence probe: does the decision move only when the evidence that should govern it moves?
//!
//! Plans the variants of every case, runs baselines and variants, compares decisions, and makes the
//! metrics `evidence.*`.

mod aggregate;
pub(crate) mod cases;
pub(crate) mod config;
mod course;
mod decision;
mod failures;
mod figures;
mod following;
mod inputs;
mod kind;
mod measure;
mod noise;
pub(crate) mod page;
pub(crate) mod perturb;
mod recompute;
mod records;
mod schedule;
#[cfg(test)]
pub(crate) mod trial;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::notice::Notice;
use crate::probe::{CaseRecord, Metric};

pub(crate) use config::{EvidenceSettings, SwapCount};
pub(crate) use decision::DecisionReader;
pub(crate) use kind::{EvidenceKind, EvidenceSection};
pub(crate) use measure::unusable_decision;
pub(crate) use recompute::{Basis, Settings, recompute};

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
