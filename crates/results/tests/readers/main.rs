//! The readers on the files of real evaluators, on what those files may hide, and on damaged ones.

mod fixtures;
mod mutations;
mod size;
mod traps;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use kelvin_results::readers::{Format, ReadError, read};
use kelvin_results::{Columns, Results};

/// The folder with the files that `tests/data/expected.py` describes.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The text of a file, unpacked where it is packed.
fn text(file: &str) -> String {
    let bytes = std::fs::read(data().join(file)).expect("a file of the tests");
    let mut text = String::new();
    if file.ends_with(".gz") {
        let mut unpacked = flate2::read::GzDecoder::new(bytes.as_slice());
        unpacked.read_to_string(&mut text).expect("packed text");
        return text;
    }
    text.push_str(std::str::from_utf8(&bytes).expect("text"));
    text
}

/// Reads bytes as a file of this name.
fn read_bytes(
    name: &str,
    bytes: &[u8],
    format: Option<Format>,
    columns: &Columns,
) -> Result<Results, ReadError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let shown = path.display().to_string();
    read(&path, format, columns).map_err(|error| ReadError(error.0.replace(&shown, name)))
}

/// Reads a text in a format that is found out.
fn read_text(name: &str, text: &str) -> Result<Results, ReadError> {
    read_bytes(name, text.as_bytes(), None, &Columns::default())
}

/// The error of a file that must be refused.
#[track_caller]
fn refusal(name: &str, text: &str) -> String {
    read_text(name, text).expect_err("refused").0
}

/// The values of a metric by case, in the order of the file.
fn values(results: &Results, case: &str, metric: &str) -> Vec<f64> {
    let rows = results.rows.iter().filter(|row| row.case == case);
    rows.filter_map(|row| row.scores.get(metric).copied())
        .collect()
}
