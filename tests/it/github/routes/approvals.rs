//! What an approval rests on: labels, rights, teams, files of a branch, and who wrote what.

use base64::Engine as _;
use serde_json::{Value, json};

use super::super::state::{Actor, LabelEvent, Pull};
use super::super::wire::Response;
use super::{Api, error, over, time};

impl Api<'_> {
    fn filled(&self, name: &str) -> String {
        self.operation.filled.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn label_events(&self) -> Response {
        let pull = self.id("issue_number");
        let all = self.state.labels.iter();
        let all = all.filter(|(_, event)| event.pull == pull);
        let shown = |(id, event): (&u64, &LabelEvent)| {
            let mut json = self.contract.sample_of("labeled-issue-event");
            over(
                &mut json,
                json!({
                    "id": id, "event": event.event, "actor": self.account(&event.actor),
                    "label": { "name": event.label, "color": "ededed" },
                    "created_at": time(event.at),
                }),
            );
            json
        };
        self.page(all, shown, |page, _| page.into())
    }

    /// The labels that are on a pull request now.
    pub(super) fn labels_of(&self, pull: u64) -> Value {
        let mut on = std::collections::BTreeSet::new();
        for event in self.state.labels.values().filter(|one| one.pull == pull) {
            match event.event {
                "labeled" => on.insert(event.label.clone()),
                _ => on.remove(&event.label),
            };
        }
        let on = on.difference(&self.state.deleted_labels);
        on.map(|name| {
            json!({
                "id": 1, "node_id": "x", "url": "https://api.github.example/x", "name": name,
                "description": null, "color": "ededed", "default": false,
            })
        })
        .collect()
    }

    pub(super) fn permission(&self) -> Response {
        let login = self.filled("username");
        let right = self.state.rights.iter();
        let right = right
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&login));
        let right = right.map_or("none", |(_, right)| *right);
        let mut json = self
            .contract
            .sample_of("repository-collaborator-permission");
        over(
            &mut json,
            json!({ "permission": right, "role_name": right }),
        );
        self.ok(200, json)
    }

    pub(super) fn team(&self, actor: &Actor) -> Response {
        // The token of a workflow sees none.
        let seen = self.state.teams.as_ref();
        let Some(teams) = seen.filter(|_| actor.login != "github-actions[bot]") else {
            return error(403, "Resource not accessible by integration");
        };
        let name = format!("{}/{}", self.filled("org"), self.filled("team_slug"));
        let Some(members) = teams.get(&name) else {
            return error(404, "Not Found");
        };
        let login = self.filled("username");
        if login.is_empty() {
            let sample = self
                .contract
                .sample("GET /orgs/{org}/teams/{team_slug}", 200);
            return self.ok(200, sample);
        }
        if !members
            .iter()
            .any(|member| member.eq_ignore_ascii_case(&login))
        {
            return error(404, "Not Found");
        }
        let mut json = self.contract.sample_of("team-membership");
        over(&mut json, json!({ "state": "active", "role": "member" }));
        self.ok(200, json)
    }

    pub(super) fn file(&self) -> Response {
        let branch = self.request.query.get("ref").cloned().unwrap_or_default();
        let path = self.filled("path");
        let Some(text) = self.state.files.get(&(branch, path.clone())) else {
            return error(404, "Not Found");
        };
        // GitHub breaks the lines of what it encodes.
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let lines: Vec<String> = encoded
            .as_bytes()
            .chunks(60)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let mut json = self.contract.sample_of("content-file");
        over(
            &mut json,
            json!({
                "type": "file", "path": path, "encoding": "base64", "size": text.len(),
                "content": lines.join("\n"),
            }),
        );
        self.ok(200, json)
    }

    pub(super) fn pulls_with(&self) -> Response {
        let sha = self.filled("commit_sha");
        let all = self
            .state
            .pulls
            .iter()
            .filter(|(_, pull)| pull.head_sha == sha || pull.merged.as_deref() == Some(&*sha));
        let shown =
            |(number, pull): (&u64, &Pull)| self.pull_json("pull-request-simple", *number, pull);
        self.page(all, shown, |page, _| page.into())
    }

    pub(super) fn commits(&self) -> Response {
        let Some(pull) = self.state.pulls.get(&self.id("pull_number")) else {
            return error(404, "Not Found");
        };
        // GitHub lists no more of them, whatever page is asked for.
        let all = pull.commit_authors.iter().take(250);
        let shown = |login: &String| {
            let mut json = self.contract.sample_of("commit");
            json["author"] = self.account(&Actor::new(login, "User"));
            json
        };
        self.page(all, shown, |page, _| page.into())
    }

    pub(super) fn run_again(&mut self) -> Response {
        let id = self.id("run_id");
        if !self.state.runs.contains_key(&id) {
            return error(404, "Not Found");
        }
        self.state.run_again.push(id);
        self.ok(201, json!({}))
    }
}
