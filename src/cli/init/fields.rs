//! The fields of an output that can be the decision: every value that the scorer accepts, in objects at any depth. The
//! items of lists are left out, because the list may differ from case to case.

use serde_json::{Map, Value};

use kelvin_page::safe;

/// How many fields are listed at most; an output may have a million.
const MOST: usize = 200;

/// A field with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field<'a> {
    /// The keys on the path to the field.
    path: Vec<&'a str>,
    value: &'a Value,
}

/// The fields of an output.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// The fields that can be the decision, in the order of their keys.
    pub(super) usable: Vec<Field<'a>>,
    /// Why some fields at the top, with all values inside them, cannot be the decision.
    pub(super) refused: Vec<String>,
}

impl<'a> Fields<'a> {
    /// Finds the fields; `accepts` says whether the scorer accepts a value.
    pub(super) fn of(
        output: &'a Map<String, Value>,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) -> Self {
        let mut fields = Self::default();
        for (key, value) in output {
            let before = fields.usable.len();
            fields.walk(vec![key], value, accepts);
            if fields.usable.len() == before
                && let Err(reason) = accepts(value)
            {
                fields.refused.push(format!("`{key}` is {reason}"));
            }
        }
        fields
    }

    fn walk(
        &mut self,
        path: Vec<&'a str>,
        value: &'a Value,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) {
        if accepts(value).is_ok() {
            self.usable.push(Field { path, value });
        } else if let Value::Object(fields) = value {
            for (key, value) in fields {
                self.walk([&path[..], &[key]].concat(), value, accepts);
            }
        }
    }

    /// The field to use if nobody names one: the only field, or the only field called `decision`; a field at the top
    /// takes precedence.
    pub(super) fn obvious(&self) -> Option<&Field<'a>> {
        if let [only] = &self.usable[..] {
            return Some(only);
        }
        let mut called = self
            .usable
            .iter()
            .filter(|field| field.path.last() == Some(&"decision"));
        let at_top = called.clone().find(|field| field.path.len() == 1);
        at_top.or_else(|| called.next().filter(|_| called.next().is_none()))
    }

    /// A line for each field, with its path of keys and its value.
    pub(super) fn shown(&self) -> Vec<String> {
        let listed = self.usable.iter().take(MOST);
        let names: Vec<String> = listed
            .map(|field| safe::cut(&safe::line(&field.path.join(".")), 48))
            .collect();
        let width = names.iter().map(|name| safe::columns(name)).max();
        let lines = names.iter().zip(&self.usable);
        lines
            .map(|(name, field)| {
                let gap = " ".repeat(width.unwrap_or_default() - safe::columns(name) + 2);
                format!("{name}{gap}{}", safe::cut(&field.value.to_string(), 60))
            })
            .collect()
    }
}

impl Field<'_> {
    /// The field as it is written in the configuration: a key at the top by itself, and any other field as a JSON
    /// pointer.
    pub(super) fn written(&self) -> String {
        match self.path[..] {
            [key] if !key.trim().is_empty() && !key.starts_with('/') => key.to_owned(),
            _ => {
                let parts = self.path.iter();
                let escaped = parts.map(|key| key.replace('~', "~0").replace('/', "~1"));
                escaped.map(|key| format!("/{key}")).collect()
            }
        }
    }

    /// The field as it is written in the configuration, with its value.
    pub(super) fn with_value(&self) -> String {
        let value = safe::cut(&self.value.to_string(), 60);
        format!("{} = {value}", safe::line(&self.written()))
    }
}
