//! Two sections of one probe, prepared for comparison, and the comparison of their items.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::section::AnySection;
use crate::{ComparedSide, Metric};
use kelvin_page::{ComparisonPage, Phrase};

/// Two sections whose figures can be compared.
#[derive(Debug)]
pub struct AlignedSections {
    /// The section with which the change is compared.
    pub base: AlignedSection,
    /// The section of the change.
    pub head: AlignedSection,
    /// The comparison of the items.
    pub items: Arc<dyn ItemComparison>,
}

/// One side of an alignment.
#[derive(Debug)]
pub struct AlignedSection {
    /// The records; items that are paired have the same digest on both sides.
    pub section: Box<dyn AnySection>,
    /// The figures of the probe, by id. They replace all earlier figures of this probe.
    pub metrics: BTreeMap<String, Metric>,
}

/// How two sections are compared, if more than one way is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewpoint {
    /// The side whose labels are used for an item whose labels the change edits.
    pub labels: ComparedSide,
    /// Whether the unknown part of the head counts as good as possible; otherwise it counts as bad as possible.
    pub at_best: bool,
}

/// By default, the labels of the base are used, and the unknown part counts as bad as possible.
impl Default for Viewpoint {
    fn default() -> Self {
        Self {
            labels: ComparedSide::Base,
            at_best: false,
        }
    }
}

/// The differences between two runs besides the records of a probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// Whether the two sides differ in a setting that defines what is measured.
    pub configuration: bool,
    /// Whether the command or the declared environment differs.
    pub command: bool,
}

/// A run of the head that ended before it came to all items of the base.
#[derive(Clone, Debug)]
pub struct UnfinishedRun {
    /// What ended early and why, in the few words of a headline.
    pub headline: Phrase,
    /// The same as a sentence, with what is missing.
    pub text: String,
}

/// The type of the comparisons of one kind: how a stored one is read, and what its schema is.
pub struct ComparisonForm {
    pub(crate) read: fn(Value) -> serde_json::Result<Arc<dyn ItemComparison>>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    meaning: &'static str,
}

impl ComparisonForm {
    /// The form of the comparisons of this type; `meaning` describes them in the schema.
    pub fn of<C: ItemComparison + DeserializeOwned + JsonSchema + 'static>(
        meaning: &'static str,
    ) -> Self {
        Self {
            read: |stored| Ok(Arc::new(serde_json::from_value::<C>(stored)?)),
            schema: SchemaGenerator::subschema_for::<Option<C>>,
            meaning,
        }
    }

    /// The JSON schema of a comparison.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.schema)(generator);
        schema.insert("description".to_owned(), self.meaning.into());
        schema
    }
}

/// The comparison of the items of one probe between two runs. It is stored in `gate.json`, under the name of the probe.
pub trait ItemComparison: erased_serde::Serialize + fmt::Debug + Send + Sync {
    /// The page of the comparison; none if it would be empty.
    fn page(&self) -> Option<ComparisonPage<'_>> {
        None
    }

    /// The runs of the head that ended before they came to all items of the base.
    fn unfinished(&self) -> Vec<UnfinishedRun> {
        Vec::new()
    }

    /// Warnings for the reader of the verdict about how the items were compared.
    fn warnings(&self) -> Vec<AlignmentWarning> {
        Vec::new()
    }

    /// Items that may be worse by noise alone, each sentence a warning. They say nothing of a pipeline that is declared as
    /// deterministic.
    fn noise_warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The items whose labels the change edits, so that the labels of one side were used.
    fn relabelled(&self) -> &[String] {
        &[]
    }

    /// What the labels of these items are called, in the plural.
    fn labels(&self) -> &'static str {
        "labels"
    }

    /// How many relabelled items are edited in another way as well, and so are already counted as edited.
    fn edited_too(&self) -> usize {
        0
    }

    /// The unknown part of the head that counts as bad as possible, in a clause; none if there is none.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Fails for sections that could only be compared approximately.
    ///
    /// # Errors
    ///
    /// Fails with the differences between the sides, in a clause.
    fn strict(&self) -> Result<(), String> {
        Ok(())
    }
}

erased_serde::serialize_trait_object!(ItemComparison);

/// A warning about how two sections were aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignmentWarning {
    /// The sentence.
    pub text: String,
    /// Whether the warning makes a passing verdict open, so that no change passes unnoticed.
    pub is_open: bool,
}

/// The comparison of a probe that this program does not know: it is kept unchanged.
impl ItemComparison for Value {}
