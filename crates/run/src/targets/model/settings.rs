//! The models that a configuration declares under `models`, as written.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModelName;
use crate::targets::CallLimits;
use kelvin_base::usage::Usage;

/// A model: how it is reached, what is asked of it with every call, and what bounds its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Endpoint {
    /// A server that speaks the wire format of OpenAI.
    #[serde(rename = "openai")]
    OpenAi(OpenAiEndpoint),
    /// A server that speaks the wire format of Anthropic.
    #[serde(rename = "anthropic")]
    Anthropic(AnthropicEndpoint),
    /// A command that answers one prompt.
    #[serde(rename = "cmd")]
    Cmd(CmdEndpoint),
    /// A file of recorded answers.
    #[serde(rename = "replay")]
    Replay(ReplayEndpoint),
}

/// A server that speaks the wire format of OpenAI: llama.cpp, vLLM, Ollama, LM Studio, most gateways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenAiEndpoint {
    /// The address that `/chat/completions` and `/embeddings` are added to.
    #[schemars(length(min = 1))]
    pub base_url: String,
    /// The name by which the server knows the model.
    #[schemars(length(min = 1))]
    pub model: String,
    /// The environment variable that holds the key. Without it no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub api_key_env: Option<String>,
    /// The header in which the key is sent as it is. Without it: `Authorization: Bearer KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub api_key_header: Option<String>,
    /// Whether a key may be sent without encryption to a server that is not on this machine.
    #[serde(default)]
    pub insecure_http: bool,
    /// How freely the model chooses its words; 0 for the likeliest ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// The share of the likeliest words that the model chooses from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// The seed of the model's choices, for a server that takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// The longest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_tokens: Option<NonZeroU64>,
    /// Further headers of every request; never a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Further fields of every chat request; null leaves out a field that would be sent.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
    /// What the tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The family of models that it belongs to, in your words, such as `gemma`: a judge of the same family as the
    /// pipeline is named beside its grades. It changes no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub family: Option<String>,
    /// What bounds the calls of this model.
    #[serde(default, skip_serializing_if = "CallLimits::is_default")]
    pub limits: CallLimits,
}

/// A server that speaks the wire format of Anthropic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnthropicEndpoint {
    /// The address that `/v1/messages` is added to.
    #[serde(default = "anthropic_url")]
    #[schemars(length(min = 1))]
    pub base_url: String,
    /// The name by which the server knows the model.
    #[schemars(length(min = 1))]
    pub model: String,
    /// The environment variable that holds the key. Without it no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub api_key_env: Option<String>,
    /// Whether a key may be sent without encryption to a server that is not on this machine.
    #[serde(default)]
    pub insecure_http: bool,
    /// How freely the model chooses its words; 0 for the likeliest ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub temperature: Option<f64>,
    /// The share of the likeliest words that the model chooses from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// The longest answer, in tokens. The server takes no request without it.
    #[serde(default = "anthropic_tokens")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_tokens: NonZeroU64,
    /// Further headers of every request; never a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Further fields of every request; null leaves out a field that would be sent.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
    /// What the tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The family of models that it belongs to, in your words, such as `gemma`: a judge of the same family as the
    /// pipeline is named beside its grades. It changes no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub family: Option<String>,
    /// What bounds the calls of this model.
    #[serde(default, skip_serializing_if = "CallLimits::is_default")]
    pub limits: CallLimits,
}

/// A command that answers one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CmdEndpoint {
    /// The command. It reads the prompt from its standard input or `{input}`, and prints the answer
    /// or writes it to `{output}`.
    #[schemars(length(min = 1))]
    pub run: String,
    /// The family of models that it belongs to, in your words, such as `gemma`: a judge of the same family as the
    /// pipeline is named beside its grades. It changes no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub family: Option<String>,
    /// What bounds the calls of this model.
    #[serde(default, skip_serializing_if = "CallLimits::is_default")]
    pub limits: CallLimits,
}

/// A file of recorded answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayEndpoint {
    /// JSON lines with `prompt` or `request`, `answer`, and `usage` if it is known; relative to the folder of the
    /// configuration.
    #[schemars(length(min = 1))]
    pub file: String,
    /// A model that is asked if the file has no answer; its answer is added to the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<ModelName>,
    /// What the tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The family of models that it belongs to, in your words, such as `gemma`: a judge of the same family as the
    /// pipeline is named beside its grades. It changes no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub family: Option<String>,
    /// What bounds the calls of this model.
    #[serde(default, skip_serializing_if = "CallLimits::is_default")]
    pub limits: CallLimits,
}

/// What the tokens of a model cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of a million tokens that are sent.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub input_per_million: f64,
    /// The price of a million tokens that are answered.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub output_per_million: f64,
}

impl Endpoint {
    /// The limits of the calls.
    pub const fn limits(&self) -> &CallLimits {
        match self {
            Self::OpenAi(endpoint) => &endpoint.limits,
            Self::Anthropic(endpoint) => &endpoint.limits,
            Self::Cmd(endpoint) => &endpoint.limits,
            Self::Replay(endpoint) => &endpoint.limits,
        }
    }

    /// The family to which the model belongs, if it is declared.
    pub fn family(&self) -> Option<&str> {
        let family = match self {
            Self::OpenAi(endpoint) => &endpoint.family,
            Self::Anthropic(endpoint) => &endpoint.family,
            Self::Cmd(endpoint) => &endpoint.family,
            Self::Replay(endpoint) => &endpoint.family,
        };
        family.as_deref()
    }

    /// The price of the tokens.
    pub const fn price(&self) -> Option<&Price> {
        match self {
            Self::OpenAi(endpoint) => endpoint.price.as_ref(),
            Self::Anthropic(endpoint) => endpoint.price.as_ref(),
            Self::Replay(endpoint) => endpoint.price.as_ref(),
            Self::Cmd(_) => None,
        }
    }

    /// The environment variable with the key, if the model has one.
    pub fn key_variable(&self) -> Option<&str> {
        match self {
            Self::OpenAi(endpoint) => endpoint.api_key_env.as_deref(),
            Self::Anthropic(endpoint) => endpoint.api_key_env.as_deref(),
            Self::Cmd(_) | Self::Replay(_) => None,
        }
    }
}

fn anthropic_url() -> String {
    "https://api.anthropic.com".to_owned()
}

fn anthropic_tokens() -> NonZeroU64 {
    NonZeroU64::new(1024).unwrap_or(NonZeroU64::MIN)
}

/// The tokens that a call has used, and their cost.
pub(super) fn usage(tokens: Option<(u64, u64)>, price: Option<Price>) -> Usage {
    let Some((input_tokens, output_tokens)) = tokens else {
        return Usage::untold();
    };
    let cost = |price: Price| {
        let sent = input_tokens as f64 * price.input_per_million;
        let answered = output_tokens as f64 * price.output_per_million;
        (sent + answered) / 1e6
    };
    Usage {
        input_tokens,
        output_tokens,
        usd: price.map(cost),
        untold: 0,
    }
}
