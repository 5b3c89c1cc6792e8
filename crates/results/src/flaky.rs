//! Since when the configuration declares cases as flaky: a case that has not been examined for a year should be fixed
//! or deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use kelvin_run::config::yaml;
use kelvin_system::git::{VersionsEnd, versions};

/// Since when a case is declared as flaky.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlakySince {
    /// The day of the oldest commit from which on every committed configuration declares it, as `2026-03-31`.
    pub day: String,
    /// Whether it may have been declared before: the history of the clone ends there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_before: bool,
}

/// Since when each case of a suite is declared as flaky, according to the history of the configuration in git. A case
/// that no commit declares yet is left out; without a history, all cases are.
pub(super) fn since(
    configuration: &Path,
    suite: &str,
    cases: &BTreeSet<String>,
) -> BTreeMap<String, FlakySince> {
    let mut found: BTreeMap<String, FlakySince> = BTreeMap::new();
    let mut left: BTreeSet<&str> = cases.iter().map(String::as_str).collect();
    if left.is_empty() {
        return found;
    }
    let end = versions(configuration, &mut |version| {
        let declared = declared(&version.text, suite);
        left.retain(|case| declared.contains(*case));
        let Ok(time) = Timestamp::from_second(version.time) else {
            return false;
        };
        for case in &left {
            let since = FlakySince {
                day: time.strftime("%Y-%m-%d").to_string(),
                or_before: false,
            };
            found.insert((*case).to_owned(), since);
        }
        !left.is_empty()
    });
    if end == Some(VersionsEnd::Shallow) {
        for case in left {
            if let Some(since) = found.get_mut(case) {
                since.or_before = true;
            }
        }
    }
    found
}

/// The cases that the text of a configuration declares as flaky in a suite; none if it cannot be read.
fn declared(text: &str, suite: &str) -> BTreeSet<String> {
    let Ok(tree) = yaml::parse(text) else {
        return BTreeSet::new();
    };
    let tree = tree.to_json();
    let suites = tree["results"].as_array().into_iter().flatten();
    let own = suites.filter(|one| one["name"].as_str() == Some(suite));
    let cases = own.filter_map(|one| one["flaky"].as_array()).flatten();
    cases.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A case with its age, for a sentence.
pub(super) fn with_age(case: &str, since: Option<&FlakySince>) -> String {
    match since {
        Some(FlakySince { day, or_before }) if *or_before => {
            format!("{case} (since {day} or before)")
        }
        Some(FlakySince { day, .. }) => format!("{case} (since {day})"),
        None => case.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(root: &Path, arguments: &[&str], day: &str) {
        let time = format!("{day}T12:00:00+0000");
        let done = Command::new("git")
            .current_dir(root)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .env("GIT_COMMITTER_DATE", &time)
            .env("GIT_AUTHOR_DATE", &time)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git starts");
        assert!(done.status.success(), "{done:?}");
    }

    fn declare(root: &Path, flaky: &str, day: &str) {
        let text = format!("results:\n  - {{name: qa, run: \"x {{output}}\", flaky: [{flaky}]}}\n");
        std::fs::write(root.join("kelvin.yaml"), text).expect("written");
        git(root, &["add", "."], day);
        git(root, &["commit", "-qm", "configure"], day);
    }

    fn ages(root: &Path, cases: &[&str]) -> Vec<String> {
        let cases: BTreeSet<String> = cases.iter().map(|case| (*case).to_owned()).collect();
        let since = since(&root.join("kelvin.yaml"), "qa", &cases);
        let each = cases.iter();
        each.map(|case| with_age(case, since.get(case))).collect()
    }

    #[test]
    fn the_age_of_a_case_is_the_first_commit_from_which_on_it_is_always_declared() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("whole");
        std::fs::create_dir(&root).expect("made");
        assert_eq!(ages(&root, &["a"]), ["a"]);
        git(&root, &["init", "-q"], "2026-01-01");
        assert_eq!(ages(&root, &["a"]), ["a"]);
        declare(&root, "b", "2026-01-01");
        declare(&root, "a", "2026-02-01");
        std::fs::write(root.join("other"), "text").expect("written");
        git(&root, &["add", "."], "2026-03-01");
        git(&root, &["commit", "-qm", "something else"], "2026-03-01");
        declare(&root, "a, b", "2026-04-01");
        // `b` was not declared in between, and nobody has committed `c`.
        assert_eq!(
            ages(&root, &["a", "b", "c"]),
            ["a (since 2026-02-01)", "b (since 2026-04-01)", "c"]
        );
        let from = format!("file://{}", root.display());
        git(
            folder.path(),
            &["clone", "-q", "--depth", "2", &from, "shallow"],
            "2026-04-01",
        );
        assert_eq!(
            ages(&folder.path().join("shallow"), &["a", "b"]),
            ["a (since 2026-03-01 or before)", "b (since 2026-04-01)"]
        );
    }

    #[test]
    fn a_case_that_the_first_commit_declares_is_as_old_as_that() {
        let folder = tempfile::tempdir().expect("a folder");
        git(folder.path(), &["init", "-q"], "2026-01-01");
        declare(folder.path(), "a", "2026-01-01");
        declare(folder.path(), "a, b", "2026-01-02");
        assert_eq!(
            ages(folder.path(), &["a", "b"]),
            ["a (since 2026-01-01)", "b (since 2026-01-02)"]
        );
    }
}
