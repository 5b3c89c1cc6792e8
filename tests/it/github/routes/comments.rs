//! Comments, and who writes them.

use serde_json::{Value, json};

use super::super::REPOSITORY;
use super::super::state::{Actor, Comment};
use super::super::wire::Response;
use super::{Api, error, over, time};

impl Api<'_> {
    pub(super) fn user(&self, actor: &Actor) -> Response {
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

    pub(super) fn account(&self, actor: &Actor) -> Value {
        let mut user = self.contract.sample_of("simple-user");
        over(
            &mut user,
            json!({ "login": actor.login, "type": actor.kind }),
        );
        user
    }

    pub(super) fn comment_json(&self, id: u64, comment: &Comment) -> Value {
        let mut json = self.contract.sample_of("issue-comment");
        let url = format!(
            "https://github.example/{REPOSITORY}/pull/{}#issuecomment-{id}",
            comment.pull
        );
        over(
            &mut json,
            json!({
                "id": id, "body": comment.body, "html_url": url, "user": self.account(&comment.author),
                "created_at": time(comment.created), "updated_at": time(comment.updated),
            }),
        );
        json
    }

    pub(super) fn comments(&self) -> Response {
        let pull = self.id("issue_number");
        if !self.state.pulls.contains_key(&pull) {
            return error(404, "Not Found");
        }
        let all = self
            .state
            .comments
            .iter()
            .filter(|(_, comment)| comment.pull == pull);
        let shown = |(id, comment): (&u64, &Comment)| self.comment_json(*id, comment);
        self.page(all, shown, |page, _| page.into())
    }

    pub(super) fn too_long(&self, body: &str) -> Option<Response> {
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

    pub(super) fn create_comment(&mut self, author: Actor) -> Response {
        let pull = self.id("issue_number");
        let body = self.request.json()["body"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if let Some(refused) = self.too_long(&body) {
            return refused;
        }
        let id = self.state.next_id();
        let (created, updated) = (self.state.now, self.state.now);
        let comment = Comment {
            pull,
            author,
            body,
            created,
            updated,
        };
        let json = self.comment_json(id, &comment);
        self.state.comments.insert(id, comment);
        self.ok(201, json)
    }

    pub(super) fn comment(&mut self, method: &str) -> Response {
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
                let now = self.state.now;
                let comment = self.state.comments.get_mut(&id).expect("it is there");
                (comment.body, comment.updated) = (body, now);
            }
            _ => {}
        }
        self.ok(200, self.comment_json(id, &self.state.comments[&id]))
    }
}
