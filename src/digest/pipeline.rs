//! The fingerprint of the pipeline's code.

use std::path::{Path, PathBuf};

use super::Digest;

/// What tells the code of a pipeline.
pub(crate) struct Code {
    /// The digest of the files; none where neither git nor globs tell which they are.
    pub(crate) digest: Option<Digest>,
    /// The commit that is checked out.
    pub(crate) commit: Option<String>,
    /// Whether the work tree differs from the commit.
    pub(crate) dirty: bool,
}

/// Digests the files under `root` that `globs` name or, without globs, all that git knows or would
/// take in (HEAD plus uncommitted changes), without what lies under `exclude` (absolute paths).
pub(crate) fn code(_root: &Path, _globs: &[String], _exclude: &[PathBuf]) -> anyhow::Result<Code> {
    todo!()
}
