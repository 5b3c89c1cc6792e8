//! Check runs.

use serde_json::{Value, json};

use super::super::REPOSITORY;
use super::super::wire::Response;
use super::{Api, error, over};

impl Api<'_> {
    pub(super) fn create_check_run(&mut self) -> Response {
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

    pub(super) fn check_run(&mut self, method: &str) -> Response {
        let id = self.id("check_run_id");
        if !self.state.check_runs.contains_key(&id) {
            return error(404, "Not Found");
        }
        if method == "PATCH" {
            return self.change_check_run(id, 200);
        }
        self.ok(200, self.state.check_runs[&id].clone())
    }

    pub(super) fn change_check_run(&mut self, id: u64, status: u16) -> Response {
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

    pub(super) fn check_runs(&self) -> Response {
        let sha = self.operation.filled.get("ref").map_or("", String::as_str);
        let name = self.request.query.get("check_name");
        let all = self.state.check_runs.values().filter(|run| {
            run["head_sha"] == sha && name.is_none_or(|name| run["name"] == name.as_str())
        });
        self.page(
            all,
            Value::clone,
            |page, total| json!({ "total_count": total, "check_runs": page }),
        )
    }
}
