//! The unit types of a corpus: whether the governing ones occur, and which ones look alike.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization as _;

use super::{Case, Corpus, Unit, shown};
use crate::exit::Misuse;
use crate::notice::{Code, Notice};

/// A suggestion has to be at least this much like what was written (Jaro and Winkler, 0 to 1).
const ALIKE: f64 = 0.75;

/// Checks that every governing type heads a unit of at least one case.
///
/// # Errors
///
/// A [`Misuse`] that names the types that occur nowhere, the nearest that do, and all that do.
pub(super) fn all_occur(governing: &[String], corpus: &Corpus) -> Result<(), Misuse> {
    let counts = counts(corpus);
    let unknown: Vec<&String> = governing
        .iter()
        .filter(|name| !counts.contains_key(name.as_str()))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = unknown
        .iter()
        .map(|name| match nearest(name, &counts) {
            Some(near) => format!("`{}` (is it `{}`?)", shown(name), shown(near)),
            None => format!("`{}`", shown(name)),
        })
        .collect();
    let found: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{} ({count})", shown(name)))
        .collect();
    let found = if found.is_empty() {
        "no case has a unit; a unit starts at a level-2 heading such as `## Gate Rule`".to_owned()
    } else {
        format!("the types that occur, with how often: {}", found.join(", "))
    };
    let what = format!(
        "`governing_types` names a type that no case has: {}",
        named.join(", ")
    );
    Err(Misuse::new(what).help(found))
}

/// A notice for each group of types that differ in punctuation, case or accents only.
pub(super) fn look_alikes(corpus: &Corpus) -> Vec<Notice> {
    let mut groups: BTreeMap<String, BTreeMap<&str, (&Case, &Unit)>> = BTreeMap::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for case in &corpus.cases {
        for unit in &case.units {
            if known.insert(&unit.unit_type) {
                let group = groups.entry(skeleton(&unit.unit_type)).or_default();
                group.insert(&unit.unit_type, (case, unit));
            }
        }
    }
    groups
        .into_iter()
        .filter(|(skeleton, group)| group.len() > 1 && !skeleton.is_empty())
        .map(|(_, group)| {
            let places: Vec<String> = group
                .into_iter()
                .map(|(name, (case, unit))| {
                    format!("`{}` ({}:{})", shown(name), shown(&case.file), unit.line)
                })
                .collect();
            let text = format!(
                "these unit types look alike and count as different: {}; give their headings one \
                 spelling if they are meant to be the same",
                places.join(", ")
            );
            Notice::new(Code::LookAlikeTypes, text)
        })
        .collect()
}

fn counts(corpus: &Corpus) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for unit in corpus.cases.iter().flat_map(|case| &case.units) {
        *counts.entry(&*unit.unit_type).or_insert(0) += 1;
    }
    counts
}

fn nearest<'a>(name: &str, counts: &BTreeMap<&'a str, usize>) -> Option<&'a str> {
    let key = skeleton(name);
    let likeness = |found: &str| {
        if skeleton(found) == key {
            1.0
        } else {
            strsim::jaro_winkler(name, found)
        }
    };
    counts
        .keys()
        .map(|found| (likeness(found), *found))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|one, two| one.0.total_cmp(&two.0).then(two.1.cmp(one.1)))
        .map(|(_, found)| found)
}

/// Letters and digits only, in lower case, compatibility forms and accents undone.
fn skeleton(name: &str) -> String {
    name.nfkd()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
