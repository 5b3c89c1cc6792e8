//! Reads JUnit XML: one test case is one sample.
//!
//! pytest and promptfoo each write it in their own way. pytest uses `<error>` only for fixtures, and reports an
//! exception in a test as a failure; promptfoo puts the number of the test before its description.

mod document;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kelvin_base::digest::Digest;
use kelvin_page::counted;

use document::{Document, Test};

use super::collect::{Collector, LATENCY, LOWER, PASS, UNKNOWN, YES_NO};
use super::{ReadError, cut};
use crate::{MetricKind, Results, Row};

/// The properties that are not metrics, even if they are numbers.
const CASE: &str = "case_id";
const REPEAT: &str = "repeat";
const INPUT: &str = "input";

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let document = Document::parse(file)?;
    document.check(file)?;
    let root = document
        .suites
        .first()
        .map_or("", |suite| suite.name.as_str());
    let tool = match (document.root.as_deref(), root) {
        (Some("promptfoo"), _) => Tool::Promptfoo,
        (Some("pytest tests"), _) | (_, "pytest") => Tool::Pytest,
        _ => Tool::Other,
    };
    let mut collector = Collector::new(tool.name());
    let tests = document.tests;
    let names = names(file, tool, &tests)?;
    let kinds = properties(file, &tests)?;
    let mut skipped = BTreeSet::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (test, case) in tests.iter().zip(names) {
        if test.is_skipped {
            skipped.insert(case);
            continue;
        }
        let mut row = Row {
            error: test.error(tool),
            ..Row::default()
        };
        if row.error.is_none() {
            let pass = f64::from(u8::from(test.failure.is_none()));
            collector.score(&mut row, PASS, YES_NO, pass);
        }
        for (name, value) in &test.properties {
            match name.as_str() {
                CASE => {}
                REPEAT => row.repeat = Some(test.repeat(file, value)?),
                INPUT => {
                    row.input = Some(Digest::of(value.as_bytes()));
                    row.texts.input = Some(collector.text(value));
                }
                name => {
                    if let Some(kind) = kinds.get(name) {
                        collector.score_or_missing(
                            &mut row,
                            name,
                            *kind,
                            Value::of(value).number(),
                        );
                    }
                }
            }
        }
        if let Some(seconds) = test.time.filter(|_| !kinds.contains_key(LATENCY)) {
            collector.score(&mut row, LATENCY, LOWER, seconds);
        }
        row.case = case;
        let id = (test.class.as_str(), test.name.as_str());
        // pytest writes a second test case if a test ended but the teardown of its fixture failed.
        let first = seen
            .get(&id)
            .filter(|_| tool == Tool::Pytest)
            .map(|first| &mut rows[*first]);
        match first {
            Some(first) if test.fault.is_some() || first.error.is_some() => {
                first.scores.remove(PASS);
                first.error = first.error.take().or(row.error);
            }
            _ => {
                seen.insert(id, rows.len());
                rows.push(row);
            }
        }
    }
    if !skipped.is_empty() {
        let were = if skipped.len() == 1 { "was" } else { "were" };
        collector.notice(format!(
            "{} {were} skipped, and has no sample here",
            counted(skipped.len(), "case")
        ));
        collector.results().skipped = skipped;
    }
    for row in rows {
        collector.push(row);
    }
    collector.finish(file)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Pytest,
    Promptfoo,
    Other,
}

impl Tool {
    const fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Promptfoo => "promptfoo",
            Self::Other => "junit",
        }
    }
}

impl Test {
    /// Why the test has no score.
    fn error(&self, tool: Tool) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(fault.clone());
        }
        let message = self.failure.as_ref().filter(|_| tool == Tool::Pytest)?;
        is_exception(message).then(|| message.clone())
    }

    fn property(&self, name: &str) -> Option<&str> {
        let mut own = self.properties.iter().filter(|(own, _)| own == name);
        own.next().map(|(_, value)| value.as_str())
    }

    fn repeat(&self, file: &Path, value: &str) -> Result<u32, ReadError> {
        let repeat = value.parse().ok().filter(|repeat| *repeat > 0);
        repeat.ok_or_else(|| {
            let found = format!("the property `repeat` is `{}`", cut(value, 60));
            ReadError::new(file, &self.place, found, "record a whole number from 1")
        })
    }

    /// The test without its parameters, and the parameters.
    fn parts(&self) -> (&str, Option<&str>) {
        let parts = self.name.split_once('[');
        let parts = parts.and_then(|(name, rest)| Some((name, rest.strip_suffix(']')?)));
        parts.map_or((&self.name, None), |(name, parameters)| {
            (name, Some(parameters))
        })
    }
}

