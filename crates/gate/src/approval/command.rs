//! The command in a comment: `/kelvin approve ID REASON` or `/kelvin reject ID REASON`, in which the id of the request
//! may be omitted.

use super::decide::Act;
use super::request::ID;

/// The maximum length of a stored reason, in characters.
const REASON: usize = 500;
/// The placeholder for a reason in the comment that asks for approval. A comment that copies it gives no reason.
const PLACEHOLDER: &str = "REASON";

/// The decision in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalCommand {
    /// The act that the comment asks for.
    pub act: Act,
    /// The id of the request in the comment; none if the comment has no id.
    pub names: Option<String>,
    /// The reason in the comment; empty if it has no readable text.
    pub reason: String,
}

/// The command in a comment; none if there is no command. The command must be the whole first line: a quoted command,
/// or a command inside or below a sentence, does not count.
pub fn read(body: &str) -> Option<ApprovalCommand> {
    let line = body.lines().next()?;
    let rest = line.strip_prefix("/kelvin")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    let (verb, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let act = match verb {
        "approve" => Act::Approve,
        "reject" => Act::Reject,
        _ => return None,
    };
    let (first, rest) = match reason.trim_start().split_once(char::is_whitespace) {
        Some((first, rest)) => (first, rest),
        None => (reason.trim(), ""),
    };
    let (names, reason) = match is_id(first) {
        true => (Some(first.to_owned()), rest),
        false => (None, reason),
    };
    let reason = kelvin_page::safe::line(reason);
    let reason = match says_something(&reason) {
        true => reason.chars().take(REASON).collect(),
        false => String::new(),
    };
    Some(ApprovalCommand { act, names, reason })
}

/// Whether a word is the id of a request, in the form of the comment that asks.
fn is_id(word: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    word.len() == ID && word.bytes().all(is_digit)
}

/// Whether a reason has readable content: it has a visible letter or digit, and is not the placeholder of the comment
/// that asks.
fn says_something(reason: &str) -> bool {
    // These characters are letters according to Unicode, but they are invisible.
    let is_blank = |sign: char| matches!(sign, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    let is_seen = |sign: char| sign.is_alphanumeric() && !is_blank(sign);
    reason.trim() != PLACEHOLDER && reason.chars().take(REASON).any(is_seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_first_line_and_nothing_else_is() {
        let command = |act, reason: &str| {
            Some(ApprovalCommand {
                act,
                names: None,
                reason: reason.to_owned(),
            })
        };
        let approve = |reason: &str| command(Act::Approve, reason);
        assert_eq!(
            read("/kelvin approve the model was retired"),
            approve("the model was retired")
        );
        assert_eq!(
            read("/kelvin  approve  twice \r\nand more"),
            approve("twice")
        );
        assert_eq!(read("/kelvin approve"), approve(""));
        assert_eq!(read("/kelvin reject no"), command(Act::Reject, "no"));
        for none in [
            "",
            "> /kelvin approve x",
            " /kelvin approve x",
            "please /kelvin approve x",
            "hello\n/kelvin approve x",
            "/kelvin approved x",
            "/kelvin Approve x",
            "/kelvinapprove x",
            "/kelvin",
            "`/kelvin approve x`",
            "<!-- -->/kelvin approve x",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_reason_that_nobody_can_read_is_none() {
        for reason in [
            "REASON",
            "\u{200b}",
            "\u{3164}\u{2800}",
            ".",
            "<!-- -->",
            "👍",
        ] {
            for id in ["", "0a1b2c3d4e5f "] {
                let read = read(&format!("/kelvin approve {id}{reason}"));
                let read = read.expect("it is a command");
                assert_eq!((read.act, &*read.reason), (Act::Approve, ""), "{reason:?}");
            }
        }
        for reason in ["旧い", "v2", "a REASON"] {
            let read = read(&format!("/kelvin approve {reason}"));
            assert_eq!(read.expect("it is a command").reason, reason);
        }
    }

    #[test]
    fn a_command_names_a_request_by_its_whole_id_and_by_nothing_shorter() {
        for (text, names, reason) in [
            ("0a1b2c3d4e5f because", Some("0a1b2c3d4e5f"), "because"),
            ("  0a1b2c3d4e5f\tbecause", Some("0a1b2c3d4e5f"), "because"),
            ("0a1b2c3d4e5f", Some("0a1b2c3d4e5f"), ""),
            ("0a1b2c3 because", None, "0a1b2c3 because"),
            ("0A1B2C3D4E5F because", None, "0A1B2C3D4E5F because"),
            ("because 0a1b2c3d4e5f", None, "because 0a1b2c3d4e5f"),
        ] {
            let read = read(&format!("/kelvin reject {text}")).expect("it is a command");
            assert_eq!(
                (read.names.as_deref(), &*read.reason),
                (names, reason),
                "{text}"
            );
        }
    }

    #[test]
    fn a_reason_is_one_harmless_line_of_bounded_length() {
        let read = read(&format!(
            "/kelvin approve \u{202e}x\u{1b}[31m{}",
            "y".repeat(9_000)
        ));
        let reason = read.expect("it is a command").reason;
        assert!(reason.chars().count() <= REASON);
        assert!(!reason.contains('\u{202e}') && !reason.contains('\u{1b}'));
    }
}
