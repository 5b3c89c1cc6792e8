//! The repository, pull requests, workflow runs and artifacts.

use serde_json::{Value, json};

use super::super::state::{Actor, Artifact, Pull, Run};
use super::super::wire::Response;
use super::super::{REPOSITORY, REPOSITORY_ID};
use super::{Api, error, over};

impl Api<'_> {
    pub(super) fn repository(&self) -> Response {
        let mut repository = self.contract.sample("GET /repos/{owner}/{repo}", 200);
        over(
            &mut repository,
            json!({ "id": REPOSITORY_ID, "full_name": REPOSITORY, "default_branch": "main" }),
        );
        self.ok(200, repository)
    }

    pub(super) fn pull_json(&self, schema: &str, number: u64, pull: &Pull) -> Value {
        let mut json = self.contract.sample_of(schema);
        let owner = pull.head_repository.split('/').next().unwrap_or_default();
        let id = if pull.head_repository == REPOSITORY {
            REPOSITORY_ID
        } else {
            2002
        };
        over(
            &mut json,
            json!({
                "number": number,
                "state": pull.state,
                "user": self.account(&Actor::new(&pull.author, "User")),
                "merged_at": pull.merged.as_ref().map(|_| "2026-11-20T12:00:00Z"),
                "merge_commit_sha": pull.merged,
                "head": {
                    "sha": pull.head_sha, "ref": pull.head_branch,
                    "label": format!("{owner}:{}", pull.head_branch),
                },
                "base": { "ref": pull.base_branch, "repo": { "id": REPOSITORY_ID, "full_name": REPOSITORY } },
            }),
        );
        let mut repository = self.contract.sample_of("repository");
        over(
            &mut repository,
            json!({ "id": id, "full_name": pull.head_repository }),
        );
        json["head"]["repo"] = repository;
        json["labels"] = self.labels_of(number);
        if json.get("commits").is_some() {
            json["commits"] = pull.commit_authors.len().into();
        }
        json
    }

    pub(super) fn pulls(&self) -> Response {
        let head = self.request.query.get("head");
        let state = self
            .request
            .query
            .get("state")
            .map_or("open", String::as_str);
        let all = self.state.pulls.iter().filter(|(_, pull)| {
            let owner = pull.head_repository.split('/').next().unwrap_or_default();
            let label = format!("{owner}:{}", pull.head_branch);
            pull.state == state && head.is_none_or(|head| *head == label)
        });
        let shown =
            |(number, pull): (&u64, &Pull)| self.pull_json("pull-request-simple", *number, pull);
        self.page(all, shown, |page, _| page.into())
    }

    pub(super) fn run_json(&self, id: u64, run: &Run) -> Value {
        let mut json = self.contract.sample_of("workflow-run");
        let mut head = self.contract.sample_of("minimal-repository");
        over(
            &mut head,
            json!({ "id": run.head_repository.0, "full_name": run.head_repository.1 }),
        );
        let requests = run.pull_requests.iter().map(|number| {
            let mut one = self.contract.sample_of("pull-request-minimal");
            over(&mut one, json!({ "number": number }));
            one
        });
        over(
            &mut json,
            json!({
                "id": id, "event": run.event, "path": run.path, "head_sha": run.head_sha,
                "head_branch": run.head_branch, "status": "completed",
                "conclusion": (!run.conclusion.is_empty()).then_some(run.conclusion),
                "repository": { "id": REPOSITORY_ID, "full_name": REPOSITORY },
                "head_repository": head, "pull_requests": requests.collect::<Vec<_>>(),
            }),
        );
        json["run_attempt"] = (*self.state.attempts.get(&id).unwrap_or(&1)).into();
        if let Some(started) = self.state.started.get(&id) {
            json["run_started_at"] = super::time(*started).into();
        }
        json
    }

    /// The runs of a workflow on a commit.
    pub(super) fn runs(&self) -> Response {
        let file = self
            .operation
            .filled
            .get("workflow_id")
            .map_or("", String::as_str);
        let commit = self.request.query.get("head_sha");
        let found = self.state.runs.iter().filter(|(_, run)| {
            run.path.ends_with(&format!("/{file}"))
                && commit.is_none_or(|commit| *commit == run.head_sha)
        });
        self.page(
            found,
            |(id, run)| self.run_json(*id, run),
            |page, total| json!({ "total_count": total, "workflow_runs": page }),
        )
    }

    pub(super) fn artifacts(&self, of: Option<u64>) -> Response {
        let name = self.request.query.get("name");
        let found = self.state.artifacts.iter().rev().filter(|(_, artifact)| {
            of.is_none_or(|run| artifact.run == run)
                && name.is_none_or(|name| *name == artifact.name)
        });
        let shown = |(id, artifact): (&u64, &Artifact)| {
            let mut json = self.contract.sample_of("artifact");
            over(
                &mut json,
                json!({
                    "id": id, "name": artifact.name, "expired": artifact.expired,
                    "size_in_bytes": artifact.zip.len(),
                }),
            );
            if let Some(run) = self.state.runs.get(&artifact.run) {
                json["workflow_run"] = json!({
                    "id": artifact.run, "repository_id": REPOSITORY_ID,
                    "head_repository_id": run.head_repository.0,
                    "head_branch": run.head_branch, "head_sha": run.head_sha,
                });
            }
            json
        };
        self.page(
            found,
            shown,
            |page, total| json!({ "total_count": total, "artifacts": page }),
        )
    }

    pub(super) fn archive(&self) -> Response {
        match self.state.artifacts.get(&self.id("artifact_id")) {
            None => error(404, "Not Found"),
            Some(artifact) if artifact.expired => error(410, "Artifact has expired"),
            Some(_) => {
                let url = format!("{}/{}?sig=secret", self.state.store, self.id("artifact_id"));
                Response::bytes(302, Vec::new()).with("location", url)
            }
        }
    }
}
