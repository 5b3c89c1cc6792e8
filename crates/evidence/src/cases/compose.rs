//! Writes the text of a case from its parts so that reading the text gives the same parts again. Where Markdown would
//! read more into a part, e.g. a heading, the part is put into a code block.

use super::Case;
use super::markdown::{BLANK, type_of};
use crate::config::unit_type;

/// A unit to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUnit {
    /// The heading, from which the type of the unit is made.
    pub heading: String,
    /// The text below the heading.
    pub text: String,
}

/// The text of a case.
///
/// # Errors
///
/// Where no text can be written that is read as these parts, e.g. for a heading without a word.
pub fn compose(preamble: &str, units: &[NewUnit]) -> Result<String, String> {
    let preamble = match preamble {
        "" => String::new(),
        text if stands_before_units(text) => format!("{text}\n\n"),
        text => format!("{}\n\n", fenced(text)),
    };
    let mut bodies = Vec::with_capacity(units.len());
    for NewUnit { heading, text } in units {
        let heading = heading_line(heading)?;
        let text = match stands_alone(text) {
            true => text.clone(),
            false => fenced(text),
        };
        bodies.push(format!("{heading}\n\n{text}"));
    }
    let mut case = preamble.clone() + &bodies.join("\n\n");
    if !units.is_empty() {
        case.push('\n');
    }
    // The written text is parsed once as a check: no part may change the meaning of another.
    let read = Case::parse("new", "new.md", case.as_str()).map_err(|problems| {
        let first = problems.into_iter().next();
        first.map_or_else(String::new, |problem| problem.what)
    })?;
    let same = read.units.len() == units.len()
        && (units.is_empty() || read.preamble() == preamble)
        && read
            .units
            .iter()
            .zip(&bodies)
            .all(|(unit, body)| read.body(unit) == body);
    match same {
        true => Ok(case),
        false => Err("its texts cannot be written as one Markdown file".to_owned()),
    }
}

/// A heading line whose type is that of the name. Markup characters in the name are escaped, so that the line has no
/// markup.
fn heading_line(name: &str) -> Result<String, String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let words = words.join(" ");
    let wanted = unit_type(&words);
    let plain = format!("## {words}");
    if !wanted.is_empty() && type_of(&plain) == wanted {
        return Ok(plain);
    }
    let mut escaped = String::from("## ");
    for c in words.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    match !wanted.is_empty() && type_of(&escaped) == wanted {
        true => Ok(escaped),
        false => Err(format!("`{name}` cannot be the heading of a unit")),
    }
}

/// Whether a text can stand before the units without a change.
fn stands_before_units(text: &str) -> bool {
    let probed = format!("{text}\n\n## x\n");
    let read = Case::parse("new", "new.md", probed);
    !begins_a_fence(text)
        && read.is_ok_and(|case| {
            let starts: Vec<usize> = case.units.iter().map(|unit| unit.body.start).collect();
            starts == [text.len() + 2]
        })
}

/// Whether a text can be the whole text of a unit without a change.
fn stands_alone(text: &str) -> bool {
    let body = format!("## x\n\n{text}");
    let read = Case::parse("new", "new.md", format!("{body}\n"));
    !begins_a_fence(text)
        && !text.ends_with(BLANK)
        && !text.is_empty()
        && read.is_ok_and(|case| matches!(&case.units[..], [unit] if case.body(unit) == body))
}

/// Whether a text begins with a fence: it could be taken for a text that was put into a code block.
fn begins_a_fence(text: &str) -> bool {
    text.starts_with("```")
}

