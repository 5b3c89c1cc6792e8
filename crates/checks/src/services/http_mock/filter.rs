//! Selects the requests to which an assertion applies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::dotted::Dotted;
use super::record::{MockRecord, ReceivedRequest};
use super::routes;
use crate::same::same;

/// Selects the requests that meet all of these conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    method: Option<String>,
    path: Option<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    /// Fields of the body as JSON.
    fields: Vec<(Dotted, Value)>,
}

/// Whether a request matches a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Yes,
    No,
    /// The body of the request cannot be read.
    Unknown,
}

impl Filter {
    /// Reads a filter. Fails with what is wrong with the filter.
    pub(crate) fn of(keys: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut filter = Self::default();
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("method", Value::String(text)) => {
                    filter.method = Some(routes::method(text)?.to_string());
                }
                ("path", Value::String(text)) => filter.path = Some(routes::path(text)?),
                ("method" | "path", _) => return Err(format!("`{key}` takes a text")),
                ("headers", Value::Object(entries)) => {
                    filter.headers = texts(key, entries)?;
                    for (name, _) in &filter.headers {
                        routes::header(name)?;
                    }
                }
                ("query", Value::Object(entries)) => filter.query = texts(key, entries)?,
                ("headers" | "query", _) => {
                    return Err(format!("`{key}` takes names with their values"));
                }
                (field, value) => filter.fields.push((Dotted::parse(field)?, value.clone())),
            }
        }
        Ok(filter)
    }

    /// How many requests match the filter. Fails with the reason why the number is not known, as the end of a sentence.
    pub(super) fn count(&self, record: &MockRecord) -> Result<u64, String> {
        match *self == Self::default() {
            true => Ok(record.total),
            false => Ok(self.taken(record)?.len() as u64),
        }
    }

    /// The requests that match the filter, in order. Fails with the reason why they are not known, as the end of a
    /// sentence: among more requests than are stored there may be one that a pipeline wants to hide.
    pub(super) fn taken<'r>(
        &self,
        record: &'r MockRecord,
    ) -> Result<Vec<&'r ReceivedRequest>, String> {
        if record.lost() > 0 {
            return Err(beyond_the_limit(record));
        }
        let mut taken = Vec::new();
        for request in &record.requests {
            match self.takes(request) {
                Takes::Yes => taken.push(request),
                Takes::No => {}
                Takes::Unknown => return Err(hidden(request)),
            }
        }
        Ok(taken)
    }

    /// The fields in the filter that do not occur in the body of any request, with any value: this is nearly always a
    /// mistake.
    pub(crate) fn unknown_fields(&self, record: &MockRecord) -> Vec<&str> {
        if record.requests.is_empty() || record.lost() > 0 {
            return Vec::new();
        }
        let mut missing: Vec<&Dotted> = self.fields.iter().map(|(field, _)| field).collect();
        for request in &record.requests {
            if missing.is_empty() || request.hides().is_some() {
                return Vec::new();
            }
            if let Some(json) = request.json() {
                missing.retain(|field| field.find(&json).is_none());
            }
        }
        missing.into_iter().map(Dotted::text).collect()
    }

    fn takes(&self, request: &ReceivedRequest) -> Takes {
        let has_header = |(name, value): &(String, String)| {
            request.header(name).is_some_and(|found| found == *value)
        };
        let has_parameter =
            |(name, value): &(String, String)| request.parameters(name).contains(value);
        let is_near = self
            .method
            .as_ref()
            .is_none_or(|own| *own == request.method)
            && self.path.as_ref().is_none_or(|own| *own == request.path)
            && self.headers.iter().all(has_header)
            && self.query.iter().all(has_parameter);
        if !is_near {
            return Takes::No;
        }
        if self.fields.is_empty() {
            return Takes::Yes;
        }
        if request.hides().is_some() {
            return Takes::Unknown;
        }
        let json = request.json();
        let has_field = |(field, wanted): &(Dotted, Value)| {
            let found = json.as_ref().and_then(|json| field.find(json));
            found.is_some_and(|found| same(found, wanted))
        };
        match self.fields.iter().all(has_field) {
            true => Takes::Yes,
            false => Takes::No,
        }
    }
}

/// Names with texts; numbers and booleans are converted to their form in a request.
fn texts(
    key: &str,
    entries: &serde_json::Map<String, Value>,
) -> Result<Vec<(String, String)>, String> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
        _ => Err(format!("`{key}.{name}` takes a text")),
    };
    entries.iter().map(text).collect()
}

fn beyond_the_limit(record: &MockRecord) -> String {
    format!(
        "is about requests of which only the first {} of {} were kept",
        record.requests.len(),
        record.total
    )
}

fn hidden(request: &ReceivedRequest) -> String {
    let why = request.hides().unwrap_or_default();
    format!("is about fields of the body, and a request {why}")
}
