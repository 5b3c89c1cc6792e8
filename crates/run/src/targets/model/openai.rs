//! The wire format of OpenAI, which most servers support: `/chat/completions` and `/embeddings`.

use http::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::base_url::BaseUrl;
use super::wire::{self, Wire, empty, malformed};
use super::{Asking, OpenAiEndpoint};
use kelvin_base::failure::Failure;

/// The headers of both kinds of calls.
fn headers(endpoint: &OpenAiEndpoint, key: Option<&str>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = wire::plain(&endpoint.headers);
    headers.extend(wire::key_header(endpoint.api_key_header.as_deref(), key));
    headers
}

/// A chat call.
pub(super) struct Chat {
    endpoint: OpenAiEndpoint,
    asking: Asking,
    url: String,
}

impl Chat {
    pub(super) fn new(endpoint: OpenAiEndpoint, asking: Asking, base: &BaseUrl) -> Self {
        Self {
            endpoint,
            asking,
            url: base.join("/chat/completions"),
        }
    }
}

impl Wire for Chat {
    fn url(&self) -> &str {
        &self.url
    }

    fn headers(&self, key: Option<&str>) -> Vec<(HeaderName, HeaderValue)> {
        headers(&self.endpoint, key)
    }

    fn request(&self, input: &str) -> Result<Value, Failure> {
        let (endpoint, asking) = (&self.endpoint, &self.asking);
        let mut messages = Vec::new();
        if let Some(system) = &asking.system {
            messages.push(json!({ "role": "system", "content": system }));
        }
        messages.push(json!({ "role": "user", "content": input }));
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(endpoint.model));
        request.insert("messages".to_owned(), Value::Array(messages));
        let max_tokens = endpoint.max_tokens.map(std::num::NonZeroU64::get);
        let optional = [
            (
                "temperature",
                asking
                    .temperature
                    .or(endpoint.temperature)
                    .map(|t| json!(t)),
            ),
            ("top_p", endpoint.top_p.map(|top_p| json!(top_p))),
            (
                "seed",
                asking.seed.or(endpoint.seed).map(|seed| json!(seed)),
            ),
            (
                "max_tokens",
                asking.max_tokens.or(max_tokens).map(|most| json!(most)),
            ),
            (
                "response_format",
                asking.schema.as_ref().map(|schema| {
                    let format = json!({ "name": "answer", "schema": schema, "strict": true });
                    json!({ "type": "json_schema", "json_schema": format })
                }),
            ),
        ];
        for (key, value) in optional {
            request.extend(value.map(|value| (key.to_owned(), value)));
        }
        Ok(wire::with_fields(request, &endpoint.body))
    }

    fn output(&self, body: &Value, _: &str) -> Result<String, Failure> {
        let choice = &body["choices"][0];
        let Some(message) = choice["message"].as_object() else {
            return Err(malformed("it has no `choices[0].message`"));
        };
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            // Some gateways return a text in parts.
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect(),
            None | Some(Value::Null) => String::new(),
            Some(_) => return Err(malformed("`choices[0].message.content` is not a text")),
        };
        match text.trim().is_empty() {
            true => Err(empty(choice["finish_reason"].as_str())),
            false => Ok(text),
        }
    }

    fn tokens(&self, body: &Value) -> Option<(u64, u64)> {
        let usage = &body["usage"];
        let sent = usage["prompt_tokens"].as_u64()?;
        Some((sent, usage["completion_tokens"].as_u64()?))
    }
}

/// An embedding call.
pub(super) struct Embedding {
    endpoint: OpenAiEndpoint,
    url: String,
}

impl Embedding {
    pub(super) fn new(endpoint: OpenAiEndpoint, base: &BaseUrl) -> Self {
        Self {
            endpoint,
            url: base.join("/embeddings"),
        }
    }
}

impl Wire for Embedding {
    fn url(&self) -> &str {
        &self.url
    }

    fn headers(&self, key: Option<&str>) -> Vec<(HeaderName, HeaderValue)> {
        headers(&self.endpoint, key)
    }

    fn request(&self, input: &str) -> Result<Value, Failure> {
        // The additional fields of the settings are only for chat requests.
        Ok(json!({ "model": self.endpoint.model, "input": wire::texts(input)? }))
    }

    /// The vectors in the order of the texts: servers number them, and may return them in any order.
    fn output(&self, body: &Value, input: &str) -> Result<String, Failure> {
        let Some(entries) = body["data"].as_array() else {
            return Err(malformed("it has no list `data`"));
        };
        let wanted = wire::texts(input)?.len();
        if entries.len() != wanted {
            let found = entries.len();
            let what = format!("it has {found} vectors for {wanted} texts");
            return Err(malformed(&what));
        }
        let mut vectors = vec![Value::Null; wanted];
        for (place, entry) in entries.iter().enumerate() {
            let at = entry["index"].as_u64().unwrap_or(place as u64);
            let at = usize::try_from(at).ok().filter(|at| *at < wanted);
            let Some(at) = at.filter(|at| vectors[*at].is_null()) else {
                return Err(malformed(
                    "an `index` of its vectors is twice there or too large",
                ));
            };
            let numbers = entry["embedding"].as_array();
            if !numbers.is_some_and(|numbers| numbers.iter().all(Value::is_number)) {
                return Err(malformed("an `embedding` is not a list of numbers"));
            }
            vectors[at] = entry["embedding"].clone();
        }
        Ok(Value::Array(vectors).to_string())
    }

    fn tokens(&self, body: &Value) -> Option<(u64, u64)> {
        Some((body["usage"]["prompt_tokens"].as_u64()?, 0))
    }
}
