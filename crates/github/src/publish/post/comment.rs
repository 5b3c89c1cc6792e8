//! One comment on a pull request. It is found again by its hidden first line, which contains its key and the run that
//! wrote it.

use std::time::Duration;

use crate::publish::Context;
use crate::{Client, Comment, Error};
use kelvin_base::digest::Digest;

/// The maximum size of a comment in bytes at the first attempt; GitHub accepts 65,536 characters.
const BUDGET: usize = 60_000;
/// The maximum size in bytes at the second attempt, if GitHub rejects the first.
const SMALLER: usize = 20_000;
/// How often a comment is written if it is unknown whether it was stored.
const ATTEMPTS: usize = 3;
/// How often the program checks whether another job wrote a comment at the same time.
const LOOKS: usize = 2;
/// The shortest wait before each check for comments of other jobs.
const LOOK: Duration = Duration::from_millis(400);
/// The number of entries of a page of comments.
const PAGE: usize = 100;

/// When a comment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentMode {
    /// One comment, which is always replaced by the newest result.
    Update,
    /// A new comment for every run.
    New,
    /// One comment, which is first written when there is a result to report.
    OnChange,
    /// Never.
    Off,
}

/// The result of posting a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// There is a new comment.
    Created(String),
    /// An existing comment was updated.
    Updated(String),
    /// No comment was written, for this reason.
    Skipped(String),
}

impl Posted {
    /// The address of the comment for people.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Created(url) | Self::Updated(url) => Some(url),
            Self::Skipped(_) => None,
        }
    }
}

/// A comment to be written.
#[derive(Clone, Copy, Debug)]
pub struct Sticky<'a> {
    /// The pull request.
    pub pull_request: u64,
    /// The key that distinguishes the comment from others; any text.
    pub key: &'a str,
    /// The mode, which decides when the comment is written.
    pub mode: CommentMode,
    /// The run that writes.
    pub stamp: &'a CommentStamp,
    /// Whether there is no news: a pass without a change.
    pub quiet: bool,
    /// Which comments are not replaced.
    pub keeps: KeptComments,
}

/// The comments that are not replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptComments {
    /// No comment: every one may be replaced.
    #[default]
    Nothing,
    /// The comments that the same attempt of the run has written.
    OfAttempt,
    /// The comments about the same commit, by any run.
    OfCommit,
}

/// Renders a comment within a number of bytes.
pub(super) type Body<'a> = dyn FnMut(usize) -> String + 'a;

/// Writes a comment, or returns the reason why not. `body` is called with the maximum size of the comment in bytes.
///
/// # Errors
///
/// Fails with an [`Error`] if GitHub does not answer; a comment that another job wrote is never an error.
pub fn comment(client: &Client, sticky: &Sticky<'_>, body: &mut Body<'_>) -> Result<Posted, Error> {
    if sticky.mode == CommentMode::Off {
        return Ok(skipped("comments are off (`comment: off`)"));
    }
    let request = client.pull_request(sticky.pull_request)?;
    if !sticky.stamp.head.is_empty() && request.head.sha != sticky.stamp.head {
        return Ok(skipped(
            "the pull request has a newer commit, which has a run of its own",
        ));
    }
    let mut writer = CommentWriter {
        client,
        sticky,
        me: client.account()?,
        seen: Vec::new(),
        body,
        fits: None,
        unsure: false,
    };
    let mut attempt = 1;
    loop {
        match writer.write() {
            Err(error) if error.is_unsure() && writer.unsure && attempt < ATTEMPTS => {
                writer.unsure = false;
                client.pause_about(Duration::from_secs(1 << attempt));
                attempt += 1;
            }
            done => return done,
        }
    }
}

struct CommentWriter<'a, 'b> {
    client: &'a Client,
    sticky: &'a Sticky<'a>,
    /// The account of the token; none until a first comment shows the app of the token.
    me: Option<String>,
    /// All comments, as of the last check.
    seen: Vec<Comment>,
    body: &'a mut Body<'b>,
    /// The text that GitHub has accepted, or not rejected yet.
    fits: Option<(usize, String)>,
    /// Whether there may be a new comment that was not confirmed.
    unsure: bool,
}

impl CommentWriter<'_, '_> {
    fn write(&mut self) -> Result<Posted, Error> {
        self.seen = self.client.comments(self.sticky.pull_request, 1)?;
        let stamp = self.sticky.stamp;
        if self.sticky.mode == CommentMode::New {
            // A comment of this run exists only if an earlier attempt may have succeeded.
            if let Some((mine, _)) = self.mine().into_iter().find(|(_, other)| other == stamp) {
                return Ok(Posted::Created(mine.html_url));
            }
            return self.create().map(|new| Posted::Created(new.html_url));
        }
        let mut mine = self.mine().into_iter();
        if let Some((first, theirs)) = mine.next() {
            // These are comments that an earlier attempt of this run could not delete.
            for (late, _) in mine.filter(|(_, other)| other == stamp) {
                self.client.delete_comment(late.id)?;
            }
            return self.update(&first, &theirs);
        }
        if self.sticky.mode == CommentMode::OnChange && self.sticky.quiet {
            return Ok(skipped("nothing changed (`comment: on-change`)"));
        }
        self.begin()
    }

