//! The comment that asks for a decision: it is written once and never changed, so that the time at which it
//! was written is the time at which somebody was asked.

use crate::gate::approval::request::{self, Origin, Request};
use crate::gate::approval::{Approval, State};
use crate::github::{Client, Comment, Error};
use crate::publish::comment::asking;
use crate::run::to_seconds;

/// A request that stands on the pull request.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// What was asked.
    pub(crate) request: Request,
    /// Where.
    pub(crate) origin: Origin,
    /// When, in seconds since the epoch.
    pub(crate) at: i64,
    /// Where people read it.
    pub(crate) url: String,
}

/// The requests of this account on a pull request, each as it stands now: of each key the last one, and
/// of equal ones in a row the first, which people have answered. A comment that was changed counts for
/// nothing, since whoever may push can change it.
pub(crate) fn latest(comments: &[Comment], me: &str, pull_request: u64) -> Vec<Notice> {
    let mut found: Vec<Notice> = Vec::new();
    let mut sorted: Vec<&Comment> = comments
        .iter()
        .filter(|comment| comment.is_by(me))
        .collect();
    sorted.sort_by_key(|comment| comment.id);
    for comment in sorted {
        let Some((request, origin)) = comment.body.as_deref().and_then(request::read) else {
            continue;
        };
        let Ok(at) = to_seconds(&comment.created_at) else {
            continue;
        };
        // A request that was copied from another pull request is none of this one.
        if comment.created_at != comment.updated_at || origin.pull_request != pull_request {
            continue;
        }
        let same = found
            .iter()
            .position(|other| other.origin.key == origin.key);
        if same.is_some_and(|same| found[same].request == request) {
            continue;
        }
        if let Some(same) = same {
            found.remove(same);
        }
        found.push(Notice {
            request,
            origin,
            at,
            url: comment.html_url.clone(),
        });
    }
    found
}

/// Asks for a decision, or finds that it was asked already.
///
/// # Errors
///
/// Why nobody could be asked.
pub(crate) fn ask(client: &Client, approval: &Approval) -> Result<Notice, String> {
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
    let same = asked.find(|one| one.origin.key == origin.key && one.request == approval.request);
    if let Some(same) = same {
        return Ok(same);
    }
    let body = format!("{line}{}", asking(approval));
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
    let [found] = <[Notice; 1]>::try_from(latest(&[written], &me, origin.pull_request))
        .map_err(|_| "GitHub gave the request back in another form".to_owned())?;
    Ok(found)
}
