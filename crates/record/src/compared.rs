//! What everybody but its kind sees of the records of a probe: its items, by name and digest.

use std::collections::BTreeMap;

use crate::Nouns;
use kelvin_base::digest::Digest;

/// What a probe measured in one report, or one side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedItems<'a> {
    /// What one of its items is called, and several of them.
    pub nouns: Nouns,
    /// Whether the probe runs nothing and looks at the items of the others.
    pub are_of_others: bool,
    /// The digest of the settings that say which variants are made; none where it is not known.
    pub settings: Option<Digest>,
    /// Every item that was looked at, by its name, which is unique within the probe.
    pub by_name: BTreeMap<&'a str, ComparedItem<'a>>,
}

/// One item: a case, a query.
#[derive(Clone, Debug)]
pub struct ComparedItem<'a> {
    /// The digest of what it is measured on. Another one on the other side means that it was edited.
    pub digest: Digest,
    /// Whether its repeats count as one run, because the pipeline answered them from memory.
    pub counts_once: bool,
    /// What every variant of it is of, by name; empty where that is not known, or it has none.
    pub variants: BTreeMap<&'a str, VariantPart<'a>>,
}

/// What a variant is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantPart<'a> {
    /// The kind of perturbation.
    pub kind: Option<&'a str>,
    /// Whether this version can make variants of that kind.
    pub is_known: bool,
    /// The governing type that it moves.
    pub unit_type: Option<&'a str>,
}
