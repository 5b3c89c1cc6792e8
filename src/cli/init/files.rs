//! The paths of the files to write, and which of them exist already.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::template;
use super::trigger::{self, WorkflowTrigger};
use crate::baseline;
use crate::cli::check::shown;
use kelvin_base::exit::Misuse;

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
        let setup = if top.join("requirements.txt").is_file() {
            Some("pip install -r requirements.txt")
        } else if top.join("package-lock.json").is_file() {
            Some("npm ci")
        } else {
            None
        };
        let unusual = (shown != "kelvin.yaml").then_some(&*shown);
        let folder = top.join(".github/workflows");
        let mut workflows = vec![
            (
                folder.join("kelvin.yml"),
                on.measures(unusual, setup, &self.branch()),
            ),
            (folder.join("kelvin-post.yml"), template::post(unusual)),
        ];
        if on == WorkflowTrigger::Comment {
            workflows.push((folder.join("kelvin-run.yml"), trigger::ASKED.to_owned()));
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
