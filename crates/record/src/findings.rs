//! The results of probes, and the parts of them that pages and comparisons use.

use std::collections::BTreeMap;

use super::section::AnySection;
use crate::{Ending, Metric};
use kelvin_base::notice::Notice;

/// The results of a probe.
#[derive(Debug)]
pub struct Findings {
    /// The records.
    pub section: Box<dyn AnySection>,
    /// The figures, by id.
    pub metrics: BTreeMap<String, Metric>,
    /// The notices that follow from the records and figures, without those in the records themselves.
    pub notices: Vec<Notice>,
    /// The notices from the run itself, which cannot be made again from the records.
    pub of_the_run: Vec<Notice>,
    /// Whether the answers were compared with each other again; otherwise the statement in the records stays.
    pub compared: bool,
}

impl Clone for Findings {
    fn clone(&self) -> Self {
        Self {
            section: self.section.boxed(),
            metrics: self.metrics.clone(),
            notices: self.notices.clone(),
            of_the_run: self.of_the_run.clone(),
            compared: self.compared,
        }
    }
}

impl Findings {
    /// Figures that are computed from the records alone, without notices.
    pub const fn of_records(
        section: Box<dyn AnySection>,
        metrics: BTreeMap<String, Metric>,
    ) -> Self {
        Self {
            section,
            metrics,
            notices: Vec::new(),
            of_the_run: Vec::new(),
            compared: true,
        }
    }
}

/// The parts of a run that a page needs besides the section of a probe.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    /// Every figure of the run, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// How the run ended.
    pub ending: Ending,
    /// The seed of all random choices.
    pub seed: u64,
}

/// A setting of a probe that differs between the sides of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDiffers {
    /// The setting, in words that fit after "the".
    pub name: &'static str,
    /// Its values on the base.
    pub base: Vec<String>,
    /// Its values on the head.
    pub head: Vec<String>,
}
