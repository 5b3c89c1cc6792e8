//! Lists the files that globs name, without git. Links are followed: what matters is what the
//! pipeline reads.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use globset::{GlobBuilder, GlobMatcher};

use super::{Entry, Files, is_under};
use crate::digest::Digest;
use crate::exit::Misuse;

/// The files that the globs name, relative to `root`.
///
/// # Errors
///
/// A [`Misuse`] where a glob names no file: the code could change without anybody noticing.
pub(super) fn files(root: &Path, globs: &[String], exclude: &[PathBuf]) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for glob in globs {
        let mut walk = Walk {
            root,
            exclude,
            matcher: matcher(root, glob)?,
            files: &mut files,
            within: BTreeSet::new(),
            found: false,
        };
        walk.folder(&base(root, glob))?;
        if !walk.found {
            return Err(Misuse::new(format!("`fingerprint`: `{glob}` names no file"))
                .help(
                    "the globs say which files make up the pipeline, relative to `kelvin.yaml`; \
                     one that names none would let an old answer pass for a new one",
                )
                .into());
        }
    }
    Ok(files)
}

/// A glob; one without wildcards may name a folder and means all that is in it.
fn matcher(root: &Path, glob: &str) -> Result<GlobMatcher, Misuse> {
    let glob = glob.trim_start_matches("./").trim_end_matches('/');
    let pattern = match root.join(glob).is_dir() {
        true if glob.is_empty() || glob == "." => "**".to_owned(),
        true => format!("{glob}/**"),
        false => glob.to_owned(),
    };
    GlobBuilder::new(&pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| {
            Misuse::new(format!(
                "`fingerprint`: `{glob}` is not a glob: {}",
                error.kind()
            ))
        })
}

/// The folder that everything a glob can match lies in, relative to the root.
fn base(root: &Path, glob: &str) -> PathBuf {
    let fixed: PathBuf = Path::new(glob)
        .components()
        .filter(|part| part.as_os_str() != ".")
        .take_while(|part| {
            let text = part.as_os_str().to_string_lossy();
            !text.contains(['*', '?', '[', '{', '\\'])
        })
        .collect();
    match root.join(&fixed).is_dir() {
        true => fixed,
        false => fixed.parent().map(Path::to_path_buf).unwrap_or_default(),
    }
}

struct Walk<'a> {
    root: &'a Path,
    exclude: &'a [PathBuf],
    matcher: GlobMatcher,
    files: &'a mut Files,
    /// The folders above the one being listed, without links: a link to one of them is a circle.
    within: BTreeSet<PathBuf>,
    found: bool,
}

impl Walk<'_> {
    /// Adds what matches below a folder, given relative to the root.
    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let path = self.root.join(folder);
        let Ok(real) = path.canonicalize() else {
            return Ok(());
        };
        if is_under(&real, self.exclude) || !self.within.insert(real.clone()) {
            return Ok(());
        }
        let failed = || format!("failed to list `{}` for the fingerprint", path.display());
        for entry in fs::read_dir(&path).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name();
            // The store of git changes with every fetch and is nobody's code.
            if name == ".git" {
                continue;
            }
            let name = folder.join(name);
            let Ok(data) = fs::metadata(self.root.join(&name)) else {
                self.lost(&name);
                continue;
            };
            if data.is_dir() {
                self.folder(&name)?;
            } else if data.is_file() && self.matcher.is_match(&name) {
                self.file(&name, data.permissions().mode() & 0o100 != 0)?;
            }
        }
        self.within.remove(&real);
        Ok(())
    }

    fn file(&mut self, name: &Path, executable: bool) -> anyhow::Result<()> {
        let path = self.root.join(name);
        self.found = true;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if is_under(&real, self.exclude) {
            return Ok(());
        }
        let bytes = fs::read(&path).with_context(|| {
            format!(
                "failed to read `{}`, which `fingerprint` names",
                path.display()
            )
        })?;
        self.add(name, if executable { "program" } else { "file" }, &bytes);
        Ok(())
    }

    /// A link to nothing: its target is all that can be told.
    fn lost(&mut self, name: &Path) {
        if self.matcher.is_match(name)
            && let Ok(target) = fs::read_link(self.root.join(name))
        {
            self.add(name, "link", target.as_os_str().as_bytes());
        }
    }

    fn add(&mut self, name: &Path, kind: &'static str, content: &[u8]) {
        let content = Digest::of(content).bytes().to_vec();
        self.files.insert(
            name.as_os_str().as_bytes().to_vec(),
            Entry { kind, content },
        );
    }
}
