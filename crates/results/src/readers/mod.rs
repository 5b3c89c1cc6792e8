//! The readers of the formats, one file each.

mod collect;
mod deepeval;
mod evalite;
mod found;
mod harbor;
mod inspect;
mod json;
mod junit;
mod lm_eval;
mod node;
mod presets;
mod promptfoo;
mod proposal;
mod pydantic_evals;
mod record;
mod table;

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Columns, Results};
use kelvin_page::listed;
pub use proposal::{Proposal, ProposedMetric};

/// A format of a file of results.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A table with a header, whose columns are declared.
    Csv,
    /// One JSON object a line, or a list of objects, whose fields are declared.
    Jsonl,
    /// What promptfoo writes with `-o results.json` or `-o results.jsonl`.
    Promptfoo,
    /// JUnit XML: of `pytest --junitxml`, of promptfoo, or of any other program that writes one test case a sample.
    Junit,
    /// A log of Inspect, `.eval` or `.json`.
    Inspect,
    /// A test run of deepeval.
    Deepeval,
    /// The samples of lm-eval, as `--log_samples` writes them.
    LmEval,
    /// A report of pydantic-evals, as `EvaluationReportAdapter.dump_json` writes it.
    PydanticEvals,
    /// What evalite writes with `--outputPath`.
    Evalite,
    /// The `result.json` of a job of Harbor, with the folders of its trials beside it.
    Harbor,
    /// A result of ragas, written by `to_pandas()` as CSV or JSON lines.
    Ragas,
    /// A result of LangSmith, written by `to_pandas()` as CSV or JSON lines.
    Langsmith,
    /// The `result_df` of MLflow, written as CSV or JSON lines.
    Mlflow,
    /// The items of an experiment of Langfuse, as its API gives them, one a line.
    Langfuse,
    /// An experiment of Phoenix, downloaded as CSV or JSON.
    Phoenix,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::Csv,
        Self::Jsonl,
        Self::Promptfoo,
        Self::Junit,
        Self::Inspect,
        Self::Deepeval,
        Self::LmEval,
        Self::PydanticEvals,
        Self::Evalite,
        Self::Harbor,
        Self::Ragas,
        Self::Langsmith,
        Self::Mlflow,
        Self::Langfuse,
        Self::Phoenix,
    ];

    /// The name of the format in `kelvin.yaml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Promptfoo => "promptfoo",
            Self::Junit => "junit",
            Self::Inspect => "inspect",
            Self::Deepeval => "deepeval",
            Self::LmEval => "lm-eval",
            Self::PydanticEvals => "pydantic-evals",
            Self::Evalite => "evalite",
            Self::Harbor => "harbor",
            Self::Ragas => "ragas",
            Self::Langsmith => "langsmith",
            Self::Mlflow => "mlflow",
            Self::Langfuse => "langfuse",
            Self::Phoenix => "phoenix",
        }
    }

    /// The format of a file, if its name and its beginning clearly show it; otherwise none.
    pub fn found_in(path: &Path) -> Option<Self> {
        found::found_in(path)
    }
}

/// Why a file of results cannot be used: the file, the field, the content, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub String);

impl ReadError {
    /// An error at a position in a file; the position may be empty, for the whole file.
    fn new(file: &Path, place: &str, found: impl Display, help: &str) -> Self {
        let file = file.display();
        let place = place.trim_end_matches(": ");
        if place.is_empty() {
            return Self(format!("`{file}`: {found}; {help}"));
        }
        Self(format!("`{file}`, `{place}`: {found}; {help}"))
    }

    fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        let help = "see that the evaluator writes it there, and that it may be read";
        Self::new(file, "", format!("it cannot be read: {error}"), help)
    }

    /// The same error at a longer position, of which the position in the error is only a part, e.g. one line.
    fn within(self, file: &Path, place: &str) -> Self {
        let head = format!("`{}`", file.display());
        let rest = self.0.strip_prefix(&head).unwrap_or(&self.0);
        Self(format!("{head}, {place}{rest}"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reads a file of results. Without a format, the file must show it clearly.
///
/// `columns` are for tables; the other formats define the meaning of their fields.
///
/// # Errors
///
/// Fails if the file cannot be read, or is not valid for this purpose.
pub fn read(path: &Path, format: Option<Format>, columns: &Columns) -> Result<Results, ReadError> {
    let Some(format) = format.or_else(|| Format::found_in(path)) else {
        let known: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
        let mut help = format!("name it with `format:`, one of {}", known.join(", "));
        // A missing file has no format either, but the error should say that it is missing.
        json::open(path)?;
        if let Ok((format, rows)) = table::records(path)
            && let Some(proposal) = proposal::of_rows(format, &rows)
        {
            help = format!(
                "`format: {}`, {} would read it, if each `better` is right; else {help}",
                format.as_str(),
                proposal.lines()
            );
        }
        return Err(ReadError::new(path, "", "its format is not plain", &help));
    };
    match format {
        Format::Csv => table::csv(path, None, columns),
        Format::Jsonl => table::json(path, None, columns),
        Format::Promptfoo => promptfoo::read(path),
        Format::Junit => junit::read(path),
        Format::Inspect => inspect::read(path),
        Format::Deepeval => deepeval::read(path),
        Format::LmEval => lm_eval::read(path),
        Format::PydanticEvals => pydantic_evals::read(path),
        Format::Evalite => evalite::read(path),
        Format::Harbor => harbor::read(path),
        Format::Ragas => table::either(path, &presets::RAGAS, columns),
        Format::Langsmith => table::either(path, &presets::LANGSMITH, columns),
        Format::Mlflow => table::either(path, &presets::MLFLOW, columns),
        Format::Langfuse => table::either(path, &presets::LANGFUSE, columns),
        Format::Phoenix => table::either(path, &presets::PHOENIX, columns),
    }
}

/// Proposes how a file can be read.
///
/// # Errors
///
/// Fails if the file cannot be read, and if it is a table without a column that could be the case or a score.
pub fn proposed(file: &Path) -> Result<Proposal, ReadError> {
    let found = Format::found_in(file);
    if let Some(format) = found.filter(|format| !matches!(format, Format::Csv | Format::Jsonl)) {
        read(file, Some(format), &Columns::default())?;
        return Ok(Proposal::of_format(format));
    }
    let (format, rows) = table::records(file)?;
    proposal::of_rows(format, &rows).ok_or_else(|| {
        let names: BTreeSet<String> = rows.iter().flat_map(proposal::columns).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = match names.as_slice() {
            [] => "it has no rows".to_owned(),
            names => format!(
                "no column of it is taken for a case and its score; it has {}",
                listed(names)
            ),
        };
        let help = "let it have a row for each case, with the name of the case in a column `case` and each score in a \
                    column of its own, as 0 or 1 or a number between";
        ReadError::new(file, "", found, help)
    })
}

/// The beginning of a text, at most this many bytes, on one line.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|&end| text.is_char_boundary(end));
    format!("{}…", &text[..end.unwrap_or(0)])
}
