//! The event that started a run, as a [`Context`] made from its payload and the variables of the runner.

use serde_json::Value;

use super::Context;

/// Returns the value of an environment variable; an empty variable counts as unset.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Reads the context of a run. Fields for which neither the payload nor the variables have a value stay empty.
pub fn context(name: &str, payload: &Value, variables: &Variables<'_>) -> Context {
    let text = |pointer: &str| {
        let text = payload.pointer(pointer)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let variable = |name: &str| variables(name).unwrap_or_default();
    let repository = variables("GITHUB_REPOSITORY").or_else(|| text("/repository/full_name"));
    let repository = repository.unwrap_or_default();
    let is_request = is_of_pull_request(name);
    let head_sha = match name {
        _ if is_request => text("/pull_request/head/sha"),
        "merge_group" => text("/merge_group/head_sha"),
        "push" => text("/after"),
        _ => None,
    };
    let is_fork =
        is_request && text("/pull_request/head/repo/full_name") != Some(repository.clone());
    // A run that Dependabot started has a read-only token, whoever runs it again.
    let by_dependabot = is_request
        && (text("/pull_request/user/login").as_deref() == Some("dependabot[bot]")
            || variables("GITHUB_ACTOR").as_deref() == Some("dependabot[bot]"));
    Context {
        event: name.to_owned(),
        server_url: variables("GITHUB_SERVER_URL")
            .unwrap_or_else(|| "https://github.com".to_owned()),
        pull_request: is_request
            .then(|| payload.pointer("/pull_request/number")?.as_u64())
            .flatten(),
        head_sha: head_sha
            .or_else(|| variables("GITHUB_SHA"))
            .unwrap_or_default(),
        read_only: name != "pull_request_target" && (is_fork || by_dependabot),
        is_fork,
        workflow: variable("GITHUB_WORKFLOW"),
        workflow_ref: variable("GITHUB_WORKFLOW_REF"),
        job: variable("GITHUB_JOB"),
        branch: branch(name, payload, variables),
        run_id: variable("GITHUB_RUN_ID"),
        run_attempt: variable("GITHUB_RUN_ATTEMPT"),
        configuration: String::new(),
        comment_key: String::new(),
        claim: None,
        caveat: None,
        leaves_it: false,
        repository,
    }
}

/// Whether an event is about the code of a pull request.
pub fn is_of_pull_request(name: &str) -> bool {
    matches!(
        name,
        "pull_request" | "pull_request_review" | "pull_request_target"
    )
}

/// The branch that was checked out: the branch of the pull request, otherwise the branch of the run.
fn branch(name: &str, payload: &Value, variables: &Variables<'_>) -> Option<String> {
    if is_of_pull_request(name) {
        let branch = payload.pointer("/pull_request/head/ref")?.as_str()?;
        return Some(branch.to_owned());
    }
    let full = variables("GITHUB_REF").or_else(|| {
        let full = payload.pointer("/ref")?.as_str()?;
        Some(full.to_owned())
    })?;
    full.strip_prefix("refs/heads/").map(str::to_owned)
}

impl Context {
    /// Whether the run may store its report for later changes: a push to a branch.
    pub fn may_save(&self) -> bool {
        self.event == "push" && self.branch.is_some()
    }

    /// The address of this run for people.
    pub(crate) fn run_url(&self) -> Option<String> {
        let known = !self.repository.is_empty() && !self.run_id.is_empty();
        known.then(|| {
            format!(
                "{}/{}/actions/runs/{}",
                self.server_url, self.repository, self.run_id
            )
        })
    }

    /// Why the pipeline must not run for this event; none if it may run.
    pub fn refusal(&self) -> Option<&'static str> {
        if self.event == "issue_comment" {
            return Some(
                "`issue_comment` runs in the default branch and is about no commit of the pull \
                 request; for decisions in comments use `org/kelvin-action/approve@v1`",
            );
        }
        (self.event == "pull_request_target" && self.is_fork).then_some(
            "`pull_request_target` would run the code of a fork with the secrets of this \
             repository; use `pull_request` together with `post/` on `workflow_run`",
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str, payload: &Value, variables: &[(&str, &str)]) -> Context {
        context(name, payload, &|name| {
            let found = variables.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        })
    }

    fn request(head_repository: &str, author: &str) -> Value {
        json!({ "pull_request": {
            "number": 7,
            "user": { "login": author },
            "head": { "sha": "abc", "ref": "better", "repo": { "full_name": head_repository } },
        } })
    }

    const HERE: &[(&str, &str)] = &[
        ("GITHUB_REPOSITORY", "acme/widgets"),
        ("GITHUB_SHA", "merge"),
        ("GITHUB_RUN_ID", "12"),
        ("GITHUB_REF", "refs/pull/7/merge"),
    ];

    #[test]
    fn a_pull_request_is_checked_at_its_own_head() {
        let context = of("pull_request", &request("acme/widgets", "ann"), HERE);
        assert_eq!(context.pull_request, Some(7));
        assert_eq!(context.head_sha, "abc");
        assert_eq!(context.branch.as_deref(), Some("better"));
        assert!(!context.read_only);
        let url = "https://github.com/acme/widgets/actions/runs/12";
        assert_eq!(context.run_url().as_deref(), Some(url));
    }

    #[test]
    fn forks_and_dependabot_can_only_read() {
        assert!(of("pull_request", &request("eve/widgets", "eve"), HERE).read_only);
        // Somebody of the team has approved it, and the token of the run can only read all the same.
        assert!(of("pull_request_review", &request("eve/widgets", "eve"), HERE).read_only);
        assert!(!of("pull_request_review", &request("acme/widgets", "ann"), HERE).read_only);
        assert!(
            of(
                "pull_request",
                &request("acme/widgets", "dependabot[bot]"),
                HERE
            )
            .read_only
        );
        // A deleted repository belongs to nobody.
        let mut gone = request("acme/widgets", "ann");
        gone["pull_request"]["head"]["repo"] = json!(null);
        assert!(of("pull_request", &gone, HERE).read_only);
    }

    #[test]
    fn the_code_of_a_fork_is_never_run_with_secrets() {
        let fork = of("pull_request_target", &request("eve/widgets", "eve"), HERE);
        assert!(fork.refusal().is_some());
        let own = of("pull_request_target", &request("acme/widgets", "ann"), HERE);
        assert_eq!(own.refusal(), None);
    }

    #[test]
    fn a_comment_is_about_no_commit_and_measures_nothing() {
        let comment = json!({ "issue": { "number": 7, "pull_request": {} } });
        let refusal = of("issue_comment", &comment, HERE).refusal();
        assert!(refusal.is_some_and(|why| why.contains("approve@v1")));
    }

    #[test]
    fn only_a_push_to_a_branch_saves() {
        let push = json!({ "after": "def", "ref": "refs/heads/main" });
        let context = of("push", &push, &[("GITHUB_SHA", "x")]);
        assert!(context.may_save());
        assert_eq!(context.head_sha, "def");
        let tag = json!({ "after": "def", "ref": "refs/tags/v1" });
        assert!(!of("push", &tag, &[]).may_save());
        assert!(!of("schedule", &json!({}), &[("GITHUB_REF", "refs/heads/main")]).may_save());
    }

    #[test]
    fn a_merge_group_and_a_dispatch_have_a_head_too() {
        let group = json!({ "merge_group": { "head_sha": "abc" } });
        assert_eq!(of("merge_group", &group, HERE).head_sha, "abc");
        let dispatch = of("workflow_dispatch", &json!({}), HERE);
        assert_eq!(
            (&*dispatch.head_sha, dispatch.pull_request),
            ("merge", None)
        );
    }

    #[test]
    fn a_payload_of_any_shape_is_read_without_a_panic() {
        for payload in [
            json!(null),
            json!([1]),
            json!({ "pull_request": 3, "ref": {} }),
        ] {
            for name in ["push", "pull_request", "merge_group", "schedule", ""] {
                assert_eq!(of(name, &payload, &[]).pull_request, None);
            }
        }
    }
}
