//! The files that an evaluator writes, or that an earlier step has made, with what shows that one was written again.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kelvin_base::digest::Fields;

/// The data that show that a file was written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub(super) time: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl FileState {
    fn of(data: &Metadata) -> Self {
        Self {
            time: data.modified().ok(),
            size: data.len(),
            inode: data.ino(),
        }
    }
}

/// The files that match the `file` of a suite, with their state; `root`: the folder of the configuration.
pub(super) fn states(pattern: Option<&str>, root: &Path) -> BTreeMap<PathBuf, FileState> {
    let Some(pattern) = pattern else {
        return BTreeMap::new();
    };
    let whole = root.join(pattern);
    let state = |path: PathBuf| {
        let data = fs::metadata(&path).ok()?;
        Some((path, FileState::of(&data)))
    };
    let last = pattern.rsplit_once('/').map_or(pattern, |(_, last)| last);
    let Some((begin, end)) = last.split_once('*') else {
        return state(whole).into_iter().collect();
    };
    let folder = whole.parent().unwrap_or(root);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        })
    };
    let paths = entries.map(|entry| entry.path()).filter(fits);
    paths.filter_map(state).collect()
}

/// The file that was written last of those that match the `file` of a suite.
pub fn last_written(pattern: &str, root: &Path) -> Option<PathBuf> {
    let states = states(Some(pattern), root).into_iter();
    let last = states.max_by_key(|(_, state)| state.time);
    last.map(|(path, _)| path)
}

/// The state of the file that an earlier step has made, as a text that differs if the file does.
pub(super) fn state_of_file(pattern: Option<&str>, root: &Path) -> String {
    let states = states(pattern, root).into_iter();
    let fields = states.fold(
        Fields::of("kelvin/results/file/v1"),
        |fields, (path, state)| {
            fields
                .field("path", path.as_os_str().as_encoded_bytes())
                .field("state", format!("{state:?}"))
        },
    );
    fields.digest().to_string()
}
