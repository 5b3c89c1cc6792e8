//! The unit types of a corpus: whether the governing types occur, and which types look alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;

use super::Case;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_probe::case_files::shown;

/// A suggestion must be at least this similar to the written name (Jaro and Winkler, 0 to 1).
const ALIKE: f64 = 0.75;

/// Every unit type, by name.
#[derive(Debug, Default)]
pub(super) struct Types(BTreeMap<Arc<str>, TypeSeen>);

/// Where a type occurs.
#[derive(Debug)]
struct TypeSeen {
    /// The name of the type; all its units share this allocation.
    name: Arc<str>,
    /// How many units have this type.
    units: usize,
    /// The index of the first case with a unit of this type.
    case: usize,
    /// The line of that unit.
    line: usize,
}

impl Types {
    /// Adds the types of cases that come after the first `place` cases.
    pub(super) fn join(&mut self, place: usize, others: Self) {
        for (name, other) in others.0 {
            match self.0.get_mut(&name) {
                Some(seen) => seen.units += other.units,
                None => {
                    let case = place + other.case;
                    self.0.insert(name, TypeSeen { case, ..other });
                }
            }
        }
    }

    /// Adds the units of a case, and lets all units of a type share one allocation.
    pub(super) fn take(&mut self, place: usize, case: &mut Case) {
        for unit in &mut case.units {
            if let Some(seen) = self.0.get_mut(&unit.unit_type) {
                seen.units += 1;
                unit.unit_type = Arc::clone(&seen.name);
                continue;
            }
            let name = Arc::clone(&unit.unit_type);
            let seen = TypeSeen {
                name: Arc::clone(&name),
                units: 1,
                case: place,
                line: unit.line,
            };
            self.0.insert(name, seen);
        }
    }
}

/// Checks that every type in a key of the configuration is the heading of a unit in at least one case. Fails with a
/// [`Misuse`] that names the types that do not occur, the most similar ones that do, and all that do.
pub(super) fn all_occur(key: &str, names: &[String], types: &Types) -> Result<(), Misuse> {
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| !types.0.contains_key(name.as_str()))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = unknown
        .iter()
        .map(|name| match nearest(name, types) {
            Some(near) => format!("`{}` (is it `{}`?)", shown(name), shown(near)),
            None => format!("`{}`", shown(name)),
        })
        .collect();
    let found: Vec<String> = types
        .0
        .iter()
        .map(|(name, seen)| format!("{} ({})", shown(name), seen.units))
        .collect();
    let found = if found.is_empty() {
        "no case has a unit; a unit starts at a level-2 heading such as `## Gate Rule`, or is a text at the top of a \
         record, or one that `records: {units: {TYPE: PLACE}}` names"
            .to_owned()
    } else {
        format!("the types that occur, with how often: {}", found.join(", "))
    };
    let what = format!(
        "`{key}` names a type that no case has: {}",
        named.join(", ")
    );
    Err(Misuse::new(what).help(found))
}

/// A notice for each group of types that differ only in punctuation, case or accents.
pub(super) fn look_alikes(types: &Types, cases: &[Case]) -> Vec<Notice> {
    let mut groups: BTreeMap<String, Vec<(&str, &TypeSeen)>> = BTreeMap::new();
    for (name, seen) in &types.0 {
        groups.entry(skeleton(name)).or_default().push((name, seen));
    }
    groups
        .into_iter()
        .filter(|(skeleton, group)| group.len() > 1 && !skeleton.is_empty())
        .map(|(_, group)| {
            let places: Vec<String> = group
                .into_iter()
                .map(|(name, seen)| {
                    let file = shown(&cases[seen.case].file);
                    format!("`{}` ({file}:{})", shown(name), seen.line)
                })
                .collect();
            let text = format!(
                "these unit types look alike and count as different: {}; give their headings one \
                 spelling if they are meant to be the same",
                places.join(", ")
            );
            Notice::new(Code::own("look_alike_types"), text)
        })
        .collect()
}

fn nearest<'a>(name: &str, types: &'a Types) -> Option<&'a str> {
    let key = skeleton(name);
    let likeness = |found: &str| {
        if skeleton(found) == key {
            1.0
        } else {
            strsim::jaro_winkler(name, found)
        }
    };
    types
        .0
        .keys()
        .map(|found| (likeness(found), &**found))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|one, two| one.0.total_cmp(&two.0).then(two.1.cmp(one.1)))
        .map(|(_, found)| found)
}

/// A name reduced to its letters and digits, in lower case, with compatibility forms and accents undone.
fn skeleton(name: &str) -> String {
    name.nfkd()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
