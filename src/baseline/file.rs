//! A report in a file, read within limits.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

use super::tree::MAX_BYTES;
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_gate::report::Report;

/// Reads a report of this program. Fails with a [`Misuse`] if the file is missing or is not a regular file; any other
/// error if it is not a usable report.
pub(crate) fn read_file(path: &Path, registry: Registry) -> anyhow::Result<Report> {
    registry.report(&bytes(path)?)
}

/// The bytes of a file that may contain a report. It must be a regular file, and not too large.
fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let data = std::fs::metadata(path)
        .map_err(|error| Misuse::new(format!("failed to read `{shown}`: {error}")))?;
    if data.is_dir() {
        return Err(Misuse::new(format!("`{shown}` is a folder"))
            .help(format!("name the report in it: `{shown}/report.json`"))
            .into());
    }
    // Opening a pipe would block until another program writes.
    if !data.is_file() {
        return Err(Misuse::new(format!("`{shown}` is no regular file")).into());
    }
    if data.len() > MAX_BYTES as u64 {
        return Err(too_large(data.len()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
        .with_context(|| format!("failed to read `{shown}`"))?;
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

fn too_large(bytes: u64) -> anyhow::Error {
    Misuse::new(format!(
        "the report has {bytes} bytes, over the limit of {MAX_BYTES}"
    ))
    .into()
}
