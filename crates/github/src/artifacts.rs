//! Workflow runs and their artifacts.

use serde::Deserialize;

use super::client::{ApiCall, Client};
use super::error::{Error, Surface};
use super::pulls::{NamedRepository, query};

/// A workflow run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WorkflowRun {
    /// Its number.
    pub id: u64,
    /// The event that started it, e.g. `push`.
    pub event: String,
    /// The file of the workflow; it may end in `@` and a ref.
    pub path: String,
    /// The branch; none for a tag.
    #[serde(default)]
    pub head_branch: Option<String>,
    /// The commit; for a pull request the commit at its tip.
    pub head_sha: String,
    /// The repository of that commit; another one for a fork, and none if it no longer exists.
    #[serde(default)]
    pub head_repository: Option<NamedRepository>,
    /// The repository to which the run belongs.
    pub repository: NamedRepository,
    /// The pull requests of the branch; empty for a fork.
    #[serde(default)]
    pub pull_requests: Option<Vec<Numbered>>,
    /// The number of the attempt, from 1.
    #[serde(default)]
    pub run_attempt: Option<u64>,
    /// The start of this attempt, by GitHub's clock.
    #[serde(default)]
    pub run_started_at: Option<String>,
    /// How it ended; none while it runs.
    #[serde(default)]
    pub conclusion: Option<String>,
}

impl WorkflowRun {
    /// The file of the workflow, without a ref.
    pub fn workflow(&self) -> &str {
        self.path.split('@').next().unwrap_or(&self.path)
    }
}

/// A pull request by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Numbered {
    /// Its number.
    pub number: u64,
}

/// An artifact of a workflow run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Artifact {
    /// The id of the artifact; a later artifact has a larger one.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The size of its archive in bytes.
    pub size_in_bytes: u64,
    /// Whether its content was deleted.
    pub expired: bool,
    /// The run that made it.
    #[serde(default)]
    pub workflow_run: Option<ArtifactOrigin>,
}

/// The origin of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ArtifactOrigin {
    /// The run.
    #[serde(default)]
    pub id: Option<u64>,
    /// The repository of the run.
    #[serde(default)]
    pub repository_id: Option<u64>,
    /// The repository of the commit: another one for a fork.
    #[serde(default)]
    pub head_repository_id: Option<u64>,
    /// The branch.
    #[serde(default)]
    pub head_branch: Option<String>,
    /// The commit.
    #[serde(default)]
    pub head_sha: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    artifacts: Vec<Artifact>,
}

impl Client {
    /// A workflow run by its number.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn run(&self, id: u64) -> Result<WorkflowRun, Error> {
        let path = self.path(&format!("/actions/runs/{id}"));
        self.json(&ApiCall::get(Surface::WorkflowRun, path))
    }

    /// The runs of a workflow on a commit, the newest first. `workflow` is the name of its file, such as `kelvin.yml`.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn runs_of(&self, workflow: &str, head_sha: &str) -> Result<Vec<WorkflowRun>, Error> {
        #[derive(Deserialize)]
        struct Runs {
            workflow_runs: Vec<WorkflowRun>,
        }
        let path = self.path(&format!(
            "/actions/workflows/{}/runs?head_sha={}",
            query(workflow),
            query(head_sha)
        ));
        let mut found = self.pages(Surface::WorkflowRun, &path, 1, |page: Runs| {
            page.workflow_runs
        })?;
        found.retain(|run| run.head_sha == head_sha);
        found.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(found)
    }

    /// Every artifact of this name in the repository, the newest first. Forks share the names.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn artifacts(&self, name: &str) -> Result<Vec<Artifact>, Error> {
        let path = self.path(&format!("/actions/artifacts?name={}", query(name)));
        self.named(&path, name)
    }

    /// The artifacts of one run with a given name, the newest first.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn artifacts_of(&self, run: u64, name: &str) -> Result<Vec<Artifact>, Error> {
        let path = self.path(&format!(
            "/actions/runs/{run}/artifacts?name={}",
            query(name)
        ));
        self.named(&path, name)
    }

    /// The names of all artifacts of one run.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn artifact_names(&self, run: u64) -> Result<Vec<String>, Error> {
        let path = self.path(&format!("/actions/runs/{run}/artifacts"));
        let found = self.pages(Surface::Artifact, &path, 1, |page: Page| page.artifacts)?;
        Ok(found.into_iter().map(|artifact| artifact.name).collect())
    }

    fn named(&self, path: &str, name: &str) -> Result<Vec<Artifact>, Error> {
        let mut found = self.pages(Surface::Artifact, path, 1, |page: Page| page.artifacts)?;
        found.retain(|artifact| artifact.name == name);
        found.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
        Ok(found)
    }

    /// The archive of an artifact, at most `most` bytes. GitHub redirects to another host, which does not get the
    /// token.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn download(&self, artifact: u64, most: usize) -> Result<Vec<u8>, Error> {
        let path = self.path(&format!("/actions/artifacts/{artifact}/zip"));
        let mut call = ApiCall::get(Surface::Artifact, path);
        call.most = most;
        self.send(&call).map(|answer| answer.body)
    }
}
