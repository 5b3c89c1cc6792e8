//! YAML text as a tree in which every node knows its position, so that all problems of a file can be found in one pass.
//! No other module depends on the YAML library.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_yaml::{Error, Location, MessageFormatter as _, Spanned};
use std::fmt;
use std::fmt::Write as _;
use std::ops::Range;

use super::diagnostic::Problem;

/// A larger text is rejected before it is parsed.
const MOST_BYTES: usize = 1 << 20;

/// The limits for the content of a file. The limit for aliases is the same for all files: nobody needs many aliases,
/// and a few lines of them can expand to more than any machine can store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YamlLimits {
    /// The maximum size in bytes.
    pub bytes: usize,
    /// The maximum number of values, including keys.
    nodes: usize,
}

impl YamlLimits {
    /// The limits for a configuration, which a person writes.
    pub const CONFIGURATION: Self = Self {
        bytes: MOST_BYTES,
        nodes: 50_000,
    };
    /// The limits for a list of items, which a program may have written: a hundred thousand items with about ten values
    /// each.
    pub const ITEMS: Self = Self {
        bytes: 64 * MOST_BYTES,
        nodes: 2_000_000,
    };
}

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// The byte range in the source; only its beginning if the value spans several lines.
    pub at: Range<usize>,
    /// The content of the node.
    pub content: Content,
}

/// The types of a node according to the core schema of YAML 1.2: `no` and `on` are strings.
#[derive(Clone, Debug)]
pub enum Content {
    /// An empty value, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that was written without a decimal point.
    Integer(Number),
    /// Any other number, including infinity and NaN if the file contains them.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the source; keys are distinct.
    Map(Vec<(Key, Node)>),
}

/// A key and its position.
#[derive(Clone, Debug)]
pub struct Key {
    /// The byte range in the source.
    pub at: Range<usize>,
    /// The key.
    pub text: String,
}

impl Node {
    /// The value under a path of keys, if it is there.
    pub fn get(&self, path: &[&str]) -> Option<&Self> {
        let [first, rest @ ..] = path else {
            return Some(self);
        };
        let Content::Map(entries) = &self.content else {
            return None;
        };
        let (_, node) = entries.iter().find(|(key, _)| key.text == *first)?;
        node.get(rest)
    }

    /// The position of the value under a path of keys; the whole file if the value does not exist.
    pub fn place(&self, path: &[&str]) -> Range<usize> {
        self.get(path).map_or(0..0, |node| node.at.clone())
    }

    /// The entries of the mapping under a path of keys; none if there is no mapping.
    pub fn entries(&self, path: &[&str]) -> &[(Key, Self)] {
        match self.get(path).map(|node| &node.content) {
            Some(Content::Map(entries)) => entries,
            _ => &[],
        }
    }

    /// The path of the innermost key whose position contains this position, e.g. `prompts[2].id`.
    pub fn key_at(&self, place: &Range<usize>) -> Option<String> {
        // A problem of the whole file belongs to no key.
        let is_in = |at: &Range<usize>| *place != (0..0) && at.contains(&place.start);
        let below = |name: &dyn Fn() -> String, node: &Self| match node.key_at(place) {
            Some(rest) if rest.starts_with('[') => Some(name() + &rest),
            Some(rest) => Some(format!("{}.{rest}", name())),
            None => is_in(&node.at).then(name),
        };
        match &self.content {
            Content::Map(entries) => entries.iter().find_map(|(key, node)| {
                let is_key = is_in(&key.at).then(|| key.text.clone());
                is_key.or_else(|| below(&|| key.text.clone(), node))
            }),
            Content::List(items) => {
                let found = |at: usize| below(&|| format!("[{at}]"), items.get(at)?);
                // Items are in the order of the source, except those that an alias repeats.
                let likely = items.partition_point(|item| item.at.start <= place.start);
                let likely = likely.checked_sub(1).and_then(found);
                likely.or_else(|| (0..items.len()).find_map(found))
            }
            Content::Null
            | Content::Bool(_)
            | Content::Integer(_)
            | Content::Float(_)
            | Content::Text(_) => None,
        }
    }

    /// The string under a path of keys, with its position.
    pub fn text(&self, path: &[&str]) -> Option<(&str, &Range<usize>)> {
        let node = self.get(path)?;
        match &node.content {
            Content::Text(text) => Some((text, &node.at)),
            _ => None,
        }
    }

    /// The strings of the list under a path of keys, each with its position. Entries of other types are skipped.
    pub fn texts(&self, path: &[&str]) -> Vec<(&str, &Range<usize>)> {
        let Some(Content::List(items)) = self.get(path).map(|node| &node.content) else {
            return Vec::new();
        };
        let texts = items.iter().filter_map(|item| item.text(&[]));
        texts.collect()
    }

