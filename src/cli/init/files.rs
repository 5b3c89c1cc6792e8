//! The paths of the files to write, which of them exist already, and the lines that `.gitignore` lacks: those for the
//! files that Kelvin writes, and for those that the pipeline leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::workflows::WorkflowTrigger;
use super::{template, workflows};
use crate::baseline;
use crate::cli::check::shown;
use kelvin_base::exit::Misuse;
use kelvin_gate::reproduce::quoted;

/// The paths of everything that may be written.
#[derive(Debug)]
pub(super) struct Target {
    /// The configuration, as an absolute path.
    pub(super) config: PathBuf,
    /// The folder of the configuration.
    pub(super) root: PathBuf,
    /// The top of the git repository around it, if there is one.
    pub(super) repository: Option<PathBuf>,
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

    /// The workflows with their paths on GitHub: the one that measures, the one that publishes, and, if a comment can
    /// ask for a measurement, the one that reads it.
    pub(super) fn workflows(&self, on: WorkflowTrigger) -> Vec<(PathBuf, String)> {
        let top = self.repository.as_ref().unwrap_or(&self.root);
        let config = self.config.strip_prefix(top).unwrap_or(&self.config);
        let shown = config.display().to_string();
        let setup = [&self.root, top]
            .into_iter()
            .find_map(|folder| setup(folder, folder.strip_prefix(top).unwrap_or(folder)));
        let unusual = (shown != "kelvin.yaml").then_some(&*shown);
        let folder = top.join(".github/workflows");
        let mut workflows = vec![
            (
                folder.join("kelvin.yml"),
                on.measures(unusual, setup.as_deref(), &self.branch()),
            ),
            (folder.join("kelvin-post.yml"), template::post(unusual)),
        ];
        if on == WorkflowTrigger::Comment {
            workflows.push((folder.join("kelvin-run.yml"), workflows::ASKED.to_owned()));
        }
        workflows
    }

    /// The branch into which pull requests are merged, as far as the clone knows it.
    fn branch(&self) -> String {
        let repo = self.repository.as_ref();
        let repo = repo.and_then(|top| baseline::open(top).ok());
        let branch = repo.and_then(|repo| baseline::branch_of_clone(&repo));
        branch.unwrap_or_else(|| "main".to_owned())
    }

    /// Refuses to overwrite a file, unless `force` is set.
    pub(super) fn refuse(&self, path: &Path, force: bool) -> Result<(), Misuse> {
        if force || fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        let workflows = match path == self.config {
            true => "; `kelvin init --workflow` writes the workflows beside it",
            false => "",
        };
        Err(
            Misuse::new(format!("`{}` is there already", shown(path))).help(format!(
                "`--force` overwrites it, and `--config FILE` writes another file{workflows}"
            )),
        )
    }
}

/// The command that installs what a folder lists, for a shell in the top folder of the repository; `shown` is the
/// folder relative to that.
fn setup(folder: &Path, shown: &Path) -> Option<String> {
    let requirements = "requirements.txt";
    if folder.join(requirements).is_file() {
        let list = shown.join(requirements);
        return Some(format!("pip install -r {}", quoted(list.to_str()?)));
    }
    if !folder.join("package-lock.json").is_file() {
        return None;
    }
    Some(match shown.to_str()? {
        "" => "npm ci".to_owned(),
        shown => format!("npm ci --prefix {}", quoted(shown)),
    })
}

/// The lines that make git ignore the output folder, the cache and the history.
const OWN: &[&str] = &["/kelvin/", "/.kelvin-cache/", "/.kelvin/history.db*"];

/// The new text of each `.gitignore` that lacks lines: the old lines and the missing ones. `left`: lines for the file
/// at the top of the repository.
pub(super) fn gitignores(
    target: &Target,
    left: &BTreeSet<String>,
) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let top = target.repository.as_ref().unwrap_or(&target.root);
    let mut wanted: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    wanted.entry(&target.root).or_default().extend(OWN);
    let left = left.iter().map(String::as_str);
    wanted.entry(top).or_default().extend(left);
    let mut files = Vec::new();
    for (folder, lines) in wanted {
        files.extend(file(&folder.join(".gitignore"), &lines)?);
    }
    Ok(files)
}

/// The new text of one `.gitignore`; none if no line is missing.
fn file(path: &Path, wanted: &[&str]) -> anyhow::Result<Option<(PathBuf, Vec<u8>)>> {
    let mut text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read `{}`", path.display()));
        }
    };
    let missing = missing(&String::from_utf8_lossy(&text), wanted);
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
    Ok(Some((path.to_path_buf(), text)))
}

/// The wanted lines that a `.gitignore` does not contain in any spelling.
fn missing(text: &str, wanted: &[&str]) -> Vec<String> {
    let bare = |line: &str| line.trim().trim_matches('/').to_owned();
    let is_there = |wanted: &str| text.lines().any(|line| bare(line) == bare(wanted));
    let missing = wanted.iter().filter(|wanted| !is_there(wanted));
    missing.map(|line| (*line).to_owned()).collect()
}
