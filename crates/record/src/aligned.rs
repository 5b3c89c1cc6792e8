//! Two sections of one probe, prepared for comparison, and the comparison of their items; in a verdict there is one
//! for each probe.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::section::AnySection;
use crate::{ComparedSide, Kinds, Metric};
use kelvin_page::ComparisonPage;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Two sections whose figures can be compared.
#[derive(Debug)]
pub struct AlignedSections {
    /// The section that the change is compared with.
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
    /// The figures of the probe, by id. They replace all its earlier figures.
    pub metrics: BTreeMap<String, Metric>,
}

/// How two sections are compared, where more than one way is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewpoint {
    /// The side whose labels count for an item whose labels the change edits.
    pub labels: ComparedSide,
    /// Whether the unknown part of the head counts as good as possible; otherwise it counts as bad as possible.
    pub at_best: bool,
}

/// By default, the base's labels count, and the unknown part as bad as possible.
impl Default for Viewpoint {
    fn default() -> Self {
        Self {
            labels: ComparedSide::Base,
            at_best: false,
        }
    }
}

/// The differences between two runs beside the records of a probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// Whether a setting differs that changes what is measured.
    pub configuration: bool,
    /// Whether the command or the declared environment differs.
    pub command: bool,
}

/// The comparison of the items of one probe between two runs. It is stored in `gate.json`, under the name of the probe.
pub trait ItemComparison: fmt::Debug + Send + Sync {
    /// The comparison in the form in which it is written.
    fn written(&self) -> &dyn erased_serde::Serialize;

    /// The page of the comparison; none where there is nothing to show.
    fn page(&self) -> Option<ComparisonPage<'_>> {
        None
    }

    /// Warnings for the reader of the verdict about how the items were compared.
    fn warnings(&self) -> Vec<AlignmentWarning> {
        Vec::new()
    }

    /// The items whose labels the change edits, so that the labels of one side were used.
    fn relabelled(&self) -> &[String] {
        &[]
    }

    /// How many of those are edited in another way as well, and so are counted among the edited ones already.
    fn edited_too(&self) -> usize {
        0
    }

    /// The unknown part of the head that counts as bad as possible, in a clause; none where there is none.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Refuses sections that could only be compared in a coarse way.
    ///
    /// # Errors
    ///
    /// The differences between the sides, in a clause.
    fn strict(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A warning about how two sections were aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignmentWarning {
    /// The sentence.
    pub text: String,
    /// Whether the warning leaves the verdict open, so that nothing passes silently.
    pub is_open: bool,
}

/// The comparison of a probe that this program does not know: it is kept unchanged.
impl ItemComparison for Value {
    fn written(&self) -> &dyn erased_serde::Serialize {
        self
    }
}

/// The comparisons of the items of each probe that aligns its sections, by the name of the probe. In `gate.json` the
/// names are fields of the verdict.
#[derive(Clone, Debug, Default)]
pub struct ItemComparisons(BTreeMap<String, Arc<dyn ItemComparison>>);

impl ItemComparisons {
    /// Reads the stored comparison of each probe that one of the kinds knows.
    ///
    /// # Errors
    ///
    /// Where a comparison does not fit its kind.
    pub fn read_by(&mut self, kinds: &Kinds) -> Result<(), String> {
        for (name, comparison) in &mut self.0 {
            if let Some(kind) = kinds.kind(name) {
                let stored = serde_json::to_value(comparison.written());
                let read = stored.and_then(|stored| kind.stored_comparison(stored));
                *comparison = read.map_err(|error| format!("`{name}`: {error}"))?;
            }
        }
        Ok(())
    }

    /// Adds the comparison of a probe.
    pub fn put(&mut self, name: &str, comparison: Arc<dyn ItemComparison>) {
        self.0.insert(name.to_owned(), comparison);
    }

    /// Every comparison with the name of its probe.
    pub fn named(&self) -> impl Iterator<Item = (&str, &dyn ItemComparison)> {
        let each = self.0.iter();
        each.map(|(name, comparison)| (name.as_str(), &**comparison))
    }

    /// Every comparison, in the order of the names of the probes.
    pub fn each(&self) -> impl Iterator<Item = &dyn ItemComparison> {
        self.0.values().map(|comparison| &**comparison)
    }
}

/// Two values are equal if their written forms are.
impl PartialEq for ItemComparisons {
    fn eq(&self, other: &Self) -> bool {
        let written = |of: &Self| serde_json::to_value(of).ok();
        written(self).is_some_and(|one| Some(one) == written(other))
    }
}

impl Serialize for ItemComparisons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, comparison) in &self.0 {
            map.serialize_entry(name, comparison.written())?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ItemComparisons {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByProbe)
    }
}

struct ByProbe;

impl<'de> Visitor<'de> for ByProbe {
    type Value = ItemComparisons;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the comparisons of items, by the name of their probe")
    }

    /// Takes the fields that are unknown to the verdict. A field of a later version may be the comparison of a probe
    /// that this program does not know, or anything else: an object is kept unchanged, and other values are ignored.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ItemComparisons, A::Error> {
        let mut comparisons = ItemComparisons::default();
        while let Some((name, stored)) = map.next_entry::<String, Value>()? {
            if stored.is_object() {
                comparisons.put(&name, Arc::new(stored));
            }
        }
        Ok(comparisons)
    }
}

impl JsonSchema for ItemComparisons {
    fn schema_name() -> Cow<'static, str> {
        "ItemComparisons".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
