//! The configuration with the keys of every kind of probe.

use std::path::Path;

use crate::Kind;
use kelvin_run::config::{Config, Overrides, Owner, configure};

/// Reads and checks the configuration.
///
/// # Errors
///
/// As [`Config::load`].
pub fn configured(overrides: &Overrides, kinds: &[&'static dyn Kind]) -> anyhow::Result<Config> {
    Config::load(overrides, &owners(kinds))
}

/// The JSON schema of the file, with the keys of every kind of probe, as the repository has it.
///
/// # Errors
///
/// Where the library cannot write the schema, which is not known to happen.
pub fn schema(kinds: &[&'static dyn Kind]) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(&configure::schema(&owners(kinds)))?;
    Ok(text + "\n")
}

/// Checks a text that will be written to `file`.
///
/// # Errors
///
/// As [`Config::load`].
pub fn configured_by(
    text: &str,
    file: &Path,
    kinds: &[&'static dyn Kind],
) -> anyhow::Result<Config> {
    Config::parse(text, file, &owners(kinds))
}

/// Every kind of probe with the keys that it owns.
pub fn owners(kinds: &[&'static dyn Kind]) -> Vec<Owner> {
    let owner = |kind: &&'static dyn Kind| Owner {
        name: kind.name(),
        kind: *kind,
    };
    kinds.iter().map(owner).collect()
}