/// A text in a code block whose fence is longer than any run of backticks in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// The text that a part of a case was made of.
#[cfg(test)]
pub(super) fn text_of(part: &str) -> &str {
    if !begins_a_fence(part) {
        return part;
    }
    let ticks = part.len() - part.trim_start_matches('`').len();
    let inside = part[ticks..].strip_prefix("text\n");
    let inside = inside.and_then(|rest| rest.strip_suffix(&"`".repeat(ticks)));
    inside
        .and_then(|rest| rest.strip_suffix('\n'))
        .expect("it was put into a code block")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The parts of a text, as a reader finds them.
    fn parts(text: &str) -> (String, Vec<(String, String)>) {
        let case = Case::parse("a", "a.md", text).expect("it can be read");
        let preamble = case.preamble().strip_suffix("\n\n").unwrap_or_default();
        let units = case.units.iter().map(|unit| {
            let body = case.body(unit);
            let (_, text) = body.split_once("\n\n").expect("a heading and a text");
            (unit.unit_type.to_string(), text_of(text).to_owned())
        });
        (text_of(preamble).to_owned(), units.collect())
    }

    fn units(units: &[(&str, &str)]) -> Vec<NewUnit> {
        let unit = |(heading, text): &(&str, &str)| NewUnit {
            heading: (*heading).to_owned(),
            text: (*text).to_owned(),
        };
        units.iter().map(unit).collect()
    }

    #[test]
    fn plain_text_is_written_as_it_is() {
        let text = compose(
            "Is it paid?",
            &units(&[("Gate Rule", "If x.\n- y"), ("facts", "x")]),
        );
        assert_eq!(
            text.as_deref(),
            Ok("Is it paid?\n\n## Gate Rule\n\nIf x.\n- y\n\n## facts\n\nx\n")
        );
    }

    #[test]
    fn what_is_structure_to_markdown_stands_in_a_code_block() {
        let text = compose(
            "---\na",
            &units(&[("a", "x\n\n## b\n\ny"), ("c", "```\nx"), ("d", "<!--")]),
        );
        assert_eq!(
            text.as_deref(),
            Ok(
                "```text\n---\na\n```\n\n## a\n\n```text\nx\n\n## b\n\ny\n```\n\n## c\n\n````text\n```\nx\n````\n\n\
                ## d\n\n```text\n<!--\n```\n"
            )
        );
    }

    #[test]
    fn a_heading_is_its_own_text_or_is_refused() {
        for name in [
            "*x*",
            "a `b`",
            "# #",
            "[a](b)",
            "Straße & Co",
            "1. a",
            "a\n## b",
            "x ##",
            "\\",
        ] {
            let text = compose("", &units(&[(name, "t")])).expect("it can be written");
            assert_eq!(
                parts(&text).1,
                [(unit_type(name), "t".to_owned())],
                "{text}"
            );
        }
        for name in ["", " \n"] {
            assert!(compose("", &units(&[(name, "t")])).is_err());
        }
    }

    /// Signs that mean something to Markdown, and ends of lines.
    const PIECES: &[&str] = &[
        "#",
        "##",
        "## ",
        "-",
        "- ",
        "---",
        "+++",
        "```",
        "~~~",
        "````text\n",
        "<",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "<?",
        "&amp;",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "    ",
        ">",
        "1. ",
        "|",
        "=",
        "===",
        "[a]: b",
        "[a]",
        "\\",
        "`",
        "*",
        "_",
        "\u{feff}",
        "\u{a0}",
        "\u{2028}",
        "\u{0}",
        "x",
        "word",
        "é",
        "界",
    ];

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(proptest::sample::select(PIECES), 1..14)
            .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn every_text_comes_back_as_it_was(
            preamble in text(),
            texts in proptest::collection::vec(text(), 1..4),
        ) {
            let given: Vec<(&str, &str)> = texts.iter().map(|text| ("A Type", &**text)).collect();
            let written = compose(&preamble, &units(&given));
            let written = written.expect("every text can be written");
            let (read_preamble, read) = parts(&written);
            prop_assert_eq!(read_preamble, preamble);
            let read: Vec<String> = read.into_iter().map(|(_, text)| text).collect();
            prop_assert_eq!(read, texts);
        }
    }
}
