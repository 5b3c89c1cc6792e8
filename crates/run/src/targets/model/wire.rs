//! The common part of the wire formats: turns a call into a request, and the body of an answer into the output of the
//! call.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use kelvin_base::failure::{Failure, FailureKind};

/// A wire format with the settings of one kind of call.
pub(super) trait Wire: Send + Sync {
    /// The address for the request.
    fn url(&self) -> &str;

    /// The headers from the settings, and the header with the key.
    fn headers(&self, key: Option<&str>) -> Vec<(HeaderName, HeaderValue)>;

    /// The request for an input. The same settings and the same input give the same bytes. Fails if the input does not
    /// fit this kind of call.
    fn request(&self, input: &str) -> Result<Value, Failure>;

    /// The output of the call, from the body of an answer to this input. Fails if the body has no output.
    fn output(&self, body: &Value, input: &str) -> Result<String, Failure>;

    /// The tokens that the call used: those of the request, and those of the answer.
    fn tokens(&self, body: &Value) -> Option<(u64, u64)>;

    /// The name of the model that answered, as reported by the server; none if it reports none. All formats have it at
    /// the same place.
    fn served(&self, body: &Value) -> Option<String> {
        let name = body["model"].as_str()?.trim();
        let kept: String = name.chars().take(SERVED_KEPT).collect();
        (!kept.is_empty()).then_some(kept)
    }
}

/// The server's identification of its system state; none if the server reports none.
pub(super) fn fingerprint(body: &Value) -> Option<String> {
    let text = body["system_fingerprint"].as_str()?.trim();
    let kept: String = text.chars().take(SERVED_KEPT).collect();
    (!kept.is_empty()).then_some(kept)
}

/// How many characters of a model's name are stored at most, because the name comes from a server.
const SERVED_KEPT: usize = 200;

/// Adds fields to a request; null removes a field.
pub(super) fn with_fields(mut request: Map<String, Value>, fields: &Map<String, Value>) -> Value {
    for (key, value) in fields {
        match value {
            Value::Null => request.remove(key),
            value => request.insert(key.clone(), value.clone()),
        };
    }
    Value::Object(request)
}

/// A header with the key, which is hidden in debug output. The key was checked when it was read.
pub(super) fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The header with the key: a header of the given name with the plain key, or `Authorization: Bearer KEY`.
pub(in crate::targets) fn key_header(
    name: Option<&str>,
    key: Option<&str>,
) -> Option<(HeaderName, HeaderValue)> {
    let key = key?;
    match name {
        Some(name) => Some((name.parse().ok()?, secret(key)?)),
        None => Some((AUTHORIZATION, secret(&format!("Bearer {key}"))?)),
    }
}

/// Headers from a configuration that was checked, so they can be sent.
pub(in crate::targets) fn plain<'h>(
    headers: impl IntoIterator<Item = (&'h String, &'h String)>,
) -> Vec<(HeaderName, HeaderValue)> {
    let parse = |(name, value): (&String, &String)| {
        Some((name.parse().ok()?, HeaderValue::from_str(value).ok()?))
    };
    headers.into_iter().filter_map(parse).collect()
}

/// The failure of an answer that the wire format does not allow.
pub(super) fn malformed(what: &str) -> Failure {
    let message = format!("the server's answer cannot be read: {what}");
    Failure::new(FailureKind::MalformedBody, message)
}

/// The failure of an answer without a text, with the reason if the server gives one.
pub(super) fn empty(why: Option<&str>) -> Failure {
    let message = match why {
        Some(why) => format!("the model answered without a text; the server says `{why}`"),
        None => "the model answered without a text".to_owned(),
    };
    Failure::new(FailureKind::EmptyContent, message)
}

/// The texts of an embedding call. Fails if the input is not a list of texts.
pub(super) fn texts(input: &str) -> Result<Vec<String>, Failure> {
    serde_json::from_str(input).map_err(|_| {
        let message = "the input of an embedding call is not a JSON list of texts";
        Failure::new(FailureKind::MalformedBody, message)
    })
}
