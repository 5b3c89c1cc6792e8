//! Finds the cases without an id that a change edits. Such a case is named by what it says, so an edit gives it another
//! name: without more it would count as one case removed and one added. It is known again by its place in the file.

use std::collections::BTreeMap;

use super::cases::is_named_by_content;
use super::section::EvidenceSection;

/// The case before and the case behind, of those that both sides have.
type Neighbors<'a> = (Option<&'a str>, Option<&'a str>);

/// The name on the head of every case that has another name there, by its name on the base. Where as many cases of either
/// side stand between the same two neighbors, they are taken for the same cases in their order. So a file that was
/// sorted anew, or into which other cases were put where some were taken away, pairs nothing.
pub(super) fn renamed(base: &EvidenceSection, head: &EvidenceSection) -> BTreeMap<String, String> {
    let (Some(before), Some(mut after)) = (apart(base, head), apart(head, base)) else {
        return BTreeMap::new();
    };
    let groups = before
        .into_iter()
        .filter_map(|(at, old)| Some((old, after.remove(&at)?)))
        .filter(|(old, new)| old.len() == new.len());
    groups
        .flat_map(|(old, new)| old.into_iter().zip(new))
        .map(|(old, new)| (old.to_owned(), new.to_owned()))
        .collect()
}

/// The cases that only this side has, in the order of the file, by their neighbors. None if they have ids, or if their
/// order is not known, since several records stand in one line.
fn apart<'a>(
    section: &'a EvidenceSection,
    other: &EvidenceSection,
) -> Option<BTreeMap<Neighbors<'a>, Vec<&'a str>>> {
    let mut in_order = BTreeMap::new();
    for (name, case) in section.items.iter() {
        let line = case.units.first()?.line;
        if !is_named_by_content(name) || in_order.insert(line, name.as_str()).is_some() {
            return None;
        }
    }
    let mut found: BTreeMap<Neighbors<'_>, Vec<&str>> = BTreeMap::new();
    let (mut last, mut gap) = (None, Vec::new());
    for name in in_order.into_values() {
        if other.items.contains_key(name) {
            found.insert((last, Some(name)), std::mem::take(&mut gap));
            last = Some(name);
        } else {
            gap.push(name);
        }
    }
    found.insert((last, None), gap);
    Some(found)
}
