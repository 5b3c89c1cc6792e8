//! The section `gate.approval` as written, and what is wrong with it beyond its types.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnostic::Problem;
use super::yaml::Node;

/// The word in `by` for everybody who may push to the repository.
pub(crate) const WRITERS: &str = "write";
/// The longest time that a decision may take, in seconds: GitHub re-runs a job for 30 days.
const LONGEST: i64 = 30 * 86_400;
/// The longest name of a label that GitHub takes.
const LABEL: usize = 50;

/// Who may let a regression pass, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalSettings {
    /// Who may decide: `write` for everybody who may push to the repository, the login of a user, or
    /// a team as `org/team`. Whoever is named needs the right to push as well.
    #[schemars(length(min = 1))]
    pub(crate) by: Vec<String>,
    /// How somebody approves: by a label, by a comment, or by either. A comment can always reject.
    #[serde(default)]
    pub(crate) how: Ways,
    /// The label that approves, where a label may.
    #[serde(default = "label")]
    #[schemars(length(min = 1, max = 50))]
    pub(crate) label: String,
    /// How long a decision may take: a number of minutes, hours or days, at most 30 days. Without a
    /// decision the change fails.
    #[serde(default = "timeout")]
    #[schemars(regex(pattern = r"^[1-9][0-9]{0,4}[mhd]$"))]
    pub(crate) timeout: String,
    /// Whether the author of the pull request, and whoever wrote its commits, may not decide.
    #[serde(default = "yes")]
    pub(crate) not_author: bool,
}

/// The ways in which somebody may approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Ways {
    /// One way alone.
    One(ApprovalWay),
    /// Each of several.
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
pub(crate) enum ApprovalWay {
    Label,
    Comment,
}

impl ApprovalSettings {
    /// Whether somebody may approve in this way.
    pub(crate) fn allows(&self, way: ApprovalWay) -> bool {
        match &self.how {
            Ways::One(one) => *one == way,
            Ways::Each(each) => each.contains(&way),
        }
    }

    /// How long a decision may take, in seconds.
    pub(crate) fn seconds(&self) -> i64 {
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
fn seconds(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(unit)
}

/// What is wrong with the section; types that are wrong are passed over.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let Some(section) = file.get(&["gate", "approval"]) else {
        return found;
    };
    let mut seen = BTreeSet::new();
    for (name, at) in section.texts(&["by"]) {
        if let Some((message, help)) = wrong_name(name) {
            found.push(Problem::new(at.clone(), message).help(help));
        } else if !seen.insert(name.to_lowercase()) {
            let message = format!("`{name}` is listed twice");
            found.push(Problem::new(at.clone(), message).help("leave one of them out"));
        }
    }
    let ways = section.texts(&["how"]);
    for (index, (way, at)) in ways.iter().enumerate() {
        if ways[..index].iter().any(|(other, _)| other == way) {
            let message = format!("`{way}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
    if let Some((label, at)) = section.text(&["label"]) {
        let is_plain = label.trim() == label && !label.chars().any(char::is_control);
        if label.trim().is_empty() || !is_plain || label.chars().count() > LABEL {
            let message = format!("`{}` cannot be the name of a label", label.escape_default());
            let help = "a label has 1 to 50 characters, and no space at its ends";
            found.push(Problem::new(at.clone(), message).help(help));
        }
    }
    if let Some((text, at)) = section.text(&["timeout"])
        && seconds(text).is_some_and(|seconds| seconds > LONGEST)
    {
        let message = format!("`{text}` is longer than 30 days");
        let help = "write at most `30d`: GitHub does not run a job again after 30 days";
        found.push(Problem::new(at.clone(), message).help(help));
    }
    found
}

/// What is wrong with an entry of `by`, and what to do.
fn wrong_name(name: &str) -> Option<(String, String)> {
    let is_login = |text: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !text.is_empty() && text.len() <= 100 && text.chars().all(inside) && !text.starts_with('-')
    };
    let is_slug = |text: &str| is_login(text) || text.split('.').all(is_login);
    if let Some(bare) = name.strip_prefix('@') {
        let message = format!("`{name}` begins with `@`");
        return Some((message, format!("write `{bare}`")));
    }
    if name.ends_with("[bot]") {
        let message = format!("`{name}` is a bot");
        return Some((
            message,
            "only people may approve: name a user or a team".to_owned(),
        ));
    }
    let is_right = match name.split_once('/') {
        Some((org, team)) => is_login(org) && is_slug(team),
        None => is_login(name),
    };
    (!is_right).then(|| {
        (
            format!(
                "`{}` names neither a user nor a team",
                name.escape_default()
            ),
            "write `write`, the login of a user, or a team as `org/team`".to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml;

    fn told(section: &str) -> String {
        let tree = yaml::parse(&format!("gate:\n  approval: {section}\n"));
        let tree = tree.unwrap_or_else(|_| panic!("`{section}` is YAML"));
        let problems = problems(&tree);
        let texts: Vec<String> = problems
            .iter()
            .map(|problem| format!("{problem:?}"))
            .collect();
        texts.join("\n")
    }

    #[test]
    fn users_teams_and_everybody_who_may_push_are_names_and_nothing_else_is() {
        for good in [
            "write",
            "alice",
            "al-ice",
            "al_ice",
            "acme/leads",
            "acme/lead.team",
        ] {
            assert_eq!(told(&format!("{{ by: [{good}] }}")), "", "{good}");
        }
        for wrong in [
            "\"@alice\"",
            "\"dependabot[bot]\"",
            "\"a b\"",
            "\"\"",
            "acme/",
            "/leads",
            "a/b/c",
            "-a",
            "\"../x\"",
        ] {
            assert_ne!(told(&format!("{{ by: [{wrong}] }}")), "", "{wrong}");
        }
        assert!(told("{ by: [alice, Alice] }").contains("twice"));
    }

    #[test]
    fn a_time_is_read_in_minutes_hours_and_days_and_no_longer_than_a_job_can_be_run_again() {
        assert_eq!(seconds("90m"), Some(5_400));
        assert_eq!(seconds("72h"), Some(259_200));
        assert_eq!(seconds("30d"), Some(LONGEST));
        assert_eq!(told("{ by: [write], timeout: 30d }"), "");
        assert!(told("{ by: [write], timeout: 31d }").contains("30 days"));
        assert!(told("{ by: [write], timeout: 721h }").contains("30 days"));
    }

    #[test]
    fn a_label_is_a_name_that_github_takes() {
        assert_eq!(told("{ by: [write], label: may pass }"), "");
        for wrong in [" x", "x\\n", &"x".repeat(51)] {
            let text = told(&format!("{{ by: [write], label: \"{wrong}\" }}"));
            assert!(text.contains("label"), "{wrong}: {text}");
        }
    }
}
