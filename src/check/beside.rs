//! Files in the folder of the pipeline that are not its code.

use std::path::{Path, PathBuf};

use super::asked::AskedProbe;
use crate::history;
use kelvin_run::config::Config;

/// Files beside the pipeline that are no part of its code: a change to such a file changes no answer.
pub(super) fn not_pipeline(config: &Config, sides: &[AskedProbe<'_>], out: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = sides.iter().flat_map(|side| side.items.files()).collect();
    paths.extend(not_code(config, out));
    paths
}

/// The same list without the items of probes.
pub(crate) fn not_code(config: &Config, out: &Path) -> Vec<PathBuf> {
    let mut paths = vec![out.to_path_buf()];
    paths.push(config.root.join(&config.gate.calibration));
    paths.extend(config.file.file_name().map(|name| config.root.join(name)));
    paths.extend(history::files(&config.root));
    paths.extend(config.cache.as_ref().map(|cache| cache.dir.clone()));
    paths
}
