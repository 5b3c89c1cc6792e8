//! The fingerprint of the pipeline's code: the files that git sees in the work tree, or that match globs.
//!
//! The same content gives the same fingerprint, whether it is committed, staged or neither.

mod globs;
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

/// The version of the code of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The digest of the files; none if neither git nor globs define which files these are.
    pub digest: Option<Digest>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Whether the work tree differs from the commit.
    pub dirty: bool,
}

/// Folders in which a run leaves compiled or cached files, next to their sources.
const MADE_FOLDERS: [&str; 4] = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];
/// The extensions of logs, databases and marker files that programs leave behind and that nobody runs.
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

/// Whether an untracked file, by its path or name, is left behind by runs. Such a file is not code: otherwise the first
/// run of a pipeline would change the code of the second.
fn is_made_by_runs(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter_map(Path::file_name);
    let in_folder = folders.any(|name| MADE_FOLDERS.iter().any(|made| name == *made));
    let ending = path.extension();
    in_folder || ending.is_some_and(|ending| MADE_ENDINGS.iter().any(|made| ending == *made))
}

/// Files by their name, each with its kind and content.
type Files = BTreeMap<Vec<u8>, CodeFile>;

/// A file in the form in which git would store it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CodeFile {
    /// `file`, `program`, `link`, `submodule` or `unreadable`.
    kind: &'static str,
    /// The identity of the content.
    content: Vec<u8>,
}

/// Digests the files under `root` that match `globs` or, without globs, all files that git knows or would add (HEAD
/// plus uncommitted changes), without those under `exclude` (absolute paths).
///
/// With git, this is the whole work tree, even if `root` is only a part of it: the pipeline may be outside the folder
/// of the configuration.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if a glob matches no file; any other error if a file that is named cannot be
/// read. A repository that cannot be read counts as missing.
#[cfg(test)]
pub fn code(root: &Path, globs: &[String], exclude: &[PathBuf]) -> anyhow::Result<Code> {
    list(root, globs, &Excluded::new(exclude)).map(|(code, _)| code)
}

/// The digest of the code of a pipeline in a clean checkout of a commit. None if the commit alone does not determine
/// it, since it contains other repositories, or if the folder is in no repository. `root` is in a checkout of the
/// commit, without `exclude` (absolute paths).
///
/// # Errors
///
/// Fails like [`begin`].
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
struct ListedFiles {
    /// The folder to which their names are relative.
    top: PathBuf,
    files: Files,
    /// The files that git does not track; empty if globs define the files.
    untracked: BTreeSet<Vec<u8>>,
    /// Files left behind by runs, by their place or name; they are not among `files`.
    left: BTreeSet<Vec<u8>>,
}

/// Lists and digests the files; no files if neither git nor globs define which files these are.
fn list(
    root: &Path,
    globs: &[String],
    exclude: &Excluded,
) -> anyhow::Result<(Code, Option<ListedFiles>)> {
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
            Some(ListedFiles {
                top,
                files,
                untracked: seen.untracked,
                left: seen.left,
            })
        }),
        globs => {
            let files = globs::files(&root, globs, exclude)?;
            Some(ListedFiles {
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

/// A path with all links in its existing part resolved.
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

/// The excluded paths. There may be a thousand cases among them, so a path is looked up and not compared with each.
#[derive(Debug)]
struct Excluded(BTreeSet<PathBuf>);

impl Excluded {
    /// The given paths, absolute or not, with links resolved.
    fn new(paths: &[PathBuf]) -> Self {
        Self(paths.iter().map(|path| real(path)).collect())
    }

    /// Whether a path is excluded or lies below an excluded path.
    fn has(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.0.contains(above))
    }
}

#[cfg(test)]
mod tests;