/// Whether the message of a failure is an exception other than a failed assertion. Such a message begins with the name
/// of the exception's type, and by Python's convention the names of errors end in one of the words below.
fn is_exception(message: &str) -> bool {
    let Some((name, _)) = message.split_once(':').or(Some((message, ""))) else {
        return false;
    };
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "._".contains(c));
    let last = name.rsplit('.').next().unwrap_or(name);
    let endings = [
        "Error",
        "Exception",
        "Timeout",
        "Interrupt",
        "Exit",
        "ExceptionGroup",
    ];
    is_name && last != "AssertionError" && endings.iter().any(|ending| last.ends_with(ending))
}

/// The value of a property.
#[derive(Clone, Copy)]
enum Value {
    Number(f64),
    Flag(bool),
    Nothing,
    Text,
}

impl Value {
    fn of(text: &str) -> Self {
        match text.trim() {
            "True" | "true" => Self::Flag(true),
            "False" | "false" => Self::Flag(false),
            "" | "nan" | "NaN" | "None" | "null" | "inf" | "-inf" => Self::Nothing,
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Self::Number(number),
                _ => Self::Text,
            },
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Flag(flag) => Some(f64::from(u8::from(flag))),
            Self::Nothing | Self::Text => None,
        }
    }
}

/// The properties that are metrics: those with numbers. A property that is a number in one test and a text in another
/// is rejected.
fn properties(file: &Path, tests: &[Test]) -> Result<BTreeMap<String, MetricKind>, ReadError> {
    let mut found: BTreeMap<&str, Vec<(&Test, &str)>> = BTreeMap::new();
    for test in tests.iter().filter(|test| !test.is_skipped) {
        let mut own = BTreeSet::new();
        for (name, value) in &test.properties {
            if !own.insert(name) {
                let found = format!("the property `{}` is recorded twice", cut(name, 60));
                let help = "record each property once in a test";
                return Err(ReadError::new(file, &test.place, found, help));
            }
            found.entry(name).or_default().push((test, value));
        }
    }
    let mut metrics = BTreeMap::new();
    for (name, values) in found {
        if [CASE, REPEAT, INPUT].contains(&name) {
            continue;
        }
        let read = || values.iter().map(|(_, value)| Value::of(value));
        if !read().any(|value| value.number().is_some()) {
            continue;
        }
        let text = values
            .iter()
            .find(|(_, value)| matches!(Value::of(value), Value::Text));
        if let Some((test, text)) = text {
            let found = format!(
                "the property `{}` is `{}`, and a number in other tests",
                cut(name, 60),
                cut(text, 60)
            );
            let help = "record a number in each test, or another property for texts";
            return Err(ReadError::new(file, &test.place, found, help));
        }
        let yes_no = read().all(|value| !matches!(value, Value::Number(_)));
        metrics.insert(name.to_owned(), MetricKind { yes_no, ..UNKNOWN });
    }
    Ok(metrics)
}

/// The names of the cases.
fn names(file: &Path, tool: Tool, tests: &[Test]) -> Result<Vec<String>, ReadError> {
    if tool == Tool::Promptfoo {
        return tests
            .iter()
            .map(|test| promptfoo_name(file, test))
            .collect();
    }
    let mut functions: BTreeMap<(&str, &str), Vec<&Test>> = BTreeMap::new();
    for test in tests {
        functions
            .entry((&test.class, test.parts().0))
            .or_default()
            .push(test);
    }
    let mut shapes = BTreeMap::new();
    for (function, own) in functions {
        shapes.insert(function, Shapes::of(file, &own)?);
    }
    tests
        .iter()
        .map(|test| {
            let (function, parameters) = test.parts();
            let shape = &shapes[&(test.class.as_str(), function)];
            let name = if test.class.is_empty() {
                function.to_owned()
            } else {
                format!("{}::{function}", test.class)
            };
            Ok(match shape.id(file, test, parameters)? {
                Some(id) => format!("{name}[{id}]"),
                None => name,
            })
        })
        .collect()
}

