//! A model as a target: the input of a call is the prompt, and its output is the text of the answer. The input of an
//! embedding call is a JSON list of texts, and the output is a JSON list of vectors.
//!
//! A configuration declares its models under `models`; `run: {model: NAME}` and judges refer to them. When the settings
//! of a configuration are made, everything on which a call depends is put into the address. The exception is the key:
//! the address contains only the name of its variable.

#[cfg(feature = "models")]
mod anthropic;
pub mod base_url;
#[cfg(feature = "models")]
pub(super) mod http;
#[cfg(feature = "models")]
pub(super) mod key;
mod open;
#[cfg(feature = "models")]
mod openai;
#[cfg(feature = "models")]
pub(super) mod refusal;
mod replay;
#[cfg(feature = "models")]
mod server;
mod settings;
#[cfg(feature = "models")]
pub(super) mod wire;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Launch, Target, TargetKind, TargetSite, worker};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;

pub use settings::Endpoint;
use settings::Price;
#[cfg(feature = "models")]
use settings::{AnthropicEndpoint, OpenAiEndpoint};

/// The key under which an address names a model.
pub(super) const KEY: &str = "model";

/// The version of the requests that this program makes. It is raised when the same settings and the same input lead to
/// another request, so that an older answer in the cache is not used for the new request.
const REQUESTS: u32 = 1;

/// The name of a model that is declared under `models`. The check of a configuration reports an undeclared name at any
/// position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelName(pub String);

impl ModelName {
    /// The `format` by which a schema marks the name of a model.
    pub(crate) const FORMAT: &str = "kelvin-model";
}

impl JsonSchema for ModelName {
    fn schema_name() -> Cow<'static, str> {
        "ModelName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "format": Self::FORMAT })
    }
}

/// A declared model in its checked form.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Its name under `models`.
    pub name: String,
    /// The address of the model.
    pub endpoint: Endpoint,
    /// The digest of the project files that its command runs; none if it is not a command, or if the command names no
    /// file.
    pub files: Option<Digest>,
    /// The digest of the file of recorded answers, if there is one: its content determines the answers.
    pub recorded: Option<Digest>,
    /// The model that is called if no answer is recorded.
    pub recorder: Option<Endpoint>,
}

/// What a chat call sends besides the user's message. What is missing here is taken from the declaration of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Asking {
    /// The instructions that come before the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The JSON schema that the answer has to fit, for a server that takes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Instead of `temperature` of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// Instead of `seed` of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// Instead of `max_tokens` of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_tokens: Option<u64>,
}

/// The called model, with everything on which the answers depend. This is the content of an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelCall {
    /// The name of the model, for messages and for the limits that all its calls share.
    name: String,
    endpoint: Endpoint,
    call: CallKind,
    /// Whether a judge calls the model. The calls of judges are counted separately.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_of_a_judge: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded: Option<Digest>,
    /// The model that is called if no answer is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorder: Option<Endpoint>,
}

/// The kind of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallKind {
    Chat(Asking),
    Embedding,
}

impl ModelSettings {
    /// The settings in the address of a chat call.
    pub(super) fn chat_call(&self, asking: &Asking) -> Value {
        self.call(CallKind::Chat(asking.clone()))
    }

    /// The settings in the address of an embedding call.
    pub(super) fn embedding_call(&self) -> Value {
        self.call(CallKind::Embedding)
    }

    fn call(&self, call: CallKind) -> Value {
        json!(ModelCall {
            name: self.name.clone(),
            endpoint: self.endpoint.clone(),
            call,
            is_of_a_judge: false,
            recorded: self.recorded,
            recorder: self.recorder.clone(),
        })
    }
}

/// What a configuration writes under the key of this target: the name of a model, or a mapping with the name and what
/// is sent besides the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    /// The name of a model.
    Name(ModelName),
    /// The name of a model, and what is sent besides the input.
    Asking(NamedAsking),
}

/// The name of a model, and what is sent besides the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamedAsking {
    /// The name of the model.
    name: ModelName,
    /// The instructions that come before the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The JSON schema that the answer has to fit, for a server that takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<serde_json::Map<String, Value>>,
    /// Instead of `temperature` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// Instead of `seed` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    seed: Option<u64>,
    /// Instead of `max_tokens` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    max_tokens: Option<u64>,
}

/// The settings in the address of a model that a configuration names under the key of this target. An address that is
/// already resolved stays unchanged. Fails if no model of that name is declared.
pub(super) fn resolve<'m>(
    written: &Value,
    find: impl Fn(&str) -> Option<&'m ModelSettings>,
) -> Result<Value, String> {
    if let Ok(call) = ModelCall::deserialize(written) {
        return Ok(json!(call));
    }
    let (name, asking) = match Written::deserialize(written) {
        Ok(Written::Name(name)) => (name, Asking::default()),
        Ok(Written::Asking(named)) => {
            let asking = Asking {
                system: named.system,
                schema: named.schema.map(Value::Object),
                temperature: named.temperature,
                seed: named.seed,
                max_tokens: named.max_tokens,
            };
            (named.name, asking)
        }
        Err(error) => return Err(format!("`{KEY}` names no model: {error}")),
    };
    match find(&name.0) {
        Some(model) => Ok(model.chat_call(&asking)),
        None => Err(format!("`models` declares no model `{}`", name.0)),
    }
}

