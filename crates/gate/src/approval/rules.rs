//! Who may decide, and how: the rules of the base branch, and a person's rights on GitHub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_record::approval::{ApprovalSettings, ApprovalWay, WRITERS};

/// Why a person whom the rules do not name may not decide.
const UNNAMED: &str = "is not one of those who may decide (`gate.approval.by`)";

/// The rules of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rules {
    /// Who may decide: `write`, users, and teams as `org/team`.
    pub by: Vec<String>,
    /// The label that approves; null if no label does.
    pub label: Option<String>,
    /// Whether a comment approves.
    pub comment: bool,
    /// How long a decision may take, in seconds.
    pub timeout_s: i64,
    /// Whether the authors of the change may not decide.
    pub not_author: bool,
}

impl From<&ApprovalSettings> for Rules {
    fn from(settings: &ApprovalSettings) -> Self {
        let by_label = settings.allows(ApprovalWay::Label);
        Self {
            by: settings.by.clone(),
            label: by_label.then(|| settings.label.clone()),
            comment: settings.allows(ApprovalWay::Comment),
            timeout_s: settings.seconds(),
            not_author: settings.not_author,
        }
    }
}

/// The current rights of a person on GitHub; each part may be unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// `admin`, `maintain`, `write`, `triage`, `read` or `none`.
    pub permission: Result<String, String>,
    /// Whether the person is a member of each requested team, by `org/team`.
    pub teams: BTreeMap<String, Result<bool, String>>,
}

/// Whether a person may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeciderStanding {
    May,
    MayNot(String),
    /// GitHub could not be asked.
    Unknown(String),
}

impl Rules {
    /// The teams that may decide, as `org/team`.
    pub fn teams(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by.iter().filter_map(|name| name.split_once('/'))
    }

    /// Whether the rules name this person as one who may decide, without any team.
    pub fn names(&self, login: &str) -> bool {
        let is_named = |name: &String| name == WRITERS || name.eq_ignore_ascii_case(login);
        self.by.iter().any(is_named)
    }

    /// Whether a person may be allowed to decide, as far as is known without asking GitHub.
    pub fn may_name(&self, login: &str) -> bool {
        self.names(login) || self.teams().next().is_some()
    }

    /// Whether a person may decide. A person without the right to push may never decide, even if the configuration
    /// names this person: names of people who were removed from a repository often remain in its files.
    pub(super) fn standing(&self, login: &str, rights: Option<&Rights>) -> DeciderStanding {
        if !self.may_name(login) {
            return DeciderStanding::MayNot(UNNAMED.to_owned());
        }
        let Some(rights) = rights else {
            return DeciderStanding::Unknown(
                "more people answered than GitHub is asked about".to_owned(),
            );
        };
        match rights.permission.as_deref() {
            Err(why) => return DeciderStanding::Unknown(why.clone()),
            Ok("admin" | "maintain" | "write") => {}
            Ok(_) => return DeciderStanding::MayNot("may not push to this repository".to_owned()),
        }
        if self.names(login) {
            return DeciderStanding::May;
        }
        let mut unknown = None;
        for (org, team) in self.teams() {
            match rights.teams.get(&format!("{org}/{team}")) {
                Some(Ok(true)) => return DeciderStanding::May,
                Some(Ok(false)) => {}
                Some(Err(why)) => unknown = Some(why.clone()),
                None => unknown = Some("GitHub was not asked about the team".to_owned()),
            }
        }
        match unknown {
            Some(why) => DeciderStanding::Unknown(why),
            None => DeciderStanding::MayNot(UNNAMED.to_owned()),
        }
    }
}
