//! What the server answers.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::contract::{Contract, Operation};
use super::state::{Actor, Comment, Pull, Run, State};
use super::wire::{Request, Response};
use super::{REPOSITORY, REPOSITORY_ID};

/// Answers a request to the API.
pub(super) fn answer(
    contract: &Contract,
    state: &Mutex<State>,
    prefix: &str,
    mut request: Request,
) -> Option<Response> {
    let mut state = state.lock().expect("no request panics");
    state.log.push(request.clone());
    let Some(path) = request.path.strip_prefix(prefix).map(str::to_owned) else {
        let wrong = format!("{} is not below {prefix}", request.path);
        state.violations.push(wrong);
        return Some(error(404, "Not Found"));
    };
    request.path = path;
    let line = format!("{} {}", request.method, request.path);
    let Some(operation) = contract.operation(&request.method, &request.path) else {
        state.violations.push(format!("{line}: not described"));
        return Some(error(404, "Not Found"));
    };
    let wrong = contract.check_request(&operation, &request);
    if !wrong.is_empty() {
        let wrong = wrong.into_iter().map(|wrong| format!("{line}: {wrong}"));
        state.violations.extend(wrong);
        return Some(error(422, "Invalid request, see the violations"));
    }
    if let Some(fault) = state.faults.iter_mut().find(|fault| {
        fault.times > 0 && fault.method == request.method && request.path.contains(fault.path)
    }) {
        fault.times -= 1;
        let fault = fault.clone();
        if fault.effective {
            Api {
                contract,
                state: &mut state,
                operation: &operation,
                request: &request,
            }
            .answer();
        }
        return fault.answer;
    }
    let mut api = Api {
        contract,
        state: &mut state,
        operation: &operation,
        request: &request,
    };
    let response = api.answer();
    let wrong = contract.check_answer(&operation, response.status, &response.body);
    state.violations.extend(wrong);
    Some(response)
}

/// Answers a request to where archives are: another host, which nobody may show a token.
pub(super) fn stored(state: &Mutex<State>, request: Request) -> Option<Response> {
    let mut state = state.lock().expect("no request panics");
    if request.headers.contains_key("authorization") {
        state
            .violations
            .push("the storage was shown a token".to_owned());
        return Some(error(400, "Authorization is not allowed here"));
    }
    let id = request.path.rsplit('/').next()?.parse().ok()?;
    let signed = request.query.get("sig").map(String::as_str) == Some("secret");
    match state.artifacts.get(&id) {
        Some(artifact) if signed => Some(Response::bytes(200, artifact.zip.clone())),
        _ => Some(error(404, "no such archive")),
    }
}

struct Api<'a> {
    contract: &'a Contract,
    state: &'a mut State,
    operation: &'a Operation,
    request: &'a Request,
}

