//! Joins the reports of the shards of one run into the report of an undivided run. No pipeline is run: figures are
//! computed again from the records.

mod agree;
mod gather;
mod join;

use std::path::PathBuf;

use super::{Checked, write};
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_run as run;

/// The inputs of a merge.
#[derive(Debug)]
pub(crate) struct MergeRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// Reports of shards, their folders, or folders of such folders.
    pub(crate) shards: Vec<PathBuf>,
    /// The output folder; `kelvin` in the working directory unless given.
    pub(crate) out: Option<PathBuf>,
}

/// Joins shards, and writes the report with the files of every case.
///
/// # Errors
///
/// A [`Misuse`] that names the shards that are missing, that overlap or that do not belong together; any other error if
/// a file cannot be read or written.
pub(crate) fn merge(request: &MergeRequest) -> anyhow::Result<Checked> {
    let out = request
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("kelvin"));
    let out = std::path::absolute(out)?;
    let found = gather::shards(&request.shards, request.registry)?;
    agree::check(&found)?;
    for shard in &found {
        // The output folder is emptied first, so it must not contain a shard.
        let folder = std::path::absolute(&shard.folder)?;
        if folder.starts_with(&out) {
            return Err(Misuse::new(format!(
                "the output folder `{}` holds {shard}, and its content is removed first",
                out.display()
            ))
            .help("name another output folder with `--out`")
            .into());
        }
    }
    let report = join::reports(&found)?;
    let _claim = run::claim(&out)?;
    join::copy_files(&found, &out)?;
    let texts = |item: &str, part: Option<&str>| write::text(&report, &out, item, part);
    write::files(&report, &out, &texts, None)?;
    Ok(Checked::of(report, out))
}
