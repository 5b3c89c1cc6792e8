//! The declared models: checks that a schema cannot express, and the search for a model by its name.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::yaml::{Content, Key, Node};
use super::{Config, Problem};
use crate::targets::base_url::{self, BaseUrl, Refused};
use crate::targets::{Address, Endpoint, ModelName, ModelSettings};
use crate::tools;
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;

/// Headers that carry secrets. A secret that is written into a file is visible to everybody.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];

impl Config {
    /// The declared model of this name.
    pub fn model(&self, name: &str) -> Option<&ModelSettings> {
        self.models.get(name)
    }

    /// The declared models, by name.
    pub fn models(&self) -> impl Iterator<Item = &ModelSettings> {
        self.models.values()
    }

    /// Adds to an address of this file the settings in `models` of the model that it names. Every kind of probe does
    /// this when it makes its settings.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if no model of that name is declared.
    pub fn reach(&self, address: Address) -> Result<Address, Misuse> {
        let resolved = address.trimmed().resolved(|name| self.model(name));
        resolved.map_err(|what| Misuse::new(format!("{}: {what}", self.file.display())))
    }
}

/// The checked form of the declared models.
pub(super) fn settle(
    models: BTreeMap<String, Endpoint>,
    root: &Path,
) -> BTreeMap<String, ModelSettings> {
    let others = models.clone();
    let settled = models.into_iter().map(|(name, endpoint)| {
        let recorded = match &endpoint {
            // A missing file is an error only if the model is called, which may never happen.
            Endpoint::Replay(replay) => std::fs::read(root.join(&replay.file)).ok(),
            _ => None,
        };
        let files = match &endpoint {
            Endpoint::Cmd(command) => tools::files_of_project(&command.run, root),
            _ => None,
        };
        let recorder = match &endpoint {
            Endpoint::Replay(replay) => replay
                .record
                .as_ref()
                .and_then(|ModelName(other)| others.get(other).cloned()),
            _ => None,
        };
        let model = ModelSettings {
            name: name.clone(),
            endpoint,
            files,
            recorder,
            recorded: recorded.map(|bytes| Digest::of(&bytes)),
        };
        (name, model)
    });
    settled.collect()
}

/// The problems in the values of all declared models, for all types of models.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let models = file.entries(&["models"]);
    for (name, model) in models {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.text.is_empty() || !name.text.chars().all(is_plain) {
            let message = format!("`{}` cannot name a model", name.text);
            let problem = Problem::new(name.at.clone(), message);
            found.push(problem.help("use letters, digits, `-`, `_` and `.`"));
        }
        if let (Some(("cmd", _)), Some(limit)) =
            (model.text(&["kind"]), model.get(&["limits", "max_tokens"]))
        {
            let message =
                "`max_tokens` cannot be checked, since a command does not report its tokens";
            let problem = Problem::new(limit.at.clone(), message);
            found.push(problem.help("bound its calls by `max_calls`"));
        }
        recording(models, model, &mut found);
        if let Some((text, at)) = model.text(&["base_url"]) {
            address(model, at, base_url::check(text), &mut found);
        }
        key(model, &mut found);
        headers(model, &mut found);
        if let (Some(limit), None) = (model.get(&["limits", "usd"]), model.get(&["price"])) {
            let problem = Problem::new(limit.at.clone(), "`usd` cannot be checked without a price");
            found.push(problem.help(
                "add `price: {input_per_million: ..., output_per_million: ...}` to the model",
            ));
        }
    }
    found
}

/// Checks that a recording names a declared model that can be called.
fn recording(models: &[(Key, Node)], model: &Node, found: &mut Vec<Problem>) {
    let Some((recorded, at)) = model.text(&["record"]) else {
        return;
    };
    let other = models.iter().find(|(name, _)| name.text == recorded);
    let kind = other.and_then(|(_, other)| other.text(&["kind"]));
    if kind.is_some_and(|(kind, _)| kind == "replay") {
        let message = format!("`{recorded}` has only recorded answers, and cannot give new ones");
        let problem = Problem::new(at.clone(), message);
        found.push(problem.help("name a model of the kind `openai`, `anthropic` or `cmd`"));
    }
}

/// Reports an address that contains a secret, or to which the key would be sent unencrypted.
pub(super) fn address(
    model: &Node,
    at: &Range<usize>,
    read: Result<BaseUrl, Refused>,
    found: &mut Vec<Problem>,
) {
    let url = match read {
        Ok(url) => url,
        Err(refused) => {
            let problem = Problem::new(at.clone(), refused.what);
            found.push(problem.help(refused.help));
            return;
        }
    };
    let allowed = model.get(&["insecure_http"]);
    let is_allowed = allowed.is_some_and(|node| matches!(node.content, Content::Bool(true)));
    if url.is_in_plain_sight() && model.get(&["api_key_env"]).is_some() && !is_allowed {
        let message = format!("the key would go to `{}` without encryption", url.host());
        found.push(Problem::new(at.clone(), message).help(
            "write `https://`, leave `api_key_env` out where the server needs no key, or allow it \
             with `insecure_http: true`",
        ));
    }
}

/// Reports a key that was written instead of the name of its variable.
pub(super) fn key(model: &Node, found: &mut Vec<Problem>) {
    let Some((name, at)) = model.text(&["api_key_env"]) else {
        return;
    };
    let is_name = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.starts_with(|c: char| c.is_ascii_digit())
    };
    if is_name(name) {
        return;
    }
    // The written value may be the key itself, so the message does not show it.
    let problem = Problem::new(
        at.start..at.start,
        "`api_key_env` is not the name of a variable",
    );
    let help = match name.strip_prefix('$').filter(|bare| is_name(bare)) {
        Some(bare) => format!("write `{bare}`"),
        None => {
            "write the name of the environment variable that holds the key, never the key itself"
                .to_owned()
        }
    };
    found.push(problem.help(help));
}

/// Reports headers that cannot be sent, and headers that would contain a key.
pub(super) fn headers(model: &Node, found: &mut Vec<Problem>) {
    for (name, value) in model.entries(&["headers"]) {
        let at: Range<usize> = name.at.clone();
        let lower = name.text.to_ascii_lowercase();
        if SECRET_HEADERS.contains(&&*lower) {
            let message = format!(
                "the header `{}` would carry a secret in this file",
                name.text
            );
            found.push(Problem::new(at, message).help(
                "name the environment variable of the key in `api_key_env`, and a header other than \
                 `Authorization: Bearer` in `api_key_header`",
            ));
        } else if let Content::Text(text) = &value.content
            && !base_url::is_header(&name.text, text)
        {
            let message = format!("`{}` cannot be sent as a header", name.text);
            found.push(Problem::new(at, message));
        }
    }
}
