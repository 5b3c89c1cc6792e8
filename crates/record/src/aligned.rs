//! Two sections of one probe in the form in which they are compared, and what became of their items.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::section::AnySection;
use crate::{ComparedSide, Metric};
use kelvin_page::ComparisonPage;

/// Two sections whose figures can be compared.
#[derive(Debug)]
pub struct AlignedSections {
    /// What the change is compared with.
    pub base: AlignedSection,
    /// The change.
    pub head: AlignedSection,
    /// What became of each item.
    pub items: Arc<dyn ItemComparison>,
}

/// One side of an alignment.
#[derive(Debug)]
pub struct AlignedSection {
    /// The records; items that are paired have the same digest on both sides.
    pub section: Box<dyn AnySection>,
    /// The figures of the probe, by id. They stand in the place of all that it had.
    pub metrics: BTreeMap<String, Metric>,
}

/// By what two sections are compared, where more than one way is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewpoint {
    /// The side whose labels say what is right, of an item whose labels the change edits.
    pub labels: ComparedSide,
    /// Whether what nobody knows of the head counts as good as it can be; else it counts as bad as it can be.
    pub at_best: bool,
}

/// What stood there before, and nothing that is not known.
impl Default for Viewpoint {
    fn default() -> Self {
        Self {
            labels: ComparedSide::Base,
            at_best: false,
        }
    }
}

/// What differs between two runs beside the records of a probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// Whether anything in the configuration differs that changes what is measured.
    pub configuration: bool,
    /// Whether the command or the declared environment differs.
    pub command: bool,
}

/// What became of each item of one probe between two runs. It is stored in `gate.json`, under the name
/// of the probe.
pub trait ItemComparison: fmt::Debug + Send + Sync {
    /// The comparison as it is written.
    fn written(&self) -> &dyn erased_serde::Serialize;

    /// What people are shown of it; none where there is nothing to show.
    fn page(&self) -> Option<ComparisonPage<'_>> {
        None
    }

    /// What a reader of the verdict must know of how the items were compared.
    fn warnings(&self) -> Vec<AlignmentWarning> {
        Vec::new()
    }

    /// The items whose labels the change edits, so that they are judged by those of one side.
    fn relabelled(&self) -> &[String] {
        &[]
    }

    /// How many of those are edited in another way as well, and so are counted among the edited ones already.
    fn edited_too(&self) -> usize {
        0
    }

    /// What nobody knows of the head and counts as bad as it can be, in a clause; none where there is nothing.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Refuses sections that could be compared in a coarse way only.
    ///
    /// # Errors
    ///
    /// What differs between the sides, in a clause.
    fn strict(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Something that a verdict warns of because of how two sections were aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignmentWarning {
    /// The sentence.
    pub text: String,
    /// Whether it leaves the verdict open, so that nothing passes without a word.
    pub is_open: bool,
}

/// The comparison of a probe that this program does not know: it is kept as it is.
impl ItemComparison for Value {
    fn written(&self) -> &dyn erased_serde::Serialize {
        self
    }
}
