//! What the server answers.

mod approvals;
mod checks;
mod comments;
mod runs;

use std::sync::Mutex;

use serde_json::{Value, json};

use super::REPOSITORY;
use super::contract::{Contract, Operation};
use super::state::{Actor, State};
use super::wire::{Request, Response};

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
    let now = jiff::Timestamp::from_second(state.now).expect("a time");
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    Some(response.with("date", date))
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
            ("GET", "/actions/workflows/{workflow_id}/runs") => self.runs(),
            ("GET", "/actions/runs/{run_id}/artifacts") => self.artifacts(Some(self.id("run_id"))),
            ("GET", "/actions/artifacts") => self.artifacts(None),
            (
                "POST",
                "/actions/runs/{run_id}/rerun-failed-jobs" | "/actions/runs/{run_id}/rerun",
            ) => self.run_again(),
            ("GET", "/issues/{issue_number}/events") => self.label_events(),
            ("GET", "/collaborators/{username}/permission") => self.permission(),
            ("GET", "/contents/{path}") => self.file(),
            ("GET", "/commits/{commit_sha}/pulls") => self.pulls_with(),
            ("GET", "/pulls/{pull_number}/commits") => self.commits(),
            ("GET", _) if template.starts_with("/orgs/") => self.team(&actor),
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

    /// One page of a list, and the `Link` header to the next. Only what stands on the page is made.
    fn page<Item>(
        &self,
        all: impl Iterator<Item = Item>,
        shown: impl Fn(Item) -> Value,
        wrap: impl Fn(Vec<Value>, usize) -> Value,
    ) -> Response {
        let all: Vec<Item> = all.collect();
        let size = self.request.number("per_page").unwrap_or(30).clamp(1, 100);
        let page = self.request.number("page").unwrap_or(1).max(1);
        let total = all.len();
        let on_page = all.into_iter().skip((page - 1) * size).take(size);
        let response = self.ok(200, wrap(on_page.map(shown).collect(), total));
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
}

/// A time as GitHub writes it.
fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).expect("a time");
    time.to_string()
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
