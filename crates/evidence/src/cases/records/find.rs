//! Finds the units of a record: the texts at the declared places, or all texts and arrays of texts at its top level.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::LAST_USER_TURN;
use super::json::{JsonType, MemberSpan, elements, members};
use crate::config::{RecordUnits, unit_type};

/// A unit that was found in a record.
#[derive(Debug)]
pub(super) struct FoundUnit {
    pub(super) unit_type: String,
    /// The range that moves with the unit.
    pub(super) element: Range<usize>,
    /// The range of its JSON text.
    pub(super) value: Range<usize>,
    /// The text itself.
    pub(super) text: String,
    /// The array that contains the unit as an element.
    pub(super) list: Option<usize>,
    /// Whether the unit cannot be moved.
    pub(super) fixed: bool,
    /// The turn to which the unit belongs, from 0.
    pub(super) turn: Option<usize>,
}

/// An array whose elements are units.
#[derive(Debug)]
pub(super) struct FoundList {
    pub(super) name: String,
    pub(super) takes_texts: bool,
    pub(super) is_chat: bool,
}

/// A problem in a record that only its author can fix.
#[derive(Debug)]
pub(super) struct FieldProblem {
    /// The problem, and its place.
    pub(super) what: String,
    /// How to fix it.
    pub(super) help: String,
}

/// The units of one record.
#[derive(Debug, Default)]
pub(super) struct FoundUnits {
    pub(super) units: Vec<FoundUnit>,
    pub(super) lists: Vec<FoundList>,
    /// The declared types of which the record has no unit.
    pub(super) absent: Vec<String>,
    /// The fields at the top level that were examined and contain no unit, with their JSON types.
    pub(super) passed: Vec<(String, JsonType)>,
    /// The fields besides the turns, with their JSON types.
    pub(super) beside: Vec<(String, JsonType)>,
    /// The name of the turns, if they cannot be moved.
    pub(super) turns: Option<String>,
    /// How many turns there are.
    pub(super) count_of_turns: usize,
    /// Whether the conversation continues with an answer after the last message of the user.
    pub(super) answered: bool,
    pub(super) problems: Vec<FieldProblem>,
}

/// The key for the sender of a message, and that for its text.
const ROLE: &str = "role";
const CONTENT: &str = "content";

/// Finds the units at the declared places of a record.
pub(super) fn declared(text: &str, top: &[MemberSpan], units: &[RecordUnits]) -> FoundUnits {
    let mut search = UnitSearch::new(text);
    search.declared(top, units);
    search.finish(units)
}

/// Finds the texts and the arrays of texts at the top level of a record.
pub(super) fn at_the_top(text: &str, top: &[MemberSpan], besides: &[&str]) -> FoundUnits {
    let mut search = UnitSearch::new(text);
    search.at_the_top(top, besides);
    search.finish(&[])
}

/// A search through a record.
pub(super) struct UnitSearch<'t> {
    text: &'t str,
    pub(super) found: FoundUnits,
    /// The declaration to search for; none if nothing is declared.
    declared: Option<&'t RecordUnits>,
    /// The type of the units in the search, if nothing is declared.
    pub(super) name: String,
    /// The turn that is being searched.
    pub(super) turn: Option<usize>,
    /// The declared types that were found.
    met: BTreeSet<&'t str>,
}

