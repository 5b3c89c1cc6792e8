//! The items of the head in a checkout of the base.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::CheckRequest;
use super::asked;
use crate::registry::Registry;
use kelvin_run::config::{Config, Overrides};
use kelvin_system::git::Repository;

/// Replaces the files of the base's items by those of the head's. `root`: the folder of the configuration in a checkout
/// of the base.
///
/// # Errors
///
/// Where the items of a side cannot be read, or those of the head lie outside of the repository.
pub(super) fn put(
    head: &Config,
    repo: &Repository,
    root: &Path,
    (registry, probe): (Registry, Option<&'static str>),
) -> anyhow::Result<()> {
    let base = registry.configured(&Overrides {
        file: Some(root.join(head.file.file_name().unwrap_or_default())),
        no_cache: true,
        ..Overrides::default()
    })?;
    let top = repo.workdir().context("the repository has no work tree")?;
    let top = top.canonicalize().context("failed to find the work tree")?;
    let from = head.root.canonicalize();
    let from = from.with_context(|| format!("failed to find `{}`", head.root.display()))?;
    let below = from
        .strip_prefix(&top)
        .context("the configuration is outside the repository")?;
    let files = root.ancestors().nth(below.components().count());
    let files = files.context("the checkout has no such folder")?;
    for old in items(&base, registry, probe)? {
        fs::remove_file(&old).with_context(|| format!("failed to remove `{}`", old.display()))?;
    }
    for item in items(head, registry, probe)? {
        let shown = item.display();
        let real = item.canonicalize();
        let real = real.with_context(|| format!("failed to find `{shown}`"))?;
        let name = real.strip_prefix(&top);
        let name = name.with_context(|| format!("`{shown}` is outside the repository"))?;
        let to = files.join(name);
        fs::create_dir_all(to.parent().unwrap_or(files))
            .and_then(|()| fs::copy(&real, &to))
            .with_context(|| format!("failed to copy `{shown}`"))?;
    }
    Ok(())
}

/// The files that the items are read from.
fn items(
    config: &Config,
    registry: Registry,
    probe: Option<&'static str>,
) -> anyhow::Result<Vec<PathBuf>> {
    let request = CheckRequest {
        probe,
        is_base: true,
        ..CheckRequest::new(registry)
    };
    let sides = asked::read(&request, config)?;
    let mut files: Vec<PathBuf> = sides.iter().flat_map(|side| side.items.files()).collect();
    files.sort();
    // Several probes may read the same file.
    files.dedup();
    Ok(files)
}
