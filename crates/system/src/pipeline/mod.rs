//! The fingerprint of the pipeline's code: what git sees in the work tree, or what globs name.
//!
//! The same content gives the same fingerprint, whether it is committed, staged or neither.

mod change;
mod globs;
mod ignoring;
mod made;
mod repository;
mod stamp;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kelvin_base::digest::{Digest, Fields};
pub use made::Made;
pub use repository::{Against, against};
pub use watch::{Seen, Watch, begin};

/// What tells the code of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The digest of the files; none where neither git nor globs tell which they are.
    pub digest: Option<Digest>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Whether the work tree differs from the commit.
    pub dirty: bool,
}

/// Folders in which a run leaves what it has compiled or kept of the sources beside them.
const MADE_FOLDERS: [&str; 4] = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];
/// The endings of logs, databases and marks that programs leave behind, and that nobody runs.
const MADE_ENDINGS: [&str; 12] = [
    "log",
    "db",
    "db-journal",
    "db-shm",
    "db-wal",
    "sqlite",
    "sqlite3",
    "sqlite3-journal",
    "pid",
    "lock",
    "tmp",
    "pyc",
];

/// Whether an untracked file is by its place or name what a run leaves behind. Such a file is no
/// code: the first run of a pipeline would otherwise change the code of the second.
fn is_made_by_runs(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter_map(Path::file_name);
    let in_folder = folders.any(|name| MADE_FOLDERS.iter().any(|made| name == *made));
    let ending = path.extension();
    in_folder || ending.is_some_and(|ending| MADE_ENDINGS.iter().any(|made| ending == *made))
}

/// Files by their name, each with what tells its kind and content.
type Files = BTreeMap<Vec<u8>, Entry>;

/// One file, as git would store it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `file`, `program`, `link`, `submodule` or `unreadable`.
    kind: &'static str,
    /// The identity of the content.
    content: Vec<u8>,
}

/// Digests the files under `root` that `globs` name or, without globs, all that git knows or would
/// take in (HEAD plus uncommitted changes), without what lies under `exclude` (absolute paths).
///
/// Git means the whole work tree, also where `root` is only a part of it: the pipeline may lie
/// beside its evaluation.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) where a glob names no file, any other error where a file that
/// is named cannot be read. A repository that cannot be read is as good as none.
#[cfg(test)]
pub fn code(root: &Path, globs: &[String], exclude: &[PathBuf]) -> anyhow::Result<Code> {
    list(root, globs, &Excluded::new(exclude)).map(|(code, _)| code)
}

/// The digest that the code of a pipeline has where a commit is checked out and nothing was changed
/// since; none where it cannot be told from the commit alone, since it holds other repositories or the
/// folder is in none. `root` lies in a checkout of the commit, without `exclude` (absolute paths).
///
/// # Errors
///
/// As [`begin`].
pub fn committed(
    root: &Path,
    globs: &[String],
    exclude: &[PathBuf],
) -> anyhow::Result<Option<Digest>> {
    let (root, exclude) = (real(root), Excluded::new(exclude));
    let files = match globs {
        [] => repository::committed(&root, &exclude),
        globs => Some(globs::files(&root, globs, &exclude)?),
    };
    Ok(files.as_ref().map(digest))
}

/// The files of a pipeline.
struct Listed {
    /// The folder that their names are relative to.
    top: PathBuf,
    files: Files,
    /// Those that git does not track; none where globs name the files.
    untracked: BTreeSet<Vec<u8>>,
    /// What runs leave behind, by its place or name; none of the files.
    left: BTreeSet<Vec<u8>>,
}

/// Lists and digests them; no files where neither git nor globs tell which they are.
fn list(
    root: &Path,
    globs: &[String],
    exclude: &Excluded,
) -> anyhow::Result<(Code, Option<Listed>)> {
    let root = real(root);
    let seen = repository::look(&root, exclude);
    let mut code = Code {
        digest: None,
        dirty: seen.as_ref().is_some_and(|seen| seen.dirty),
        commit: seen.as_ref().and_then(|seen| seen.commit.clone()),
    };
    let listed = match globs {
        [] => seen.and_then(|seen| {
            let (top, files) = (seen.top, seen.files?);
            Some(Listed {
                top,
                files,
                untracked: seen.untracked,
                left: seen.left,
            })
        }),
        globs => {
            let files = globs::files(&root, globs, exclude)?;
            Some(Listed {
                top: root,
                files,
                untracked: BTreeSet::new(),
                left: BTreeSet::new(),
            })
        }
    };
    code.digest = listed.as_ref().map(|listed| digest(&listed.files));
    Ok((code, listed))
}

fn digest(files: &Files) -> Digest {
    files
        .iter()
        .fold(Fields::of("kelvin/pipeline/v1"), |fields, (name, entry)| {
            fields.field("name", name).field(entry.kind, &entry.content)
        })
        .digest()
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), path.strip_prefix(folder)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path
}

/// What is left out: a thousand cases among it, so a path is looked up and not compared with each.
#[derive(Debug)]
struct Excluded(BTreeSet<PathBuf>);

impl Excluded {
    /// These paths, absolute or not, without links.
    fn new(paths: &[PathBuf]) -> Self {
        Self(paths.iter().map(|path| real(path)).collect())
    }

    /// Whether a path is one of them or lies below one.
    fn has(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.0.contains(above))
    }
}

#[cfg(test)]
mod tests;
