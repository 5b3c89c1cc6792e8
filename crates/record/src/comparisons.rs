//! The comparisons of items in a verdict, by the name of their probe.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{ItemComparison, Kinds};

/// The comparisons of the items of each probe that aligns its sections, by the name of the probe. In `gate.json` the
/// names are fields of the verdict.
#[derive(Clone, Debug, Default)]
pub struct ItemComparisons(BTreeMap<String, Arc<dyn ItemComparison>>);

impl ItemComparisons {
    /// Reads the stored comparison of each probe that one of the kinds knows.
    ///
    /// # Errors
    ///
    /// Fails if a comparison does not fit its kind.
    pub fn read_by(&mut self, kinds: &Kinds) -> Result<(), String> {
        for (name, comparison) in &mut self.0 {
            let kind = kinds.kind(name);
            if let Some(form) = kind.and_then(|kind| kind.comparison_form()) {
                let stored = serde_json::to_value(&**comparison);
                let read = stored.and_then(form.read);
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
        serializer.collect_map(self.named())
    }
}

/// Collects the fields that the verdict does not know. A field of a later version may be the comparison of an unknown
/// probe, or any other value: an object is kept unchanged, and other values are ignored.
impl<'de> Deserialize<'de> for ItemComparisons {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut comparisons = Self::default();
        for (name, stored) in BTreeMap::<String, Value>::deserialize(deserializer)? {
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
