//! The elements of JUnit XML, and the numbers that a file states about itself.

use std::collections::BTreeMap;
use std::path::Path;

use quick_xml::events::{BytesStart, Event};

use crate::readers::{ReadError, cut, json};

/// Other elements that may occur. The last four come from Maven's Surefire: tests that passed when they ran again.
const OTHERS: &[&str] = &[
    "properties",
    "system-out",
    "system-err",
    "rerunFailure",
    "rerunError",
    "flakyFailure",
    "flakyError",
];

/// A test case of the file.
#[derive(Default)]
pub(super) struct Test {
    pub place: String,
    pub class: String,
    pub name: String,
    pub time: Option<f64>,
    pub properties: Vec<(String, String)>,
    /// The message of a `<failure>`.
    pub failure: Option<String>,
    /// The message of an `<error>`.
    pub fault: Option<String>,
    pub is_skipped: bool,
}

/// The claims of a `<testsuite>` about itself, and its content.
#[derive(Default)]
pub(super) struct Suite {
    pub name: String,
    said: [Option<u32>; 2],
    found: [u32; 2],
}

#[derive(Default)]
pub(super) struct Document {
    pub root: Option<String>,
    pub suites: Vec<Suite>,
    pub tests: Vec<Test>,
}

impl Document {
    pub(super) fn parse(file: &Path) -> Result<Self, ReadError> {
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

    /// Rejects a file that contains fewer tests, or other outcomes, than it claims.
    pub(super) fn check(&self, file: &Path) -> Result<(), ReadError> {
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

/// The document during parsing.
struct Reading<'a> {
    file: &'a Path,
    document: Document,
    /// The open elements, from the root, and for each suite its number.
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
        let (parent, mut suite) = match self.open.last() {
            Some((parent, suite)) => (parent.clone(), *suite),
            None => (String::new(), 0),
        };
        let attributes = Attributes(self.attributes(start)?);
        match (name.as_str(), parent.as_str()) {
            ("testsuites", "") => {
                self.document.root = Some(attributes.get("name").unwrap_or("").to_owned());
            }
            ("testsuite", "" | "testsuites" | "testsuite") => {
                let own = self.suite(&attributes)?;
                if parent == "testsuite" {
                    // The counts of a suite of suites cover its inner suites, and are checked through these.
                    self.document.suites[suite].said = [None; 2];
                }
                suite = self.document.suites.len();
                self.document.suites.push(own);
            }
            ("testcase", "testsuite") => {
                let test = self.test(&attributes)?;
                self.document.suites[suite].found[0] += 1;
                self.document.tests.push(test);
            }
            ("failure" | "error" | "skipped", "testcase") => {
                self.outcome(&name, &attributes, suite);
            }
            ("property", "properties") => self.property(&attributes)?,
            (name, "" | "properties" | "testcase" | "testsuite" | "testsuites")
                if !OTHERS.contains(&name) =>
            {
                return Err(self.broken(&format!("`<{}>` does not belong here", cut(name, 60))));
            }
            // Printed text, or elements inside a message.
            _ => {}
        }
        self.open.push((name, suite));
        Ok(())
    }

    fn suite(&self, attributes: &Attributes) -> Result<Suite, ReadError> {
        let number = |key: &str| match attributes.get(key) {
            Some(text) => text.parse::<u32>().map(Some).map_err(|_| {
                self.broken(&format!("`{key}` is `{}`, and no number", cut(text, 60)))
            }),
            None => Ok(None),
        };
        let (failures, errors) = (number("failures")?, number("errors")?);
        let bad = failures
            .zip(errors)
            .map(|(failures, errors)| failures.saturating_add(errors));
        Ok(Suite {
            name: attributes.get("name").unwrap_or("").to_owned(),
            said: [number("tests")?, bad],
            found: [0; 2],
        })
    }

    fn test(&self, attributes: &Attributes) -> Result<Test, ReadError> {
        let Some(name) = attributes.get("name") else {
            return Err(self.broken(&"a test case has no `name`"));
        };
        let class = attributes.get("classname").unwrap_or("").to_owned();
        let between = if class.is_empty() { "" } else { "::" };
        let time = attributes.get("time").map(|time| {
            // Some programs write commas between thousands.
            let seconds = time.replace(',', "").parse::<f64>();
            seconds.ok().filter(|time| time.is_finite()).ok_or_else(|| {
                self.broken(&format!("`time` is `{}`, and no number", cut(time, 60)))
            })
        });
        Ok(Test {
            place: format!("testcase {class}{between}{}", cut(name, 200)),
            name: name.to_owned(),
            class,
            time: time.transpose()?,
            ..Test::default()
        })
    }

    fn outcome(&mut self, kind: &str, attributes: &Attributes, suite: usize) {
        let message = attributes
            .get("message")
            .unwrap_or("it tells no reason")
            .to_owned();
        if let Some(test) = self.document.tests.last_mut() {
            match kind {
                "failure" => test.failure = Some(message),
                "error" => test.fault = Some(message),
                _ => test.is_skipped = true,
            }
        }
        if kind != "skipped" {
            self.document.suites[suite].found[1] += 1;
        }
    }

    /// Stores a property of a test; properties of a suite do not concern a sample.
    fn property(&mut self, attributes: &Attributes) -> Result<(), ReadError> {
        if !self.open.iter().any(|(name, _)| name == "testcase") {
            return Ok(());
        }
        let (Some(name), Some(value)) = (attributes.get("name"), attributes.get("value")) else {
            return Err(self.broken(&"a property lacks its `name` or `value`"));
        };
        if let Some(test) = self.document.tests.last_mut() {
            test.properties.push((name.to_owned(), value.to_owned()));
        }
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

struct Attributes(BTreeMap<String, String>);

impl Attributes {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}
