//! The readers of the formats, one file each.

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Columns, Results};

/// A format of a file of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A table with a header.
    Csv,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = &[Self::Csv];

    /// The format that a file plainly has, by its name and its beginning; none where it is not plain.
    pub fn found_in(path: &Path) -> Option<Self> {
        (path.extension()? == "csv").then_some(Self::Csv)
    }
}

/// Why a file of results cannot be used: the file, the field, what was found, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reads a file of results.
///
/// # Errors
///
/// Where the file cannot be read, or must not be used as it is.
pub fn read(path: &Path, format: Option<Format>, columns: &Columns) -> Result<Results, ReadError> {
    let _ = (format, columns);
    Err(ReadError(format!("{}: no reader", path.display())))
}