impl Api<'_> {
    fn answer(&mut self) -> Response {
        let Some(actor) = self.actor() else {
            return error(401, "Bad credentials");
        };
        let name = self.operation.name.clone();
        let (method, template) = name.split_once(' ').expect("both");
        let changes = method != "GET";
        let rest = template.trim_start_matches("/repos/{owner}/{repo}");
        let part = rest.split('/').nth(1).unwrap_or("contents");
        let permission = match part {
            "issues" if changes => "comments",
            "check-runs" => "checks",
            "pulls" => "pulls",
            "actions" => "actions",
            _ if rest.is_empty() => "contents",
            _ => "",
        };
        if self.state.denied.contains(permission) {
            return error(403, "Resource not accessible by integration");
        }
        let filled = |name: &str| self.operation.filled.get(name).map_or("", String::as_str);
        if template.starts_with("/repos")
            && format!("{}/{}", filled("owner"), filled("repo")) != REPOSITORY
        {
            return error(404, "Not Found");
        }
        match (method, rest) {
            ("GET", "/user") => self.user(&actor),
            ("GET", "") => self.repository(),
            ("GET", "/issues/{issue_number}/comments") => self.comments(),
            ("POST", "/issues/{issue_number}/comments") => self.create_comment(actor),
            (_, "/issues/comments/{comment_id}") => self.comment(method),
            ("POST", "/check-runs") => self.create_check_run(),
            (_, "/check-runs/{check_run_id}") => self.check_run(method),
            ("GET", "/commits/{ref}/check-runs") => self.check_runs(),
            ("GET", "/pulls") => self.pulls(),
            ("GET", "/pulls/{pull_number}") => {
                match self.state.pulls.get(&self.id("pull_number")) {
                    Some(pull) => self.ok(
                        200,
                        self.pull_json("pull-request", self.id("pull_number"), pull),
                    ),
                    None => error(404, "Not Found"),
                }
            }
            ("GET", "/actions/runs/{run_id}") => match self.state.runs.get(&self.id("run_id")) {
                Some(run) => self.ok(200, self.run_json(self.id("run_id"), run)),
                None => error(404, "Not Found"),
            },
            ("GET", "/actions/runs/{run_id}/artifacts") => self.artifacts(Some(self.id("run_id"))),
            ("GET", "/actions/artifacts") => self.artifacts(None),
            ("GET", _) => self.archive(),
            _ => error(404, "Not Found"),
        }
    }

    fn actor(&self) -> Option<Actor> {
        let header = self.request.headers.get("authorization")?;
        self.state
            .tokens
            .get(header.strip_prefix("Bearer ")?)
            .cloned()
    }

    fn id(&self, name: &str) -> u64 {
        let text = self.operation.filled.get(name);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn ok(&self, status: u16, body: Value) -> Response {
        Response::json(status, &body)
    }

    /// One page of a list, and the `Link` header to the next.
    fn page(&self, all: Vec<Value>, wrap: impl Fn(Vec<Value>, usize) -> Value) -> Response {
        let size = self.request.number("per_page").unwrap_or(30).clamp(1, 100);
        let page = self.request.number("page").unwrap_or(1).max(1);
        let total = all.len();
        let shown: Vec<Value> = all.into_iter().skip((page - 1) * size).take(size).collect();
        let response = self.ok(200, wrap(shown, total));
        if page * size >= total {
            return response;
        }
        let link = |page: usize, rel: &str| {
            format!(
                "<https://api.github.example{}?page={page}>; rel=\"{rel}\"",
                self.request.path
            )
        };
        let last = total.div_ceil(size);
        response.with(
            "link",
            format!("{}, {}", link(page + 1, "next"), link(last, "last")),
        )
    }

    fn user(&self, actor: &Actor) -> Response {
        if actor.kind == "Bot" {
            return error(403, "Resource not accessible by integration");
        }
        let mut user = self.contract.sample_of("public-user");
        over(
            &mut user,
            json!({ "login": actor.login, "type": actor.kind, "user_view_type": "public" }),
        );
        self.ok(200, user)
    }

    fn account(&self, actor: &Actor) -> Value {
        let mut user = self.contract.sample_of("simple-user");
        over(
            &mut user,
            json!({ "login": actor.login, "type": actor.kind }),
        );
        user
    }

    fn repository(&self) -> Response {
        let mut repository = self.contract.sample("GET /repos/{owner}/{repo}", 200);
        over(
            &mut repository,
            json!({ "id": REPOSITORY_ID, "full_name": REPOSITORY, "default_branch": "main" }),
        );
        self.ok(200, repository)
    }

    fn comment_json(&self, id: u64, comment: &Comment) -> Value {
        let mut json = self.contract.sample_of("issue-comment");
        let url = format!(
            "https://github.example/{REPOSITORY}/pull/{}#issuecomment-{id}",
            comment.pull
        );
        over(
            &mut json,
            json!({ "id": id, "body": comment.body, "html_url": url, "user": self.account(&comment.author) }),
        );
        json
    }

    fn comments(&self) -> Response {
        let pull = self.id("issue_number");
        if !self.state.pulls.contains_key(&pull) {
            return error(404, "Not Found");
        }
        let all = self
            .state
            .comments
            .iter()
            .filter(|(_, comment)| comment.pull == pull);
        let all = all
            .map(|(id, comment)| self.comment_json(*id, comment))
            .collect();
        self.page(all, |page, _| page.into())
    }

    fn too_long(&self, body: &str) -> Option<Response> {
        let long = body.chars().count() > self.state.longest_comment;
        let text = format!(
            "body is too long (maximum is {} characters)",
            self.state.longest_comment
        );
        (long || body.is_empty()).then(|| {
            let body = json!({
                "message": "Validation Failed",
                "errors": [{ "resource": "IssueComment", "code": "unprocessable", "field": "data", "message": text }],
                "documentation_url": "https://docs.github.example/rest/issues/comments",
            });
            Response::json(422, &body)
        })
    }

    fn create_comment(&mut self, author: Actor) -> Response {
        let pull = self.id("issue_number");
        let body = self.request.json()["body"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if let Some(refused) = self.too_long(&body) {
            return refused;
        }
        let id = self.state.next_id();
        let comment = Comment { pull, author, body };
        let json = self.comment_json(id, &comment);
        self.state.comments.insert(id, comment);
        self.ok(201, json)
    }

    fn comment(&mut self, method: &str) -> Response {
        let id = self.id("comment_id");
        let body = self.request.json()["body"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !self.state.comments.contains_key(&id) {
            return error(404, "Not Found");
        }
        match method {
            "DELETE" => {
                self.state.comments.remove(&id);
                return Response::bytes(204, Vec::new());
            }
            "PATCH" => {
                if let Some(refused) = self.too_long(&body) {
                    return refused;
                }
                self.state.comments.get_mut(&id).expect("it is there").body = body;
            }
            _ => {}
        }
        self.ok(200, self.comment_json(id, &self.state.comments[&id]))
    }

    fn create_check_run(&mut self) -> Response {
        let id = self.state.next_id();
        let mut run = self
            .contract
            .sample("POST /repos/{owner}/{repo}/check-runs", 201);
        let url = format!("https://github.example/{REPOSITORY}/runs/{id}");
        over(
            &mut run,
            json!({
                "id": id, "html_url": url, "status": "queued",
                "output": {
                    "title": null, "summary": null, "text": null,
                    "annotations_count": 0, "annotations_url": "https://github.example/x",
                },
            }),
        );
        self.state.check_runs.insert(id, run);
        self.change_check_run(id, 201)
    }

    fn check_run(&mut self, method: &str) -> Response {
        let id = self.id("check_run_id");
        if !self.state.check_runs.contains_key(&id) {
            return error(404, "Not Found");
        }
        if method == "PATCH" {
            return self.change_check_run(id, 200);
        }
        self.ok(200, self.state.check_runs[&id].clone())
    }

    fn change_check_run(&mut self, id: u64, status: u16) -> Response {
        let mut change = self.request.json();
        for name in ["summary", "text"] {
            let text = change["output"][name].as_str().unwrap_or_default();
            if text.chars().count() > 65_535 {
                return error(
                    422,
                    &format!("{name} exceeds a maximum of 65535 characters"),
                );
            }
        }
        if change["status"] == "completed" && change["conclusion"].is_null() {
            return error(422, "a completed check run has a conclusion");
        }
        let run = self.state.check_runs.get_mut(&id).expect("it is there");
        let mut more = Vec::new();
        if let Some(output) = change.get_mut("output").and_then(Value::as_object_mut) {
            if let Some(Value::Array(list)) = output.remove("annotations") {
                more = list;
            }
            let all = self.state.annotations.entry(id).or_default();
            all.extend(more);
            output.insert("annotations_count".to_owned(), all.len().into());
            output.insert(
                "annotations_url".to_owned(),
                "https://github.example/x".into(),
            );
            output.entry("text").or_insert(Value::Null);
        }
        over(run, change);
        let run = run.clone();
        self.ok(status, run)
    }

    fn check_runs(&self) -> Response {
        let sha = self.operation.filled.get("ref").map_or("", String::as_str);
        let name = self.request.query.get("check_name");
        let all = self.state.check_runs.values().filter(|run| {
            run["head_sha"] == sha && name.is_none_or(|name| run["name"] == name.as_str())
        });
        self.page(
            all.cloned().collect(),
            |page, total| json!({ "total_count": total, "check_runs": page }),
        )
    }

    fn pull_json(&self, schema: &str, number: u64, pull: &Pull) -> Value {
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
        json
    }

    fn pulls(&self) -> Response {
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
        let all = all.map(|(number, pull)| self.pull_json("pull-request-simple", *number, pull));
        self.page(all.collect(), |page, _| page.into())
    }

    fn run_json(&self, id: u64, run: &Run) -> Value {
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
                "head_branch": run.head_branch, "conclusion": run.conclusion, "status": "completed",
                "repository": { "id": REPOSITORY_ID, "full_name": REPOSITORY },
                "head_repository": head, "pull_requests": requests.collect::<Vec<_>>(),
            }),
        );
        json
    }

    fn artifacts(&self, of: Option<u64>) -> Response {
        let name = self.request.query.get("name");
        let found = self.state.artifacts.iter().rev().filter(|(_, artifact)| {
            of.is_none_or(|run| artifact.run == run)
                && name.is_none_or(|name| *name == artifact.name)
        });
        let all = found.map(|(id, artifact)| {
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
        });
        self.page(
            all.collect(),
            |page, total| json!({ "total_count": total, "artifacts": page }),
        )
    }

    fn archive(&self) -> Response {
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

fn error(status: u16, message: &str) -> Response {
    let body = json!({
        "message": message,
        "documentation_url": "https://docs.github.example/rest",
        "status": status.to_string(),
    });
    Response::json(status, &body)
}

/// Lays values over a sample, map by map.
fn over(under: &mut Value, values: Value) {
    match (under, values) {
        (Value::Object(under), Value::Object(values)) => {
            for (name, value) in values {
                over(under.entry(name).or_insert(Value::Null), value);
            }
        }
        (under, value) => *under = value,
    }
}