    /// The value as JSON, without positions.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(*value),
            Content::Integer(value) => Value::Number(value.clone()),
            Content::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(entries) => entries
                .iter()
                .map(|(key, node)| (key.text.clone(), node.to_json()))
                .collect(),
        }
    }
}

/// Parses one document. Text that is not YAML, a repeated key, a second document or exceeding a limit is a problem.
pub fn parse(source: &str) -> Result<Node, Problem> {
    parse_within(source, YamlLimits::CONFIGURATION)
}

/// Parses one document like [`parse`], with other limits.
///
/// # Errors
///
/// Fails like [`parse`].
pub fn parse_within(source: &str, room: YamlLimits) -> Result<Node, Problem> {
    if source.len() > room.bytes {
        let message = format!(
            "{} bytes are too many; a file may have {} MiB",
            source.len(),
            room.bytes / MOST_BYTES
        );
        return Err(Problem::new(0..0, message));
    }
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_nodes: room.nodes,
            max_events: 3 * room.nodes,
            max_depth: 32,
            max_documents: 2,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 20_000 },
        non_finite_float_policy: serde_yaml::options::NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_yaml::from_str_with_options(source, options).map_err(|error| explain(&error, source))
}

/// Explains an error of the YAML library, with advice for common mistakes.
fn explain(error: &Error, source: &str) -> Problem {
    let at = error
        .location()
        .map_or(0..0, |location| place(&location, source));
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let message = match key {
                Some(key) => format!("the key `{key}` is there twice"),
                None => "a key is there twice".to_owned(),
            };
            return Problem::new(at, message).help("leave one of them out");
        }
        Error::MultipleDocuments { .. } => {
            let problem = Problem::new(at, "a second document begins here");
            return problem.help("a file holds one document: remove the line `---` before it");
        }
        _ => {}
    }
    let text = serde_yaml::UserMessageFormatter.format_message(error);
    if text.contains("too large or too complex") {
        return Problem::new(at, "this is more than one file may hold")
            .help("write the values out, without aliases, and nest them less deep");
    }
    let problem = Problem::new(at, format!("this is not YAML: {text}"));
    match slip(&text) {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// Advice for the most common mistakes, which are recognised by the message of the YAML library.
fn slip(text: &str) -> Option<&'static str> {
    const SLIPS: &[(&str, &str)] = &[
        ("tab", "indent with spaces"),
        (
            "mapping values are not allowed",
            "text that holds `: ` goes in quotes; a key needs the indentation of its neighbours",
        ),
        (
            "expected key",
            "text that begins with `{`, `[`, `*`, `&`, `!` or a quote goes in quotes as a whole",
        ),
        (
            "unclosed bracket",
            "text that begins with `{` or `[` goes in quotes",
        ),
        ("recursion limit", "nest the values less deep"),
        (
            "quoted scalar",
            "a quote that opens must close, in this line or the one above; in a text, double it",
        ),
        ("unknown value", "text that begins with `*` goes in quotes"),
        (
            "unexpected character",
            "remove the character, or write it as an escape in double quotes",
        ),
    ];
    let (_, help) = SLIPS.iter().find(|(words, _)| text.contains(words))?;
    Some(help)
}

/// The byte range of a location; a syntax error has only a line and a column.
fn place(location: &Location, source: &str) -> Range<usize> {
    let span = location.span();
    if let (Some(start), Some(length)) = (span.byte_offset(), span.byte_len()) {
        let start = source.floor_char_boundary(start as usize);
        return start..source.ceil_char_boundary(start + length as usize);
    }
    let line = location.line().saturating_sub(1) as usize;
    let before: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let column = location.column().saturating_sub(1) as usize;
    let rest = source[before..].chars().take(column).map(char::len_utf8);
    let start = before + rest.sum::<usize>();
    start..source.ceil_char_boundary(start + 1)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self {
            at: bytes(&spanned.referenced),
            content: spanned.value,
        })
    }
}

/// The byte range of a location without the source text.
fn bytes(location: &Location) -> Range<usize> {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0) as usize;
    start..start + span.byte_len().unwrap_or(0) as usize
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Node>()? {
            let key = Key {
                at: bytes(&key.referenced),
                text: key.value,
            };
            entries.push((key, node));
        }
        Ok(Content::Map(entries))
    }
}

/// Quotes a text for a block mapping or a block list: unquoted if no part of it has another meaning, otherwise in
/// double quotes.
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

/// Whether a text needs no quotes: it has only letters, digits and characters without a special meaning in YAML.
/// Numbers and words that some parser reads as a boolean or as null need quotes.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let inner = |c: char| c.is_ascii_alphanumeric() || " _./-+={}<>|$".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && !WORDS.contains(&&*text.to_ascii_lowercase())
}

/// Whether a reader of the file could not see a character, or YAML does not allow it.
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
