//! Finds the reports of shards: in files, in their folders, in folders of folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::Context as _;

use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_gate::report::{Report, Share};
use kelvin_record::Shard;

/// The name of a report in its folder.
const REPORT: &str = "report.json";
/// How many levels below a named folder a report may be: each artifact is downloaded into a folder, and may itself
/// contain a folder.
const DEPTH: usize = 3;
/// A run never writes a larger file.
const MOST_BYTES: u64 = 1 << 30;

/// The report of one shard, and where it was found.
#[derive(Debug)]
pub(super) struct FoundShard {
    /// The path of the report, as a person would write it.
    pub(super) file: PathBuf,
    /// The folder of the report, with the files of the cases.
    pub(super) folder: PathBuf,
    /// Which share of the run it is.
    pub(super) share: Share,
    /// The report of the share.
    pub(super) report: Report,
}

impl FoundShard {
    /// The number of the shard, and how many there are.
    pub(super) const fn shard(&self) -> Shard {
        self.share.shard()
    }
}

impl fmt::Display for FoundShard {
    /// Formats as "shard 3/8 (`shards/3/report.json`)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} (`{}`)", self.shard(), self.file.display())
    }
}

/// Reads every shard, in the order of their numbers. Fails if a path does not exist or contains no report, or if a
/// report is damaged or is not that of a shard.
pub(super) fn shards(paths: &[PathBuf], registry: Registry) -> anyhow::Result<Vec<FoundShard>> {
    let mut files = BTreeSet::new();
    for path in paths {
        let data = fs::metadata(path).map_err(|error| {
            Misuse::new(format!("failed to read `{}`: {error}", path.display()))
                .help("name the reports of the shards, or the folder that holds theirs")
        })?;
        if data.is_file() {
            files.insert(path.clone());
            continue;
        }
        let before = files.len();
        look(path, DEPTH, &mut files)?;
        if files.len() == before {
            return Err(Misuse::new(format!(
                "there is no report in `{}`: no shard has finished and left one there",
                path.display()
            ))
            .help(
                "a run writes `report.json` last; run the shards again, each with `--shard I/N \
                 --out FOLDER`",
            )
            .into());
        }
    }
    let mut found = Vec::new();
    for file in files {
        found.push(read(file, registry)?);
    }
    found.sort_by_key(FoundShard::shard);
    Ok(found)
}

/// Collects the run reports in a folder. If the folder itself has no report, the folders in it are searched.
fn look(folder: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let report = folder.join(REPORT);
    // A run that crashed leaves the reports of cases, and no report of the run.
    if fs::symlink_metadata(&report).is_ok_and(|data| data.is_file()) {
        if !is_of_a_case(&report) {
            files.insert(report);
        }
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let failed = || format!("failed to list `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if entry.file_type().with_context(failed)?.is_dir() {
            look(&entry.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// Whether a report is about a single case: such reports are below the report of the run, together with the inputs of
/// the case.
fn is_of_a_case(report: &Path) -> bool {
    let folder = report.parent().unwrap_or(Path::new("."));
    folder.join("baseline").is_dir()
        && fs::read(report)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
            .is_some_and(|report| report.get("case").is_some() && report.get("run").is_none())
}

fn read(file: PathBuf, registry: Registry) -> anyhow::Result<FoundShard> {
    let shown = file.display();
    let length = fs::metadata(&file).map_or(0, |data| data.len());
    if length > MOST_BYTES {
        return Err(Misuse::new(format!("`{shown}` is too large for a report")).into());
    }
    let bytes = fs::read(&file).with_context(|| format!("failed to read `{shown}`"))?;
    let report = registry.report(&bytes).map_err(|error| {
        Misuse::new(format!("`{shown}` is unusable: {error:#}"))
            .help("run that shard again, and merge then")
    })?;
    let Some(share) = report.run.shard else {
        return Err(Misuse::new(format!(
            "`{shown}` is the report of a whole run, not of a shard"
        ))
        .help("merge what `kelvin check --shard I/N` has written")
        .into());
    };
    if !share.shard().is_sound() {
        return Err(Misuse::new(format!(
            "`{shown}` calls itself shard {}, and there is no such shard",
            share.shard()
        ))
        .into());
    }
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    Ok(FoundShard {
        folder,
        share,
        report,
        file,
    })
}
