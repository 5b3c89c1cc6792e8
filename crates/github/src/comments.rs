//! Comments on a pull request, and whose they are.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Call, Client};
use super::error::{Error, Surface};
use super::pulls::Account;

/// The account of the token that a workflow is given.
const WORKFLOW_BOT: &str = "github-actions[bot]";

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Comment {
    /// Its number; a later one is larger.
    pub id: u64,
    /// Its text.
    #[serde(default)]
    pub body: Option<String>,
    /// Where people read it.
    pub html_url: String,
    /// Who wrote it; none where the account is gone.
    #[serde(default)]
    pub user: Option<Account>,
    /// When it was written, by GitHub's time.
    #[serde(default)]
    pub created_at: String,
    /// When it was last changed; the same where it never was.
    #[serde(default)]
    pub updated_at: String,
    /// The app that wrote it in somebody's name.
    #[serde(default)]
    pub performed_via_github_app: Option<Value>,
}

impl Comment {
    /// Whether the account of this name wrote it.
    pub fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == login)
    }

    /// Whether an app wrote it.
    pub fn is_by_an_app(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.kind == "Bot")
    }
}

impl Client {
    /// The name of the account that the token acts for. A workflow's own token may not ask, which is
    /// how it is known; the token of another app is taken for it until its first comment tells.
    ///
    /// # Errors
    ///
    /// Where GitHub cannot be reached, or does not know the token.
    pub fn viewer(&self) -> Result<String, Error> {
        let account = self.account()?;
        Ok(account.unwrap_or_else(|| WORKFLOW_BOT.to_owned()))
    }

    /// The same; none where the token may not ask, as no token of an app may.
    ///
    /// # Errors
    ///
    /// As [`Self::viewer`].
    pub fn account(&self) -> Result<Option<String>, Error> {
        let call = Call::get(Surface::Viewer, "/user".to_owned());
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

    /// Writes a new comment. It is sent once: after an error that [is unsure](Error::is_unsure) the
    /// comment may be there.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn create_comment(&self, pull_request: u64, body: &str) -> Result<Comment, Error> {
        self.json(&Call {
            method: Method::POST,
            body: Some(&json!({ "body": body })),
            repeatable: false,
            ..Call::get(
                Surface::Comment,
                self.path(&format!("/issues/{pull_request}/comments")),
            )
        })
    }

    /// Replaces the text of a comment.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn update_comment(&self, id: u64, body: &str) -> Result<Comment, Error> {
        self.json(&Call {
            method: Method::PATCH,
            body: Some(&json!({ "body": body })),
            ..Call::get(
                Surface::Comment,
                self.path(&format!("/issues/comments/{id}")),
            )
        })
    }

    /// Deletes a comment; one that is gone already is as good.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn delete_comment(&self, id: u64) -> Result<(), Error> {
        let path = self.path(&format!("/issues/comments/{id}"));
        let call = Call {
            method: Method::DELETE,
            ..Call::get(Surface::Comment, path)
        };
        match self.send(&call) {
            Ok(_) => Ok(()),
            Err(error) if error.status() == Some(404) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
