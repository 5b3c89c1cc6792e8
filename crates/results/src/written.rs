//! The files that an evaluator writes, or that an earlier step has made, with what shows that one was written again.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kelvin_base::digest::Fields;

/// The data that show that a file was written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    pub(super) time: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl FileState {
    /// The state of the file to which these data belong.
    pub fn of(data: &Metadata) -> Self {
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
    let Some((folder, name, rest)) = starred(pattern) else {
        return state(whole).into_iter().collect();
    };
    let (begin, end) = name.split_once('*').unwrap_or((name, ""));
    let entries = fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        })
    };
    let paths = entries.map(|entry| entry.path()).filter(fits);
    let paths = paths.map(|path| match rest {
        "" => path,
        rest => path.join(rest),
    });
    paths.filter_map(state).collect()
}

/// A pattern as the folder before the part with the `*`, that part, and what follows it; none without a `*`.
pub(super) fn starred(pattern: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = pattern.split_once('*')?;
    let begin = before.rfind('/').map_or(0, |slash| slash + 1);
    let end = after.find('/').unwrap_or(after.len());
    let rest = after[end..].trim_start_matches('/');
    Some((
        &pattern[..begin],
        &pattern[begin..=before.len() + end],
        rest,
    ))
}

/// The file that was written last of those that match the `file` of a suite, with its state.
pub fn last_written(pattern: &str, root: &Path) -> Option<(PathBuf, FileState)> {
    let states = states(Some(pattern), root).into_iter();
    states.max_by_key(|(_, state)| state.time)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_of_one_name_wherever_it_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for path in [
            "runs/1/a.json",
            "runs/2/a.json",
            "runs/2/b.json",
            "runs/note.txt",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "").expect("written");
        }
        let found = |pattern: &str| {
            let states = states(Some(pattern), folder.path()).into_keys();
            let below = states.map(|path| {
                path.strip_prefix(folder.path())
                    .expect("below")
                    .display()
                    .to_string()
            });
            below.collect::<Vec<_>>()
        };
        assert_eq!(found("runs/*/a.json"), ["runs/1/a.json", "runs/2/a.json"]);
        assert_eq!(found("runs/2/*.json"), ["runs/2/a.json", "runs/2/b.json"]);
        assert_eq!(found("*/note.txt"), ["runs/note.txt"]);
        assert_eq!(found("runs/2/b.json"), ["runs/2/b.json"]);
        assert_eq!(found("nowhere/*/a.json"), Vec::<String>::new());
        assert_eq!(starred("runs/r-*.d/a/b"), Some(("runs/", "r-*.d", "a/b")));
    }
}
