//! Opens a model: determines its kind and the settings that it needs.

use std::sync::Arc;

use serde_json::Value;

#[cfg(feature = "models")]
use super::base_url::{self, BaseUrl};
#[cfg(feature = "models")]
use super::key::ServerKey;
use super::replay::Replay;
#[cfg(feature = "models")]
use super::server::ModelServer;
#[cfg(feature = "models")]
use super::wire::Wire;
use super::{CallKind, Endpoint, ModelCall, ModelName};
#[cfg(feature = "models")]
use super::{anthropic, openai};
use crate::targets::command::PromptCommand;
use crate::targets::{Meter, Target, TargetSite};
use kelvin_base::exit::Misuse;

impl ModelCall {
    /// Opens the called model. The key is needed, and a request is sent, only from the first call on.
    pub(super) fn open(self, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let Self {
            name,
            endpoint,
            call,
            is_of_a_judge,
            recorded: _,
            recorder,
        } = self;
        let meter = match is_of_a_judge {
            true => Meter::of_judges(&name, endpoint.limits()),
            false => Meter::of(&name, endpoint.limits()),
        };
        let price = endpoint.price().copied();
        match endpoint {
            Endpoint::OpenAi(_) | Endpoint::Anthropic(_) => {
                server(name, endpoint, call, meter, site)
            }
            Endpoint::Cmd(endpoint) => {
                let environment = environment(&call);
                let target = PromptCommand::new(&endpoint.run, environment, meter, site)?;
                Ok(Box::new(target))
            }
            Endpoint::Replay(endpoint) => {
                let recorder = match (recorder, endpoint.record) {
                    (Some(recorder), Some(ModelName(name))) => {
                        let call = Self {
                            name,
                            endpoint: recorder,
                            call: call.clone(),
                            is_of_a_judge,
                            recorded: None,
                            recorder: None,
                        };
                        Some(call.open(site)?)
                    }
                    _ => None,
                };
                let asking = match call {
                    CallKind::Chat(asking) => Some(asking),
                    CallKind::Embedding => None,
                };
                let path = site.root.join(&endpoint.file);
                let replay = Replay::open(&path, asking, price, meter, recorder.is_some())?;
                Ok(Box::new(replay.recording(path, recorder)))
            }
        }
    }
}

/// A client for the server of a model.
#[cfg(feature = "models")]
fn server(
    name: String,
    endpoint: Endpoint,
    call: CallKind,
    meter: Arc<Meter>,
    site: &TargetSite,
) -> Result<Box<dyn Target>, Misuse> {
    let price = endpoint.price().copied();
    let key = ServerKey::of(endpoint.key_variable());
    let wire: Box<dyn Wire> = match (endpoint, call) {
        (Endpoint::OpenAi(endpoint), call) => {
            let base = usable(&name, &endpoint.base_url)?;
            match call {
                CallKind::Chat(asking) => Box::new(openai::Chat::new(endpoint, asking, &base)),
                CallKind::Embedding => Box::new(openai::Embedding::new(endpoint, &base)),
            }
        }
        (Endpoint::Anthropic(endpoint), CallKind::Chat(asking)) => {
            let base = usable(&name, &endpoint.base_url)?;
            Box::new(anthropic::Messages::new(endpoint, asking, &base))
        }
        (Endpoint::Anthropic(_), CallKind::Embedding) => return Err(has_no_embeddings(&name)),
        (Endpoint::Cmd(_) | Endpoint::Replay(_), _) => {
            unreachable!("a command and a file have no server")
        }
    };
    Ok(Box::new(ModelServer {
        name,
        wire,
        key,
        price,
        meter,
        site: site.clone(),
    }))
}

/// The error if this program was built without clients for servers.
#[cfg(not(feature = "models"))]
fn server(
    name: String,
    _: Endpoint,
    _: CallKind,
    _: Arc<Meter>,
    _: &TargetSite,
) -> Result<Box<dyn Target>, Misuse> {
    let what = format!(
        "the model `{name}` is behind a server, and this kelvin was built without the clients for servers"
    );
    Err(Misuse::new(what).help(
        "take a released kelvin, build with the Cargo feature `models`, or name a model of the kind `cmd` or \
         `replay`",
    ))
}

/// The address of a server, which the check of the configuration has already accepted.
#[cfg(feature = "models")]
fn usable(model: &str, url: &str) -> Result<BaseUrl, Misuse> {
    base_url::check(url).map_err(|refused| {
        Misuse::new(format!("the model `{model}`: {}", refused.what)).help(refused.help)
    })
}

#[cfg(feature = "models")]
fn has_no_embeddings(model: &str) -> Misuse {
    let what = format!("the model `{model}` makes no embeddings: its kind is `anthropic`");
    Misuse::new(what).help("name a model of the kind `openai`, `cmd` or `replay`")
}

/// The environment variables that describe the call to a command, besides the prompt.
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

#[cfg(all(test, not(feature = "models")))]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::targets::{Asking, ModelSettings};

    #[test]
    fn a_model_behind_a_server_is_refused_in_one_sentence() {
        let folder = tempfile::tempdir().expect("a folder");
        let endpoint =
            json!({ "kind": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "gemma" });
        let model = ModelSettings {
            name: "local".to_owned(),
            endpoint: serde_json::from_value(endpoint).expect("a model"),
            files: None,
            recorded: None,
            recorder: None,
        };
        let site = TargetSite {
            turns: None,
            jobs: NonZeroUsize::MIN,
            root: folder.path().to_path_buf(),
            timeout: std::time::Duration::from_secs(1),
            max_output_bytes: 1_000,
            decision_field: String::new(),
            interrupt: kelvin_system::signal::Interrupt::apart(),
        };
        let refused = model.chat(&Asking::default()).open(&site).err();
        let refused = refused.expect("there is no client").to_string();
        assert!(
            refused.contains("`local`") && refused.contains("was built without"),
            "{refused}"
        );
    }
}
