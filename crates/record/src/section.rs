//! The stored results of one probe in a report: how it ended, how its figures are made, and a record for each of its
//! items. Only the kind of the probe reads its records; other code sees its items by name and digest.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Ending, KeptTexts, Nouns, RUNS_OF_THE_SUITE, Repeats, SharedMap};
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};

/// The digests of the items of a probe and of its command; two sections are comparable as far as these agree. A digest
/// is missing if the items are those of the other probes, and in a report of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SectionFingerprint {
    /// Every item that is configured, with its content, whether this run measured it or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Digest>,
    /// The command and the declared environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Digest>,
}

/// The part of a report that belongs to one probe. `B` has the data besides the records that the figures depend on, `I`
/// is the record of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Section<B, I> {
    /// Whether the probe came to its end.
    pub ending: Ending,
    /// The digests of the items and of the command that were measured.
    pub fingerprint: SectionFingerprint,
    /// The data besides the records that the figures depend on.
    pub basis: B,
    /// The record of every item that this run looked at, by its id.
    pub items: SharedMap<I>,
}

/// The record of an item, with the methods that code other than its own probe needs.
pub trait Item: Clone + fmt::Debug + PartialEq + Serialize + Send + Sync + 'static {
    /// The digest of the item's configuration: if it differs on the other side of a comparison, the item was edited.
    fn digest(&self) -> Digest;

    /// The number of inputs that one repeat runs.
    fn inputs(&self) -> usize {
        1
    }

    /// How often the inputs were run.
    fn repeats(&self) -> Repeats;

    /// How many calls its re-runs may take on a side by default.
    fn reruns(&self) -> usize {
        RUNS_OF_THE_SUITE * self.inputs()
    }

    /// How often one of its variants was run.
    fn runs_of(&self, variant: &str) -> usize {
        let _ = variant;
        self.repeats().variants
    }

    /// Whether the pipeline gave an answer to the item itself.
    fn has_answer(&self) -> bool;

    /// Whether the item's own notices say that its repeats count as only one run.
    fn is_kept(&self) -> bool {
        let mut notices = self.notices().iter();
        notices.any(|notice| notice.code == Code::AnswersKept)
    }

    /// The kind and the type of each variant, by name; empty for items without variants.
    fn parts(&self) -> BTreeMap<&str, VariantPart<'_>> {
        BTreeMap::new()
    }

    /// The names of the nested folders with the item's files, the outermost first; empty if the item has no folder.
    fn folders(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Notices about its limits, skips and warnings.
    fn notices(&self) -> &[Notice] {
        &[]
    }

    /// The position of the item, or of the unit that one of its variants changes; none if it is in no file.
    fn place(&self, variant: Option<&str>) -> Option<ItemPlace<'_>> {
        let _ = variant;
        None
    }

    /// The input of the item or of one of its variants; none if there is no such input, or if it is not a text for
    /// people.
    fn input(&self, variant: Option<&str>) -> Option<StoredInput> {
        let _ = variant;
        None
    }

    /// Shortens the texts of the pipeline to the part that may be stored if other people can read it. Compared values
    /// can still be compared by their digests.
    fn shorten(&mut self, texts: KeptTexts) {
        let _ = texts;
    }

    /// Takes over the data of the replaced record that a new run must not change, e.g. the label that an item had
    /// before an edit.
    fn take_over(&mut self, before: &Self) {
        let _ = before;
    }

    /// Replaces the ids of other items that the record mentions.
    fn rename_others(&mut self, ids: &BTreeMap<String, String>) {
        let _ = ids;
    }
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemPlace<'a> {
    /// The file, relative to the configuration.
    pub file: &'a str,
    /// The line, from 1.
    pub line: usize,
}

/// An input that a run has left in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInput {
    /// The file, relative to the report.
    pub file: String,
    /// The digest of the text as it was run.
    pub digest: Digest,
}

/// A section of any probe.
pub trait AnySection: Any + erased_serde::Serialize + fmt::Debug + Send + Sync {
    /// How the probe ended.
    fn ending(&self) -> Ending;

    /// The same section with another ending.
    fn set_ending(&mut self, ending: Ending);

    /// The fingerprint of the measured items.
    fn fingerprint(&self) -> SectionFingerprint;

    /// The ids of the items, in order.
    fn ids(&self) -> Vec<&str>;

