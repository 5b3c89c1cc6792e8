//! The errors of requests, with advice.

use std::fmt;

/// The subject of a request: its name for the reader, and the permission that it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Surface {
    /// A comment on a pull request.
    Comment,
    /// A check run.
    CheckRun,
    /// Reading pull requests.
    PullRequest,
    /// Reading a workflow run.
    WorkflowRun,
    /// Listing and downloading artifacts.
    Artifact,
    /// Reading the repository.
    Repository,
    /// Asking for the account of the token.
    Viewer,
    /// Reading the events of the labels of a pull request.
    Label,
    /// Reading the rights of a person in the repository.
    Right,
    /// Reading whether a person is a member of a team.
    Team,
    /// Running a job again.
    Rerun,
    /// Uploading an artifact to the runner's service, which is not the API.
    Upload,
}

impl Surface {
    /// The line to add under `permissions:`; none if no permission helps.
    pub const fn permission(self) -> Option<&'static str> {
        match self {
            Self::Comment => Some("pull-requests: write"),
            Self::Label => Some("pull-requests: read"),
            Self::Rerun => Some("actions: write"),
            Self::CheckRun => Some("checks: write"),
            Self::PullRequest => Some("pull-requests: read"),
            Self::WorkflowRun | Self::Artifact => Some("actions: read"),
            Self::Repository => Some("contents: read"),
            // The token of a workflow cannot see teams, even with all permissions.
            Self::Viewer | Self::Upload | Self::Right | Self::Team => None,
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Comment => "the comment",
            Self::CheckRun => "the check run",
            Self::PullRequest => "the pull request",
            Self::WorkflowRun => "the workflow run",
            Self::Artifact => "the artifact",
            Self::Repository => "the repository",
            Self::Viewer => "the token's own account",
            Self::Label => "the labels",
            Self::Right => "the right of a user",
            Self::Team => "the team",
            Self::Rerun => "running the job again",
            Self::Upload => "the artifact upload",
        })
    }
}

/// A request that GitHub understood and rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The subject of the request.
    pub surface: Surface,
    /// The message of GitHub, in one line.
    pub message: String,
    /// The seconds to wait, if a limit was reached.
    pub wait: Option<u64>,
}

impl Refusal {
    /// The permission to add or the mode to use, in one line.
    pub fn help(&self) -> String {
        if let Some(wait) = self.wait {
            return format!("GitHub asks to wait {wait} s; run the job again later");
        }
        if self.surface == Surface::Upload {
            return match self.status {
                409 => {
                    "this run has an artifact of this name; give each job or configuration a name \
                        of its own"
                        .to_owned()
                }
                _ => "add a step with `uses: actions/upload-artifact@v4`".to_owned(),
            };
        }
        if self.surface == Surface::Team && matches!(self.status, 403 | 404) {
            return "the token of a workflow sees no team: name users in `gate.approval.by`, or put the \
                    token of an app that may read the members of the organization into \
                    `KELVIN_TEAMS_TOKEN`"
                .to_owned();
        }
        match (self.status, self.surface.permission()) {
            (401, _) => {
                "the token is not valid (any more): pass `token: ${{ github.token }}`, and \
                         note that it ends with the job"
                    .to_owned()
            }
            (403 | 404, Some(permission)) => {
                let fork = if permission.ends_with("write") {
                    "; a run for a fork or for Dependabot cannot have it: publish from a \
                     `workflow_run` workflow with `post/`"
                } else {
                    ""
                };
                format!("add `{permission}` to the job's `permissions:`{fork}")
            }
            (410, _) => "it is gone; a later run makes a new one".to_owned(),
            (422, _) => "GitHub does not accept what was sent; the full report is in the job \
                         summary and in the files"
                .to_owned(),
            (500.., _) => "GitHub is in trouble; run the job again later".to_owned(),
            _ => "the full report is in the job summary and in the files".to_owned(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: GitHub answered {}", self.surface, self.status)?;
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        write!(f, "; {}", self.help())
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// GitHub refused the request.
    Refused(Refusal),
    /// There was no answer: the connection failed or was interrupted.
    Unreachable {
        /// The subject of the request.
        surface: Surface,
        /// The reason, without a secret.
        why: String,
    },
    /// The run has reached its limit of requests.
    Spent(Surface),
    /// The answer cannot be read.
    Unreadable {
        /// The subject of the request.
        surface: Surface,
        /// The problem of the answer.
        why: String,
    },
}

impl Error {
    /// The HTTP status, if GitHub rejected the request.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// Whether the request may have had its effect in spite of the error.
    pub(crate) const fn is_unsure(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.status >= 500,
            Self::Unreachable { .. } | Self::Unreadable { .. } => true,
            Self::Spent(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unreachable { surface, why } => {
                write!(f, "{surface}: GitHub cannot be reached: {why}")
            }
            Self::Spent(surface) => write!(
                f,
                "{surface}: not asked for, since this run has already made {} requests, which is \
                 its limit",
                super::MOST_REQUESTS
            ),
            Self::Unreadable { surface, why } => {
                write!(f, "{surface}: the answer cannot be read: {why}")
            }
        }
    }
}

impl std::error::Error for Error {}
