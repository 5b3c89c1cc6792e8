//! The services of a configuration: their problems, and their checked form.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::nodes::{ScenarioFields, unset};
use crate::keys::ServiceKeys;
use crate::services::{DeclaredServices, Service, variable};
use crate::{interpolate, services};
use kelvin_base::digest::{Digest, Fields};
use kelvin_run::config::yaml::{Key, Node};
use kelvin_run::config::{Config, Part, Problem};

/// Finds everything that is wrong with the services.
pub(super) fn problems(node: &Node, found: &mut Vec<Problem>) {
    let mut variables: BTreeMap<String, &str> = BTreeMap::new();
    for (key, service) in node.entries(&["services"]) {
        named(key, found);
        if let Some(other) = variables.insert(variable(&key.text), &key.text) {
            let what = format!(
                "`{}` and `{other}` have the same variable, `{}`",
                key.text,
                variable(&key.text)
            );
            found.push(Problem::new(key.at.clone(), what).help("give one of them another name"));
        }
        look(service, found);
    }
}

/// Checks the name of a service, which is part of the name of a variable.
fn named(key: &Key, found: &mut Vec<Problem>) {
    if !interpolate::is_name(&key.text.replace('-', "_")) {
        let what = format!("`{}` is no name of a service", key.text);
        let help = "a name has letters, digits, `_` and `-`, and begins with a letter: the pipeline sees \
                    the address as `KELVIN_SERVICE_NAME_URL`";
        found.push(Problem::new(key.at.clone(), what).help(help));
    }
}

fn look(service: &Node, found: &mut Vec<Problem>) {
    let before = found.len();
    unset(service, ScenarioFields::Refused, found);
    if found.len() > before {
        return;
    }
    let Ok(written) = serde_json::from_value::<ServiceKeys>(service.to_json()) else {
        return;
    };
    let Ok(filled) = filled(&written, &mut BTreeMap::new()) else {
        return;
    };
    if let Err((key, what)) = services::open_service(&written, &filled, None) {
        let path: Vec<&str> = key.split('.').collect();
        let at = service.get(&path).unwrap_or(service);
        found.push(Problem::new(at.at.clone(), what));
    }
}

fn filled(
    written: &ServiceKeys,
    values: &mut BTreeMap<String, String>,
) -> serde_json::Result<ServiceKeys> {
    let written = serde_json::to_value(written)?;
    let filled = interpolate::filled(&written, &interpolate::of_environment, values);
    serde_json::from_value(filled)
}

/// The names and types of the services, even if other parts of them are wrong.
pub(super) fn declared_in(node: &Node) -> DeclaredServices {
    let all = node.entries(&["services"]).iter();
    let types = all.clone().map(|(key, service)| {
        let kind = service.text(&["type"]);
        (&*key.text, kind.map_or("", |(kind, _)| kind))
    });
    let recording = all.filter(|(_, service)| {
        let record = service.get(&["record"]);
        record.is_some_and(|record| record.to_json() == Value::Bool(true))
    });
    DeclaredServices::of(types).recording(recording.map(|(key, _)| &*key.text))
}

/// The names and types of the services.
pub(super) fn declared(keys: &BTreeMap<String, ServiceKeys>) -> DeclaredServices {
    let types = keys.iter().map(|(name, keys)| (&**name, keys.kind()));
    let recording = keys.iter().filter(|(_, keys)| keys.records());
    DeclaredServices::of(types).recording(recording.map(|(name, _)| &**name))
}

/// The command lines that check whether a server is ready, and that may also prepare it.
pub(super) fn commands(keys: &BTreeMap<String, ServiceKeys>) -> Vec<String> {
    let ready = keys.values().filter_map(ServiceKeys::ready_command);
    ready.map(str::to_owned).collect()
}

/// The services as a part of what is measured, without their addresses.
pub(super) fn without_places(
    keys: &BTreeMap<String, ServiceKeys>,
) -> BTreeMap<String, ServiceKeys> {
    let all = keys.iter();
    all.map(|(name, keys)| (name.clone(), keys.without_place()))
        .collect()
}

/// The services in their checked form.
pub(super) struct SettledServices {
    pub(super) all: BTreeMap<String, Box<dyn Service>>,
    /// The files that define the content of the services.
    pub(super) files: Vec<(&'static str, PathBuf)>,
    /// The digest of everything in the services on which an answer may depend: their locations, and their initial
    /// content.
    pub(super) digest: Digest,
}

/// Makes the settings of the services; the values of variables are added to `values`. Fails if a file that one of them
/// names cannot be read.
pub(super) fn settle(
    part: &Part<'_>,
    config: &Config,
    keys: &BTreeMap<String, ServiceKeys>,
    values: &mut BTreeMap<String, String>,
) -> anyhow::Result<SettledServices> {
    let mut settled = SettledServices {
        all: BTreeMap::new(),
        files: Vec::new(),
        digest: Fields::of("kelvin/services/v1").digest(),
    };
    let mut fields = Fields::of("kelvin/services/v1");
    for (name, written) in keys {
        let filled = filled(written, values)?;
        fields = fields.field(name, serde_json::to_string(&filled)?);
        let init = match filled.init() {
            Some(file) => {
                let text =
                    std::fs::read_to_string(config.rules_root().join(file)).map_err(|error| {
                        let at = part.node.place(&["services", name, "init"]);
                        let shown = written.init().unwrap_or_default();
                        let what = format!("`{shown}` cannot be read: {error}");
                        let help =
                            "name a file with SQL, relative to the folder of the configuration";
                        part.misuse(Problem::new(at, what).help(help))
                    })?;
                fields = fields.field("init", &text);
                settled
                    .files
                    .push(("init of a service", PathBuf::from(file)));
                Some(text)
            }
            None => None,
        };
        let opened = services::open_service(written, &filled, init.as_deref());
        let opened = opened.map_err(|(_, what)| part.misuse(Problem::new(0..0, what)))?;
        settled.all.insert(name.clone(), opened);
    }
    settled.digest = fields.digest();
    Ok(settled)
}