    /// The public part of an item; none if the section has no item with that id.
    fn item(&self, id: &str) -> Option<Glance<'_>>;

    /// Like [`Item::runs_of`]; none if the section has no item with that id.
    fn runs_of(&self, id: &str, variant: &str) -> Option<usize>;

    /// The notices about limits, skips and warnings of all items.
    fn notices(&self) -> Vec<&Notice>;

    /// Like [`Item::place`]; none if the section has no item with that id.
    fn place(&self, id: &str, variant: Option<&str>) -> Option<ItemPlace<'_>>;

    /// Like [`Item::input`]; none if the section has no item with that id.
    fn input(&self, id: &str, variant: Option<&str>) -> Option<StoredInput>;

    /// The items in the form for a comparison, by id.
    fn compared(&self) -> BTreeMap<&str, ComparedItem<'_>>;

    /// The ids of the items whose notices say that their repeats count as only one run.
    fn kept(&self) -> Vec<&str>;

    /// Whether another section was made in the same way from the same set of items, so that the items of both can be
    /// joined.
    fn is_like(&self, other: &dyn AnySection) -> bool;

    /// Adds the items of another section of the same probe, which replace its own items with the same ids.
    fn take_in(&mut self, other: Box<dyn AnySection>);

    /// Removes some items, by their ids.
    fn leave_out(&mut self, ids: &BTreeSet<String>);

    /// Gives some items other ids, also where records mention them. `ids`: the new ones by the old ones.
    fn rename(&mut self, ids: &BTreeMap<String, String>);

    /// Like [`Item::shorten`], for all items of the section.
    fn shorten(&mut self, texts: KeptTexts);

    /// The same section without its items.
    fn without_items(&self) -> Box<dyn AnySection>;

    /// The record of each item in the form in which it is written, by id.
    fn records(&self) -> Vec<(&str, &(dyn erased_serde::Serialize + Sync))>;

    /// A copy.
    fn boxed(&self) -> Box<dyn AnySection>;

    /// Whether this section and the other one are equal.
    fn equals(&self, other: &dyn AnySection) -> bool;
}

impl dyn AnySection {
    /// The section for the probe's own kind, which knows its type; none for a section of another kind.
    pub fn as_kind<S: AnySection>(&self) -> Option<&S> {
        (self as &dyn Any).downcast_ref()
    }

    /// Like `as_kind`, where it is certain that the section is one of the kind.
    pub fn own<S: AnySection>(&self) -> &S {
        self.as_kind().expect("a kind is given sections of its own")
    }

    /// Like `own`, by value.
    pub fn into_own<S: AnySection>(self: Box<Self>) -> Box<S> {
        (self as Box<dyn Any>)
            .downcast()
            .expect("a kind is given sections of its own")
    }
}

erased_serde::serialize_trait_object!(AnySection);

/// The type of the sections of one kind: how a stored one is read, and what its schema is.
pub struct SectionForm {
    pub(crate) read: fn(&str) -> serde_json::Result<Box<dyn AnySection>>,
    /// Makes the JSON schema of a section.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl SectionForm {
    /// The form of the sections of this type.
    pub fn of<S: AnySection + DeserializeOwned + JsonSchema>() -> Self {
        Self {
            read: |text| Ok(Box::new(serde_json::from_str::<S>(text)?)),
            schema: SchemaGenerator::subschema_for::<S>,
        }
    }
}

/// The part of an item that can be used without its probe.
#[derive(Clone, Debug)]
pub struct Glance<'a> {
    /// See [`Item::inputs`].
    pub inputs: usize,
    /// See [`Item::repeats`].
    pub repeats: Repeats,
    /// See [`Item::reruns`].
    pub reruns: usize,
    /// See [`Item::has_answer`].
    pub has_answer: bool,
    /// See [`Item::folders`].
    pub folders: Vec<&'a str>,
}