    /// Writes the first comment.
    fn begin(&mut self) -> Result<Posted, Error> {
        let new = self.create()?;
        if let Some(user) = &new.user {
            // The comment shows the account of the token, if it was unknown before.
            self.me = Some(user.login.clone());
        }
        self.settle(new)
    }

    /// Whether a comment may come from this program. An app does not know its own name: then the comment of any app
    /// with our first line counts, since no person can write as an app.
    fn may_be_mine(&self, comment: &Comment) -> bool {
        match &self.me {
            Some(me) => comment.is_by(me),
            None => comment.is_by_an_app(),
        }
    }

    /// Our comments with this key, oldest first.
    fn mine(&self) -> Vec<(Comment, CommentStamp)> {
        let mut mine: Vec<(Comment, CommentStamp)> = self
            .seen
            .iter()
            .filter(|comment| self.may_be_mine(comment))
            .filter_map(|comment| {
                let stamp = read_marker(self.sticky.key, comment.body.as_deref()?)?;
                Some((comment.clone(), stamp))
            })
            .collect();
        mine.sort_by_key(|(comment, _)| comment.id);
        mine
    }

    /// Checks whether another job wrote a comment at the same time. The oldest comment is kept, and the job that wrote
    /// a later one deletes it.
    fn settle(&mut self, new: Comment) -> Result<Posted, Error> {
        // Comments are sorted by their numbers, so a full page does not change.
        let page = (self.seen.len() / PAGE).max(1);
        for _ in 0..LOOKS {
            self.client.pause_about(LOOK);
            self.seen.truncate((page - 1) * PAGE);
            let later = self.client.comments(self.sticky.pull_request, page)?;
            self.seen.extend(later);
            let first = self.mine().into_iter().next();
            if let Some((first, theirs)) = first.filter(|(first, _)| first.id < new.id) {
                self.client.delete_comment(new.id)?;
                return self.update(&first, &theirs);
            }
        }
        Ok(Posted::Created(new.html_url))
    }

    fn update(&mut self, comment: &Comment, theirs: &CommentStamp) -> Result<Posted, Error> {
        if self.sticky.stamp.is_older_than(theirs) {
            return Ok(skipped("a newer run has already written the comment"));
        }
        let ours = self.sticky.stamp;
        match self.sticky.keeps {
            KeptComments::OfAttempt if ours == theirs => {
                return Ok(skipped("the run has written the comment itself"));
            }
            KeptComments::OfCommit if ours.head == theirs.head => {
                return Ok(skipped("the comment is about this commit already"));
            }
            _ => {}
        }
        let client = self.client;
        let id = comment.id;
        match self.fitting(&mut |body| client.update_comment(id, body)) {
            Ok(updated) => Ok(Posted::Updated(updated.html_url)),
            // The comment was deleted in the meantime.
            Err(error) if error.status() == Some(404) => self.begin(),
            // The comment belongs to another app.
            Err(error) if error.status() == Some(403) && self.me.is_none() => self.begin(),
            Err(error) => Err(error),
        }
    }

    fn create(&mut self) -> Result<Comment, Error> {
        let (client, number) = (self.client, self.sticky.pull_request);
        let created = self.fitting(&mut |body| client.create_comment(number, body));
        self.unsure = created.as_ref().is_err_and(Error::is_unsure);
        created
    }

    /// Sends the text, and a smaller one if it is rejected.
    fn fitting(
        &mut self,
        send: &mut dyn FnMut(&str) -> Result<Comment, Error>,
    ) -> Result<Comment, Error> {
        let marker = write_marker(self.sticky.key, self.sticky.stamp);
        let mut text = |budget: usize| {
            let body = (self.body)(budget - marker.len());
            (budget, format!("{marker}{body}"))
        };
        let (budget, first) = self.fits.take().unwrap_or_else(|| text(BUDGET));
        match send(&first) {
            Err(error) if error.status() == Some(422) && budget > SMALLER => {
                let (_, second) = self.fits.insert(text(SMALLER));
                send(second)
            }
            done => {
                self.fits = Some((budget, first));
                done
            }
        }
    }
}

fn skipped(why: &str) -> Posted {
    Posted::Skipped(why.to_owned())
}

/// The maximum length of a key that is written unchanged in a marker.
const MOST: usize = 160;

