//! The name that reports of a configuration are kept by.

use std::path::{Path, PathBuf};

use crate::baseline;
use crate::config::Config;
use crate::file;

/// The name of a configuration among several of one repository.
pub(crate) fn configuration(config: &Config) -> String {
    named(config.name.clone(), &config.root, &config.file)
}

/// The same of a configuration that may not be readable: the name it gives itself, and its place.
pub(super) fn named(name: Option<String>, root: &Path, file: &Path) -> String {
    let path = || -> Option<PathBuf> {
        let repo = baseline::open(root).ok()?;
        let top = repo.workdir()?.canonicalize().ok()?;
        let root = root.canonicalize().ok()?;
        Some(root.strip_prefix(top).ok()?.join(file.file_stem()?))
    };
    let name = name
        .or_else(|| Some(path()?.display().to_string()))
        .unwrap_or_else(|| "kelvin".to_owned());
    file::slug(&name)
}