impl<B, I> AnySection for Section<B, I>
where
    B: Clone + fmt::Debug + PartialEq + Serialize + Send + Sync + 'static,
    I: Item,
{
    fn ending(&self) -> Ending {
        self.ending
    }

    fn set_ending(&mut self, ending: Ending) {
        self.ending = ending;
    }

    fn fingerprint(&self) -> SectionFingerprint {
        self.fingerprint
    }

    fn ids(&self) -> Vec<&str> {
        self.items.keys().map(String::as_str).collect()
    }

    fn item(&self, id: &str) -> Option<Glance<'_>> {
        self.items.get(id).map(|item| Glance {
            inputs: item.inputs(),
            repeats: item.repeats(),
            reruns: item.reruns(),
            has_answer: item.has_answer(),
            folders: item.folders(),
        })
    }

    fn runs_of(&self, id: &str, variant: &str) -> Option<usize> {
        Some(self.items.get(id)?.runs_of(variant))
    }

    fn notices(&self) -> Vec<&Notice> {
        self.items.values().flat_map(Item::notices).collect()
    }

    fn place(&self, id: &str, variant: Option<&str>) -> Option<ItemPlace<'_>> {
        self.items.get(id)?.place(variant)
    }

    fn input(&self, id: &str, variant: Option<&str>) -> Option<StoredInput> {
        self.items.get(id)?.input(variant)
    }

    fn compared(&self) -> BTreeMap<&str, ComparedItem<'_>> {
        let items = self.items.iter();
        items
            .map(|(id, item)| {
                let compared = ComparedItem {
                    digest: item.digest(),
                    counts_once: item.is_kept(),
                    variants: item.parts(),
                };
                (id.as_str(), compared)
            })
            .collect()
    }

    fn kept(&self) -> Vec<&str> {
        let kept = self.items.iter().filter(|(_, item)| item.is_kept());
        kept.map(|(id, _)| id.as_str()).collect()
    }

    fn is_like(&self, other: &dyn AnySection) -> bool {
        let other = other.as_kind::<Self>();
        other
            .is_some_and(|other| self.basis == other.basis && self.fingerprint == other.fingerprint)
    }

    fn take_in(&mut self, other: Box<dyn AnySection>) {
        if let Ok(other) = (other as Box<dyn Any>).downcast::<Self>() {
            for (id, mut item) in other.items {
                if let Some(before) = self.items.get(&id) {
                    item.take_over(before);
                }
                self.items.insert(id, item);
            }
        }
    }

    fn leave_out(&mut self, ids: &BTreeSet<String>) {
        self.items.retain(|id, _| !ids.contains(id));
    }

    fn rename(&mut self, ids: &BTreeMap<String, String>) {
        self.items.rename(ids);
        self.items
            .values_mut()
            .for_each(|item| item.rename_others(ids));
    }

    fn shorten(&mut self, texts: KeptTexts) {
        self.items.values_mut().for_each(|item| item.shorten(texts));
    }

    fn without_items(&self) -> Box<dyn AnySection> {
        Box::new(Self {
            ending: self.ending,
            fingerprint: self.fingerprint,
            basis: self.basis.clone(),
            items: SharedMap::default(),
        })
    }

    fn records(&self) -> Vec<(&str, &(dyn erased_serde::Serialize + Sync))> {
        let records = self.items.iter();
        records
            .map(|(id, item)| (id.as_str(), item as &(dyn erased_serde::Serialize + Sync)))
            .collect()
    }

    fn boxed(&self) -> Box<dyn AnySection> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnySection) -> bool {
        other.as_kind() == Some(self)
    }
}

/// The items of a probe in one report, or on one side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedItems<'a> {
    /// The words for one item and for several items.
    pub nouns: Nouns,
    /// Whether the probe runs no pipeline and observes the items of other probes.
    pub are_of_others: bool,
    /// The digest of the settings that decide which variants are made; none if it is not known.
    pub settings: Option<Digest>,
    /// Every measured item, by its name, which is unique within the probe.
    pub by_name: BTreeMap<&'a str, ComparedItem<'a>>,
}

/// An item, for example a case or a query.
#[derive(Clone, Debug)]
pub struct ComparedItem<'a> {
    /// The digest of the item's content. If it differs on the other side, the item was edited.
    pub digest: Digest,
    /// Whether its repeats count as only one run, because the pipeline answered them from its own cache.
    pub counts_once: bool,
    /// The kind and the type of every variant, by name; empty if they are not known, or if the item has no variants.
    pub variants: BTreeMap<&'a str, VariantPart<'a>>,
}

/// The kind and the type of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantPart<'a> {
    /// The kind of perturbation.
    pub kind: Option<&'a str>,
    /// Whether this version can make variants of that kind.
    pub is_known: bool,
    /// The governing type of the unit that the variant changes.
    pub unit_type: Option<&'a str>,
}
