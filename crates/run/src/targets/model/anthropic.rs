//! The wire format of Anthropic: `/v1/messages`.

use http::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::base_url::BaseUrl;
use super::wire::{self, Wire, empty, malformed};
use super::{AnthropicEndpoint, Asking};
use kelvin_base::failure::Failure;

/// The version of the wire format; the server rejects requests without one.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
/// The tool that is used to enforce a JSON schema: its input is the answer.
const TOOL: &str = "answer";

/// A chat call.
pub(super) struct Messages {
    endpoint: AnthropicEndpoint,
    asking: Asking,
    url: String,
}

impl Messages {
    pub(super) fn new(endpoint: AnthropicEndpoint, asking: Asking, base: &BaseUrl) -> Self {
        let url = match endpoint
            .base_url
            .trim()
            .trim_end_matches('/')
            .ends_with("/v1")
        {
            true => base.join("/messages"),
            false => base.join("/v1/messages"),
        };
        Self {
            endpoint,
            asking,
            url,
        }
    }
}

impl Wire for Messages {
    fn url(&self) -> &str {
        &self.url
    }

    fn headers(&self, key: Option<&str>) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = wire::plain(&self.endpoint.headers);
        let (name, version) = VERSION;
        if !headers.iter().any(|(other, _)| other == name) {
            let version = HeaderValue::from_static(version);
            headers.push((HeaderName::from_static(name), version));
        }
        let key = key.and_then(wire::secret);
        headers.extend(key.map(|key| (HeaderName::from_static("x-api-key"), key)));
        headers
    }

    fn request(&self, input: &str) -> Result<Value, Failure> {
        let (endpoint, asking) = (&self.endpoint, &self.asking);
        let max_tokens = asking.max_tokens.unwrap_or(endpoint.max_tokens.get());
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(endpoint.model));
        request.insert("max_tokens".to_owned(), json!(max_tokens));
        request.insert(
            "messages".to_owned(),
            json!([{ "role": "user", "content": input }]),
        );
        let optional = [
            ("system", asking.system.as_ref().map(|system| json!(system))),
            (
                "temperature",
                asking
                    .temperature
                    .or(endpoint.temperature)
                    .map(|t| json!(t)),
            ),
            ("top_p", endpoint.top_p.map(|top_p| json!(top_p))),
            (
                "tools",
                asking.schema.as_ref().map(|schema| {
                    let description = "Gives the answer.";
                    json!([{ "name": TOOL, "description": description, "input_schema": schema }])
                }),
            ),
            (
                "tool_choice",
                asking
                    .schema
                    .as_ref()
                    .map(|_| json!({ "type": "tool", "name": TOOL })),
            ),
        ];
        for (key, value) in optional {
            request.extend(value.map(|value| (key.to_owned(), value)));
        }
        Ok(wire::with_fields(request, &endpoint.body))
    }

    fn output(&self, body: &Value, _: &str) -> Result<String, Failure> {
        let Some(parts) = body["content"].as_array() else {
            return Err(malformed("it has no list `content`"));
        };
        let of = |kind: &'static str| parts.iter().filter(move |part| part["type"] == kind);
        if self.asking.schema.is_some()
            && let Some(answer) = of("tool_use").find(|part| part["name"] == TOOL)
        {
            return Ok(answer["input"].to_string());
        }
        let text: String = of("text")
            .filter_map(|part| part["text"].as_str())
            .collect();
        match text.trim().is_empty() {
            true => Err(empty(body["stop_reason"].as_str())),
            false => Ok(text),
        }
    }

    /// Tokens that were read from the server's own cache of prompts, or written there, count as sent.
    fn tokens(&self, body: &Value) -> Option<(u64, u64)> {
        let usage = &body["usage"];
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
            .into_iter()
            .filter_map(|key| usage[key].as_u64());
        let sent = usage["input_tokens"].as_u64()?;
        let sent = cached.fold(sent, u64::saturating_add);
        Some((sent, usage["output_tokens"].as_u64()?))
    }
}
