//! The configuration with the keys of every kind of probe.

use std::path::Path;

use super::registry;
use crate::config::{Config, Overrides, Owner, configure};

/// Reads and checks the configuration.
///
/// # Errors
///
/// As [`Config::load`].
pub(crate) fn configured(overrides: &Overrides) -> anyhow::Result<Config> {
    Config::load(overrides, &owners())
}

/// The JSON schema of the file, with the keys of every kind of probe, as the repository has it.
///
/// # Errors
///
/// None that is known; that it can be written is up to the library.
pub(crate) fn schema() -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(&configure::schema(&owners()))?;
    Ok(text + "\n")
}

/// Checks a text that is to become `file`.
///
/// # Errors
///
/// As [`Config::load`].
pub(crate) fn configured_by(text: &str, file: &Path) -> anyhow::Result<Config> {
    Config::parse(text, file, &owners())
}

/// Every kind of probe with the keys that it owns.
pub(super) fn owners() -> Vec<Owner> {
    let kinds = registry::kinds().into_iter();
    kinds
        .map(|kind| Owner {
            name: kind.name(),
            kind,
        })
        .collect()
}
