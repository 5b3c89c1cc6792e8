//! What probes hand on, and what pages and comparisons take of them.

use std::collections::BTreeMap;

use super::section::AnySection;
use super::{Ending, Metric};
use crate::notice::Notice;

/// What a probe hands on.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The records.
    pub(crate) section: Box<dyn AnySection>,
    /// The figures, by id.
    pub(crate) metrics: BTreeMap<String, Metric>,
    /// What the records and figures tell, apart from what the records themselves hold.
    pub(crate) notices: Vec<Notice>,
    /// What only the course of the run tells; it is not made again from the records.
    pub(crate) of_the_run: Vec<Notice>,
    /// Whether the answers were compared with each other anew; else what the records say of that
    /// stays.
    pub(crate) compared: bool,
}

/// What a page is made from beside the section of a probe.
#[derive(Clone, Copy)]
pub(crate) struct RunView<'a> {
    /// Every figure of the run, by id.
    pub(crate) metrics: &'a BTreeMap<String, Metric>,
    /// How the run ended.
    pub(crate) ending: Ending,
    /// The seed of what was drawn.
    pub(crate) seed: u64,
}

/// A setting of a probe that is not the same on both sides of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingDiffers {
    /// What was set, in words that fit after "the".
    pub(crate) name: &'static str,
    /// Its values on the base.
    pub(crate) base: Vec<String>,
    /// Its values on the head.
    pub(crate) head: Vec<String>,
}
