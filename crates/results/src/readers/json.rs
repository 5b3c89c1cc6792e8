//! JSON of other programs: read item by item, with the position of every value, and strictly where `serde_json` is
//! lenient.
//!
//! An object with a duplicate key is rejected: `serde_json` would keep the last value and silently lose a score. `NaN`
//! and `Infinity`, which Python writes although JSON does not allow them, are read as `null`.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::ReadError;
use super::node::Node;

/// How to walk through a document. Patterns are positions without indices, such as `results.results[]`; the root is the
/// empty pattern.
#[derive(Clone, Copy, Default)]
pub(super) struct Walk<'a> {
    /// The items that are passed on one by one, so that a large file is never completely in memory.
    pub each: &'a [&'a str],
    /// The objects of which only these keys are read; all other keys are skipped, even if they are large.
    pub only: &'a [(&'a str, &'a [&'a str])],
}

/// Opens a file of results.
pub(super) fn open(file: &Path) -> Result<BufReader<File>, ReadError> {
    let opened = File::open(file).map_err(|error| ReadError::unreadable(file, &error))?;
    Ok(BufReader::with_capacity(1 << 16, opened))
}

/// Parses one document. Everything that is not passed on item by item is returned, with empty lists in place of the
/// items.
pub(super) fn walk(
    file: &Path,
    source: impl Read,
    walk: Walk<'_>,
    mut take: impl FnMut(Node<'_>) -> Result<(), ReadError>,
) -> Result<Value, ReadError> {
    let state = RefCell::new(State {
        take: &mut take,
        refused: None,
    });
    let seed = Seed {
        file,
        walk,
        place: String::new(),
        state: &state,
    };
    let mut deserializer = serde_json::Deserializer::from_reader(WithoutConstants::new(source));
    let whole = seed.deserialize(&mut deserializer);
    let whole = whole.and_then(|value| deserializer.end().map(|()| value));
    let refused = state.into_inner().refused;
    whole.map_err(|error| refused.unwrap_or_else(|| not_json(file, &error)))
}

/// Parses a small document, or one of many lines.
pub(super) fn value(file: &Path, source: impl Read) -> Result<Value, ReadError> {
    walk(file, source, Walk::default(), |_| Ok(()))
}

/// Reads a file with one object per line, and passes on each object with its line as its position. Empty lines are
/// skipped.
pub(super) fn lines(
    file: &Path,
    mut take: impl FnMut(Node<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut source = open(file)?;
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let read = source.read_until(b'\n', &mut line);
        if read.map_err(|error| ReadError::unreadable(file, &error))? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = format!("line {number}: ");
        let value = value(file, line.as_slice());
        let value = value.map_err(|error| error.within(file, place.trim_end_matches(": ")))?;
        take(Node::new(file, place, &value))?;
    }
    Ok(())
}

fn not_json(file: &Path, error: &serde_json::Error) -> ReadError {
    let help = "the file is cut short or was edited by hand; let the evaluator write it again";
    ReadError::new(
        file,
        "",
        format!("this is no JSON that can be used: {error}"),
        help,
    )
}

struct State<'t> {
    take: &'t mut dyn FnMut(Node<'_>) -> Result<(), ReadError>,
    /// Why an item was rejected; kept here because an error of `serde` can only contain a text.
    refused: Option<ReadError>,
}

struct Seed<'s, 't> {
    file: &'s Path,
    walk: Walk<'s>,
    place: String,
    state: &'s RefCell<State<'t>>,
}

