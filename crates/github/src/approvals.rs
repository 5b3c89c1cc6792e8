//! The facts behind an approval: label events, the rights of a person, the configuration of a branch, and the authors
//! of a pull request. This module also runs a job again.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::client::{ApiCall, Client};
use super::error::{Error, Surface};
use super::pulls::{Account, LabelName, PullRequest, query};

/// An event of an issue or a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabelEvent {
    /// The number of the event; a later event has a larger one.
    pub id: u64,
    /// The kind of the event: `labeled`, `unlabeled` and many others.
    pub event: String,
    /// The account that caused the event; none if the account no longer exists.
    #[serde(default)]
    pub actor: Option<Account>,
    /// The time of the event, by GitHub's clock.
    #[serde(default)]
    pub created_at: String,
    /// The label, if the event concerns one.
    #[serde(default)]
    pub label: Option<LabelName>,
    /// The app that caused the event in a person's name.
    #[serde(default)]
    pub performed_via_github_app: Option<Value>,
}

#[derive(Deserialize)]
struct CommitAuthors {
    #[serde(default)]
    author: Option<Value>,
    #[serde(default)]
    committer: Option<Value>,
}

impl Client {
    /// The events that added and removed labels, oldest first.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn label_events(&self, pull_request: u64) -> Result<Vec<LabelEvent>, Error> {
        let path = self.path(&format!("/issues/{pull_request}/events"));
        let mut found = self.pages(Surface::Label, &path, 1, |page: Vec<LabelEvent>| page)?;
        found.retain(|event| matches!(&*event.event, "labeled" | "unlabeled"));
        found.sort_by_key(|event| event.id);
        Ok(found)
    }

    /// The right of a person in this repository: `admin`, `write`, `read` or `none`.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn permission_of(&self, login: &str) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Permission {
            permission: String,
        }
        let path = self.path(&format!("/collaborators/{}/permission", query(login)));
        let call = ApiCall::get(Surface::Right, path);
        match self.json::<Permission>(&call) {
            Ok(found) => Ok(found.permission),
            // The account no longer exists.
            Err(error) if error.status() == Some(404) => Ok("none".to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Whether a person is a member of a team. If GitHub does not find the member, the token may lack the right to see
    /// members: the answer is only certain if the token can see the team itself.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn is_in_team(&self, org: &str, team: &str, login: &str) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Membership {
            state: String,
        }
        let (org, team, login) = (query(org), query(team), query(login));
        let of_team = format!("/orgs/{org}/teams/{team}");
        let path = format!("{of_team}/memberships/{login}");
        match self.json::<Membership>(&ApiCall::get(Surface::Team, path)) {
            Ok(found) => Ok(found.state == "active"),
            Err(error) if error.status() == Some(404) => {
                self.send(&ApiCall::get(Surface::Team, of_team))?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The number of commits of a pull request that GitHub lists, at most 250, and the names of their authors, in lower
    /// case. A commit can name anybody as its author, so these names are only used to exclude people.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn commit_authors(&self, pull_request: u64) -> Result<(usize, Vec<String>), Error> {
        let path = self.path(&format!("/pulls/{pull_request}/commits"));
        let commits = self.pages(
            Surface::PullRequest,
            &path,
            1,
            |page: Vec<CommitAuthors>| page,
        )?;
        let accounts = commits.iter().flat_map(|one| [&one.author, &one.committer]);
        let logins = accounts.filter_map(|account| account.as_ref()?.get("login")?.as_str());
        Ok((commits.len(), logins.map(str::to_lowercase).collect()))
    }

    /// A file of a branch.
    ///
    /// # Errors
    ///
    /// Fails if GitHub refuses, or if the file does not exist or is not a text.
    pub fn file_of(&self, path: &str, branch: &str) -> anyhow::Result<String> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            content: Option<String>,
            #[serde(default)]
            encoding: Option<String>,
        }
        let parts: Vec<String> = path.split('/').map(query).collect();
        let address = self.path(&format!(
            "/contents/{}?ref={}",
            parts.join("/"),
            query(branch)
        ));
        let found: File = self
            .json(&ApiCall::get(Surface::Repository, address))
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let content = found
            .content
            .filter(|_| found.encoding.as_deref() == Some("base64"))
            .with_context(|| format!("`{path}` of `{branch}` is a link or a submodule, or too large for GitHub to send"))?;
        let plain: String = content.split_whitespace().collect();
        let bytes = STANDARD
            .decode(plain)
            .with_context(|| format!("`{path}` of `{branch}` is not what GitHub should send"))?;
        String::from_utf8(bytes).with_context(|| format!("`{path}` of `{branch}` is no text"))
    }

    /// The pull requests that contain a commit.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn pull_requests_with(&self, commit: &str) -> Result<Vec<PullRequest>, Error> {
        let path = self.path(&format!("/commits/{}/pulls", query(commit)));
        self.pages(Surface::PullRequest, &path, 1, |page: Vec<PullRequest>| {
            page
        })
    }

    /// Runs the failed jobs of a workflow run again, or all of them.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn run_again(&self, run: u64, only_failed: bool) -> Result<(), Error> {
        let what = match only_failed {
            true => "rerun-failed-jobs",
            false => "rerun",
        };
        let path = self.path(&format!("/actions/runs/{run}/{what}"));
        let call = ApiCall {
            method: Method::POST,
            repeatable: false,
            ..ApiCall::get(Surface::Rerun, path)
        };
        self.send(&call).map(|_| ())
    }
}
