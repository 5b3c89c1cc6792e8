//! Outputs that were recorded earlier, and are judged as if the pipeline had given them now. So an edited schema or
//! contract can be tested on outputs that are known to be good, before anybody pays for a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::indicators::Expected;
use super::record::QualityIndicators;

/// The recorded outputs of each case, by its name.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    by_case: BTreeMap<String, Vec<PathBuf>>,
}

impl Recorded {
    /// Lists the outputs in a folder: `CASE.json`, and every JSON file in a folder `CASE`. For each case these are the
    /// last `most` ones by name. Fails if the folder cannot be listed.
    pub(super) fn list(folder: &Path, most: usize) -> anyhow::Result<Self> {
        let mut by_case: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in entries(folder)? {
            let files = match path.is_dir() {
                true => entries(&path)?,
                false => vec![path.clone()],
            };
            let files = files.into_iter().filter(|file| file.is_file());
            let files =
                files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
            let name = match path.is_dir() {
                true => path.file_name(),
                false => path.file_stem(),
            };
            let name = name.unwrap_or_default().to_string_lossy().into_owned();
            by_case.entry(name).or_default().extend(files);
        }
        for files in by_case.values_mut() {
            files.sort();
            files.drain(..files.len().saturating_sub(most));
        }
        Ok(Self { by_case })
    }

    /// The paths of all recorded outputs.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.by_case.values().flatten().cloned().collect()
    }

    /// The indicators of the recorded outputs of a case. A file that cannot be read counts as an unreadable output.
    pub(super) fn of(&self, case: &str, expected: &Expected) -> Vec<QualityIndicators> {
        let files = self.by_case.get(case).into_iter().flatten();
        files
            .map(|file| expected.of(fs::read(file).ok().as_deref()))
            .collect()
    }
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || {
        format!(
            "failed to list the recorded outputs in `{}`",
            folder.display()
        )
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        found.push(entry.with_context(failed)?.path());
    }
    Ok(found)
}
