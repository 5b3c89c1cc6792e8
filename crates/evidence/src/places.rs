//! Evaluates at which positions of a list evidence is still used, from the variants of `position`.
//!
//! Neutral text in place of each element shows which element decides. If exactly one does, rotating the list brings
//! this element to every position, and the decision stays the same where the element is still used. Elements that keep
//! their order, such as the messages of a conversation, are not moved: there neutral text shows which positions are
//! used at all.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::perturb::{POSITION, Sweep, sweeps};
use super::{CaseRecord, VariantRecord};
use kelvin_base::stats;

/// The results at some positions of a list in one case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenPlace<'a> {
    /// The name of the case.
    pub(crate) case: &'a str,
    /// The positions, from 0.
    pub(crate) places: Range<usize>,
    /// How many elements the list has.
    pub(crate) length: usize,
    /// How stable the decision was with the deciding element at this position. In a list that keeps its order: how
    /// often neutral text at this position moved the decision.
    pub(crate) value: f64,
    /// Whether an element at this position has a governing type.
    pub(crate) governs: bool,
}

/// The results for all lists of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SeenPlaces<'a> {
    /// Results with the deciding element at each position.
    pub(crate) moved_there: Vec<SeenPlace<'a>>,
    /// Results with neutral text at each position of lists that keep their order.
    pub(crate) kept: Vec<SeenPlace<'a>>,
    /// Whether the positions are the turns of a conversation.
    pub(crate) are_turns: bool,
}

/// The results of the variants of `position`, by the names of the lists.
pub(crate) fn seen<'a>(
    cases: &'a BTreeMap<String, CaseRecord>,
    governing: &[String],
) -> BTreeMap<Arc<str>, SeenPlaces<'a>> {
    let mut all: BTreeMap<Arc<str>, SeenPlaces<'a>> = BTreeMap::new();
    for (name, case) in cases {
        for list in sweeps(case.units.iter().map(|unit| (unit.list, unit.turn))) {
            one_list(name, case, &list, governing, &mut all);
        }
    }
    all
}

/// How a variant changed a list.
enum DoneToList {
    /// Neutral text replaces the group.
    Neutral(usize),
    /// The list begins at the group.
    BeginsAt(usize),
}

/// How a variant changed a list; none if it concerns another list, or has another kind.
fn done(variant: &VariantRecord, list: &Sweep) -> Option<DoneToList> {
    if variant.kind != POSITION {
        return None;
    }
    let mut groups = list.groups.iter();
    let edited = &variant.notes.edited;
    if !edited.is_empty() {
        // A turn may begin with an array, so the whole group is compared.
        let group = groups.position(|group| edited.iter().copied().eq(group.units.clone()));
        return group.map(DoneToList::Neutral);
    }
    let begins = *variant.notes.order.get(list.units.start)?;
    let is_turned = !list.is_of_turns && begins != list.units.start;
    let group = is_turned.then(|| groups.position(|group| group.units.start == begins));
    group?.map(DoneToList::BeginsAt)
}

/// The mean of the values that `value` computes from the distances of a variant.
fn mean(variant: &VariantRecord, value: impl Fn(f64) -> f64) -> Option<f64> {
    let distances = variant.samples.iter().filter_map(|sample| sample.distance);
    stats::mean(&distances.map(value).collect::<Vec<f64>>())
}

