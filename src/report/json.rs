//! The report as JSON, and back.

use std::io::{self, Write};

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::Value;

use super::document::{Report, SCHEMA_VERSION};
use crate::probe::CaseRecord;

/// Writes the run report: pretty for people, keys in their order, a line end at the end.
pub(crate) fn write(to: &mut dyn Write, report: &Report) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, report)?;
    writeln!(to)
}

/// Writes the report of one case.
pub(crate) fn write_case(to: &mut dyn Write, name: &str, case: &CaseRecord) -> io::Result<()> {
    #[derive(Serialize)]
    struct CaseReport<'a> {
        schema_version: u32,
        case: &'a str,
        #[serde(flatten)]
        record: &'a CaseRecord,
    }
    let report = CaseReport {
        schema_version: SCHEMA_VERSION,
        case: name,
        record: case,
    };
    serde_json::to_writer_pretty(&mut *to, &report)?;
    writeln!(to)
}

/// Reads a run report that any version up to ours has written.
///
/// # Errors
///
/// In words for a person: a newer schema, or where and how the text is damaged.
pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<Report> {
    let value: Value = serde_json::from_slice(bytes).context("it is not a JSON document")?;
    let Some(version) = value.get("schema_version") else {
        bail!("it has no `schema_version`, so it is no report of kelvin");
    };
    match version.as_u64() {
        Some(version) if version > u64::from(SCHEMA_VERSION) => bail!(
            "it was written by a newer kelvin (schema {version}, this one reads up to \
             {SCHEMA_VERSION}): update kelvin, or measure the baseline again"
        ),
        Some(1) => {}
        _ => bail!("its `schema_version` is {version}, which no kelvin has written"),
    }
    serde_json::from_value(value).context("it is damaged")
}