/// The run that wrote a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommentStamp {
    /// The commit that was measured.
    pub head: String,
    /// The number of the run; later runs have larger numbers.
    pub run: u64,
    /// The number of the attempt, from 1.
    pub attempt: u64,
}

impl CommentStamp {
    /// The stamp of this run.
    pub fn of(context: &Context) -> Self {
        Self {
            head: plain(&context.head_sha),
            run: context.run_id.parse().unwrap_or(0),
            attempt: context.run_attempt.parse().unwrap_or(1),
        }
    }

    /// Whether the result of this run is older than that of `other`. On the same commit, a run that a person started
    /// again has the newer result.
    fn is_older_than(&self, other: &Self) -> bool {
        if self.run == other.run {
            return self.attempt < other.attempt;
        }
        let again = self.attempt > 1 && self.head == other.head;
        self.run < other.run && !again
    }
}

/// The first line of a comment.
pub(super) fn write_marker(key: &str, stamp: &CommentStamp) -> String {
    format!(
        "{}head={} run={} attempt={} -->\n",
        prefix(key),
        plain(&stamp.head),
        stamp.run,
        stamp.attempt
    )
}

/// The stamp of a comment with this key; none if the comment does not come from this program.
pub(super) fn read_marker(key: &str, body: &str) -> Option<CommentStamp> {
    let line = body.lines().next()?.strip_prefix(&prefix(key))?;
    let mut stamp = CommentStamp::default();
    for word in line.strip_suffix("-->")?.split_whitespace() {
        match word.split_once('=')? {
            ("head", value) => stamp.head = value.to_owned(),
            ("run", value) => stamp.run = value.parse().ok()?,
            ("attempt", value) => stamp.attempt = value.parse().ok()?,
            // A later version may have more fields.
            _ => {}
        }
    }
    Some(stamp)
}

fn prefix(key: &str) -> String {
    format!("<!-- kelvin-action:{} ", safe_key(key))
}

/// A key that can neither close the HTML comment nor be mistaken for another key: everything except letters, digits and
/// a few characters is written as bytes, and the end of a long key is replaced by its digest.
fn safe_key(key: &str) -> String {
    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'-' if out.ends_with('-') => out.push_str("%2D"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b':' | b'-' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if out.len() > MOST {
        let digest = Digest::of(key.as_bytes()).short(32);
        out.truncate(MOST - 34);
        out = format!("{out}%~{digest}");
    }
    if out.is_empty() { "%".to_owned() } else { out }
}

/// A commit in a form that is safe in a marker.
fn plain(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric);
    kept.take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp(run: u64, attempt: u64, head: &str) -> CommentStamp {
        CommentStamp {
            head: head.to_owned(),
            run,
            attempt,
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_only_with_its_own_key() {
        let line = write_marker("Kelvin / check / rag", &stamp(7, 2, "abc"));
        assert_eq!(
            line,
            "<!-- kelvin-action:Kelvin%20/%20check%20/%20rag head=abc run=7 attempt=2 -->\n"
        );
        assert_eq!(
            read_marker("Kelvin / check / rag", &format!("{line}text")),
            Some(stamp(7, 2, "abc"))
        );
        assert_eq!(read_marker("Kelvin / check", &line), None);
        assert_eq!(
            read_marker("Kelvin / check / rag", &format!("hello\n{line}")),
            None
        );
    }

    #[test]
    fn a_newer_run_stays_and_a_run_made_again_on_the_same_commit_may_write() {
        let cases = [
            ((7, 1, "a"), (8, 1, "b"), true),
            ((8, 1, "b"), (7, 1, "a"), false),
            ((7, 1, "a"), (7, 2, "a"), true),
            ((7, 2, "a"), (7, 1, "a"), false),
            ((7, 1, "a"), (7, 1, "a"), false),
            ((7, 2, "a"), (8, 1, "a"), false),
            ((7, 2, "a"), (8, 1, "b"), true),
        ];
        for (mine, other, older) in cases {
            let (mine, other) = (
                stamp(mine.0, mine.1, mine.2),
                stamp(other.0, other.1, other.2),
            );
            assert_eq!(mine.is_older_than(&other), older, "{mine:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn no_key_and_no_commit_can_close_a_marker(key in ".*", head in ".*") {
            let line = write_marker(&key, &stamp(1, 1, &head));
            let inner = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->\n"));
            let inner = inner.expect("it is a comment");
            prop_assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n'));
            prop_assert!(line.len() < 400);
            prop_assert!(read_marker(&key, &line).is_some());
        }

        #[test]
        fn two_keys_never_have_one_marker(a in ".{0,40}", b in ".{0,40}") {
            prop_assert_eq!(safe_key(&a) == safe_key(&b), a == b);
        }
    }
}
