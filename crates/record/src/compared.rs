//! The part of a probe's records that is visible to others than its kind: its items, by name and digest.

use std::collections::BTreeMap;

use crate::Nouns;
use kelvin_base::digest::Digest;

/// The items of a probe in one report, or on one side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedItems<'a> {
    /// The words for one item and for several items.
    pub nouns: Nouns,
    /// Whether the probe runs nothing and observes the items of other probes.
    pub are_of_others: bool,
    /// The digest of the settings that decide which variants are made; none where it is not known.
    pub settings: Option<Digest>,
    /// Every measured item, by its name, which is unique within the probe.
    pub by_name: BTreeMap<&'a str, ComparedItem<'a>>,
}

/// One item: a case, a query.
#[derive(Clone, Debug)]
pub struct ComparedItem<'a> {
    /// The digest of the item's content. If it differs on the other side, the item was edited.
    pub digest: Digest,
    /// Whether its repeats count as one run, because the pipeline answered them from memory.
    pub counts_once: bool,
    /// The kind and the type of every variant, by name; empty where they are not known, or the item has no variants.
    pub variants: BTreeMap<&'a str, VariantPart<'a>>,
}

/// The kind and the type of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantPart<'a> {
    /// The kind of perturbation.
    pub kind: Option<&'a str>,
    /// Whether this version can make variants of that kind.
    pub is_known: bool,
    /// The governing type that it moves.
    pub unit_type: Option<&'a str>,
}
