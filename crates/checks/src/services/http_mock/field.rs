//! A field of the requests to a mocked server: `request_count`, `last_request.body.to`,
//! `requests[0].headers.authorization`.

use serde_json::{Map, Value};

use super::dotted::Dotted;
use super::filter::Filter;
use super::record::{MockRecord, ReceivedRequest};
use super::routes;

/// The parts of a request.
const PARTS: [&str; 5] = ["method", "path", "query", "headers", "body"];

/// A parsed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestField {
    what: FieldContent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldContent {
    Count,
    Of(RequestNumber, RequestPart),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestNumber {
    Last,
    At(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestPart {
    Method,
    Path,
    Query(Option<String>),
    Headers(Option<String>),
    Body(Option<Dotted>),
}

/// The value that was found for a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldSeen {
    /// A value. A text from a request stays a text, even if it may be JSON.
    Value(Value),
    /// A whole body.
    Body {
        /// The text of the body and, if the text has escapes, a second text without them.
        texts: Vec<String>,
        /// Whether the texts contain every word of the body, so that a word that is in none of them is not in the body.
        is_text: bool,
    },
    /// The field does not exist; the reason, as the end of a sentence.
    Nothing(String),
    /// The content of the field is unknown; the reason, as the end of a sentence.
    Unknown(String),
}

impl RequestField {
    /// Reads a field. Fails with what is wrong with the field.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let what = match text {
            "request_count" => FieldContent::Count,
            _ => {
                let (which, rest) = which(text)?;
                FieldContent::Of(which, part(text, rest)?)
            }
        };
        Ok(Self { what })
    }

    /// Whether the field is a method, which may be written in lower case.
    pub(crate) const fn is_method(&self) -> bool {
        matches!(self.what, FieldContent::Of(_, RequestPart::Method))
    }

    /// The content of the field in the requests that match a filter.
    pub(crate) fn of(&self, record: &MockRecord, filter: &Filter) -> FieldSeen {
        let (which, part) = match &self.what {
            FieldContent::Count => {
                return match filter.count(record) {
                    Ok(count) => FieldSeen::Value(count.into()),
                    Err(why) => FieldSeen::Unknown(why),
                };
            }
            FieldContent::Of(which, part) => (*which, part),
        };
        let taken = match filter.taken(record) {
            Ok(taken) => taken,
            Err(why) => return FieldSeen::Unknown(why),
        };
        let request = match which {
            RequestNumber::Last => taken.last(),
            RequestNumber::At(at) => taken.get(at),
        };
        match (request, which) {
            (Some(request), _) => part.of(request),
            (None, RequestNumber::At(at)) if !taken.is_empty() => FieldSeen::Nothing(format!(
                "has no request {at}, the last of them is {}",
                taken.len() - 1
            )),
            (None, _) => FieldSeen::Nothing("has no request".to_owned()),
        }
    }
}

fn which(text: &str) -> Result<(RequestNumber, &str), String> {
    let unknown = || {
        format!(
            "`{text}` is no field: write `request_count`, `last_request.PART` or `requests[0].PART`"
        )
    };
    if let Some(rest) = text.strip_prefix("last_request") {
        return Ok((RequestNumber::Last, rest));
    }
    let rest = text.strip_prefix("requests[").ok_or_else(unknown)?;
    let (index, rest) = rest.split_once(']').ok_or_else(unknown)?;
    let at = index.parse().map_err(|_| {
        format!("`requests[{index}]` is no request: they are numbered from 0, as `requests[0]`")
    })?;
    Ok((RequestNumber::At(at), rest))
}

fn part(text: &str, rest: &str) -> Result<RequestPart, String> {
    let parts = || PARTS.map(|part| format!("`.{part}`")).join(", ");
    let rest = rest.strip_prefix('.').ok_or_else(|| {
        format!(
            "`{text}` names no part of the request: add one of {}",
            parts()
        )
    })?;
    let (name, inner) = match rest.find(['.', '[']) {
        Some(at) => (&rest[..at], Some(rest[at..].trim_start_matches('.'))),
        None => (rest, None),
    };
    let own = |inner: Option<&str>| inner.map(str::to_owned);
    match (name, inner) {
        ("method", None) => Ok(RequestPart::Method),
        ("path", None) => Ok(RequestPart::Path),
        ("query", inner) => Ok(RequestPart::Query(own(inner))),
        ("headers", Some(name)) => {
            routes::header(name)?;
            Ok(RequestPart::Headers(own(inner)))
        }
        ("headers", None) => Ok(RequestPart::Headers(None)),
        ("body", inner) => Ok(RequestPart::Body(inner.map(Dotted::parse).transpose()?)),
        ("method" | "path", Some(_)) => Err(format!("`{text}`: the {name} has no parts")),
        _ => Err(format!(
            "`{text}` names no part of the request: a request has {}",
            parts()
        )),
    }
}

impl RequestPart {
    fn of(&self, request: &ReceivedRequest) -> FieldSeen {
        let text = |text: &str| FieldSeen::Value(text.into());
        match self {
            Self::Method => text(&request.method),
            Self::Path => text(&request.path),
            Self::Query(None) => text(&request.query),
            Self::Query(Some(name)) => match request.parameters(name).as_slice() {
                [] => FieldSeen::Nothing(format!("has no parameter `{name}` in its query")),
                [one] => text(one),
                several => FieldSeen::Value(several.into()),
            },
            Self::Headers(None) => {
                let names = request.headers.iter().map(|(name, _)| name);
                let all: Map<String, Value> = names
                    .filter_map(|name| Some((name.clone(), request.header(name)?.into())))
                    .collect();
                FieldSeen::Value(all.into())
            }
            Self::Headers(Some(name)) => match request.header(name) {
                Some(value) => FieldSeen::Value(value.into()),
                None => FieldSeen::Nothing(format!("has no header `{name}`")),
            },
            Self::Body(dotted) => match (request.hides(), dotted) {
                (Some(why), _) => FieldSeen::Unknown(why),
                (None, None) => FieldSeen::Body {
                    texts: request.texts(),
                    is_text: request.is_text(),
                },
                (None, Some(dotted)) => match request.json() {
                    None => FieldSeen::Nothing("has a body that is not JSON".to_owned()),
                    Some(json) => match dotted.find(&json) {
                        Some(value) => FieldSeen::Value(value.clone()),
                        None => {
                            FieldSeen::Nothing(format!("has no `{}` in its body", dotted.text()))
                        }
                    },
                },
            },
        }
    }
}
