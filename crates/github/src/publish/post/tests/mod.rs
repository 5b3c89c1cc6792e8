//! Posting against a stateful GitHub on loopback.

mod checks;
mod comments;
mod races;

use super::{CommentMode, CommentStamp, KeptComments, Posted, Sticky, comment};
use crate::fake::{HEAD, PULL, Server};
use crate::{Client, Error};

/// The stamp of a run of the pull request's head.
fn stamp(run: u64, attempt: u64) -> CommentStamp {
    CommentStamp {
        head: HEAD.to_owned(),
        run,
        attempt,
    }
}

/// Posts a text with a key; the text is cut to what is allowed, as a renderer would.
fn post(client: &Client, key: &str, stamp: &CommentStamp, text: &str) -> Result<Posted, Error> {
    let sticky = Sticky {
        pull_request: PULL,
        key,
        mode: CommentMode::Update,
        stamp,
        quiet: false,
        keeps: KeptComments::Nothing,
    };
    comment(client, &sticky, &mut |budget| {
        text.chars().take(budget).collect()
    })
}

/// The bodies on the server, without the marker, in the order of their numbers.
fn bodies(server: &Server) -> Vec<String> {
    let state = server.state();
    let bodies = state.comments.values().map(|comment| &comment.body);
    bodies
        .map(|body| {
            body.split_once("-->\n")
                .map_or(&**body, |(_, text)| text)
                .to_owned()
        })
        .collect()
}
