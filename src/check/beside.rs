//! What lies in the folder of the pipeline without being its code.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::history;
use crate::probe::evidence::cases::Corpus;

/// What lies beside the pipeline and is none of its code: a change there changes no answer. The
/// cases one by one, since their folder may be that of the pipeline.
pub(super) fn not_pipeline(config: &Config, corpus: &Corpus, out: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = corpus
        .cases
        .iter()
        .map(|case| config.root.join(&*case.file))
        .collect();
    paths.push(out.to_path_buf());
    paths.push(config.root.join(&config.file));
    paths.extend(history::files(&config.root));
    if let Some(retrieval) = &config.retrieval {
        paths.push(config.root.join(&retrieval.golden));
    }
    paths.extend(config.cache.as_ref().map(|cache| cache.dir.clone()));
    paths
}
