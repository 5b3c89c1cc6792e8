//! Who may let a regression pass, and how: the section `gate.approval`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word in `by` for everybody who may push to the repository.
pub const WRITERS: &str = "write";
/// The longest time for a decision, in seconds: GitHub can re-run a job for 30 days.
pub const LONGEST: i64 = 30 * 86_400;
/// The longest name of a label that GitHub accepts.
pub const LABEL: usize = 50;

/// Who may let a regression pass, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalSettings {
    /// Who may decide: `write` for everybody who may push to the repository, the login of a user, or
    /// a team as `org/team`. Whoever is named needs the right to push as well.
    #[schemars(length(min = 1))]
    pub by: Vec<String>,
    /// How somebody approves: by a label, by a comment, or by either. A comment can always reject.
    #[serde(default)]
    pub how: Ways,
    /// The label that approves, if a label may.
    #[serde(default = "label")]
    #[schemars(length(min = 1, max = 50))]
    pub label: String,
    /// How long a decision may take: a number of minutes, hours or days, at most 30 days. Without a
    /// decision the change fails.
    #[serde(default = "timeout")]
    #[schemars(regex(pattern = r"^[1-9][0-9]{0,4}[mhd]$"))]
    pub timeout: String,
    /// Whether the author of the pull request, and whoever wrote its commits, may not decide.
    #[serde(default = "yes")]
    pub not_author: bool,
}

/// The ways in which somebody may approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ways {
    /// One way alone.
    One(ApprovalWay),
    /// Several ways, each of which is enough.
    Each(#[schemars(length(min = 1))] Vec<ApprovalWay>),
}

impl Default for Ways {
    fn default() -> Self {
        Self::One(ApprovalWay::Comment)
    }
}

/// One way to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum ApprovalWay {
    Label,
    Comment,
}

impl ApprovalSettings {
    /// Whether a regression may be approved in this way.
    pub fn allows(&self, way: ApprovalWay) -> bool {
        match &self.how {
            Ways::One(one) => *one == way,
            Ways::Each(each) => each.contains(&way),
        }
    }

    /// How long a decision may take, in seconds.
    pub fn seconds(&self) -> i64 {
        seconds(&self.timeout).unwrap_or(0)
    }
}

fn label() -> String {
    "kelvin-approved".to_owned()
}

fn timeout() -> String {
    "72h".to_owned()
}

const fn yes() -> bool {
    true
}

/// A number of minutes, hours or days in seconds.
pub fn seconds(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(unit)
}
