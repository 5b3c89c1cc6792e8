//! The sections of a report, by the name of their probe.

use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::section::{AnySection, Glance, ItemPlace, SectionFingerprint, StoredInput};
use kelvin_base::notice::Notice;
use serde_json::value::RawValue;

use crate::kinds::{Kinds, SectionKind};
use crate::{ComparedItem, Ending, KeptTexts, Nouns};

/// The stored sections of the probes of a run, by the name of the probe.
#[derive(Debug, Default)]
pub struct Sections {
    kinds: Kinds,
    by_name: BTreeMap<String, Box<dyn AnySection>>,
}

impl Sections {
    /// An empty set of sections, for a program that knows these kinds.
    pub fn new(kinds: Kinds) -> Self {
        Self {
            kinds,
            by_name: BTreeMap::new(),
        }
    }

    /// The kinds that this program knows.
    pub const fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The kind of a probe; none if this program does not know it.
    pub fn kind(&self, name: &str) -> Option<&'static dyn SectionKind> {
        self.kinds.kind(name)
    }

    /// The section of this type; none if the probe was not run.
    pub fn get<S: AnySection>(&self) -> Option<&S> {
        let mut sections = self.by_name.values();
        sections.find_map(|section| section.as_kind::<S>())
    }

    /// Mutable access to the section of this type.
    pub fn get_mut<S: Any>(&mut self) -> Option<&mut S> {
        let mut sections = self.by_name.values_mut();
        sections.find_map(|section| (&mut **section as &mut dyn Any).downcast_mut::<S>())
    }

    /// The section of a probe.
    pub fn of(&self, name: &str) -> Option<&dyn AnySection> {
        self.by_name.get(name).map(|section| &**section)
    }

    /// Every section with the name of its probe, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &dyn AnySection)> {
        let sections = self.by_name.iter();
        sections.map(|(name, section)| (name.as_str(), &**section))
    }

    /// The words for the items of each probe, by its name, for the probes that this program knows.
    pub fn nouns(&self) -> BTreeMap<String, Nouns> {
        let known = self.known().into_iter();
        known
            .map(|(kind, section)| (kind.name().to_owned(), kind.nouns_of(section)))
            .collect()
    }

    /// Every section whose probe this program knows, in the order of the registry.
    pub fn known(&self) -> Vec<(&'static dyn SectionKind, &dyn AnySection)> {
        let kinds = self.kinds.iter();
        kinds
            .filter_map(|kind| Some((kind, self.of(kind.name())?)))
            .collect()
    }

    /// Adds the section of a probe, and replaces an earlier one.
    pub fn put(&mut self, name: &str, section: Box<dyn AnySection>) {
        self.by_name.insert(name.to_owned(), section);
    }

    /// Removes a section and returns it.
    pub fn take(&mut self, name: &str) -> Option<Box<dyn AnySection>> {
        self.by_name.remove(name)
    }

    /// Like [`Item::shorten`](crate::Item::shorten), for every section.
    pub fn shorten(&mut self, texts: KeptTexts) {
        for section in self.by_name.values_mut() {
            section.shorten(texts);
        }
    }

    /// Removes some items from every section, by their ids.
    pub fn leave_out(&mut self, ids: &BTreeSet<String>) {
        for section in self.by_name.values_mut() {
            section.leave_out(ids);
        }
    }

    /// Gives some items of every section other ids. `ids`: the new ones by the old ones.
    pub fn rename(&mut self, ids: &BTreeMap<String, String>) {
        for section in self.by_name.values_mut() {
            section.rename(ids);
        }
    }

    /// Keeps only the section of one probe, and returns the names of the others.
    pub fn keep(&mut self, name: &str) -> Vec<String> {
        let others = self.by_name.keys().filter(|of| *of != name);
        let others = others.cloned().collect();
        self.by_name.retain(|of, _| of == name);
        others
    }

    /// Whether the pipeline answered any item.
    pub fn has_answers(&self) -> bool {
        let mut sections = self.by_name.values();
        sections.any(|section| {
            let mut ids = section.ids().into_iter();
            ids.any(|id| section.item(id).is_some_and(|item| item.has_answer))
        })
    }
}

impl Clone for Sections {
    fn clone(&self) -> Self {
        let sections = self.by_name.iter();
        Self {
            kinds: self.kinds.clone(),
            by_name: sections
                .map(|(name, section)| (name.clone(), section.boxed()))
                .collect(),
        }
    }
}

impl PartialEq for Sections {
    fn eq(&self, other: &Self) -> bool {
        self.by_name.len() == other.by_name.len()
            && self
                .iter()
                .zip(other.iter())
                .all(|((name, one), (of, other))| name == of && one.equals(other))
    }
}

impl Serialize for Sections {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// The stored sections of the probes. They have no meaning without the kinds; [`read_by`](Self::read_by) turns them
/// into [`Sections`]. `T` contains the text of a section: a copy, or a reference if the source text outlives it.
#[derive(Debug)]
pub struct StoredSections<T = Box<RawValue>>(BTreeMap<String, T>);

impl<T: Borrow<RawValue>> StoredSections<T> {
    /// Reads the section of each probe that one of the kinds knows. Stored sections of other probes stay unchanged.
    ///
    /// # Errors
    ///
    /// Fails if a section does not fit its kind.
    pub fn read_by(self, kinds: &Kinds) -> Result<Sections, String> {
        let mut sections = Sections::new(kinds.clone());
        for (name, stored) in self.0 {
            let text = stored.borrow().get();
            let read = match kinds.kind(&name) {
                Some(kind) => (kind.form().read)(text),
                None => {
                    serde_json::from_str(text).map(|value| Box::new(UnknownSection(value)) as _)
                }
            };
            let read = read.map_err(|error| format!("`probes.{name}`: {error}"))?;
            sections.put(&name, read);
        }
        Ok(sections)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StoredSections<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfProbes(PhantomData))
    }
}

struct OfProbes<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OfProbes<T> {
    type Value = StoredSections<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sections of the probes, by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut sections = BTreeMap::new();
        while let Some((name, text)) = map.next_entry::<String, T>()? {
            if sections.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate probe `{name}`")));
            }
            sections.insert(name, text);
        }
        Ok(StoredSections(sections))
    }
}

/// When the schema of a report is made from its types, the kinds of the sections are not known; [`Kinds`] replaces this
/// schema by theirs.
impl JsonSchema for Sections {
    fn schema_name() -> Cow<'static, str> {
        "Sections".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}

/// The section of a probe that this program does not know, e.g. from a newer version.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
struct UnknownSection(Value);

impl AnySection for UnknownSection {
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

    fn rename(&mut self, _: &BTreeMap<String, String>) {}

    fn shorten(&mut self, _: KeptTexts) {}

    fn without_items(&self) -> Box<dyn AnySection> {
        self.boxed()
    }

    fn records(&self) -> Vec<(&str, &(dyn erased_serde::Serialize + Sync))> {
        Vec::new()
    }

    fn boxed(&self) -> Box<dyn AnySection> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnySection) -> bool {
        other.as_kind() == Some(self)
    }
}