/// How the parameters of a test function name its cases: the text before and after the id that the test records as
/// `case_id`. It is empty if the function records none.
///
/// This is needed for a test that raises an exception before it has recorded its id: otherwise its error would belong
/// to a separate case.
struct Shapes(BTreeSet<(String, String)>);

impl Shapes {
    fn of(file: &Path, tests: &[&Test]) -> Result<Self, ReadError> {
        let mut shapes = BTreeSet::new();
        let mut has_ids = false;
        for test in tests {
            let Some(id) = test.property(CASE) else {
                continue;
            };
            has_ids = true;
            let parameters = test.parts().1.unwrap_or("");
            if let Some((before, after)) = parameters.split_once(id).filter(|_| !id.is_empty()) {
                shapes.insert((before.to_owned(), after.to_owned()));
            }
        }
        if !has_ids && tests.len() > 1 && are_numbered(tests) {
            let test = tests[0];
            let found =
                "its cases are named by their order, so that one that is put in renames the others";
            let help = "name them with `ids=` of `pytest.mark.parametrize`, or call \
                        `record_property(\"case_id\", …)` in the test";
            return Err(ReadError::new(file, &test.place, found, help));
        }
        Ok(Self(shapes))
    }

    fn id(
        &self,
        file: &Path,
        test: &Test,
        parameters: Option<&str>,
    ) -> Result<Option<String>, ReadError> {
        if let Some(id) = test.property(CASE) {
            return Ok(Some(id.to_owned()));
        }
        let Some(parameters) = parameters.filter(|_| !self.0.is_empty()) else {
            return Ok(parameters.map(str::to_owned));
        };
        let id = |(before, after): &(String, String)| {
            parameters
                .strip_prefix(before.as_str())?
                .strip_suffix(after.as_str())
        };
        let ids: BTreeSet<&str> = self
            .0
            .iter()
            .filter_map(id)
            .filter(|id| !id.is_empty())
            .collect();
        match (ids.len(), ids.first()) {
            (1, Some(id)) => Ok(Some((*id).to_owned())),
            _ => {
                let found = "it does not record `case_id`, as other tests of its function do";
                let help = "call `record_property(\"case_id\", …)` before anything that can fail";
                Err(ReadError::new(file, &test.place, found, help))
            }
        }
    }
}

/// Whether the parameters are those that pytest generates: a name and a number from 0.
fn are_numbered(tests: &[&Test]) -> bool {
    let mut numbers = BTreeSet::new();
    let mut words = BTreeSet::new();
    for test in tests {
        let parameters = test.parts().1.unwrap_or("");
        let word = parameters.trim_end_matches(|c: char| c.is_ascii_digit());
        let Ok(number) = parameters[word.len()..].parse::<usize>() else {
            return false;
        };
        words.insert(word);
        numbers.insert(number);
    }
    let is_word = |word: &&str| {
        let mut chars = word.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_')
    };
    words.len() == 1 && words.iter().all(is_word) && numbers.iter().copied().eq(0..numbers.len())
}

/// The name of a test of promptfoo, without its number.
fn promptfoo_name(file: &Path, test: &Test) -> Result<String, ReadError> {
    let rest = test.name.strip_prefix("test ");
    let parts = rest.and_then(|rest| rest.split_once(": "));
    let description = parts.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let Some((_, description)) = description else {
        let found = format!(
            "`{}` has no description, and its number is no name",
            cut(&test.name, 60)
        );
        let help =
            "give each test a `description`, or write `-o results.json`, which has the variables";
        return Err(ReadError::new(file, &test.place, found, help));
    };
    Ok(format!("{description} {}", test.class))
}

#[cfg(test)]
mod tests {
    use super::is_exception;

    #[test]
    fn an_exception_is_told_from_a_failed_assertion() {
        assert!(is_exception("ConnectionError: backend said: boom"));
        assert!(is_exception("openai.RateLimitError: slow down"));
        assert!(is_exception("KeyError"));
        assert!(!is_exception("AssertionError: assert 'a' in 'b'"));
        assert!(!is_exception("assert 1 == 2"));
        assert!(!is_exception("Failed: Error: no"));
    }
}