impl<'t> UnitSearch<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            found: FoundUnits::default(),
            declared: None,
            name: String::new(),
            turn: None,
            met: BTreeSet::new(),
        }
    }

    /// Collects the units at the declared places of an object.
    pub(super) fn declared(&mut self, object: &[MemberSpan], units: &'t [RecordUnits]) {
        for declared in units {
            let before = self.found.units.len();
            self.declared = Some(declared);
            let parts = declared.parts();
            if let Some((first, rest)) = parts.split_first() {
                let member = object.iter().find(|member| member.key == *first);
                if let Some(member) = member {
                    self.walk(member.value.clone(), rest, &declared.place);
                }
            }
            if self.found.units.len() > before {
                self.met.insert(&declared.unit_type);
            }
        }
        self.declared = None;
    }

    /// Collects the texts and the arrays of texts at the top level of an object.
    pub(super) fn at_the_top(&mut self, object: &[MemberSpan], besides: &[&str]) {
        let members = object.iter();
        for member in members.filter(|member| !besides.contains(&&*member.key)) {
            let before = self.found.units.len();
            let kind = self.kind(&member.value);
            self.name = unit_type(&member.key);
            if !self.name.is_empty() {
                match kind {
                    JsonType::Text => self.single(member.value.clone(), &member.key),
                    JsonType::Array => self.texts_or_messages(&member.value, &member.key),
                    _ => {}
                }
            }
            if self.found.units.len() == before {
                self.found.passed.push((member.key.clone(), kind));
            }
        }
    }

    pub(super) fn kind(&self, at: &Range<usize>) -> JsonType {
        JsonType::of_value(&self.text[at.clone()])
    }

    fn unit_type(&self) -> String {
        let declared = self.declared.map(|declared| &declared.unit_type);
        declared.unwrap_or(&self.name).clone()
    }

    fn reorders(&self) -> bool {
        self.declared.is_some_and(|declared| declared.reorder)
    }

    pub(super) fn problem(&mut self, what: String, help: impl Into<String>) {
        self.found.problems.push(FieldProblem {
            what,
            help: help.into(),
        });
    }

    /// Follows the remaining keys of a place, starting at a value.
    fn walk(&mut self, at: Range<usize>, rest: &[String], place: &str) {
        let kind = self.kind(&at);
        let Some((part, after)) = rest.split_first() else {
            return self.take(at, place);
        };
        match (kind, &**part) {
            (JsonType::Null, _) => {}
            (JsonType::Array, EACH) if after.iter().any(|part| part == EACH) => {
                for element in self.elements(&at, place) {
                    self.walk(element, after, place);
                }
            }
            (JsonType::Array, EACH) => {
                let elements = self.elements(&at, place);
                let mut holds_arrays = false;
                for element in &elements {
                    let inside = self.inside(element.clone(), after, place);
                    holds_arrays |= inside.is_some_and(|at| self.kind(&at) == JsonType::Array);
                }
                // Each array within an array is a separate list; the outer elements keep their positions.
                match holds_arrays {
                    true => elements
                        .into_iter()
                        .for_each(|element| self.walk(element, after, place)),
                    false => self.list(&at, after, place),
                }
            }
            (_, EACH) => self.problem(
                format!(
                    "`{place}`: `*` stands for the elements of an array, and there is {}",
                    kind.name()
                ),
                "leave `*` out, or name the array",
            ),
            (JsonType::Array, index) => {
                let elements = self.elements(&at, place);
                match index.parse::<usize>() {
                    Ok(index) => {
                        if let Some(element) = elements.get(index) {
                            self.walk(element.clone(), after, place);
                        }
                    }
                    Err(_) => self.problem(
                        format!("`{place}`: `{part}` is looked for in an array"),
                        format!("write `*` for every element of it, as in `*/{part}`"),
                    ),
                }
            }
            (JsonType::Object, key) => {
                let inside = self.members(&at, place);
                if let Some(member) = inside.into_iter().find(|member| member.key == key) {
                    self.walk(member.value, after, place);
                }
            }
            _ => self.problem(
                format!("`{place}`: `{part}` is looked for in {}", kind.name()),
                "name a place that every record has, or make this one like the others",
            ),
        }
    }

    /// Collects the value at the end of a place.
    fn take(&mut self, at: Range<usize>, place: &str) {
        match self.kind(&at) {
            JsonType::Null => {}
            JsonType::Text | JsonType::Number | JsonType::Boolean => self.single(at, place),
            JsonType::Array => self.list(&at, &[], place),
            JsonType::Object => {
                let keys = self.keys(&at, place);
                self.problem(
                    format!("`{place}` is an object, and a unit is a text; it has {keys}"),
                    "name the text in it with a JSON pointer such as `/customer/name`",
                );
            }
        }
    }

    /// A unit that cannot be moved. An empty text does not count as a unit, just like a missing section.
    pub(super) fn single(&mut self, at: Range<usize>, place: &str) {
        if let Some(text) = self.read(&at, place).filter(|text| !text.trim().is_empty()) {
            let unit_type = self.unit_type();
            self.push(unit_type, (at.clone(), at), text, None, true);
        }
    }

    /// An array whose elements are units, or contain a unit at `inside`.
    fn list(&mut self, at: &Range<usize>, inside: &[String], place: &str) {
        let elements = self.elements(at, place);
        if elements.is_empty() {
            return;
        }
        let is_text = inside.is_empty() || *inside == [CONTENT.to_owned()];
        if is_text && elements.iter().all(|element| self.role(element).is_some()) {
            return self.chat(elements, place);
        }
        let list = self.found.lists.len();
        let mut takes_texts = inside.is_empty();
        let before = self.found.units.len();
        for (number, element) in elements.into_iter().enumerate() {
            let value = self.inside(element.clone(), inside, place);
            let kind = value.as_ref().map(|value| self.kind(value));
            match (value, kind) {
                (Some(value), Some(JsonType::Text | JsonType::Number | JsonType::Boolean)) => {
                    takes_texts &= kind == Some(JsonType::Text);
                    if let Some(text) = self.read(&value, place) {
                        let unit_type = self.unit_type();
                        self.push(unit_type, (element, value), text, Some(list), false);
                    }
                }
                (_, kind) => {
                    let found = kind.map_or("nothing", JsonType::name);
                    let keys = match self.kind(&element) {
                        JsonType::Object => format!("; it has {}", self.keys(&element, place)),
                        _ => String::new(),
                    };
                    self.problem(
                        format!(
                            "element {} of `{place}` has {found} where a text is looked for{keys}",
                            number + 1
                        ),
                        "name the text of each element with a JSON pointer such as `/passages/*/text`, and leave out \
                         elements without one",
                    );
                    self.found.units.truncate(before);
                    return;
                }
            }
        }
        self.found.lists.push(FoundList {
            name: self.unit_type(),
            takes_texts,
            is_chat: false,
        });
    }

    /// A conversation: each message is a unit whose type is its role. It cannot be moved unless the configuration
    /// allows it.
    fn chat(&mut self, elements: Vec<Range<usize>>, place: &str) {
        let reorders = self.reorders();
        let list = self.found.lists.len();
        let last_user = elements
            .iter()
            .rposition(|element| self.role(element).as_deref() == Some("user"));
        for (number, element) in elements.into_iter().enumerate() {
            let role = self.role(&element).unwrap_or_default();
            let is_behind = last_user.is_some_and(|last| number > last);
            self.found.answered |= is_behind && role == "assistant" && !reorders;
            let texts = self.texts_of_message(&element, place);
            if reorders && texts.len() != 1 {
                self.problem(
                    format!(
                        "message {} of `{place}` has {} as `content`",
                        number + 1,
                        match texts.len() {
                            0 => "no text",
                            _ => "several texts",
                        }
                    ),
                    "leave `reorder` out: such messages keep their places",
                );
                continue;
            }
            let unit_type = type_of_message(&role, Some(number) == last_user);
            for value in texts {
                let Some(text) = self.read(&value, place) else {
                    continue;
                };
                let spans = match reorders {
                    true => (element.clone(), value),
                    false => (value.clone(), value),
                };
                self.push(unit_type.clone(), spans, text, Some(list), !reorders);
            }
        }
        self.found.lists.push(FoundList {
            name: self.unit_type(),
            takes_texts: false,
            is_chat: true,
        });
    }

    /// The texts of a message: its content, or the parts of the content that have a text.
    pub(super) fn texts_of_message(
        &mut self,
        message: &Range<usize>,
        place: &str,
    ) -> Vec<Range<usize>> {
        let is_text = |search: &Self, at: &Range<usize>| search.kind(at) == JsonType::Text;
        let Some(content) = self.inside(message.clone(), &[CONTENT.to_owned()], place) else {
            return Vec::new();
        };
        match self.kind(&content) {
            JsonType::Text => vec![content],
            JsonType::Array => {
                let parts = self.elements(&content, place).into_iter();
                let texts = parts.filter_map(|part| self.inside(part, &["text".to_owned()], place));
                let texts: Vec<Range<usize>> = texts.collect();
                texts.into_iter().filter(|at| is_text(self, at)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Collects an array at the top level of a record, if it contains texts or messages.
    fn texts_or_messages(&mut self, at: &Range<usize>, place: &str) {
        let elements = self.elements(at, place);
        let texts = elements
            .iter()
            .all(|element| self.kind(element) == JsonType::Text);
        let messages = elements.iter().all(|element| self.role(element).is_some());
        if texts || messages {
            self.list(at, &[], place);
        }
    }

    fn push(
        &mut self,
        unit_type: String,
        (element, value): (Range<usize>, Range<usize>),
        text: String,
        list: Option<usize>,
        fixed: bool,
    ) {
        self.found.units.push(FoundUnit {
            unit_type,
            element,
            value,
            text,
            list,
            fixed,
            turn: self.turn,
        });
    }

    /// The value under a path of keys inside a value.
    pub(super) fn inside(
        &mut self,
        at: Range<usize>,
        keys: &[String],
        place: &str,
    ) -> Option<Range<usize>> {
        keys.iter().try_fold(at, |at, key| match self.kind(&at) {
            JsonType::Object => {
                let inside = self.members(&at, place).into_iter();
                let mut found = inside.filter(|member| member.key == *key);
                found.next().map(|member| member.value)
            }
            JsonType::Array => {
                let index: usize = key.parse().ok()?;
                self.elements(&at, place).get(index).cloned()
            }
            _ => None,
        })
    }

    /// The role of a message; none if it is not a message.
    pub(super) fn role(&self, at: &Range<usize>) -> Option<String> {
        if self.kind(at) != JsonType::Object {
            return None;
        }
        let inside = members(self.text, at).ok()?;
        inside.iter().find(|member| member.key == CONTENT)?;
        let role = inside.iter().find(|member| member.key == ROLE)?;
        serde_json::from_str(&self.text[role.value.clone()]).ok()
    }

    /// The text of a value; numbers and booleans keep their form in the file.
    fn read(&mut self, at: &Range<usize>, place: &str) -> Option<String> {
        let value = &self.text[at.clone()];
        if self.kind(at) != JsonType::Text {
            return Some(value.to_owned());
        }
        match serde_json::from_str(value) {
            Ok(text) => Some(text),
            Err(_) => {
                self.problem(
                    format!("the text at `{place}` has half of a surrogate pair, such as `\\ud83d` alone"),
                    "write the character whole: no reader can tell what the half stands for",
                );
                None
            }
        }
    }

    pub(super) fn members(&mut self, at: &Range<usize>, place: &str) -> Vec<MemberSpan> {
        members(self.text, at).unwrap_or_else(|error| {
            self.problem(
                format!("`{place}`: {}", reason(&error)),
                "give every key of the object one value",
            );
            Vec::new()
        })
    }

    pub(super) fn elements(&mut self, at: &Range<usize>, place: &str) -> Vec<Range<usize>> {
        elements(self.text, at).unwrap_or_else(|error| {
            self.problem(format!("`{place}`: {}", reason(&error)), "write it as JSON");
            Vec::new()
        })
    }

    /// The keys of an object for a message.
    fn keys(&mut self, at: &Range<usize>, place: &str) -> String {
        let keys: Vec<String> = self
            .members(at, place)
            .iter()
            .map(|member| format!("`{}`", member.key))
            .take(12)
            .collect();
        match keys.is_empty() {
            true => "no key".to_owned(),
            false => keys.join(", "),
        }
    }

    /// Puts the units in the order of the document; a unit inside another one is rejected. Also notes which declared
    /// units were not found.
    pub(super) fn finish(mut self, declared: &[RecordUnits]) -> FoundUnits {
        if self.found.problems.is_empty() {
            let names = declared.iter().map(|units| &units.unit_type);
            let absent = names.filter(|name| !self.met.contains(&***name));
            self.found.absent = absent.cloned().collect();
        }
        self.found.units.sort_by_key(|unit| unit.element.start);
        let overlap = self
            .found
            .units
            .windows(2)
            .find(|pair| pair[1].element.start < pair[0].element.end);
        if let Some([one, two]) = overlap {
            let what = format!(
                "a unit `{}` and a unit `{}` lie in one element of an array, which changes its place as a whole",
                one.unit_type, two.unit_type
            );
            self.problem(
                what,
                "declare one text of each element under `records.units`",
            );
        }
        self.found
    }
}

/// The type of a message with this role.
pub(super) fn type_of_message(role: &str, is_last_user: bool) -> String {
    match role {
        "system" | "developer" => "system".to_owned(),
        "user" if is_last_user => LAST_USER_TURN.to_owned(),
        role => format!("{}_turn", unit_type(role)),
    }
}

/// The part of a place that means every element of an array.
const EACH: &str = "*";

/// The problem of a JSON text, without its position, because the message adds the position.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
