//! Whether a person with the right to do so has approved a regression. The facts from GitHub are passed in as values,
//! and each run decides again from these facts only: a deleted comment, a removed label or a lost right does not count.

mod command;
mod decide;
pub mod regressions;
pub mod request;
mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use command::read as read_command;
pub use decide::{Act, Deed, Facts, OtherRequest, decide, eligible};
pub use regressions::Regressed;
pub use request::{Origin, Request};
pub use rules::{Rights, Rules};

/// What became of a request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The state of the request, in one word.
    pub state: State,
    /// The id that tells this request apart from all others.
    pub id: String,
    /// The commits and the regressions that somebody has to decide about.
    pub request: Request,
    /// The pull request and the run in which the request was made; null if there is no pull request.
    pub origin: Option<Origin>,
    /// Who may decide and how, as the base branch says.
    pub rules: Rules,
    /// When the request was published, by GitHub's time; null if it was not published yet.
    pub asked_at: Option<String>,
    /// Until when somebody may decide.
    pub deadline: Option<String>,
    /// The address of the comment that asks for the decision.
    pub comment: Option<String>,
    /// Who decided.
    pub decision: Option<Decided>,
    /// The approvals and rejections that do not count, each with the reason; in sentences.
    pub ignored: Vec<String>,
    /// The facts that GitHub did not tell, each with the reason; in sentences. A decision that depends on such a fact
    /// does not count as an approval.
    pub unknown: Vec<String>,
    /// The version to go back to: what the change was compared with.
    pub last_good: String,
}

/// Where a request for approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Somebody has to decide.
    Pending,
    /// Somebody with the right to decide has approved.
    Approved,
    /// Somebody with the right to decide has rejected.
    Rejected,
    /// Nobody decided in time.
    TimedOut,
}

impl State {
    /// The state after an event. Only a pending request changes its state: after a decision, a new
    /// request is needed.
    pub const fn then(self, next: Self) -> Self {
        match self {
            Self::Pending => next,
            Self::Approved | Self::Rejected | Self::TimedOut => self,
        }
    }
}

/// A decision that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// The person who decided, by the name on GitHub.
    pub by: String,
    /// How the person decided: `comment` or `label`.
    pub way: String,
    /// When the person decided, by GitHub's time.
    pub at: String,
    /// The reason that the person gave; empty for a label.
    pub reason: String,
}

impl Approval {
    /// A request without a decision that was not published anywhere yet.
    pub fn pending(request: Request, rules: Rules, last_good: String) -> Self {
        Self {
            state: State::Pending,
            id: request.id(None),
            request,
            origin: None,
            rules,
            asked_at: None,
            deadline: None,
            comment: None,
            decision: None,
            ignored: Vec::new(),
            unknown: Vec::new(),
            last_good,
        }
    }

    /// The same request, with the pull request on which it is published.
    #[must_use]
    pub fn asked_on(mut self, origin: Origin) -> Self {
        self.id = self.request.id(Some(&origin));
        self.origin = Some(origin);
        self
    }

    /// The approval in one sentence: who decided, or what to do.
    pub fn sentence(&self) -> String {
        request::sentence(self)
    }

    /// The people who may decide, in words with names between backticks.
    pub fn who(&self) -> String {
        request::who(self)
    }

    /// How a person approves, in words with names between backticks.
    pub fn how(&self) -> String {
        request::how(self)
    }
}

#[cfg(test)]
mod tests;
