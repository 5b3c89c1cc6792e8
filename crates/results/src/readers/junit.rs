//! JUnit XML: one test case is one sample.
//!
//! pytest and promptfoo write it in ways of their own. pytest has `<error>` for fixtures only, and calls an exception
//! in a test a failure; promptfoo puts the number of the test before its description.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kelvin_base::digest::Digest;
use quick_xml::events::{BytesStart, Event};

use super::collect::{Collector, LATENCY, LOWER, PASS, UNKNOWN, YES_NO};
use super::{ReadError, cut, json};
use crate::{MetricKind, Results, Row};

/// The properties that are no metrics, though they may be numbers.
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
                    row.texts.input = collector.text(value);
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
        // pytest writes a second test case where a test ended and its fixture could not be taken down.
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
        collector.notice(format!(
            "{} cases were skipped, and have no sample here",
            skipped.len()
        ));
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

/// A test case of the file.
#[derive(Default)]
struct Test {
    place: String,
    class: String,
    name: String,
    time: Option<f64>,
    properties: Vec<(String, String)>,
    /// The message of a `<failure>`.
    failure: Option<String>,
    /// The message of an `<error>`.
    fault: Option<String>,
    is_skipped: bool,
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

/// Whether the message of a failure is an exception other than a failed assertion. It begins with the name of its type,
/// and by the rules of Python the names of errors end so.
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

/// The properties that are metrics: those with numbers. One that is a number here and a text there is refused.
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

/// How the parameters of a test function name its cases: what stands before and after the id that the test records as
/// `case_id`. It is empty where the function records none.
///
/// A test that raises before it has recorded its id has to be found all the same, as its error would otherwise belong
/// to a case of its own.
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

/// Whether the parameters are those that pytest makes up: a name and a number from 0 on.
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

/// What a `<testsuite>` says of itself, and what it holds.
#[derive(Default)]
struct Suite {
    name: String,
    said: [Option<u32>; 2],
    found: [u32; 2],
}

#[derive(Default)]
struct Document {
    root: Option<String>,
    suites: Vec<Suite>,
    tests: Vec<Test>,
}

impl Document {
    fn parse(file: &Path) -> Result<Self, ReadError> {
        let mut source = quick_xml::Reader::from_reader(json::open(file)?);
        source.config_mut().expand_empty_elements = true;
        let mut reading = Reading {
            file,
            document: Self::default(),
            open: Vec::new(),
        };
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = source.read_event_into(&mut buffer);
            let event = event.map_err(|error| reading.broken(&error))?;
            let is_end = matches!(event, Event::Eof);
            reading.take(&event)?;
            if is_end {
                return Ok(reading.document);
            }
        }
    }

    /// Refuses a file that holds fewer tests, or other outcomes, than it says.
    fn check(&self, file: &Path) -> Result<(), ReadError> {
        for suite in &self.suites {
            let [tests, bad] = suite.said;
            let [found, found_bad] = suite.found;
            let help = "the run was cut short or the file was edited: run the tests again";
            let place = format!("testsuite {}", cut(&suite.name, 60));
            if let Some(tests) = tests.filter(|tests| *tests > found) {
                let found = format!("it counts {tests} tests, and has {found}");
                return Err(ReadError::new(file, &place, found, help));
            }
            if let Some(bad) = bad.filter(|bad| *bad != found_bad) {
                let found = format!("it counts {bad} failures and errors, and has {found_bad}");
                return Err(ReadError::new(file, &place, found, help));
            }
        }
        Ok(())
    }
}

/// The document while it is read.
struct Reading<'a> {
    file: &'a Path,
    document: Document,
    /// The elements that are open, from the root, and for each suite its number.
    open: Vec<(String, usize)>,
}

