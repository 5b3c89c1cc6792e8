//! The identity of the model that a judge asks, as a part of the id of the judge.

use serde_json::{Value, json};

use crate::targets::ModelSettings;

/// Settings of a model that change no answer: where the model is reached and what calls cost. A
/// server on another port is still the same model, and a calibration of it stays valid.
const PASSED_OVER: [&str; 8] = [
    "api_key_env",
    "api_key_header",
    "base_url",
    "headers",
    "insecure_http",
    "limits",
    "price",
    "record",
];

/// Everything that the answers of a model depend on, as text.
pub(super) fn identity(model: &ModelSettings) -> String {
    let mut endpoint = json!(model.endpoint);
    if let Some(keys) = endpoint.as_object_mut() {
        keys.retain(|key, _| !PASSED_OVER.contains(&key.as_str()));
    }
    endpoint.to_string()
}

/// A short name of the model for people; the identity tells models apart.
pub(super) fn label(model: &ModelSettings) -> String {
    let endpoint = json!(model.endpoint);
    let of = |key: &str| endpoint.get(key).and_then(Value::as_str);
    let name = of("model").or_else(|| of("kind")).unwrap_or("model");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}
