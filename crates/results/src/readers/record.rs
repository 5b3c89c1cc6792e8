//! One row of a table, before its columns have a meaning.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::node::Node;

/// One field of a record.
pub(super) enum Cell {
    Empty,
    Number(f64),
    Flag(bool),
    Text(String),
    Json(Value),
}

impl Cell {
    pub(super) fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Empty;
        }
        Self::Text(text.to_owned())
    }

    pub(super) fn of(node: &Node<'_>) -> Self {
        match node.value() {
            Value::Null => Self::Empty,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => number.as_f64().map_or(Self::Empty, Self::Number),
            Value::String(text) => Self::of_text(text),
            other => Self::Json(other.clone()),
        }
    }

    /// The cell as text; none if it is empty.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Self::Empty => return None,
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.clone(),
            Self::Json(value) => Node::new(Path::new(""), "", value).canonical(),
        })
    }

    pub(super) fn score(&self) -> Score {
        let text = match self {
            Self::Empty => return Score::Empty,
            Self::Number(number) => return Score::Number(*number),
            Self::Flag(flag) => return Score::Flag(*flag),
            Self::Json(_) => return Score::Text,
            Self::Text(text) => text.trim(),
        };
        match text {
            _ if is_nothing(text) => return Score::Empty,
            _ if is_word(text, &["true", "yes", "pass", "passed", "correct"]) => {
                return Score::Flag(true);
            }
            _ if is_word(text, &["false", "no", "fail", "failed", "incorrect"]) => {
                return Score::Flag(false);
            }
            _ => {}
        }
        let is_written_out = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        match text.parse::<f64>() {
            Ok(number) if is_written_out && number.is_finite() => Score::Number(number),
            _ => Score::Text,
        }
    }
}

/// The meaning of a cell as a score.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Score {
    Empty,
    Number(f64),
    Flag(bool),
    Text,
}

/// Whether a text is one of these words, in small letters, in capital letters, or with a capital one first. Any other
/// mixture was damaged rather than written.
fn is_word(text: &str, words: &[&str]) -> bool {
    let is_it = |word: &&str| {
        let (first, rest) = word.split_at(1);
        let capital = first.to_ascii_uppercase();
        let has_capital = text.strip_prefix(&*capital);
        text == *word
            || has_capital.is_some_and(|end| end == rest || end == rest.to_ascii_uppercase())
    };
    words.iter().any(is_it)
}

/// Whether a text stands for a missing score or a missing error: the words that Python, pandas and JavaScript write for
/// that, and values that are not numbers. As the name of a case or a part of its input, such a text is not special.
fn is_nothing(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let words = [
        "",
        "nan",
        "na",
        "n/a",
        "<na>",
        "none",
        "null",
        "nat",
        "inf",
        "infinity",
        "undefined",
    ];
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A row, whose columns have no meaning yet.
pub(super) struct Record {
    /// Where it stands in the file.
    pub(super) place: String,
    pub(super) cells: BTreeMap<String, Cell>,
}

impl Record {
    pub(super) fn cell(&self, column: &str) -> Option<&Cell> {
        self.cells.get(column)
    }

    /// The text of a column, which may also be a field inside an object, e.g. `inputs.question`.
    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.find(column, Cell::text)
    }

    /// The error message in a column of errors.
    pub(super) fn error(&self, column: &str) -> Option<String> {
        self.text(column).filter(|text| !is_nothing(text))
    }

    pub(super) fn score(&self, column: &str) -> Score {
        self.find(column, |cell| Some(cell.score()))
            .unwrap_or(Score::Empty)
    }

    pub(super) fn find<T>(&self, column: &str, take: impl Fn(&Cell) -> Option<T>) -> Option<T> {
        if let Some(cell) = self.cell(column) {
            return take(cell);
        }
        let (first, rest) = column.split_once('.')?;
        let Cell::Json(value) = self.cell(first)? else {
            return None;
        };
        let mut value = value;
        for key in rest.split('.') {
            value = value.get(key)?;
        }
        take(&Cell::of(&Node::new(Path::new(""), "", value)))
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.find(column, |_| Some(())).is_some()
    }
}
