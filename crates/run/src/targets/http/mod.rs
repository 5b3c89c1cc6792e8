//! The pipeline as a service behind HTTP: a call is a request to one address. The service either runs already, or is
//! started once for a run in the folder of the configuration, and stopped at the end.

#[cfg(feature = "models")]
mod asked;
#[cfg_attr(
    not(feature = "models"),
    expect(dead_code, reason = "only the clients for servers send anything")
)]
mod body;
#[cfg(feature = "models")]
mod host;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::model::base_url;
use super::{Launch, Target, TargetKind, TargetSite, command, worker};
use kelvin_base::exit::Misuse;

/// The key under which an address names a service.
const KEY: &str = "http";

/// The placeholder for the port of a started service in its address and its command.
const PORT: &str = "{port}";

/// The version of the requests that this program makes; it has the same purpose as that of the requests to models.
const REQUESTS: u32 = 1;

/// What a configuration writes under the key of this target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HttpSettings {
    /// The address that each input is sent to. `{port}` in it is the port of the service that `start` starts. After the
    /// host it is a template like `body`, whose values are escaped for the address: `?q={{ input.query }}`. For a case
    /// with turns, `{{ conversation_id }}` and `{{ turn }}` may be used in `url`, `headers` and `body`.
    #[schemars(length(min = 1))]
    url: String,
    /// The method of each request. `GET` sends the address alone, so `url` has to contain the input.
    #[serde(default)]
    method: HttpMethod,
    /// The environment variable that holds the key. Without it no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    api_key_env: Option<String>,
    /// The header in which the key is sent as it is. Without it: `Authorization: Bearer KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    api_key_header: Option<String>,
    /// Whether a key may be sent without encryption to a server that is not on this machine.
    #[serde(default)]
    insecure_http: bool,
    /// Further headers of every request; never a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    /// The body of each request, a template of Jinja over `input`: a record as an object, anything else as text. Without
    /// it: `{"input": INPUT}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    body: Option<String>,
    /// A JSON pointer to the decision in the answer, such as `/result/label`. Without it the answer is the output as it
    /// is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    /// The command that starts the service, once for a run and in the folder of the configuration. It gets a free port as
    /// `PORT` and `{port}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    start: Option<String>,
}

/// The methods; all but the first have a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum HttpMethod {
    Get,
    #[default]
    Post,
    Put,
    Patch,
}

/// A problem of the value of one key, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpProblem {
    /// The key within the settings.
    pub(crate) key: &'static str,
    pub(crate) what: String,
    pub(crate) help: String,
}

/// The problems in the values of settings, apart from those that also apply to models. The function returns the texts
/// under a key.
pub(crate) fn http_problems<'s>(
    text: &dyn Fn(&str) -> Option<&'s str>,
    has_headers: bool,
) -> Vec<HttpProblem> {
    let mut found = Vec::new();
    let mut tell = |key, what: String, help: &str| {
        let help = help.to_owned();
        found.push(HttpProblem { key, what, help });
    };
    let url = text("url").unwrap_or_default();
    match text("start") {
        Some(_) if !url.contains(PORT) => tell(
            "url",
            "`url` has no `{port}`, but the service of `start` listens on a port of its own"
                .to_owned(),
            "write it as `http://127.0.0.1:{port}/decide`",
        ),
        Some(_) => {
            let read = base_url::check_whole(&example_of(url));
            if read.is_ok_and(|url| !url.is_on_loopback()) {
                tell(
                    "url",
                    "`url` names another machine, and `start` starts the service on this one"
                        .to_owned(),
                    "write it as `http://127.0.0.1:{port}/decide`, or leave `start` out",
                );
            }
        }
        None if url.contains(PORT) => tell(
            "url",
            "`{port}` is the port of a service that `start` starts, and there is no `start`"
                .to_owned(),
            "write the port, or name the command that starts the service under `start`",
        ),
        None => {}
    }
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    if after
        .split(['/', '?'])
        .next()
        .is_some_and(body::is_template)
    {
        tell(
            "url",
            "`url` has a template in the name of its host, and only one host is ever asked"
                .to_owned(),
            "write the host as it is; `{{ input }}` and the other names may stand behind it",
        );
    } else if let Some((what, help)) = body::problem_of_address(url) {
        tell("url", what, &help);
    }
    if text("method") == Some("GET") {
        if text("body").is_some() {
            let what = "a request of `method: GET` has no body".to_owned();
            let help = "put the input into `url`, as `?q={{ input.query }}`, or leave `method` out";
            tell("body", what, help);
        }
        if !body::names_the_input(url) {
            let what =
                "`method: GET` sends nothing but the address, and `url` does not name the input";
            let help = "write it as `https://example.com/search?q={{ input.query }}`";
            tell("url", what.to_owned(), help);
        }
    }
    if let Some(name) = text("api_key_header")
        && !base_url::is_header(name, "")
    {
        let what = format!("`{name}` cannot be the name of a header");
        tell("api_key_header", what, "write a name such as `X-Api-Key`");
    }
    if let Some(template) = text("body")
        && let Some((what, help)) = body::problem(template, !has_headers)
    {
        tell("body", what, help);
    }
    if let Some(pointer) = text("decision")
        && !pointer.starts_with('/')
    {
        let what = format!("`decision` is a JSON pointer and begins with `/`, found `{pointer}`");
        let help = format!(
            "write `/{}`",
            pointer.trim_start_matches("$.").replace('.', "/")
        );
        tell("decision", what, &help);
    }
    found
}

