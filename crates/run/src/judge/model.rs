//! The identity of the model that a judge asks, as a part of the id of the judge.

use serde_json::{Map, Value, json};

use crate::targets::{Endpoint, ModelSettings, base_url};

/// Settings of a model that change no answer: where its key is, its family, the cost of calls, and how answers are
/// recorded.
const PASSED_OVER: [&str; 7] = [
    "api_key_env",
    "api_key_header",
    "family",
    "insecure_http",
    "limits",
    "price",
    "record",
];

/// All data on which the answers of a model depend, as far as a configuration and its folder contain them: the server,
/// the model, its headers and parameters, and the files of a command.
///
/// The server belongs to it because the same model name may mean a different model on another server. The name that the
/// server reports for the model that answered does not belong to it: that name is stored with each grade.
pub(super) fn identity(model: &ModelSettings) -> String {
    let mut identity = declared_identity(model);
    if let Some(files) = model.files {
        identity.insert("files".to_owned(), json!(files));
    }
    Value::Object(identity).to_string()
}

/// The identity without the content of files, by the keys of the configuration.
pub(crate) fn declared_identity(model: &ModelSettings) -> Map<String, Value> {
    let mut declared = endpoint(&model.endpoint);
    if let Some(recorder) = &model.recorder {
        declared.insert("record".to_owned(), Value::Object(endpoint(recorder)));
    }
    declared
}

fn endpoint(endpoint: &Endpoint) -> Map<String, Value> {
    let Value::Object(mut keys) = json!(endpoint) else {
        unreachable!("an endpoint is written as a mapping");
    };
    keys.retain(|key, _| !PASSED_OVER.contains(&key.as_str()));
    if let Some(Value::String(address)) = keys.get_mut("base_url")
        && let Ok(url) = base_url::check(address)
    {
        *address = url.server();
    }
    // The case of a header name does not matter to servers.
    if let Some(Value::Object(headers)) = keys.get_mut("headers") {
        *headers = std::mem::take(headers)
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
    }
    keys
}

/// A short name of the model for people; it is not unique: models are distinguished by `identity`.
pub(super) fn label(model: &ModelSettings) -> String {
    let endpoint = json!(model.endpoint);
    let of = |key: &str| endpoint.get(key).and_then(Value::as_str);
    let name = of("model").or_else(|| of("kind")).unwrap_or("model");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_base::digest::Digest;

    /// The identity of a server with these keys beside its address and its name.
    fn of(base_url: &str, more: &Value) -> String {
        let mut keys = json!({ "kind": "openai", "base_url": base_url, "model": "gpt-4o" });
        let more = more.as_object().expect("a mapping").clone();
        keys.as_object_mut().expect("a mapping").extend(more);
        identity(&model(keys, None))
    }

    fn model(endpoint: Value, files: Option<Digest>) -> ModelSettings {
        ModelSettings {
            name: "judge".to_owned(),
            endpoint: serde_json::from_value(endpoint).expect("it fits the type"),
            files,
            recorded: None,
            recorder: None,
        }
    }

    #[test]
    fn another_server_path_header_or_parameter_is_another_judge_and_a_key_or_a_local_port_is_not() {
        let here = of("http://127.0.0.1:8080/v1", &json!({}));
        for (address, more) in [
            ("http://localhost:9090/v1/", json!({})),
            ("http://127.0.0.1:1/v1", json!({"api_key_env": "OTHER"})),
            (
                "http://127.0.0.1:1/v1",
                json!({"api_key_env": "A", "api_key_header": "x-key", "insecure_http": true}),
            ),
            (
                "http://127.0.0.1:1/v1",
                json!({"price": {"input_per_million": 1, "output_per_million": 1}, "limits": {"max_calls": 3}}),
            ),
        ] {
            assert_eq!(of(address, &more), here, "{address} {more}");
        }
        for (address, more) in [
            ("https://api.example.com/v1", json!({})),
            ("http://127.0.0.1:8080/always-one/v1", json!({})),
            (
                "http://127.0.0.1:8080/v1",
                json!({"headers": {"x-route": "b"}}),
            ),
            ("http://127.0.0.1:8080/v1", json!({"seed": 7})),
            ("http://127.0.0.1:8080/v1", json!({"body": {"top_k": 1}})),
        ] {
            assert_ne!(of(address, &more), here, "{address} {more}");
        }
        let header = |name: &str| of("https://a.example", &json!({"headers": {name: "b"}}));
        assert_eq!(header("X-Route"), header("x-route"));
    }

    #[test]
    fn the_files_of_a_command_and_the_model_behind_recorded_answers_count() {
        let command = || json!({"kind": "cmd", "run": "sh judge.sh"});
        let [one, other] = ["one", "other"].map(|text| Some(Digest::of(text.as_bytes())));
        assert_eq!(
            identity(&model(command(), one)),
            identity(&model(command(), one))
        );
        assert_ne!(
            identity(&model(command(), one)),
            identity(&model(command(), other))
        );
        let recorded = |base_url: &str| {
            let server = json!({"kind": "openai", "base_url": base_url, "model": "m"});
            identity(&ModelSettings {
                recorder: Some(serde_json::from_value(server).expect("it fits the type")),
                ..model(
                    json!({"kind": "replay", "file": "tape.jsonl", "record": "m"}),
                    None,
                )
            })
        };
        assert_ne!(recorded("https://a.example"), recorded("https://b.example"));
    }
}
