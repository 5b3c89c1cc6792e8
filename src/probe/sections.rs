//! The sections of a report, by the name of their probe.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::section::{AnySection, Glance, ItemPlace, SectionFingerprint, StoredInput};
use super::{ComparedItem, Ending, Kind, registry};
use crate::notice::Notice;

/// What each probe of a run has stored, by its name.
#[derive(Debug, Default)]
pub(crate) struct Sections(BTreeMap<String, Box<dyn AnySection>>);

impl Sections {
    /// The section of a type; none where the probe was not run.
    #[cfg(test)]
    pub(crate) fn get<S: Any>(&self) -> Option<&S> {
        let mut sections = self.0.values();
        sections.find_map(|section| section.as_any().downcast_ref::<S>())
    }

    /// The same, to change it.
    #[cfg(test)]
    pub(crate) fn get_mut<S: Any>(&mut self) -> Option<&mut S> {
        let mut sections = self.0.values_mut();
        sections.find_map(|section| section.as_any_mut().downcast_mut::<S>())
    }

    /// The section of a probe.
    pub(crate) fn of(&self, name: &str) -> Option<&dyn AnySection> {
        self.0.get(name).map(|section| &**section)
    }

    /// Every section with the name of its probe, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &dyn AnySection)> {
        let sections = self.0.iter();
        sections.map(|(name, section)| (name.as_str(), &**section))
    }

    /// Every section whose probe this program knows, in the order of the registry.
    pub(crate) fn known(&self) -> Vec<(&'static dyn Kind, &dyn AnySection)> {
        let kinds = registry::kinds().into_iter();
        kinds
            .filter_map(|kind| Some((kind, self.of(kind.name())?)))
            .collect()
    }

    /// Adds the section of a probe, in the place of one that it had.
    pub(crate) fn put(&mut self, name: &str, section: Box<dyn AnySection>) {
        self.0.insert(name.to_owned(), section);
    }

    /// Takes a section out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Box<dyn AnySection>> {
        self.0.remove(name)
    }

    /// Leaves some items out of every section, by their ids.
    pub(crate) fn leave_out(&mut self, ids: &BTreeSet<String>) {
        for section in self.0.values_mut() {
            section.leave_out(ids);
        }
    }

    /// Keeps the section of one probe; the names of the others.
    pub(crate) fn keep(&mut self, name: &str) -> Vec<String> {
        let others = self.0.keys().filter(|of| *of != name);
        let others = others.cloned().collect();
        self.0.retain(|of, _| of == name);
        others
    }

    /// Whether the pipeline answered any item.
    pub(crate) fn has_answers(&self) -> bool {
        let mut sections = self.0.values();
        sections.any(|section| {
            let mut ids = section.ids().into_iter();
            ids.any(|id| section.item(id).is_some_and(|item| item.has_answer))
        })
    }
}

impl Clone for Sections {
    fn clone(&self) -> Self {
        let sections = self.0.iter();
        Self(
            sections
                .map(|(name, section)| (name.clone(), section.boxed()))
                .collect(),
        )
    }
}

impl PartialEq for Sections {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .iter()
                .zip(other.iter())
                .all(|((name, one), (of, other))| name == of && one.equals(other))
    }
}

impl Serialize for Sections {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, section) in self.iter() {
            map.serialize_entry(name, section.written())?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Sections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfProbes)
    }
}

struct OfProbes;

impl<'de> Visitor<'de> for OfProbes {
    type Value = Sections;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sections of the probes, by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sections, A::Error> {
        let mut sections = Sections::default();
        while let Some(name) = map.next_key::<String>()? {
            if sections.of(&name).is_some() {
                return Err(A::Error::custom(format_args!("duplicate probe `{name}`")));
            }
            let section = map.next_value_seed(OfProbe(registry::kind(&name)))?;
            sections.put(&name, section);
        }
        Ok(sections)
    }
}

/// Reads the section of a probe; of a probe that this program does not know it is kept as it is.
struct OfProbe(Option<&'static dyn Kind>);

impl<'de> DeserializeSeed<'de> for OfProbe {
    type Value = Box<dyn AnySection>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            Some(kind) => kind
                .stored(&mut <dyn erased_serde::Deserializer<'_>>::erase(
                    deserializer,
                ))
                .map_err(D::Error::custom),
            None => Ok(Box::new(Unknown(Value::deserialize(deserializer)?))),
        }
    }
}

impl JsonSchema for Sections {
    fn schema_name() -> Cow<'static, str> {
        "Sections".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for kind in registry::kinds() {
            let schema = kind.schema(generator);
            properties.insert(kind.name().to_owned(), schema.to_value());
        }
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": { "type": "object" },
        })
    }
}

/// The section of a probe that this program does not know, as a newer version may have one.
#[derive(Clone, Debug, PartialEq)]
struct Unknown(Value);

impl AnySection for Unknown {
    fn ending(&self) -> Ending {
        Ending::Complete
    }

    fn set_ending(&mut self, _: Ending) {}

    fn fingerprint(&self) -> SectionFingerprint {
        SectionFingerprint {
            items: None,
            command: None,
        }
    }

    fn ids(&self) -> Vec<&str> {
        Vec::new()
    }

    fn item(&self, _: &str) -> Option<Glance<'_>> {
        None
    }

    fn runs_of(&self, _id: &str, _variant: &str) -> Option<usize> {
        None
    }

    fn notices(&self) -> Vec<&Notice> {
        Vec::new()
    }

    fn place(&self, _: &str, _: Option<&str>) -> Option<ItemPlace<'_>> {
        None
    }

    fn input(&self, _: &str, _: Option<&str>) -> Option<StoredInput> {
        None
    }

    fn compared(&self) -> BTreeMap<&str, ComparedItem<'_>> {
        BTreeMap::new()
    }

    fn kept(&self) -> Vec<&str> {
        Vec::new()
    }

    fn is_like(&self, other: &dyn AnySection) -> bool {
        self.equals(other)
    }

    fn take_in(&mut self, _: Box<dyn AnySection>) {}

    fn leave_out(&mut self, _: &BTreeSet<String>) {}

    fn without_items(&self) -> Box<dyn AnySection> {
        self.boxed()
    }

    fn written(&self) -> &dyn erased_serde::Serialize {
        &self.0
    }

    fn records(&self) -> Vec<(&str, &(dyn erased_serde::Serialize + Sync))> {
        Vec::new()
    }

    fn boxed(&self) -> Box<dyn AnySection> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnySection) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    #[cfg(test)]
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
