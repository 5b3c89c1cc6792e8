//! The fields of an output that can be the decision: every value that the scorer takes, at any depth.

use serde_json::{Map, Value};

use kelvin_page::safe;

/// At most so many fields are listed; an output may have a million.
const MOST: usize = 200;

/// The values of a list are listed up to this one: a decision seldom stands in a place of a list.
const OF_A_LIST: usize = 8;

/// A field, and the value that it had.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field<'a> {
    /// The keys that lead to it.
    path: Vec<String>,
    value: &'a Value,
    /// Whether it is an item of a list, or lies in one.
    is_in_list: bool,
}

/// The fields of an output.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// In the order of their keys.
    pub(super) usable: Vec<Field<'a>>,
    /// Why fields at the top cannot be the decision, where nothing in them can either.
    pub(super) refused: Vec<String>,
    /// Whether there are more than are listed.
    pub(super) more: bool,
}

impl<'a> Fields<'a> {
    /// Finds them; `accepts` is what the scorer says of a value.
    pub(super) fn of(
        output: &'a Map<String, Value>,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) -> Self {
        let mut fields = Self::default();
        for (key, value) in output {
            let before = fields.usable.len();
            fields.walk(vec![key.clone()], value, false, accepts);
            if fields.usable[before..].iter().all(|field| field.is_in_list)
                && let Err(reason) = accepts(value)
            {
                fields.refused.push(format!("`{key}` is {reason}"));
            }
        }
        fields
    }

    fn walk(
        &mut self,
        path: Vec<String>,
        value: &'a Value,
        is_in_list: bool,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) {
        if accepts(value).is_ok() {
            match self.usable.len() < MOST {
                true => self.usable.push(Field {
                    path,
                    value,
                    is_in_list,
                }),
                false => self.more = true,
            }
            return;
        }
        let below = |key: String| [&path[..], &[key]].concat();
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.walk(below(key.clone()), value, is_in_list, accepts);
                }
            }
            Value::Array(values) => {
                for (place, value) in values.iter().enumerate().take(OF_A_LIST) {
                    self.walk(below(place.to_string()), value, true, accepts);
                }
            }
            _ => {}
        }
    }

    /// The place of the field that is meant where nobody says it: the only one, or the only one that is called
    /// `decision`, of which one at the top comes first. What lies in a list is never meant: which of its items
    /// there is may change from case to case.
    pub(super) fn obvious(&self) -> Option<usize> {
        let all = self.usable.iter().enumerate();
        let single: Vec<(usize, &Field<'_>)> = all.filter(|(_, field)| !field.is_in_list).collect();
        if let [(place, _)] = single[..]
            && !self.more
        {
            return Some(place);
        }
        let called = |most: usize| {
            let mut places = single.iter().filter(|(_, field)| {
                field.path.len() <= most && field.path.last().is_some_and(|key| key == "decision")
            });
            let first = places.next().filter(|_| places.next().is_none());
            first.map(|(place, _)| *place)
        };
        called(1).or_else(|| called(usize::MAX).filter(|_| !self.more))
    }

    /// Whether only items of lists can be the decision, or nothing at all.
    pub(super) fn is_without_single(&self) -> bool {
        self.usable.iter().all(|field| field.is_in_list)
    }

    /// A line for each, with the keys on the way to it and its value.
    pub(super) fn shown(&self) -> Vec<String> {
        let names: Vec<String> = self
            .usable
            .iter()
            .map(|field| safe::cut(&safe::line(&field.path.join(".")), 48))
            .collect();
        let width = names.iter().map(|name| safe::columns(name)).max();
        let width = width.unwrap_or_default();
        let lines = names.iter().zip(&self.usable);
        lines
            .map(|(name, field)| {
                let gap = " ".repeat(width - safe::columns(name) + 2);
                format!("{name}{gap}{}", safe::cut(&field.value.to_string(), 60))
            })
            .collect()
    }
}

impl Field<'_> {
    /// As the configuration names it: a key at the top by itself, and all else as a JSON pointer.
    pub(super) fn written(&self) -> String {
        match &self.path[..] {
            [key] if !key.starts_with('/') && !key.trim().is_empty() => key.clone(),
            path => path
                .iter()
                .map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1")))
                .collect(),
        }
    }
}
