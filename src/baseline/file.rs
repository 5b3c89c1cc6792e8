//! A report in a file, written by this program or by `kelvin-eval`, which users may have used before. It is read within
//! limits.

use crate::registry::Registry;
use std::path::Path;

use super::bytes::{ReadReport, bytes};
use super::peer;

/// Reads a report of this program, or a report of `kelvin-eval` with the reports of its cases in the same folder.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if there is no such file; any other error if the file is not a usable
/// report.
pub(crate) fn read_file(path: &Path, registry: Registry) -> anyhow::Result<ReadReport> {
    let bytes = bytes(path)?;
    if peer::is_one(&bytes) {
        return peer::read(path, &bytes, &registry.of_sections());
    }
    Ok(ReadReport {
        report: registry.report(&bytes)?,
        notices: Vec::new(),
    })
}