impl Seed<'_, '_> {
    fn inner(&self, step: &str) -> Self {
        let place = format!("{}{step}", self.place);
        Self { place, ..*self }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let pattern = format!("{}[]", without_indices(&self.place));
        let is_handed_on = self.walk.each.contains(&pattern.as_str());
        let mut kept = Vec::new();
        for index in 0_usize.. {
            let seed = self.inner(&format!("[{index}]"));
            let Some(item) = items.next_element_seed(seed)? else {
                break;
            };
            if !is_handed_on {
                kept.push(item);
                continue;
            }
            let mut state = self.state.borrow_mut();
            let node = Node::new(self.file, format!("{}[{index}]", self.place), &item);
            if let Err(error) = (state.take)(node) {
                state.refused = Some(error);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let pattern = without_indices(&self.place);
        let only = self.walk.only.iter().find(|(place, _)| *place == pattern);
        let mut kept = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if only.is_some_and(|(_, keys)| !keys.contains(&key.as_str())) {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let dot = if self.place.is_empty() { "" } else { "." };
            let inner = self.inner(&format!("{dot}{key}"));
            if kept.contains_key(&key) {
                let what = format!("`{}` stands twice", inner.place);
                return Err(A::Error::custom(what));
            }
            let value = entries.next_value_seed(inner)?;
            kept.insert(key, value);
        }
        Ok(Value::Object(kept))
    }
}

/// A position as a pattern: `evals[0].results[12]` becomes `evals[].results[]`.
fn without_indices(place: &str) -> String {
    let mut within = false;
    let kept = |c: &char| {
        match c {
            '[' => within = true,
            ']' => within = false,
            _ => return !within,
        }
        true
    };
    place.chars().filter(kept).collect()
}

/// Passes JSON on without the byte order mark, and with `null` for `NaN`, `Infinity` and `-Infinity`.
struct WithoutConstants<R> {
    source: BufReader<R>,
    /// The bytes that are passed on before the source is read further, and how many of them already were.
    ahead: (Vec<u8>, usize),
    is_in_text: bool,
    is_escaped: bool,
    is_begun: bool,
}

impl<R: Read> WithoutConstants<R> {
    fn new(source: R) -> Self {
        Self {
            source: BufReader::with_capacity(1 << 16, source),
            ahead: (Vec::new(), 0),
            is_in_text: false,
            is_escaped: false,
            is_begun: false,
        }
    }

    /// Reads the word that begins here. It is at most as long as the longest constant.
    fn word(&mut self) -> io::Result<Vec<u8>> {
        let mut word = Vec::new();
        while word.len() < "-Infinity".len() {
            let Some(&next) = self.source.fill_buf()?.first() else {
                break;
            };
            let is_sign = word.is_empty() && next == b'-';
            if !next.is_ascii_alphabetic() && !is_sign {
                break;
            }
            self.source.consume(1);
            word.push(next);
        }
        Ok(word)
    }
}

impl<R: Read> Read for WithoutConstants<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.is_begun {
            self.is_begun = true;
            if self.source.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
                self.source.consume(3);
            }
        }
        if self.ahead.1 < self.ahead.0.len() {
            let count = (&self.ahead.0[self.ahead.1..]).read(out)?;
            self.ahead.1 += count;
            return Ok(count);
        }
        let from = self.source.fill_buf()?;
        let most = from.len().min(out.len());
        let mut count = 0;
        while count < most {
            let byte = from[count];
            if self.is_in_text {
                let is_end = byte == b'"' && !self.is_escaped;
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                self.is_in_text = !is_end;
            } else if matches!(byte, b'N' | b'I' | b'-') {
                break;
            } else {
                self.is_in_text = byte == b'"';
            }
            out[count] = byte;
            count += 1;
        }
        if count > 0 || most == 0 {
            self.source.consume(count);
            return Ok(count);
        }
        let mut word = self.word()?;
        if [&b"NaN"[..], b"Infinity", b"-Infinity"].contains(&word.as_slice()) {
            word = b"null".to_vec();
        }
        self.ahead = (word, 0);
        self.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, ReadError> {
        value(Path::new("r.json"), text.as_bytes())
    }

    #[test]
    fn constants_of_python_are_null_outside_of_texts_only() {
        let value = read(r#"[NaN, -Infinity, Infinity, -1, "NaN \" Infinity", -2.5]"#);
        let expected = serde_json::json!([null, null, null, -1, "NaN \" Infinity", -2.5]);
        assert_eq!(value, Ok(expected));
        assert!(read("[Nan]").is_err());
        assert!(read("[-NaN]").is_err());
        assert!(read("[NaNa]").is_err());
        assert!(read("[Infinityy]").is_err());
    }

    #[test]
    fn constants_are_found_at_any_edge_of_a_buffer() {
        for size in 1..40 {
            let text = format!("{}[NaN,-Infinity,-7,Infinity]", " ".repeat(65_540 - size));
            assert_eq!(read(&text), Ok(serde_json::json!([null, null, -7, null])));
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_with_its_place() {
        let error = read(r#"{"a": [{"b": 1, "b": 2}]}"#).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.json`: this is no JSON that can be used: `a[0].b` stands twice at line 1 column 20; the file is cut short or was edited by hand; let the evaluator write it again");
    }

    #[test]
    fn items_are_handed_on_with_their_places_and_without_what_is_skipped() {
        let text = r#"{"x": 1, "e": [{"r": [{"s": 1, "t": [2]}, {"s": 3}]}, {"r": []}]}"#;
        let plan = Walk {
            each: &["e[].r[]"],
            only: &[("e[].r[]", &["s"])],
        };
        let mut seen = Vec::new();
        let whole = walk(Path::new("r.json"), text.as_bytes(), plan, |node| {
            seen.push(format!("{} {}", node.place(), node.canonical()));
            Ok(())
        });
        assert_eq!(seen, [r#"e[0].r[0] {"s":1}"#, r#"e[0].r[1] {"s":3}"#]);
        let rest = serde_json::json!({"x": 1, "e": [{"r": []}, {"r": []}]});
        assert_eq!(whole, Ok(rest));
    }

    #[test]
    fn what_is_deeper_than_any_result_is_refused_and_does_not_overflow() {
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
