//! The configuration with the keys of every kind of probe.

use std::path::Path;

use super::registry;
use crate::config::{Config, Overrides, Owner};

/// Reads and checks the configuration.
///
/// # Errors
///
/// As [`Config::load`].
pub(crate) fn configured(overrides: &Overrides) -> anyhow::Result<Config> {
    Config::load(overrides, &owners())
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
