//! Pull requests, and the repository.

use serde::Deserialize;

use super::artifacts::WorkflowRun;
use super::client::{ApiCall, Client};
use super::error::{Error, Surface};

/// A person or a bot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The name.
    pub login: String,
    /// `User`, `Bot` or `Organization`.
    #[serde(default, rename = "type")]
    pub kind: String,
}

/// A label by its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabelName {
    /// The name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// `open` or `closed`.
    pub state: String,
    /// The branch to merge.
    pub head: PullRequestTip,
    /// The branch to merge into.
    pub base: PullRequestTip,
    /// The author; none if the account no longer exists.
    #[serde(default)]
    pub user: Option<Account>,
    /// The merge commit, also before the merge.
    #[serde(default)]
    pub merge_commit_sha: Option<String>,
    /// The time of the merge.
    #[serde(default)]
    pub merged_at: Option<String>,
    /// The labels that are on the pull request.
    #[serde(default)]
    pub labels: Vec<LabelName>,
    /// How many commits the pull request has; none in a list of pull requests.
    #[serde(default)]
    pub commits: Option<usize>,
}

/// The head or the base of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PullRequestTip {
    /// The commit.
    pub sha: String,
    /// The branch.
    #[serde(rename = "ref")]
    pub branch: String,
    /// The repository; none if it no longer exists.
    #[serde(default)]
    pub repo: Option<NamedRepository>,
}

/// A repository by its number and name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NamedRepository {
    /// The id, which stays the same if the repository is renamed.
    pub id: u64,
    /// `owner/name`.
    pub full_name: String,
}

/// The repository of the client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ClientRepository {
    /// The id, which stays the same if the repository is renamed.
    pub id: u64,
    /// `owner/name`.
    pub full_name: String,
    /// The default branch.
    pub default_branch: String,
    /// The rights of the token's account; GitHub reports them for people, not for the token of a workflow.
    #[serde(default)]
    pub permissions: Option<Permissions>,
}

/// The rights of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Permissions {
    /// The right to read.
    #[serde(default)]
    pub pull: bool,
    /// The right to write.
    #[serde(default)]
    pub push: bool,
}

impl Client {
    /// A pull request by its number.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn pull_request(&self, number: u64) -> Result<PullRequest, Error> {
        let path = self.path(&format!("/pulls/{number}"));
        self.json(&ApiCall::get(Surface::PullRequest, path))
    }

    /// The open pull requests of a branch, oldest first; the branch is in the repository of `owner`.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn pull_requests_of(&self, owner: &str, branch: &str) -> Result<Vec<PullRequest>, Error> {
        let head = query(&format!("{owner}:{branch}"));
        let path = self.path(&format!("/pulls?state=open&head={head}"));
        let mut found = self.pages(Surface::PullRequest, &path, 1, |page: Vec<PullRequest>| {
            page
        })?;
        // A server ignores a filter that it does not understand, so the result is filtered again.
        found.retain(|request| request.head.branch == branch && request.state == "open");
        found.sort_by_key(|request| request.number);
        Ok(found)
    }

    /// The open pull requests to which a workflow run may belong, oldest first, including those of a fork, which the
    /// run itself does not name. Their tip is the commit of the run, in the repository and on the branch of the run.
    /// Neither a bundle nor an event is used for this, since a fork could write any data there.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn pull_requests_of_run(&self, run: &WorkflowRun) -> Result<Vec<PullRequest>, Error> {
        let (Some(home), Some(branch)) = (&run.head_repository, &run.head_branch) else {
            return Ok(Vec::new());
        };
        let owner = home.full_name.split('/').next().unwrap_or_default();
        let mut found = self.pull_requests_of(owner, branch)?;
        found.retain(|request| {
            let repo = request.head.repo.as_ref();
            request.head.sha == run.head_sha && repo.is_some_and(|repo| repo.id == home.id)
        });
        Ok(found)
    }

    /// The repository itself.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn repository_facts(&self) -> Result<ClientRepository, Error> {
        self.json(&ApiCall::get(Surface::Repository, self.path("")))
    }
}

/// A text as the value of a query.
pub(super) fn query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
