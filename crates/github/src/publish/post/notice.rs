//! The comment that asks for a decision. It is written once and never changed, so that its time of writing is the time
//! of the request.

use crate::publish::comment::asking;
use crate::{Client, Comment, Error};
use kelvin_base::clock::to_seconds;
use kelvin_gate::approval::request::{self, Origin, Request};
use kelvin_gate::approval::{Approval, State};

/// A request on the pull request.
#[derive(Clone, Debug)]
pub struct ApprovalNotice {
    /// The request.
    pub request: Request,
    /// Its origin.
    pub origin: Origin,
    /// The time of the request, in seconds since the epoch.
    pub at: i64,
    /// The address for people.
    pub url: String,
}

impl ApprovalNotice {
    /// The id of the request, as people use it.
    pub fn id(&self) -> String {
        self.request.id(Some(&self.origin))
    }
}

/// Every request that this account ever made on a pull request, in any later state: a person who decided may have read
/// any of them.
pub fn made(comments: &[Comment], me: &str, pull_request: u64) -> Vec<ApprovalNotice> {
    let own = comments.iter().filter(|comment| comment.is_by(me));
    let found = own.filter_map(|comment| {
        let (request, origin) = comment.body.as_deref().and_then(request::read)?;
        Some(ApprovalNotice {
            request,
            origin,
            at: to_seconds(&comment.created_at).ok()?,
            url: comment.html_url.clone(),
        })
    });
    let found = found.filter(|notice| notice.origin.pull_request == pull_request);
    found.collect()
}

/// The current requests of this account on a pull request. For each configuration this is the last request; if several
/// equal ones follow each other, the first of them, to which people have answered. A comment that was changed does not
/// count, since everybody with the right to push can change it.
pub fn latest(comments: &[Comment], me: &str, pull_request: u64) -> Vec<ApprovalNotice> {
    let mut found: Vec<ApprovalNotice> = Vec::new();
    let mut sorted: Vec<&Comment> = comments
        .iter()
        .filter(|comment| comment.is_by(me))
        .collect();
    sorted.sort_by_key(|comment| comment.id);
    for comment in sorted {
        let Some((request, origin)) = comment.body.as_deref().and_then(request::read) else {
            continue;
        };
        // A request that was copied from another pull request does not belong to this pull request.
        if origin.pull_request != pull_request {
            continue;
        }
        let at = to_seconds(&comment.created_at);
        let (Ok(at), true) = (at, comment.created_at == comment.updated_at) else {
            // A later request makes an earlier one invalid, in any state.
            found.retain(|other| !other.origin.is_of(&origin));
            continue;
        };
        let same = found.iter().position(|other| other.origin.is_of(&origin));
        if same.is_some_and(|same| found[same].request == request) {
            continue;
        }
        if let Some(same) = same {
            found.remove(same);
        }
        found.push(ApprovalNotice {
            request,
            origin,
            at,
            url: comment.html_url.clone(),
        });
    }
    found
}

