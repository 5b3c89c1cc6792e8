//! Opens a model: which kind it is, and what it needs.

use serde_json::Value;

use super::base_url::{self, BaseUrl};
use super::key::Key;
use super::replay::Replay;
use super::server::Server;
use super::wire::Wire;
use super::{CallKind, Endpoint, ModelCall, anthropic, openai};
use crate::exit::Misuse;
use crate::target::command::PromptCommand;
use crate::target::{Meter, Site, Target};

impl ModelCall {
    /// Opens what is called. Nothing is sent, and no key is needed, before the first call.
    pub(super) fn open(self, site: &Site) -> Result<Box<dyn Target>, Misuse> {
        let Self {
            name,
            endpoint,
            call,
            is_of_a_judge,
            ..
        } = self;
        let meter = match is_of_a_judge {
            true => Meter::of_judges(&name, endpoint.limits()),
            false => Meter::of(&name, endpoint.limits()),
        };
        let price = endpoint.price().copied();
        let key = Key::of(endpoint.key_variable());
        let wire: Box<dyn Wire> = match endpoint {
            Endpoint::OpenAi(endpoint) => {
                let base = usable(&name, &endpoint.base_url)?;
                match call {
                    CallKind::Chat(asking) => Box::new(openai::Chat::new(endpoint, asking, &base)),
                    CallKind::Embedding => Box::new(openai::Embedding::new(endpoint, &base)),
                }
            }
            Endpoint::Anthropic(endpoint) => {
                let base = usable(&name, &endpoint.base_url)?;
                match call {
                    CallKind::Chat(asking) => {
                        Box::new(anthropic::Messages::new(endpoint, asking, &base))
                    }
                    CallKind::Embedding => return Err(has_no_embeddings(&name)),
                }
            }
            Endpoint::Cmd(endpoint) => {
                let environment = environment(&call);
                let target = PromptCommand::new(&endpoint.run, environment, meter, site)?;
                return Ok(Box::new(target));
            }
            Endpoint::Replay(endpoint) => {
                let asking = match call {
                    CallKind::Chat(asking) => Some(asking),
                    CallKind::Embedding => None,
                };
                let path = site.root.join(&endpoint.file);
                return Ok(Box::new(Replay::open(&path, asking, price, meter)?));
            }
        };
        Ok(Box::new(Server {
            name,
            wire,
            key,
            price,
            meter,
            site: site.clone(),
        }))
    }
}

/// The address of a server, which the check of the configuration has seen already.
fn usable(model: &str, url: &str) -> Result<BaseUrl, Misuse> {
    base_url::check(url).map_err(|refused| {
        Misuse::new(format!("the model `{model}`: {}", refused.what)).help(refused.help)
    })
}

fn has_no_embeddings(model: &str) -> Misuse {
    let what = format!("the model `{model}` makes no embeddings: its kind is `anthropic`");
    Misuse::new(what).help("name a model of the kind `openai`, `cmd` or `replay`")
}

/// What a command is told of the call beside the prompt, as environment variables.
fn environment(call: &CallKind) -> Vec<(&'static str, String)> {
    let asking = match call {
        CallKind::Embedding => return vec![("KELVIN_MODEL_CALL", "embedding".to_owned())],
        CallKind::Chat(asking) => asking,
    };
    let optional = [
        ("KELVIN_MODEL_CALL", Some("chat".to_owned())),
        ("KELVIN_MODEL_SYSTEM", asking.system.clone()),
        (
            "KELVIN_MODEL_SCHEMA",
            asking.schema.as_ref().map(Value::to_string),
        ),
        (
            "KELVIN_MODEL_TEMPERATURE",
            asking.temperature.map(|t| t.to_string()),
        ),
        (
            "KELVIN_MODEL_SEED",
            asking.seed.map(|seed| seed.to_string()),
        ),
        (
            "KELVIN_MODEL_MAX_TOKENS",
            asking.max_tokens.map(|most| most.to_string()),
        ),
    ];
    let set = optional
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    set.collect()
}
