//! Check runs.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{ApiCall, Client};
use super::error::{Error, Surface};
use super::pulls::query;

/// A check run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CheckRun {
    /// Its number.
    pub id: u64,
    /// The address for people.
    #[serde(default)]
    pub html_url: Option<String>,
    /// The id by which its creator finds it again.
    #[serde(default)]
    pub external_id: Option<String>,
    /// `completed`, or one of several words for a run that has not ended.
    #[serde(default)]
    pub status: String,
}

/// An annotation in the form of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The path relative to the repository.
    pub path: String,
    /// The first line, from 1.
    pub start_line: usize,
    /// The last line, from 1.
    pub end_line: usize,
    /// The level: `notice`, `warning` or `failure`.
    pub annotation_level: &'static str,
    /// The title, at most 255 characters.
    pub title: String,
    /// The text, at most 64 KB.
    pub message: String,
}

impl Client {
    /// Creates a check run that is in progress. The request is sent only once: after an error that is
    /// unsure the check run may exist, which `check_run_of` finds out.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn create_check_run(
        &self,
        name: &str,
        head_sha: &str,
        external_id: &str,
    ) -> Result<CheckRun, Error> {
        let body = json!({
            "name": name,
            "head_sha": head_sha,
            "external_id": external_id,
            "status": "in_progress",
        });
        self.json(&ApiCall {
            method: Method::POST,
            body: Some(&body),
            repeatable: false,
            ..ApiCall::get(Surface::CheckRun, self.path("/check-runs"))
        })
    }

    /// The check run of this name and external id on a commit.
    pub(crate) fn check_run_of(
        &self,
        name: &str,
        head_sha: &str,
        external_id: &str,
    ) -> Result<Option<CheckRun>, Error> {
        let found = self.check_runs_of(name, head_sha)?;
        Ok(found
            .into_iter()
            .find(|run| run.external_id.as_deref() == Some(external_id)))
    }

    /// The check runs of this name on a commit.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn check_runs_of(&self, name: &str, head_sha: &str) -> Result<Vec<CheckRun>, Error> {
        #[derive(Deserialize)]
        struct Page {
            check_runs: Vec<CheckRun>,
        }
        let (sha, name) = (query(head_sha), query(name));
        let path = self.path(&format!("/commits/{sha}/check-runs?check_name={name}"));
        self.pages(Surface::CheckRun, &path, 1, |page: Page| page.check_runs)
    }

    /// Changes a check run; annotations are added to the existing ones.
    pub(crate) fn update_check_run(&self, id: u64, change: &Value) -> Result<CheckRun, Error> {
        // A repeated request would add the same annotations again, so only a request without annotations is repeated.
        let annotated = change.pointer("/output/annotations").is_some();
        self.json(&ApiCall {
            method: Method::PATCH,
            body: Some(change),
            repeatable: !annotated,
            ..ApiCall::get(Surface::CheckRun, self.path(&format!("/check-runs/{id}")))
        })
    }
}