fn one_list<'a>(
    name: &'a str,
    case: &'a CaseRecord,
    list: &Sweep,
    governing: &[String],
    all: &mut BTreeMap<Arc<str>, SeenPlaces<'a>>,
) {
    let groups = &list.groups;
    let moved = |distance: f64| f64::from(u8::from(distance > 0.0));
    let mut neutral: BTreeMap<usize, f64> = BTreeMap::new();
    let mut turned: BTreeMap<usize, f64> = BTreeMap::new();
    let mut list_name = None;
    for variant in &case.variants {
        match done(variant, list) {
            Some(DoneToList::Neutral(group)) => {
                list_name = variant.unit_type.as_ref();
                neutral.extend(mean(variant, moved).map(|share| (group, share)));
            }
            Some(DoneToList::BeginsAt(group)) => {
                turned.extend(mean(variant, |distance| 1.0 - distance).map(|held| (group, held)));
            }
            None => {}
        }
    }
    let Some(list_name) = list_name else {
        return;
    };
    let seen = all.entry(Arc::clone(list_name)).or_default();
    let place = |places: Range<usize>, value: f64, governs: bool| SeenPlace {
        case: name,
        places,
        length: list.length,
        value,
        governs,
    };
    seen.are_turns = list.is_of_turns;
    let is_governing = |units: &Range<usize>| {
        let mut types = case.units[units.clone()]
            .iter()
            .map(|unit| &*unit.unit_type);
        types.any(|name| governing.iter().any(|one| one == name))
    };
    if turned.is_empty() {
        let kept = neutral.iter().map(|(group, share)| {
            let group = &groups[*group];
            place(group.places.clone(), *share, is_governing(&group.units))
        });
        seen.kept.extend(kept);
        return;
    }
    let mut deciding = neutral
        .iter()
        .filter(|(_, share)| **share >= HALF)
        .map(|(group, _)| *group);
    // If several elements decide, or none, no position belongs to one element.
    let (Some(deciding), None) = (deciding.next(), deciding.next()) else {
        return;
    };
    let group = &groups[deciding];
    let governs = is_governing(&group.units);
    seen.moved_there
        .push(place(group.places.clone(), 1.0, governs));
    for (first, held) in turned {
        let around = (first..groups.len()).chain(0..first);
        let before: usize = around
            .take_while(|at| *at != deciding)
            .map(|at| groups[at].places.len())
            .sum();
        let places = before..before + group.places.len();
        seen.moved_there.push(place(places, held, governs));
    }
}

/// The share of the runs in which neutral text has to move the decision, so that the element counts as the deciding
/// one.
const HALF: f64 = 0.5;

/// The only part of a list that the pipeline uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPart {
    /// Whether the part is at the end of the list.
    pub(crate) at_the_end: bool,
    /// How many elements it has.
    pub(crate) count: usize,
    /// The largest number of elements in a list.
    pub(crate) length: usize,
    /// Whether all lists have this length.
    pub(crate) is_exact: bool,
    /// How often evidence outside the part was tested.
    pub(crate) outside: usize,
    /// How often evidence outside the part was used.
    pub(crate) read_outside: usize,
}

/// The part has to be used nearly always, and the rest nearly never; a smaller difference is only visible in the curve.
const READ: f64 = 0.8;
const UNREAD: f64 = 0.35;
/// The smallest number of cases, and of positions outside the part, for a conclusion about positions.
const CASES: usize = 3;
const OUTSIDE: usize = 5;
/// In a list that keeps its order, neutral text outside the part moves hardly any decision.
const HARDLY: f64 = 0.05;

impl SeenPlaces<'_> {
    /// The only part that the pipeline uses; none if there is no such part.
    pub(crate) fn part(&self) -> Option<ReadPart> {
        self.part_of_moved().or_else(|| self.part_of_kept())
    }

    fn part_of_moved(&self) -> Option<ReadPart> {
        let seen = &self.moved_there;
        let cases: BTreeSet<&str> = seen.iter().map(|place| place.case).collect();
        if cases.len() < CASES {
            return None;
        }
        let parts = parts(seen).filter_map(|(at_the_end, count)| {
            let (inside, outside) = split(seen.iter(), at_the_end, count);
            let (read, unread) = (stats::mean(&inside)?, stats::mean(&outside)?);
            let is_told = outside.len() >= OUTSIDE && read >= READ && unread <= UNREAD;
            let read_outside = outside.iter().filter(|held| **held >= HALF).count();
            let part = part(seen, (at_the_end, count), (outside.len(), read_outside));
            is_told.then_some((read - unread, part))
        });
        let best = parts.max_by(|one, two| one.0.total_cmp(&two.0));
        best.map(|(_, part)| part)
    }

    fn part_of_kept(&self) -> Option<ReadPart> {
        let seen = &self.kept;
        let moved: BTreeSet<&str> = seen
            .iter()
            .filter(|place| place.value >= HALF)
            .map(|place| place.case)
            .collect();
        if moved.len() < CASES {
            return None;
        }
        // The smallest part comes first.
        let mut parts = parts(seen).filter_map(|(at_the_end, count)| {
            let (_, all) = split(seen.iter(), at_the_end, count);
            let governing = seen.iter().filter(|place| place.governs);
            let (_, outside) = split(governing, at_the_end, count);
            let is_hardly_read =
                |shares: &[f64]| stats::mean(shares).is_some_and(|mean| mean <= HARDLY);
            let is_told =
                outside.len() >= OUTSIDE && is_hardly_read(&outside) && is_hardly_read(&all);
            let read_outside = outside.iter().filter(|share| **share >= HALF).count();
            is_told.then(|| part(seen, (at_the_end, count), (outside.len(), read_outside)))
        });
        parts.next()
    }
}

