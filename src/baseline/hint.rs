//! Where the change begins, as far as the event that started a run shows it; it is read from the payload of the event.

use serde_json::Value;

use super::tip::Tip;
use kelvin_github::publish::event::is_of_pull_request;

/// The information about where the change begins, from the event that started a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// A revision that the user requested; then all other information is ignored.
    pub(crate) asked: Option<String>,
    /// `merge_group.base_sha` of a merge queue.
    pub(crate) merge_group_base: Option<String>,
    /// The tag of a release that is compared with the release before it.
    pub(crate) release: Option<String>,
    /// The pull request.
    pub(crate) pull_request: Option<BaselinePull>,
    /// `before` of a push; none if the branch is new.
    pub(crate) before: Option<String>,
    /// The default branch, if the event names it.
    pub(crate) default_branch: Option<String>,
    /// The commit that has to be checked out, if the event is about one.
    pub(crate) tip: Option<Tip>,
    /// Whether an event of a server started this run. Then the base is available on the server, and data that a program
    /// of the change left in this clone are not trusted.
    pub(crate) in_workflow: bool,
    /// The address of the remote before any code of the change ran, in a workflow.
    pub(crate) remote: Option<String>,
}

impl Hint {
    /// Whether only the push shows where the change begins.
    pub(super) const fn is_push(&self) -> bool {
        self.asked.is_none()
            && self.merge_group_base.is_none()
            && self.release.is_none()
            && self.pull_request.is_none()
    }
}

/// The parts of a pull request that concern the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaselinePull {
    /// The tip of the branch that should be merged.
    pub(crate) head: String,
    /// The branch into which the tip should be merged, without `refs/heads/`.
    pub(crate) base_ref: String,
}

/// Reads a payload; fields that it does not contain stay unknown.
pub(crate) fn hint_of_event(name: &str, payload: &Value) -> Hint {
    let text = |pointer: &str| {
        let text = payload.pointer(pointer)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let mut hint = Hint {
        default_branch: text("/repository/default_branch"),
        in_workflow: !name.is_empty(),
        ..Hint::default()
    };
    match name {
        _ if is_of_pull_request(name) => {
            hint.pull_request = text("/pull_request/head/sha")
                .zip(text("/pull_request/base/ref"))
                .map(|(head, base_ref)| BaselinePull { head, base_ref });
            hint.tip = Some(Tip {
                event: name.to_owned(),
                commit: text("/pull_request/head/sha"),
                base: text("/pull_request/base/sha"),
            });
        }
        "merge_group" => {
            hint.merge_group_base = text("/merge_group/base_sha");
            hint.tip = Some(Tip {
                event: name.to_owned(),
                commit: text("/merge_group/head_sha"),
                base: text("/merge_group/base_sha"),
            });
        }
        "release" => hint.release = text("/release/tag_name"),
        // A hash of zeros means that the branch is new, and that there was no commit before.
        "push" => {
            hint.before = text("/before").filter(|sha| sha.bytes().any(|digit| digit != b'0'))
        }
        _ => {}
    }
    hint
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pull_request_names_its_head_and_the_branch_it_goes_into() {
        let payload = json!({
            "pull_request": { "head": { "sha": "abc" }, "base": { "ref": "main", "sha": "stale" } },
            "repository": { "default_branch": "trunk" },
        });
        let hint = hint_of_event("pull_request", &payload);
        let request = hint.pull_request.expect("it is one");
        assert_eq!((&*request.head, &*request.base_ref), ("abc", "main"));
        assert_eq!(hint.default_branch.as_deref(), Some("trunk"));
    }

    #[test]
    fn the_first_push_of_a_branch_has_nothing_before_it() {
        let zeros = "0".repeat(40);
        assert_eq!(
            hint_of_event("push", &json!({ "before": zeros })).before,
            None
        );
        let hint = hint_of_event("push", &json!({ "before": "abc" }));
        assert_eq!(hint.before.as_deref(), Some("abc"));
    }

    #[test]
    fn a_merge_group_names_its_base_and_its_tip() {
        let payload = json!({ "merge_group": {
            "base_sha": "abc", "head_sha": "def", "base_ref": "refs/heads/main",
        } });
        let hint = hint_of_event("merge_group", &payload);
        assert_eq!(hint.merge_group_base.as_deref(), Some("abc"));
        assert_eq!(hint.tip.and_then(|tip| tip.commit).as_deref(), Some("def"));
    }

    #[test]
    fn a_push_and_a_run_by_hand_demand_no_commit() {
        for name in ["push", "workflow_dispatch", "schedule", "workflow_run"] {
            let payload = json!({ "before": "abc", "after": "def" });
            assert_eq!(hint_of_event(name, &payload).tip, None);
        }
    }

    #[test]
    fn a_payload_of_any_shape_is_read_without_a_panic() {
        for payload in [json!(null), json!([]), json!({ "before": 3 }), json!("x")] {
            for name in ["push", "pull_request", "merge_group", "schedule", ""] {
                let hint = hint_of_event(name, &payload);
                assert!(hint.tip.as_ref().is_none_or(|tip| tip.commit.is_none()));
                let nothing = Hint {
                    in_workflow: !name.is_empty(),
                    ..Hint::default()
                };
                assert_eq!(Hint { tip: None, ..hint }, nothing);
            }
        }
    }
}
