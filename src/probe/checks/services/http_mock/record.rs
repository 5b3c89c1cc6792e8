//! What a mocked server has seen.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// So many requests are named in a summary.
const SUMMED_UP: usize = 10;
/// So many characters of each.
const LONGEST_LINE: usize = 100;

/// One request, as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::probe::checks) struct Request {
    /// The method, in capital letters.
    pub(super) method: String,
    /// The path, in [one spelling](super::path::normal), without the query.
    pub(super) path: String,
    /// What stands after the `?`.
    pub(super) query: String,
    /// The headers in their order; names in small letters.
    pub(super) headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub(super) body: Vec<u8>,
    /// How many bytes the body had.
    pub(super) size: u64,
}

impl Request {
    /// Why nobody can tell what is in the body, as the end of a sentence; none where it can be read.
    pub(super) fn hides(&self) -> Option<String> {
        if self.size > self.body.len() as u64 {
            return Some(format!(
                "has a body of {} bytes, of which only the first {} were kept",
                self.size,
                self.body.len()
            ));
        }
        let encoding = self.header("content-encoding")?;
        let is_plain = encoding.trim().eq_ignore_ascii_case("identity");
        (!is_plain && !self.body.is_empty())
            .then(|| "has a body with a `content-encoding`, which is not undone".to_owned())
    }

    /// The body as JSON, or the fields of a form as an object; none where it is something else.
    pub(super) fn json(&self) -> Option<Value> {
        if !self.is_form() {
            return serde_json::from_slice(&self.body).ok();
        }
        let mut fields: Map<String, Value> = Map::new();
        for (name, value) in form_urlencoded::parse(&self.body) {
            let value = Value::String(value.into_owned());
            match fields.get_mut(&*name) {
                None => {
                    fields.insert(name.into_owned(), value);
                }
                Some(Value::Array(several)) => several.push(value),
                Some(one) => *one = Value::Array(vec![one.take(), value]),
            }
        }
        Some(fields.into())
    }

    fn is_form(&self) -> bool {
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    }

    /// The body as a text, and again without the escapes of JSON or of a form: a word has many spellings.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        let plain = match (self.is_form(), self.json()) {
            (true, _) => form_urlencoded::parse(&self.body)
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join("&"),
            (false, Some(json)) => json.to_string(),
            (false, None) => return vec![text],
        };
        vec![text, plain]
    }

    /// Whether the body is a text all of which is in [`Self::texts`]: in anything else a word may stand that
    /// is not found.
    pub(super) fn is_text(&self) -> bool {
        let Ok(text) = std::str::from_utf8(&self.body) else {
            return false;
        };
        // JSON that is nested too deeply is not read, and its escapes are not undone.
        let has_escapes = text.contains("\\u") && self.json().is_none();
        !text.contains('\0') && !has_escapes
    }

    /// The values of a header, joined as HTTP joins them.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter();
        let values: Vec<&str> = values
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The values of a parameter of the query, in their order.
    pub(super) fn parameters(&self, name: &str) -> Vec<String> {
        let all = form_urlencoded::parse(self.query.as_bytes());
        all.filter(|(other, _)| other == name)
            .map(|(_, value)| value.into_owned())
            .collect()
    }

    /// What it takes in memory, more or less.
    pub(super) fn cost(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers
            .map(|(name, value)| name.len() + value.len() + 64)
            .sum();
        self.method.len() + self.path.len() + self.query.len() + headers + self.body.len() + 128
    }
}

/// Everything that a server has seen until the pipeline came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::probe::checks) struct Record {
    /// The requests that were kept, in their order: the first ones.
    pub(super) requests: Vec<Request>,
    /// How many requests there were.
    pub(super) total: u64,
    /// How many of those that were not kept had a method and path.
    pub(super) beyond: BTreeMap<(String, String), u64>,
    /// How many of those that were not kept had one that is not in `beyond`, which is limited too.
    pub(super) unplaced: u64,
    /// The last request, where it was not kept among the others.
    pub(super) last: Option<Box<Request>>,
    /// How many requests broke off before their body had come to its end.
    pub(super) incomplete: u64,
    /// How many connections sent what is no HTTP.
    pub(super) garbled: u64,
}

impl Record {
    /// The first requests, and how many there were.
    pub(in crate::probe::checks) fn summary(&self) -> Value {
        let first = self.requests.iter().take(SUMMED_UP);
        let first: Vec<String> = first
            .map(|request| {
                let line = format!("{} {}", request.method, request.path);
                line.chars().take(LONGEST_LINE).collect()
            })
            .collect();
        json!({ "count": self.total, "first": first })
    }

    /// What was sent and is in no count, a sentence for each kind.
    pub(in crate::probe::checks) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if self.incomplete > 0 {
            troubles.push(format!(
                "not counted: requests that broke off before their end ({})",
                self.incomplete
            ));
        }
        if self.garbled > 0 {
            troubles.push(format!(
                "not counted: connections that sent something else than HTTP, such as TLS ({})",
                self.garbled
            ));
        }
        troubles
    }

    /// How many requests were not kept.
    pub(super) fn lost(&self) -> u64 {
        self.total - self.requests.len() as u64
    }
}
