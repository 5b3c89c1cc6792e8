//! Comments on a pull request, and their authors.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{ApiCall, Client};
use super::error::{Error, Surface};
use super::pulls::Account;

/// The account of the token in a workflow.
const WORKFLOW_BOT: &str = "github-actions[bot]";

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Comment {
    /// The number of the comment; a later comment has a larger one.
    pub id: u64,
    /// Its text.
    #[serde(default)]
    pub body: Option<String>,
    /// The address for people.
    pub html_url: String,
    /// The author; none if the account no longer exists.
    #[serde(default)]
    pub user: Option<Account>,
    /// The time of writing, by GitHub's clock.
    #[serde(default)]
    pub created_at: String,
    /// The time of the last change; the time of writing if there was none.
    #[serde(default)]
    pub updated_at: String,
    /// The app that wrote it in a person's name.
    #[serde(default)]
    pub performed_via_github_app: Option<Value>,
}

impl Comment {
    /// Whether this account wrote the comment.
    pub(crate) fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == login)
    }

    /// Whether an app wrote the comment.
    pub(crate) fn is_by_an_app(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.kind == "Bot")
    }
}

impl Client {
    /// The name of the token's account. The token of a workflow may not ask for its name, and is recognised by that.
    /// The token of another app is treated as one of a workflow until its first comment shows the name.
    ///
    /// # Errors
    ///
    /// Fails if GitHub cannot be reached, or does not know the token.
    pub fn viewer(&self) -> Result<String, Error> {
        let account = self.account()?;
        Ok(account.unwrap_or_else(|| WORKFLOW_BOT.to_owned()))
    }

    /// The name of the account; none if the token may not ask for it, as is the case for every token of an app.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::viewer`].
    pub fn account(&self) -> Result<Option<String>, Error> {
        let call = ApiCall::get(Surface::Viewer, "/user".to_owned());
        match self.json::<Account>(&call) {
            Ok(account) => Ok(Some(account.login)),
            Err(Error::Refused(refusal))
                if refusal.wait.is_none() && matches!(refusal.status, 403 | 404) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Every comment of a pull request from page `first` on (a page has a hundred), oldest first.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn comments(&self, pull_request: u64, first: usize) -> Result<Vec<Comment>, Error> {
        let path = self.path(&format!("/issues/{pull_request}/comments"));
        self.pages(Surface::Comment, &path, first, |page: Vec<Comment>| page)
    }

    /// Writes a new comment. The request is sent only once: after an error that is unsure the
    /// comment may exist.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn create_comment(&self, pull_request: u64, body: &str) -> Result<Comment, Error> {
        self.json(&ApiCall {
            method: Method::POST,
            body: Some(&json!({ "body": body })),
            repeatable: false,
            ..ApiCall::get(
                Surface::Comment,
                self.path(&format!("/issues/{pull_request}/comments")),
            )
        })
    }

    /// Replaces the text of a comment.
    pub(crate) fn update_comment(&self, id: u64, body: &str) -> Result<Comment, Error> {
        self.json(&ApiCall {
            method: Method::PATCH,
            body: Some(&json!({ "body": body })),
            ..ApiCall::get(
                Surface::Comment,
                self.path(&format!("/issues/comments/{id}")),
            )
        })
    }

    /// Deletes a comment. It is not an error if the comment no longer exists.
    pub(crate) fn delete_comment(&self, id: u64) -> Result<(), Error> {
        let path = self.path(&format!("/issues/comments/{id}"));
        let call = ApiCall {
            method: Method::DELETE,
            ..ApiCall::get(Surface::Comment, path)
        };
        match self.send(&call) {
            Ok(_) => Ok(()),
            Err(error) if error.status() == Some(404) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
