//! What the server knows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::wire::{Request, Response};
use super::{APP, HEAD, PERSON, PULL, REPOSITORY, REPOSITORY_ID, TOKEN};

/// Whom a token acts for.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    pub(crate) login: String,
    /// `User` or `Bot`; a bot may not ask who it is.
    pub(crate) kind: &'static str,
}

impl Actor {
    pub(crate) fn new(login: &str, kind: &'static str) -> Self {
        Self {
            login: login.to_owned(),
            kind,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) pull: u64,
    pub(crate) author: Actor,
    pub(crate) body: String,
    /// When it was written and when it was changed last, in seconds since the epoch.
    pub(crate) created: i64,
    pub(crate) updated: i64,
}

/// A label that was added or taken off.
#[derive(Clone, Debug)]
pub(crate) struct LabelEvent {
    pub(crate) pull: u64,
    pub(crate) actor: Actor,
    /// `labeled` or `unlabeled`.
    pub(crate) event: &'static str,
    pub(crate) label: String,
    pub(crate) at: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) head_sha: String,
    pub(crate) head_branch: String,
    /// `owner/name` of the head; another one for a fork.
    pub(crate) head_repository: String,
    pub(crate) base_branch: String,
    pub(crate) state: &'static str,
    /// Who opened it.
    pub(crate) author: String,
    /// Who wrote its commits.
    pub(crate) commit_authors: Vec<String>,
    /// The commit that it became, once it is merged.
    pub(crate) merged: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) event: &'static str,
    pub(crate) path: String,
    pub(crate) head_branch: String,
    pub(crate) head_sha: String,
    /// The number and the name of the repository of the head.
    pub(crate) head_repository: (u64, String),
    pub(crate) pull_requests: Vec<u64>,
    /// Empty while it runs.
    pub(crate) conclusion: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) expired: bool,
    pub(crate) run: u64,
    pub(crate) zip: Vec<u8>,
}

/// An answer in place of the real one.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    /// What the path contains.
    pub(crate) path: &'static str,
    /// How many requests get it.
    pub(crate) times: usize,
    /// The answer; none breaks the connection.
    pub(crate) answer: Option<Response>,
    /// Whether the request has its effect all the same.
    pub(crate) effective: bool,
}

impl Fault {
    /// Answers `times` requests with a status and GitHub's basic error.
    pub(crate) fn status(
        method: &'static str,
        path: &'static str,
        times: usize,
        status: u16,
    ) -> Self {
        let body = serde_json::json!({ "message": "injected by the test" });
        Self {
            method,
            path,
            times,
            answer: Some(Response::json(status, &body)),
            effective: false,
        }
    }
}

/// Everything.
pub(crate) struct State {
    pub(crate) tokens: BTreeMap<String, Actor>,
    /// What no token may: `comments`, `checks`, `pulls`, `actions`, `contents`; reading them too for
    /// the last three.
    pub(crate) denied: BTreeSet<&'static str>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) check_runs: BTreeMap<u64, Value>,
    /// The annotations of each check run, in the order in which they came.
    pub(crate) annotations: BTreeMap<u64, Vec<Value>>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) runs: BTreeMap<u64, Run>,
    pub(crate) artifacts: BTreeMap<u64, Artifact>,
    pub(crate) faults: VecDeque<Fault>,
    pub(crate) labels: BTreeMap<u64, LabelEvent>,
    /// Labels that were deleted in the repository: they are on nothing any more, and no event says so.
    pub(crate) deleted_labels: BTreeSet<String>,
    /// What each account may do: `admin`, `write`, `read`; nothing unless it is here.
    pub(crate) rights: BTreeMap<String, &'static str>,
    /// The members of each team, by `org/team`; none where the token may not look.
    pub(crate) teams: Option<BTreeMap<String, Vec<String>>>,
    /// Files by branch and path.
    pub(crate) files: BTreeMap<(String, String), String>,
    /// When runs began, of those that say so.
    pub(crate) started: BTreeMap<u64, i64>,
    /// The last attempt of each run, of those that were made again.
    pub(crate) attempts: BTreeMap<u64, u64>,
    /// The runs that were made again.
    pub(crate) run_again: Vec<u64>,
    /// The time of the server, in seconds since the epoch.
    pub(crate) now: i64,
    /// The longest comment, in characters.
    pub(crate) longest_comment: usize,
    /// Every request, in the order in which they came.
    pub(crate) log: Vec<Request>,
    pub(crate) violations: Vec<String>,
    /// Where archives are.
    pub(super) store: String,
    next: u64,
}

