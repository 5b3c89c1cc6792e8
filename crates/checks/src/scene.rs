//! The data that checks examine: the workspace after the pipeline has run in it, and the answer of the pipeline.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::scenario::Scenario;
use super::selector::Selector;
use super::services::RunningServices;
use kelvin_base::file::beneath::{Beneath, NotOpened};
use kelvin_run::targets::StandardOutput;
use kelvin_system::signal::Interrupt;

/// A larger file is not read.
const MOST_READ: u64 = 64 << 20;

/// A finished run of the pipeline.
pub(super) struct Scene<'a> {
    /// The scenario, with its task.
    pub(super) scenario: &'a Scenario,
    /// The number of this run among the runs of the scenario, from 1.
    pub(super) replica: usize,
    /// The folder of the configuration, from which a check reads and runs everything.
    pub(super) root: &'a Path,
    /// The workspace.
    pub(super) folder: &'a Path,
    /// The workspace again, for opening files in it safely.
    pub(super) beneath: &'a Beneath,
    /// A folder outside the workspace for files of this program.
    pub(super) private: &'a Path,
    /// The file to which pipelines append their events.
    pub(super) audit_log: &'a Path,
    /// The variables that the pipeline got.
    pub(super) variables: &'a [(String, OsString)],
    /// The answer of the pipeline: its output file, or its printed text if it wrote none.
    pub(super) output: &'a [u8],
    /// The file with the answer.
    pub(super) output_file: &'a Path,
    /// The text that the pipeline printed on its standard output.
    pub(super) printed: &'a StandardOutput,
    /// How long the pipeline took.
    pub(super) seconds: f64,
    /// The services of the scenario.
    pub(super) services: &'a RunningServices<'a>,
    /// Signals that the run should stop.
    pub(super) interrupt: &'a Arc<Interrupt>,
}

/// Why there is no text to check, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// There is no text, or no file with a text: then a check of the text does not hold.
    Absent(String),
    /// It is not known what the text is.
    Unknown(String),
}

impl Scene<'_> {
    /// The text that a check examines; bytes that are not UTF-8 are replaced.
    pub(super) fn text(&self, from: &Selector) -> Result<Cow<'_, str>, Unread> {
        match from {
            Selector::AgentOutput => Ok(String::from_utf8_lossy(self.output)),
            Selector::Stdout if self.printed.is_cut => Err(Unread::Unknown(
                "is longer than `max_output_bytes` allows".to_owned(),
            )),
            Selector::Stdout => Ok(String::from_utf8_lossy(&self.printed.bytes)),
            Selector::File(path) => self.file(path).map(Cow::Owned),
        }
    }

    /// The text of a file of the workspace.
    pub(super) fn file(&self, path: &Path) -> Result<String, Unread> {
        let bytes = read_beneath(self.beneath, path)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// The content of a file below a folder to which other programs may write. A file that is too large for a check is
/// rejected. Opening a pipe never waits for its other end, and no link that points outside is followed.
pub(super) fn read_beneath(beneath: &Beneath, path: &Path) -> Result<Vec<u8>, Unread> {
    let unknown = |what: String| Unread::Unknown(what);
    let file = beneath.open(path).map_err(|error| match error {
        NotOpened::Absent => Unread::Absent("is not there".to_owned()),
        NotOpened::Escapes => unknown("is a link that leads out of the workspace".to_owned()),
        NotOpened::Refused(error) => unknown(format!("cannot be read: {error}")),
    })?;
    let failed = |error: std::io::Error| unknown(format!("cannot be read: {error}"));
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        let what = if data.is_dir() {
            "a folder"
        } else {
            "no regular file"
        };
        return Err(Unread::Absent(format!("is {what}")));
    }
    let mut bytes = Vec::new();
    // The bytes are counted while they are read, because the file may still grow.
    let read = file.take(MOST_READ + 1).read_to_end(&mut bytes);
    if read.map_err(failed)? as u64 > MOST_READ {
        let most = MOST_READ >> 20;
        return Err(unknown(format!(
            "has more than the {most} MiB that a check reads"
        )));
    }
    Ok(bytes)
}
