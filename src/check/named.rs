//! The name under which reports of a configuration are stored, and the file that a report names.

use std::path::{Path, PathBuf};

use crate::baseline;
use kelvin_base::file;
use kelvin_run::config::{self, Config};

/// The name of a configuration among several of one repository.
pub(crate) fn configuration(config: &Config) -> String {
    named(config.name.clone(), &config.root, &config.file)
}

/// The name of a configuration that perhaps cannot be read: the name in its text, or else a name made from its path.
pub(super) fn named(name: Option<String>, root: &Path, file: &Path) -> String {
    let path = || Some(folder(root)?.join(file.file_stem()?));
    let name = name
        .or_else(|| Some(path()?.display().to_string()))
        .unwrap_or_else(|| "kelvin".to_owned());
    file::slug(&name)
}

/// The name of a configuration that is not in the work tree: from its text, if that could be read, or else from its
/// path in the repository.
pub(super) fn name_at(text: Option<&str>, file: &Path) -> String {
    let by_path = || file.with_extension("").display().to_string();
    file::slug(&text.and_then(config::name).unwrap_or_else(by_path))
}

/// The file of a configuration, relative to the top of its repository, as it is stored in a report.
pub(super) fn file_of(config: &Config) -> String {
    let name = Path::new(config.file.file_name().unwrap_or_default());
    let path = folder(&config.root).map_or_else(|| name.to_path_buf(), |folder| folder.join(name));
    path.display().to_string()
}

/// A folder, relative to the top of its repository.
pub(super) fn folder(root: &Path) -> Option<PathBuf> {
    within(root, root)
}

/// A path, relative to the top of the repository around a folder; none if the path lies outside.
pub(super) fn within(root: &Path, path: &Path) -> Option<PathBuf> {
    let repo = baseline::open(root).ok()?;
    let top = repo.workdir()?.canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    Some(path.strip_prefix(top).ok()?.to_path_buf())
}
