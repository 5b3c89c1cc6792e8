//! Writes the report as JSON, and reads it back.
//!
//! Only the outer levels have line breaks: every key of the run, every variant of a case, every case of a metric.
//! Deeper values stay on the line of their parent, so that a report of thousands of cases stays small, and a line that
//! differs from that of another run shows which variant it is.

use std::io::{self, Write};

use anyhow::{anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::ser::{Formatter, Serializer};
use serde_json::value::RawValue;

use super::{Report, SCHEMA_VERSION, StoredReport};
use crate::Judgement;
use kelvin_page::safe;
use kelvin_record::Kinds;

/// The depth of line breaks: the report, its metrics, a metric, its cases.
const DEPTH: usize = 4;
/// The depth in the sections of the probes: the report, the probes, a section, its items, an item, its
/// parts.
const DEPTH_OF_PROBES: usize = 6;
/// The depth in the report of one item: the item, its parts.
const DEPTH_OF_ITEM: usize = 4;
/// The depth in a judgement: the judgement, its answers, a probe, a list, an answer.
const DEPTH_OF_JUDGEMENT: usize = 4;

/// Writes the run report: keys in order, and a line break at the end.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn write(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    let Report {
        schema_version,
        tool,
        run,
        probes,
        metrics,
        notices,
    } = report;
    to.write_all(b"{")?;
    let mut start: &[u8] = b"";
    let mut field = |name: &str, value: &dyn erased_serde::Serialize, most: usize| {
        to.write_all(start)?;
        start = b",";
        write!(to, "\n  \"{name}\": ")?;
        let mut serializer = Serializer::with_formatter(&mut *to, OuterLines::within(1, most));
        Ok::<(), io::Error>(value.serialize(&mut serializer)?)
    };
    field("schema_version", schema_version, DEPTH)?;
    field("tool", tool, DEPTH)?;
    field("run", run, DEPTH)?;
    field("probes", probes, DEPTH_OF_PROBES)?;
    field("metrics", metrics, DEPTH)?;
    field("notices", notices, DEPTH)?;
    to.write_all(b"\n}\n")
}

/// Writes the report of one item, such as a case.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn write_item(
    to: &mut dyn Write,
    id: &str,
    record: &dyn erased_serde::Serialize,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct ItemReport<'a> {
        schema_version: u32,
        case: &'a str,
        #[serde(flatten)]
        record: &'a dyn erased_serde::Serialize,
    }
    let report = ItemReport {
        schema_version: SCHEMA_VERSION,
        case: id,
        record,
    };
    let mut serializer = Serializer::with_formatter(&mut *to, OuterLines::within(0, DEPTH_OF_ITEM));
    report.serialize(&mut serializer)?;
    writeln!(to)
}

/// Writes a judgement.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn write_judgement(to: &mut dyn Write, judgement: &Judgement) -> io::Result<()> {
    let mut serializer =
        Serializer::with_formatter(&mut *to, OuterLines::within(0, DEPTH_OF_JUDGEMENT));
    judgement.serialize(&mut serializer)?;
    writeln!(to)
}

/// Reads a run report of the present version of the format.
///
/// # Errors
///
/// Fails with a message for a person: the report has another version, or where and how the text is damaged.
pub fn read(bytes: &[u8], kinds: &Kinds) -> anyhow::Result<Report> {
    /// The fields that are read first, because a report of another version may have another structure.
    #[derive(Deserialize)]
    struct Head {
        schema_version: Option<Value>,
        tool: Option<Value>,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => anyhow!("it is JSON, but no report of kelvin: {error}"),
        _ => damaged(&error),
    })?;
    // The parser would also accept a list in the order of the fields.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        bail!("it is JSON, but no report of kelvin: it is not an object");
    }
    let Some(version) = head.schema_version else {
        bail!("it has no `schema_version`, so it is no report of kelvin");
    };
    match version.as_u64() {
        Some(version) if version > u64::from(SCHEMA_VERSION) => bail!(
            "it was written by a newer kelvin{} (schema {version}, this one reads \
             {SCHEMA_VERSION}): update kelvin, or measure again with this one",
            of_version(head.tool.as_ref())
        ),
        Some(version) if version == u64::from(SCHEMA_VERSION) => {}
        Some(version) if version >= 1 => bail!(
            "it was written by an early kelvin (schema {version}), which is not read any more: measure \
             again"
        ),
        _ => bail!(
            "its `schema_version` is {}, which no kelvin has written",
            safe::cut(&version.to_string(), 40)
        ),
    }
    let stored: StoredReport<&RawValue> =
        serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            Category::Data => anyhow!("it is no whole report of kelvin: {error}"),
            _ => damaged(&error),
        })?;
    let read = stored.read_by(kinds);
    read.map_err(|error| anyhow!("it is no whole report of kelvin: {error}"))
}

fn damaged(error: &serde_json::Error) -> anyhow::Error {
    match error.classify() {
        Category::Eof => anyhow!("it is cut off: {error}"),
        _ => anyhow!("it is not JSON: {error}"),
    }
}

/// The version of the tool, if it is given.
fn of_version(tool: Option<&Value>) -> String {
    let version = tool.and_then(|tool| tool.get("version")?.as_str());
    version.map_or_else(String::new, |version| {
        format!(", version {}", safe::cut(version, 40))
    })
}

/// The indentation of each level.
const INDENT: &str = "  ";

/// Writes line breaks only in the outer levels.
struct OuterLines {
    /// The number of levels with line breaks.
    most: usize,
    /// The current level; 0 outside of all values.
    depth: usize,
    /// Whether the current value has no content yet.
    is_empty: bool,
}

impl OuterLines {
    /// Breaks lines in this many levels, for a value at this depth of its document.
    const fn within(depth: usize, most: usize) -> Self {
        Self {
            most,
            depth,
            is_empty: true,
        }
    }

    fn is_broken(&self) -> bool {
        self.depth <= self.most
    }

    fn line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| to.write_all(INDENT.as_bytes()))
    }

    fn begin<W: ?Sized + Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        to.write_all(sign)
    }

    fn next<W: ?Sized + Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        if self.is_broken() {
            self.line(to)
        } else {
            Ok(())
        }
    }

    fn end<W: ?Sized + Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        let breaks = self.is_broken() && !self.is_empty;
        self.depth -= 1;
        if breaks {
            self.line(to)?;
        }
        // The value that ends here is content of the surrounding value.
        self.is_empty = false;
        to.write_all(sign)
    }
}

impl Formatter for OuterLines {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.is_broken() { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
