//! Finds the units in the turns of a conversation: each turn is a separate input, and no unit leaves its turn.

use std::ops::Range;

use super::find::{FoundList, FoundUnits, UnitSearch, type_of_message};
use super::json::{JsonType, MemberSpan};
use crate::config::{RecordTurns, RecordUnits};

/// Finds the units in the turns of a conversation. The fields besides the turns are not passed to the pipeline.
pub(super) fn in_turns<'t>(
    text: &'t str,
    top: &[MemberSpan],
    place: &RecordTurns,
    units: &'t [RecordUnits],
    besides: &[&str],
) -> FoundUnits {
    let mut search = UnitSearch::new(text);
    let pointer = place.place.pointer();
    let keys = pointer.split('/').skip(1);
    let keys: Vec<String> = keys
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    let (first, rest) = keys.split_first().unwrap_or((&place.name, &[]));
    let others = top.iter().filter(|member| !besides.contains(&&*member.key));
    let others = others.filter(|member| member.key != *first);
    search.found.beside = others
        .map(|member| (member.key.clone(), search.kind(&member.value)))
        .collect();
    let array = top.iter().find(|member| member.key == *first);
    let array = array.and_then(|member| search.inside(member.value.clone(), rest, pointer));
    let array = array.filter(|array| search.kind(array) == JsonType::Array);
    let elements = array.map(|array| search.elements(&array, pointer));
    match elements.filter(|elements| !elements.is_empty()) {
        Some(elements) => search.turns(elements, place, units),
        None if search.found.problems.is_empty() => {
            let keys: Vec<String> = top
                .iter()
                .map(|member| format!("`{}`", member.key))
                .collect();
            search.problem(
                format!("the record has no turns at `{pointer}`; it has {}", keys.join(", ")),
                "give every record an array with one input or more there, as `[\"...\", {\"photos\": [\"...\"]}]`",
            );
        }
        None => {}
    }
    search.finish(units)
}

impl<'t> UnitSearch<'t> {
    /// Collects the units of every turn: a text, a message, or the fields of an object.
    fn turns(
        &mut self,
        elements: Vec<Range<usize>>,
        turns: &RecordTurns,
        units: &'t [RecordUnits],
    ) {
        let pointer = turns.place.pointer();
        self.found.count_of_turns = elements.len();
        let roles: Vec<Option<String>> = elements.iter().map(|one| self.role(one)).collect();
        let last_user = roles
            .iter()
            .rposition(|role| role.as_deref() == Some("user"));
        for (number, (element, role)) in elements.into_iter().zip(roles).enumerate() {
            let before = self.found.units.len();
            self.turn = Some(number);
            self.name.clone_from(&turns.name);
            match (self.kind(&element), role.filter(|_| units.is_empty())) {
                (JsonType::Text, _) => self.single(element.clone(), pointer),
                (_, Some(role)) if role == "assistant" => self.problem(
                    format!("turn {} of `{pointer}` has the role `assistant`", number + 1),
                    "leave it out: a turn is what the pipeline is given, and its own answer is what it makes of that",
                ),
                (_, Some(role)) => {
                    self.name = type_of_message(&role, Some(number) == last_user);
                    for value in self.texts_of_message(&element, pointer) {
                        self.single(value, pointer);
                    }
                }
                (JsonType::Object, None) => {
                    let object = self.members(&element, pointer);
                    match units.is_empty() {
                        true => self.at_the_top(&object, &[]),
                        false => self.declared(&object, units),
                    }
                }
                (kind, None) => self.problem(
                    format!("turn {} of `{pointer}` is {}", number + 1, kind.name()),
                    "write each turn as a text, or as an object whose fields are texts and arrays",
                ),
            }
            if turns.reorder {
                self.turn_as_element(before, element, pointer);
            }
        }
        self.turn = None;
        match turns.reorder {
            true => self.found.lists.push(FoundList {
                name: turns.name.clone(),
                takes_texts: false,
                is_chat: true,
            }),
            false => self.found.turns = Some(turns.name.clone()),
        }
    }

    /// If a turn has only one unit, this unit becomes the whole turn, so that moving it moves the turn.
    fn turn_as_element(&mut self, before: usize, element: Range<usize>, pointer: &str) {
        let turn = self.turn.take().map_or(0, |turn| turn + 1);
        let list = self.found.lists.len();
        match &mut self.found.units[before..] {
            [unit] if unit.list.is_none() => {
                unit.element = element;
                unit.list = Some(list);
                unit.fixed = false;
                unit.turn = None;
            }
            _ if !self.found.problems.is_empty() => {}
            units => {
                let found = match units.len() {
                    0 => "no text",
                    _ => "several texts",
                };
                self.problem(
                    format!(
                        "turn {turn} of `{pointer}` has {found}, and `reorder` moves turns with one"
                    ),
                    "leave `reorder` out: then turns keep their places",
                );
            }
        }
    }
}