/// An example of the address, which can be parsed before there is a service and a conversation.
pub(crate) fn example_of(url: &str) -> String {
    body::example(url).replace(PORT, "1")
}

/// The kind of target whose settings name a service.
pub(super) struct HttpKind;

impl HttpKind {
    fn read(settings: &Value) -> Result<HttpSettings, Misuse> {
        let settings = HttpSettings::deserialize(settings)
            .map_err(|error| Misuse::new(format!("`{KEY}` names no service: {error}")))?;
        base_url::check_whole(&example_of(&settings.url)).map_err(|refused| {
            Misuse::new(format!("`{KEY}`: {}", refused.what)).help(refused.help)
        })?;
        if let Some(line) = &settings.start {
            worker::check(line, "http.start")?;
        }
        Ok(settings)
    }
}

impl TargetKind for HttpKind {
    fn key(&self) -> Option<&'static str> {
        Some(KEY)
    }

    fn schema(&self) -> Value {
        worker::schema::<HttpSettings>()
    }

    #[cfg(feature = "models")]
    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        Ok(Box::new(asked::HttpTarget::open(
            Self::read(settings)?,
            site,
        )?))
    }

    #[cfg(not(feature = "models"))]
    fn open(&self, settings: &Value, _: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        Self::read(settings)?;
        let what = "the pipeline is behind HTTP, and this kelvin was built without the clients for servers";
        Err(Misuse::new(what)
            .help("take a released kelvin, or build with the Cargo feature `models`"))
    }

    /// The source of the key changes no answer, so it is left out. The version of the requests is included, because a
    /// request with other bytes may lead to another answer.
    fn identity(&self, settings: &Value) -> Value {
        let mut identity = settings.clone();
        if let Some(keys) = identity.as_object_mut() {
            for key in ["api_key_env", "insecure_http"] {
                keys.remove(key);
            }
            keys.insert("requests".to_owned(), json!(REQUESTS));
        }
        identity
    }

    fn line(&self, settings: &Value) -> Option<String> {
        let start = Self::read(settings)
            .ok()
            .and_then(|settings| settings.start);
        Some(start.unwrap_or_default())
    }

    fn stays(&self) -> bool {
        true
    }

    fn is_of_no_commit(&self, settings: &Value) -> bool {
        Self::read(settings).is_ok_and(|settings| settings.start.is_none())
    }

    fn takes_turns(&self, _: &Value) -> Result<(), Misuse> {
        Ok(())
    }

    fn has_workplaces(&self) -> bool {
        false
    }

    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse> {
        let settings = Self::read(settings)?;
        match &settings.start {
            Some(line) => Ok(Launch {
                remark: Some("it starts the service of `run.http`".to_owned()),
                ..command::look_up(&line.replace(PORT, "1"), root)?
            }),
            None => Ok(Launch {
                none_since: Some("a service is asked by HTTP".to_owned()),
                ..Launch::default()
            }),
        }
    }
}

#[cfg(all(test, feature = "models"))]
mod tests;