impl State {
    pub(super) fn new(store: String) -> Self {
        let bot = Actor::new("github-actions[bot]", "Bot");
        let pull = Pull {
            head_sha: HEAD.to_owned(),
            head_branch: "feature".to_owned(),
            head_repository: REPOSITORY.to_owned(),
            base_branch: "main".to_owned(),
            state: "open",
            author: "somebody".to_owned(),
            commit_authors: Vec::new(),
            merged: None,
        };
        Self {
            tokens: BTreeMap::from([
                (TOKEN.to_owned(), bot),
                (PERSON.to_owned(), Actor::new("somebody", "User")),
                (APP.to_owned(), Actor::new("acme-app[bot]", "Bot")),
            ]),
            denied: BTreeSet::new(),
            comments: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            annotations: BTreeMap::new(),
            pulls: BTreeMap::from([(PULL, pull)]),
            runs: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            faults: VecDeque::new(),
            labels: BTreeMap::new(),
            deleted_labels: BTreeSet::new(),
            rights: BTreeMap::new(),
            teams: None,
            files: BTreeMap::new(),
            started: BTreeMap::new(),
            attempts: BTreeMap::new(),
            run_again: Vec::new(),
            now: 1_795_176_000,
            longest_comment: 65_536,
            log: Vec::new(),
            violations: Vec::new(),
            store,
            next: 1,
        }
    }

    /// A number that no other thing has.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Adds a comment as somebody wrote it before.
    pub(crate) fn add_comment(&mut self, login: &str, body: &str) -> u64 {
        let id = self.next_id();
        let kind = if login.ends_with("[bot]") {
            "Bot"
        } else {
            "User"
        };
        let comment = Comment {
            pull: PULL,
            author: Actor::new(login, kind),
            body: body.to_owned(),
            created: self.now,
            updated: self.now,
        };
        self.comments.insert(id, comment);
        id
    }

    /// Adds a label, or takes one off.
    pub(crate) fn set_label(&mut self, login: &str, event: &'static str, label: &str) -> u64 {
        let id = self.next_id();
        let kind = if login.ends_with("[bot]") {
            "Bot"
        } else {
            "User"
        };
        let event = LabelEvent {
            pull: PULL,
            actor: Actor::new(login, kind),
            event,
            label: label.to_owned(),
            at: self.now,
        };
        self.labels.insert(id, event);
        id
    }

    /// Adds a finished run of a push to `main`, of `.github/workflows/kelvin.yml`.
    pub(crate) fn add_run(&mut self, head_sha: &str) -> u64 {
        let id = self.next_id();
        let run = Run {
            event: "push",
            path: ".github/workflows/kelvin.yml".to_owned(),
            head_branch: "main".to_owned(),
            head_sha: head_sha.to_owned(),
            head_repository: (REPOSITORY_ID, REPOSITORY.to_owned()),
            pull_requests: Vec::new(),
            conclusion: "success",
        };
        self.runs.insert(id, run);
        id
    }

    /// Adds an artifact of a run.
    pub(crate) fn add_artifact(&mut self, name: &str, run: u64, zip: Vec<u8>) -> u64 {
        let id = self.next_id();
        let artifact = Artifact {
            name: name.to_owned(),
            expired: false,
            run,
            zip,
        };
        self.artifacts.insert(id, artifact);
        id
    }

    /// How many requests of this method went to a path that contains this.
    pub(crate) fn count(&self, method: &str, path: &str) -> usize {
        let log = self.log.iter();
        log.filter(|request| request.method == method && request.path.contains(path))
            .count()
    }
}