/// Asks for a decision, unless there is already a request.
///
/// # Errors
///
/// Fails with the reason why the request could not be made.
pub fn ask(
    client: &Client,
    approval: &Approval,
    mind: &[String],
) -> Result<ApprovalNotice, String> {
    let told = |error: Error| error.to_string();
    let origin = approval
        .origin
        .as_ref()
        .filter(|_| approval.state == State::Pending);
    let origin = origin.ok_or("there is nothing to ask, or nowhere to ask it")?;
    let line = request::write(&approval.request, origin)?;
    let me = client.viewer().map_err(told)?;
    let comments = client.comments(origin.pull_request, 1).map_err(told)?;
    let mut asked = latest(&comments, &me, origin.pull_request).into_iter();
    let same = asked.find(|one| one.origin.is_of(origin) && one.request == approval.request);
    if let Some(same) = same {
        return Ok(same);
    }
    let body = format!("{line}{}", asking(approval, mind));
    let written = client
        .create_comment(origin.pull_request, &body)
        .map_err(told)?;
    if !written.is_by(&me) {
        let who = written.user.map_or_else(String::new, |user| user.login);
        return Err(format!(
            "the token is that of `{who}`, whose requests a later run could not tell from those of \
             others; use the token of the workflow (`github.token`)"
        ));
    }
    let [found] = <[ApprovalNotice; 1]>::try_from(latest(&[written], &me, origin.pull_request))
        .map_err(|_| "GitHub gave the request back in another form".to_owned())?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kelvin_gate::approval::Regressed;

    const ME: &str = "github-actions[bot]";

    fn asked(head: &str, key: &str, pull_request: u64) -> String {
        let request = Request {
            head: head.to_owned(),
            base: "b".to_owned(),
            regressions: vec![Regressed {
                metric: "evidence.invariance".to_owned(),
                case: None,
                base: Some(1.0),
                head: Some(0.5),
                drop: Some(0.5),
                within: 0.05,
                suspected: false,
            }],
        };
        let origin = Origin {
            pull_request,
            key: key.to_owned(),
            ..Origin::default()
        };
        request::write(&request, &origin).expect("short enough")
    }

    fn comment(id: u64, who: &str, body: &str, changed: bool) -> Comment {
        let at = |minute: u64| format!("2026-11-20T12:{minute:02}:00Z");
        let comment = json!({
            "id": id, "body": body, "html_url": format!("u{id}"), "user": { "login": who },
            "created_at": at(id), "updated_at": at(id + u64::from(changed)),
        });
        serde_json::from_value(comment).expect("a comment")
    }

    fn found(comments: &[Comment]) -> Vec<(String, String)> {
        let found = latest(comments, ME, 7).into_iter();
        found.map(|one| (one.request.head, one.url)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = expected.iter();
        pairs
            .map(|(head, url)| ((*head).to_owned(), (*url).to_owned()))
            .collect()
    }

    #[test]
    fn the_last_request_of_each_configuration_stands_and_of_equal_ones_the_first() {
        let mine = |id, head, key| comment(id, ME, &asked(head, key, 7), false);
        let comments = [
            mine(1, "a", "x"),
            mine(2, "a", "y"),
            mine(3, "a", "x"),
            mine(4, "c", "x"),
        ];
        assert_eq!(found(&comments[..3]), pairs(&[("a", "u1"), ("a", "u2")]));
        assert_eq!(found(&comments), pairs(&[("a", "u2"), ("c", "u4")]));
        // The order in which GitHub lists them must not matter.
        let turned: Vec<Comment> = comments.iter().rev().cloned().collect();
        assert_eq!(found(&turned), found(&comments));
    }

    #[test]
    fn two_files_with_one_name_each_have_a_request_of_their_own() {
        let of_file = |id: u64, config: &str| {
            let (request, origin) = request::read(&asked("a", "x", 7)).expect("it asks");
            let origin = Origin {
                config: config.to_owned(),
                ..origin
            };
            let line = request::write(&request, &origin).expect("short enough");
            comment(id, ME, &line, false)
        };
        let comments = [of_file(1, "a/kelvin.yaml"), of_file(2, "b/kelvin.yaml")];
        assert_eq!(found(&comments), pairs(&[("a", "u1"), ("a", "u2")]));
    }

    #[test]
    fn a_request_of_another_account_or_pull_request_is_none_and_one_that_was_changed_voids_all() {
        let good = comment(1, ME, &asked("a", "x", 7), false);
        for (other, expected) in [
            (
                comment(2, "eve", &asked("c", "x", 7), false),
                pairs(&[("a", "u1")]),
            ),
            (
                comment(2, ME, &asked("c", "x", 8), false),
                pairs(&[("a", "u1")]),
            ),
            (
                comment(2, ME, &format!("> {}", asked("c", "x", 7)), false),
                pairs(&[("a", "u1")]),
            ),
            (comment(2, ME, &asked("c", "x", 7), true), pairs(&[])),
        ] {
            assert_eq!(found(&[good.clone(), other]), expected);
        }
        assert_eq!(
            found(&[comment(1, ME, &asked("a", "x", 7), true)]),
            pairs(&[])
        );
    }
}
