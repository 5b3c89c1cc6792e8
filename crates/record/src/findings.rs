//! What probes hand on, and what pages and comparisons take of them.

use std::collections::BTreeMap;

use super::section::AnySection;
use crate::{Ending, Metric};
use kelvin_base::notice::Notice;

/// What a probe hands on.
#[derive(Debug)]
pub struct Findings {
    /// The records.
    pub section: Box<dyn AnySection>,
    /// The figures, by id.
    pub metrics: BTreeMap<String, Metric>,
    /// What the records and figures tell, apart from what the records themselves hold.
    pub notices: Vec<Notice>,
    /// What only the course of the run tells; it is not made again from the records.
    pub of_the_run: Vec<Notice>,
    /// Whether the answers were compared with each other anew; else what the records say of that
    /// stays.
    pub compared: bool,
}

impl Findings {
    /// Figures that are made of the records alone, without anything to tell of them.
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

/// What a page is made from beside the section of a probe.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    /// Every figure of the run, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// How the run ended.
    pub ending: Ending,
    /// The seed of what was drawn.
    pub seed: u64,
}

/// A setting of a probe that is not the same on both sides of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDiffers {
    /// What was set, in words that fit after "the".
    pub name: &'static str,
    /// Its values on the base.
    pub base: Vec<String>,
    /// Its values on the head.
    pub head: Vec<String>,
}