fn part(
    seen: &[SeenPlace<'_>],
    (at_the_end, count): (bool, usize),
    (outside, read_outside): (usize, usize),
) -> ReadPart {
    let length = seen.iter().map(|place| place.length).max();
    let length = length.unwrap_or_default();
    ReadPart {
        at_the_end,
        count,
        length,
        is_exact: seen.iter().all(|place| place.length == length),
        outside,
        read_outside,
    }
}

/// Every possible part for splitting the positions, the smaller ones first.
fn parts(seen: &[SeenPlace<'_>]) -> impl Iterator<Item = (bool, usize)> {
    let ends = |at_the_end: bool| {
        let ends = seen.iter().map(move |place| match at_the_end {
            false => place.places.end,
            true => place.length - place.places.start,
        });
        ends.map(move |end| (end, at_the_end))
    };
    let all: BTreeSet<(usize, bool)> = ends(false).chain(ends(true)).collect();
    all.into_iter().map(|(end, at_the_end)| (at_the_end, end))
}

/// The values at the positions inside a part, and at those outside. Groups of positions that are partly inside are left
/// out.
fn split<'s, 'a: 's>(
    seen: impl Iterator<Item = &'s SeenPlace<'a>>,
    at_the_end: bool,
    count: usize,
) -> (Vec<f64>, Vec<f64>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for place in seen {
        let (first, last) = match at_the_end {
            false => (place.places.start, place.places.end),
            true => (
                place.length - place.places.end,
                place.length - place.places.start,
            ),
        };
        if last <= count {
            inside.push(place.value);
        } else if first >= count {
            outside.push(place.value);
        }
    }
    (inside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of ten in five cases, in which the deciding element was at every place.
    fn moved(held: impl Fn(usize) -> f64) -> SeenPlaces<'static> {
        let cases = ["a", "b", "c", "d", "e"];
        let places = cases.iter().flat_map(|case| {
            (0..10).map(|at| SeenPlace {
                case,
                places: at..at + 1,
                length: 10,
                value: held(at),
                governs: true,
            })
        });
        SeenPlaces {
            moved_there: places.collect(),
            kept: Vec::new(),
            are_turns: false,
        }
    }

    fn part_of(seen: &SeenPlaces<'_>) -> Option<(bool, usize)> {
        seen.part().map(|part| (part.at_the_end, part.count))
    }

    #[test]
    fn a_part_is_told_where_it_is_read_and_the_rest_is_not() {
        let first = |count| move |at: usize| f64::from(u8::from(at < count));
        assert_eq!(part_of(&moved(first(3))), Some((false, 3)));
        assert_eq!(part_of(&moved(first(1))), Some((false, 1)));
        assert_eq!(part_of(&moved(|at| first(8)(9 - at))), Some((true, 8)));
        assert_eq!(part_of(&moved(|_| 1.0)), None);
        assert_eq!(part_of(&moved(|_| 0.0)), None);
        assert_eq!(part_of(&moved(|at| first(3)(at).mul_add(0.4, 0.5))), None);
        // What is lost in the middle is shown by the curve.
        assert_eq!(
            part_of(&moved(|at| f64::from(u8::from(!(3..7).contains(&at))))),
            None
        );
        let mut few = moved(first(3));
        few.moved_there.retain(|place| place.case < "c");
        assert_eq!(part_of(&few), None);
    }

    #[test]
    fn messages_that_keep_their_order_are_judged_by_the_governing_ones() {
        let chat = |governs: bool, moves: fn(usize) -> bool| {
            let places = ["a", "b", "c"].iter().flat_map(move |case| {
                (0..4).map(move |at| SeenPlace {
                    case,
                    places: at..at + 1,
                    length: 4,
                    value: f64::from(u8::from(moves(at))),
                    governs: governs || at == 3,
                })
            });
            SeenPlaces {
                moved_there: Vec::new(),
                kept: places.collect(),
                are_turns: false,
            }
        };
        assert_eq!(part_of(&chat(true, |at| at == 3)), Some((true, 1)));
        assert_eq!(part_of(&chat(true, |at| at > 1)), Some((true, 2)));
        assert_eq!(part_of(&chat(true, |at| at == 0)), Some((false, 1)));
        // Only the last one ought to be read, and is.
        assert_eq!(part_of(&chat(false, |at| at == 3)), None);
        assert_eq!(part_of(&chat(true, |_| true)), None);
        assert_eq!(part_of(&chat(true, |_| false)), None);
        assert_eq!(part_of(&chat(true, |at| at % 2 == 1)), None);
    }
}
