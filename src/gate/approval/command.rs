//! The command in a comment: `/kelvin approve REASON` or `/kelvin reject REASON`.

use super::decide::Act;

/// The longest reason that is kept, in characters.
const REASON: usize = 500;
/// What stands for a reason in the comment that asks; whoever copies it has given none.
const PLACEHOLDER: &str = "REASON";

/// The command that a comment is, with its reason; none where it is no command. The command is the
/// first line, whole: a quote of it, a command in a sentence or below a sentence is none.
pub(crate) fn read(body: &str) -> Option<(Act, String)> {
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
    let reason = crate::page::safe::line(reason);
    let reason = match says_something(&reason) {
        true => reason.chars().take(REASON).collect(),
        false => String::new(),
    };
    Some((act, reason))
}

/// Whether somebody can read a reason there: it has a letter or a digit that is seen, and is not the word that
/// stands for a reason in what asks for it.
fn says_something(reason: &str) -> bool {
    // Letters by their kind, and nothing on the screen.
    let is_blank = |sign: char| matches!(sign, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    let is_seen = |sign: char| sign.is_alphanumeric() && !is_blank(sign);
    reason.trim() != PLACEHOLDER && reason.chars().take(REASON).any(is_seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_first_line_and_nothing_else_is() {
        let approve = |reason: &str| Some((Act::Approve, reason.to_owned()));
        assert_eq!(
            read("/kelvin approve the model was retired"),
            approve("the model was retired")
        );
        assert_eq!(
            read("/kelvin  approve  twice \r\nand more"),
            approve("twice")
        );
        assert_eq!(read("/kelvin approve"), approve(""));
        assert_eq!(
            read("/kelvin reject no"),
            Some((Act::Reject, "no".to_owned()))
        );
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
            let read = read(&format!("/kelvin approve {reason}"));
            assert_eq!(read, Some((Act::Approve, String::new())), "{reason:?}");
        }
        for reason in ["旧い", "v2", "a REASON"] {
            let read = read(&format!("/kelvin approve {reason}"));
            assert_eq!(read, Some((Act::Approve, reason.to_owned())));
        }
    }

    #[test]
    fn a_reason_is_one_harmless_line_of_bounded_length() {
        let (_, reason) = read(&format!(
            "/kelvin approve \u{202e}x\u{1b}[31m{}",
            "y".repeat(9_000)
        ))
        .expect("it is a command");
        assert!(reason.chars().count() <= REASON);
        assert!(!reason.contains('\u{202e}') && !reason.contains('\u{1b}'));
    }
}
