//! The hidden first line of a comment: its key, and the run that wrote it.

use crate::publish::Context;
use kelvin_base::digest::Digest;

/// The longest key that is written unchanged in a marker.
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

    /// Whether the result of this run is older than that of `other`. On the same commit, a person who runs a job again
    /// wants to see the new result.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        if self.run == other.run {
            return self.attempt < other.attempt;
        }
        let again = self.attempt > 1 && self.head == other.head;
        self.run < other.run && !again
    }
}

/// The first line of a comment.
pub(super) fn write(key: &str, stamp: &CommentStamp) -> String {
    format!(
        "{}head={} run={} attempt={} -->\n",
        prefix(key),
        plain(&stamp.head),
        stamp.run,
        stamp.attempt
    )
}

/// The stamp of a comment with this key; none where the comment is not ours.
pub(super) fn read(key: &str, body: &str) -> Option<CommentStamp> {
    let line = body.lines().next()?.strip_prefix(&prefix(key))?;
    let mut stamp = CommentStamp::default();
    for word in line.strip_suffix("-->")?.split_whitespace() {
        match word.split_once('=')? {
            ("head", value) => stamp.head = value.to_owned(),
            ("run", value) => stamp.run = value.parse().ok()?,
            ("attempt", value) => stamp.attempt = value.parse().ok()?,
            // A later version may have further fields.
            _ => {}
        }
    }
    Some(stamp)
}

fn prefix(key: &str) -> String {
    format!("<!-- kelvin-action:{} ", safe_key(key))
}

/// A key that can neither close the comment nor be taken for another key: everything except letters, digits and a few
/// signs is written as bytes, and the end of a long key is replaced by its digest.
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
    use proptest::prelude::*;

    use super::*;

    fn stamp(run: u64, attempt: u64, head: &str) -> CommentStamp {
        CommentStamp {
            head: head.to_owned(),
            run,
            attempt,
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_only_with_its_own_key() {
        let line = write("Kelvin / check / rag", &stamp(7, 2, "abc"));
        assert_eq!(
            line,
            "<!-- kelvin-action:Kelvin%20/%20check%20/%20rag head=abc run=7 attempt=2 -->\n"
        );
        assert_eq!(
            read("Kelvin / check / rag", &format!("{line}text")),
            Some(stamp(7, 2, "abc"))
        );
        assert_eq!(read("Kelvin / check", &line), None);
        assert_eq!(
            read("Kelvin / check / rag", &format!("hello\n{line}")),
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
            let line = write(&key, &stamp(1, 1, &head));
            let inner = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->\n"));
            let inner = inner.expect("it is a comment");
            prop_assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n'));
            prop_assert!(line.len() < 400);
            prop_assert!(read(&key, &line).is_some());
        }

        #[test]
        fn two_keys_never_have_one_marker(a in ".{0,40}", b in ".{0,40}") {
            prop_assert_eq!(safe_key(&a) == safe_key(&b), a == b);
        }
    }
}