/// The same call, made by a judge.
pub(super) fn by_a_judge(settings: &Value) -> Option<Value> {
    let call = ModelCall::deserialize(settings).ok()?;
    Some(json!(ModelCall {
        is_of_a_judge: true,
        ..call
    }))
}

/// The name of the model of an address.
pub(super) fn called(settings: &Value) -> Option<String> {
    Some(ModelCall::deserialize(settings).ok()?.name)
}

/// How a model is asked, as far as it is declared: differences between two pipelines that a diff of their code does not
/// show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedModel {
    /// The name by which the server knows the model; missing for a command or recorded answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The declared family of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Temperature, seed, limits and so on by their names; for the system prompt, its digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl AskedModel {
    /// A declared model, without the settings of a particular call.
    pub fn of_endpoint(endpoint: &Endpoint) -> Self {
        let keys = json!(endpoint);
        let text = |key: &str| keys.get(key).and_then(Value::as_str).map(str::to_owned);
        let told = ["temperature", "top_p", "seed", "max_tokens", "limits"];
        let told = told.into_iter().filter_map(|key| {
            let value = keys.get(key).filter(|value| !value.is_null())?;
            Some((key.to_owned(), value.to_string()))
        });
        Self {
            model: text("model"),
            family: endpoint.family().map(str::to_owned),
            parameters: told.collect(),
        }
    }

    /// The parameters in which two sides differ, each with both values, for messages.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<(&'a str, &'a str, &'a str)> {
        const NOT_SET: &str = "not set";
        let names: BTreeSet<&String> = self
            .parameters
            .keys()
            .chain(other.parameters.keys())
            .collect();
        let value = |side: &'a Self, name: &String| {
            side.parameters.get(name).map_or(NOT_SET, String::as_str)
        };
        let both = names
            .into_iter()
            .map(|name| (name.as_str(), value(self, name), value(other, name)));
        both.filter(|(_, one, two)| one != two).collect()
    }
}

/// The model of an address, and how it is called.
pub(super) fn asked(settings: &Value) -> Option<AskedModel> {
    let call = ModelCall::deserialize(settings).ok()?;
    let mut asked = AskedModel::of_endpoint(&call.endpoint);
    let CallKind::Chat(asking) = call.call else {
        return Some(asked);
    };
    let own = [
        (
            "temperature",
            asking.temperature.map(|value| json!(value).to_string()),
        ),
        ("seed", asking.seed.map(|value| value.to_string())),
        (
            "max_tokens",
            asking.max_tokens.map(|value| value.to_string()),
        ),
        (
            "system prompt",
            asking
                .system
                .map(|text| Digest::of(text.as_bytes()).short(8)),
        ),
    ];
    let own = own
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    asked.parameters.extend(own);
    Some(asked)
}

/// The kind of target whose settings name a model.
pub(super) struct ModelKind;

impl TargetKind for ModelKind {
    fn key(&self) -> Option<&'static str> {
        Some(KEY)
    }

    fn schema(&self) -> Value {
        worker::schema::<Written>()
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let call = ModelCall::deserialize(settings).map_err(|_| unresolved(settings))?;
        call.open(site)
    }

    /// The name of the model, its family, its price, its limits and the source of its key change no answer, so they are
    /// left out. The version of the requests is included, because a request with other bytes may lead to another
    /// answer.
    fn identity(&self, settings: &Value) -> Value {
        match ModelCall::deserialize(settings) {
            Ok(call) => call.identity(),
            Err(_) => settings.clone(),
        }
    }

    /// A command is a program like any other, so its answers depend on code. For a file of recorded answers, its
    /// content is part of the identity instead.
    fn runs_code(&self, settings: &Value) -> bool {
        ModelCall::deserialize(settings)
            .map_or(true, |call| matches!(call.endpoint, Endpoint::Cmd(_)))
    }

    fn look_up(&self, _: &Value, _: &Path) -> Result<Launch, Misuse> {
        Ok(Launch::default())
    }
}

/// The error if an address names a model that was never looked up. This cannot happen in a checked configuration.
fn unresolved(settings: &Value) -> Misuse {
    Misuse::new(format!("the model of `run` is not known: {settings}"))
}

impl ModelCall {
    /// The settings on which the answers depend.
    fn identity(&self) -> Value {
        let mut endpoint = json!(self.endpoint);
        if let Some(endpoint) = endpoint.as_object_mut() {
            for key in [
                "price",
                "limits",
                "family",
                "api_key_env",
                "insecure_http",
                "record",
            ] {
                endpoint.remove(key);
            }
            if self.recorded.is_some() {
                endpoint.remove("file");
            }
        }
        json!({
            "requests": REQUESTS,
            "endpoint": endpoint,
            "call": self.call,
            "recorded": self.recorded,
        })
    }
}

#[cfg(all(test, feature = "models"))]
mod real_tests;
#[cfg(all(test, feature = "models"))]
mod tests;
