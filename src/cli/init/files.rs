//! Where the files go, and what is there already.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::template;
use crate::exit::Misuse;
use crate::file;

/// The lines that keep git from the output folder and the cache.
const IGNORED: &[&str] = &["/kelvin/", "/.kelvin-cache/", "/.kelvin/history.db*"];

/// The place of everything that may be written.
#[derive(Debug)]
pub(super) struct Target {
    /// The configuration; absolute.
    pub(super) config: PathBuf,
    /// Its folder.
    pub(super) root: PathBuf,
    /// The top of the git repository around it, if there is one.
    repository: Option<PathBuf>,
}

impl Target {
    /// Finds the places.
    pub(super) fn of(config: &Path) -> anyhow::Result<Self> {
        let config = std::path::absolute(config).context("failed to find the working directory")?;
        let root = config.parent().unwrap_or(Path::new("/")).to_path_buf();
        let repository = root.ancestors().find(|folder| folder.join(".git").exists());
        Ok(Self {
            repository: repository.map(Path::to_path_buf),
            config,
            root,
        })
    }

    /// Whether there is a git repository around the configuration.
    pub(super) const fn is_in_git(&self) -> bool {
        self.repository.is_some()
    }

    /// The workflows, each where GitHub looks for it: the one that measures, and the one that publishes.
    pub(super) fn workflows(&self) -> [(PathBuf, String); 2] {
        let top = self.repository.as_ref().unwrap_or(&self.root);
        let config = self.config.strip_prefix(top).unwrap_or(&self.config);
        let shown = config.display().to_string();
        let setup = if top.join("requirements.txt").is_file() {
            Some("pip install -r requirements.txt")
        } else if top.join("package-lock.json").is_file() {
            Some("npm ci")
        } else {
            None
        };
        let unusual = (shown != "kelvin.yaml").then_some(&*shown);
        // As the reports of a configuration without a name are kept.
        let name = file::slug(&config.with_extension("").display().to_string());
        let folder = top.join(".github/workflows");
        [
            (
                folder.join("kelvin.yml"),
                template::workflow(unusual, setup),
            ),
            (
                folder.join("kelvin-post.yml"),
                template::post(unusual.map(|path| (path, &*name))),
            ),
        ]
    }

    /// The text that `.gitignore` gets: what is there, and what is missing; none if nothing is.
    pub(super) fn gitignore(&self) -> anyhow::Result<Option<(PathBuf, Vec<u8>)>> {
        let path = self.root.join(".gitignore");
        let mut text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("failed to read `{}`", path.display()));
            }
        };
        let missing = missing(&String::from_utf8_lossy(&text));
        if missing.is_empty() {
            return Ok(None);
        }
        let newline: &[u8] = if text.windows(2).any(|two| two == b"\r\n") {
            b"\r\n"
        } else {
            b"\n"
        };
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.extend(newline);
        }
        for line in missing {
            text.extend(line.as_bytes());
            text.extend(newline);
        }
        Ok(Some((path, text)))
    }

    /// Refuses to overwrite.
    pub(super) fn refuse(&self, path: &Path, force: bool) -> Result<(), Misuse> {
        if force || fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        Err(
            Misuse::new(format!("`{}` is there already", self.shown(path)))
                .help("`--force` overwrites it, and `--config FILE` writes another file"),
        )
    }

    /// A path as a person would type it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let below = path.strip_prefix(&here).unwrap_or(path);
        below.display().to_string()
    }

    /// Writes a file, whole or not at all.
    pub(super) fn write(&self, path: &Path, text: &[u8]) -> anyhow::Result<()> {
        file::write(path, text)
    }
}

/// The lines that a `.gitignore` does not have in any of their spellings.
fn missing(text: &str) -> Vec<&'static str> {
    let bare = |line: &str| line.trim().trim_matches('/').to_owned();
    IGNORED
        .iter()
        .copied()
        .filter(|wanted| !text.lines().any(|line| bare(line) == bare(wanted)))
        .collect()
}