impl Reading<'_> {
    fn broken(&self, error: &dyn std::fmt::Display) -> ReadError {
        let place = match self.document.tests.last() {
            Some(test) => format!("after {}", test.place),
            None => String::new(),
        };
        let help = "the file is cut short or was edited by hand; let the tests write it again";
        ReadError::new(
            self.file,
            &place,
            format!("this is no XML that can be used: {error}"),
            help,
        )
    }

    fn take(&mut self, event: &Event<'_>) -> Result<(), ReadError> {
        match event {
            Event::Start(start) => self.start(start),
            Event::End(_) => {
                self.open.pop();
                Ok(())
            }
            Event::Text(text) => {
                let outer = self.open.last().map_or("", |(name, _)| name.as_str());
                let has_elements_only =
                    ["", "properties", "testcase", "testsuite", "testsuites"].contains(&outer);
                if has_elements_only && !text.iter().all(u8::is_ascii_whitespace) {
                    return Err(self.broken(&"there is text between the elements"));
                }
                Ok(())
            }
            Event::Eof if self.document.suites.is_empty() || !self.open.is_empty() => {
                Err(self.broken(&"it ends before its last element does, or has no test suite"))
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), ReadError> {
        let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
        let parent = self.open.last().map(|(name, _)| name.clone());
        let suite = self.open.last().map_or(0, |(_, suite)| *suite);
        let attributes = self.attributes(start)?;
        let get = |key: &str| attributes.get(key).map(String::as_str);
        let mut own = suite;
        match (name.as_str(), parent.as_deref()) {
            ("testsuites", None) => self.document.root = Some(get("name").unwrap_or("").to_owned()),
            ("testsuite", None | Some("testsuites" | "testsuite")) => {
                own = self.document.suites.len();
                let number = |key: &str| match get(key) {
                    Some(text) => text.parse::<u32>().map(Some).map_err(|_| {
                        self.broken(&format!("`{key}` is `{}`, and no number", cut(text, 60)))
                    }),
                    None => Ok(None),
                };
                let (failures, errors) = (number("failures")?, number("errors")?);
                let bad = failures
                    .zip(errors)
                    .map(|(failures, errors)| failures + errors);
                let name = get("name").unwrap_or("").to_owned();
                let said = [number("tests")?, bad];
                // A suite of suites counts what is in them, and is checked through them.
                self.document.suites.push(Suite {
                    name,
                    said,
                    found: [0; 2],
                });
                if parent.as_deref() == Some("testsuite") {
                    self.document.suites[suite].said = [None; 2];
                }
            }
            ("testcase", Some("testsuite")) => {
                let Some(name) = get("name") else {
                    return Err(self.broken(&"a test case has no `name`"));
                };
                let class = get("classname").unwrap_or("").to_owned();
                let dot = if class.is_empty() { "" } else { "::" };
                let time = get("time").map(|time| {
                    // Some writers put commas between thousands.
                    let seconds = time.replace(',', "").parse::<f64>();
                    seconds.ok().filter(|time| time.is_finite()).ok_or_else(|| {
                        self.broken(&format!("`time` is `{}`, and no number", cut(time, 60)))
                    })
                });
                let test = Test {
                    place: format!("testcase {class}{dot}{}", cut(name, 200)),
                    name: name.to_owned(),
                    class,
                    time: time.transpose()?,
                    ..Test::default()
                };
                self.document.suites[suite].found[0] += 1;
                self.document.tests.push(test);
            }
            (kind @ ("failure" | "error" | "skipped" | "property"), parent) => {
                let is_inside = self.open.iter().any(|(name, _)| name == "testcase");
                let is_direct = parent == Some("testcase") || kind == "property";
                if let Some(test) = self
                    .document
                    .tests
                    .last_mut()
                    .filter(|_| is_inside && is_direct)
                {
                    let message = get("message").unwrap_or("it tells no reason").to_owned();
                    match kind {
                        "failure" => test.failure = Some(message),
                        "error" => test.fault = Some(message),
                        "skipped" => test.is_skipped = true,
                        _ => {
                            let (Some(name), Some(value)) = (get("name"), get("value")) else {
                                return Err(self.broken(&"a property lacks its `name` or `value`"));
                            };
                            test.properties.push((name.to_owned(), value.to_owned()));
                        }
                    }
                    if matches!(kind, "failure" | "error") {
                        self.document.suites[suite].found[1] += 1;
                    }
                }
            }
            ("properties" | "system-out" | "system-err", _) => {}
            (name, Some("testcase" | "testsuite" | "testsuites" | "properties") | None)
                if !is_known(name) =>
            {
                return Err(self.broken(&format!("`<{}>` does not belong here", cut(name, 60))));
            }
            _ => {}
        }
        self.open.push((name, own));
        Ok(())
    }

    fn attributes(&self, start: &BytesStart<'_>) -> Result<BTreeMap<String, String>, ReadError> {
        let mut attributes = BTreeMap::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.broken(&error))?;
            let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
            let value =
                std::str::from_utf8(&attribute.value).map_err(|error| self.broken(&error))?;
            let value = quick_xml::escape::unescape(value).map_err(|error| self.broken(&error))?;
            attributes.insert(key, value.into_owned());
        }
        Ok(attributes)
    }
}

/// What Maven's Surefire puts into a test case beside the standard elements: tests that passed when they ran again.
fn is_known(name: &str) -> bool {
    ["rerunFailure", "rerunError", "flakyFailure", "flakyError"].contains(&name)
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
