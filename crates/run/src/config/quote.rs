//! Text as a YAML scalar that reads back as the same text.

use std::fmt::Write as _;

/// Quotes a text for a block mapping or a block list: plain where no part of it could be read as
/// anything else, in double quotes otherwise.
pub fn quote(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_hidden(character) => {
                let code = u32::from(character);
                // Writing to a string cannot fail.
                let _ = match code {
                    0..=0xff => write!(quoted, "\\x{code:02x}"),
                    0x100..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Allows letters, digits and characters that cannot begin, end or divide anything in YAML. Numbers and words
/// that some reader takes for a boolean or for null need quotes.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let inner = |c: char| c.is_ascii_alphanumeric() || " _./-+={}<>|$".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && !WORDS.contains(&&*text.to_ascii_lowercase())
}

/// Characters that a reader of the file could not see, or that YAML does not allow.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{a0}'
                | '\u{ad}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{feff}'
        )
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::yaml;

    fn read_back(scalar: &str) -> (String, String) {
        let file = format!("key: {scalar} # a comment\nlist:\n  - {scalar}\n");
        let tree = yaml::parse(&file).unwrap_or_else(|problem| panic!("{problem:?} in {file}"));
        let (value, _) = tree.text(&["key"]).unwrap_or_else(|| panic!("{file}"));
        let (item, _) = tree.texts(&["list"])[0];
        (value.to_owned(), item.to_owned())
    }

    #[test]
    fn everyday_text_stays_plain() {
        for text in [
            "cases",
            "gate_rule",
            "./run.sh {input} {output}",
            "/result/a",
        ] {
            let expected = if text.starts_with('.') {
                format!("\"{text}\"")
            } else {
                text.to_owned()
            };
            assert_eq!(quote(text), expected);
        }
        assert_eq!(
            quote("python3 p.py {input} {output}"),
            "python3 p.py {input} {output}"
        );
    }

    #[test]
    fn text_that_looks_like_something_else_reads_back_as_text() {
        for text in [
            "",
            " ",
            "true",
            "NO",
            "null",
            "~",
            "5",
            "0x1f",
            "1e3",
            ".inf",
            "- a",
            "-a",
            "a: b",
            "a #b",
            "#a",
            "{input}",
            "[a]",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "\"a\"",
            "'a'",
            "a'b",
            "a\\b",
            "a\nb",
            "a\tb",
            " a ",
            "a: ",
            "key:",
            "<<",
            "=",
            "?",
            "? a",
            "|",
            ">",
            "---",
            "...",
            "%YAML",
            "naïve — ünïcode 漢字",
            "\u{202e}abc",
            "\u{feff}",
            "\u{0}",
            "\u{85}",
            "\u{2028}",
            "\u{1f600}",
        ] {
            assert_eq!(
                read_back(&quote(text)),
                (text.to_owned(), text.to_owned()),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in any::<String>()) {
            prop_assert_eq!(read_back(&quote(&text)), (text.clone(), text));
        }

        #[test]
        fn any_text_of_yaml_characters_reads_back(text in "[-a-c0-2 :#{}\\[\\],&*!|>'\"%@`~?=.\\\\\n\t<$/+]{0,12}") {
            prop_assert_eq!(read_back(&quote(&text)), (text.clone(), text));
        }
    }
}
