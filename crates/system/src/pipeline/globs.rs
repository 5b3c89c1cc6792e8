//! Lists the files that match globs, without git. Links are followed, since the pipeline reads through them.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use globset::{GlobBuilder, GlobMatcher};

use super::{CodeFile, Excluded, Files, real};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;

/// The files that match the globs, relative to `root`. Fails with a [`Misuse`] if a glob matches no file: the code
/// could change without being noticed.
pub(super) fn files(root: &Path, globs: &[String], exclude: &Excluded) -> anyhow::Result<Files> {
    let root = &real(root);
    let mut files = Files::new();
    for glob in globs {
        let mut walk = GlobWalk {
            root,
            exclude,
            matcher: matcher(root, glob)?,
            files: &mut files,
            within: BTreeSet::new(),
            found: false,
        };
        let base = base(root, glob);
        if root.join(&base).is_dir() {
            walk.folder(&base)?;
        } else {
            walk.named(&base)?;
        }
        if !walk.found {
            return Err(Misuse::new(format!("`fingerprint`: `{glob}` names no file"))
                .help(
                    "the globs say which files make up the pipeline, relative to `kelvin.yaml`; \
                     with a glob that names no file, old answers could be used after a change",
                )
                .into());
        }
    }
    Ok(files)
}

/// A glob; one without wildcards may name a folder, which means everything in it.
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

/// The part of a glob before its first wildcard: a folder that contains every possible match or,
/// without wildcards, the named file itself. The path is relative to the root.
fn base(root: &Path, glob: &str) -> PathBuf {
    let parts: Vec<_> = Path::new(glob)
        .components()
        .filter(|part| part.as_os_str() != ".")
        .collect();
    let is_fixed = |part: &&Component<'_>| {
        let text = part.as_os_str().to_string_lossy();
        !text.contains(['*', '?', '[', '{', '\\'])
    };
    let fixed: PathBuf = parts.iter().take_while(is_fixed).collect();
    if parts.iter().all(|part| is_fixed(&part)) || root.join(&fixed).is_dir() {
        return fixed;
    }
    fixed.parent().map(Path::to_path_buf).unwrap_or_default()
}

struct GlobWalk<'a> {
    root: &'a Path,
    exclude: &'a Excluded,
    matcher: GlobMatcher,
    files: &'a mut Files,
    /// The folders above the current one, without links: a link to one of them would make a cycle.
    within: BTreeSet<PathBuf>,
    found: bool,
}

impl GlobWalk<'_> {
    /// Adds the matches below a folder, given relative to the root.
    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let path = self.root.join(folder);
        let Ok(real) = path.canonicalize() else {
            return Ok(());
        };
        if self.exclude.has(&real) || !self.within.insert(real.clone()) {
            return Ok(());
        }
        let failed = || format!("failed to list `{}` for the fingerprint", path.display());
        for entry in fs::read_dir(&path).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name();
            // Git's own data change with every fetch, and are not code.
            if name != ".git" && super::MADE_FOLDERS.iter().all(|made| name != *made) {
                self.named(&folder.join(name))?;
            }
        }
        self.within.remove(&real);
        Ok(())
    }

    /// Adds a file that matches, or the matches below a folder.
    fn named(&mut self, name: &Path) -> anyhow::Result<()> {
        let path = self.root.join(name);
        let Ok(data) = fs::symlink_metadata(&path) else {
            return Ok(());
        };
        if data.is_dir() {
            return self.folder(name);
        }
        if !data.is_symlink() {
            return self.file(name, &path, &data);
        }
        match (path.canonicalize(), fs::metadata(&path)) {
            (_, Ok(data)) if data.is_dir() => self.folder(name),
            (Ok(real), Ok(data)) => self.file(name, &real, &data),
            _ => {
                self.lost(name);
                Ok(())
            }
        }
    }

    fn file(&mut self, name: &Path, real: &Path, data: &Metadata) -> anyhow::Result<()> {
        if !data.is_file() || !self.matcher.is_match(name) {
            return Ok(());
        }
        self.found = true;
        if self.exclude.has(real) {
            return Ok(());
        }
        let bytes = fs::read(real).with_context(|| {
            format!(
                "failed to read `{}`, which `fingerprint` names",
                name.display()
            )
        })?;
        let is_program = data.permissions().mode() & 0o100 != 0;
        self.add(name, if is_program { "program" } else { "file" }, &bytes);
        Ok(())
    }

    /// Adds a link to a missing target, of which only the name is known.
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
            CodeFile { kind, content },
        );
    }
}
