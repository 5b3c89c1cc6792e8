//! The lines for a `.gitignore` for the files that a run has left. A line that covers too much would hide people's work
//! from git, so a file is named exactly, unless it is one of several data files that nobody writes by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::MADE_FOLDERS;
use super::made::{Kind, kind};
use super::repository::escaped;

/// Extensions that nobody uses for code, a prompt or a setting: for these, a line may cover a whole folder.
const PLAIN_DATA: [&str; 32] = [
    "arrow",
    "avro",
    "bak",
    "bin",
    "cache",
    "ckpt",
    "csv",
    "dat",
    "db",
    "db-journal",
    "db-shm",
    "db-wal",
    "dump",
    "faiss",
    "feather",
    "h5",
    "idx",
    "log",
    "mdb",
    "npy",
    "npz",
    "parquet",
    "pickle",
    "pid",
    "pkl",
    "pyc",
    "sqlite",
    "sqlite3",
    "sqlite3-journal",
    "tmp",
    "tsv",
    "wal",
];

/// The lines for `files`, whose paths are relative to the top of the repository. `later` are files of the same kinds
/// that were created during the run: they show that names change, but get no line of their own. If a file of the `code`
/// with the same extension is beside them, each file is named exactly.
pub(super) fn lines<'a>(
    files: impl Iterator<Item = &'a [u8]>,
    later: impl Iterator<Item = &'a str>,
    code: &BTreeSet<Kind>,
) -> BTreeSet<String> {
    let text = |name| std::str::from_utf8(name).ok();
    let files: BTreeSet<&str> = files
        .filter_map(text)
        .filter(|name| !name.contains(['\n', '\r']))
        .collect();
    let mut alike: BTreeMap<Kind, BTreeSet<&str>> = BTreeMap::new();
    for name in later.chain(files.iter().copied()) {
        if let Some(kind) = kind(name) {
            alike.entry(kind).or_default().insert(name);
        }
    }
    let line = |name: &&str| {
        if let Some(folder) = made_folder(name) {
            return format!("{folder}/");
        }
        let exact = || format!("/{}", escaped(name));
        let Some(kind) = kind(name).filter(|kind| !code.contains(kind)) else {
            return exact();
        };
        let are_several = alike.get(&kind).is_some_and(|alike| alike.len() > 1);
        let (folder, ending) = kind;
        // At the top level, a line for all of them would also cover files that do not come from the pipeline.
        match are_several && !folder.is_empty() && PLAIN_DATA.contains(&&*ending) {
            true => format!("/{}/*.{}", escaped(&folder), escaped(&ending)),
            false => exact(),
        }
    };
    files.iter().map(line).collect()
}

/// The name of a folder that only contains files that runs leave.
fn made_folder(name: &str) -> Option<&'static str> {
    let mut folders = Path::new(name)
        .ancestors()
        .skip(1)
        .filter_map(Path::file_name);
    folders.find_map(|name| MADE_FOLDERS.into_iter().find(|made| name == *made))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(files: &[&str], later: &[&str]) -> Vec<String> {
        let code = BTreeSet::from([("src".to_owned(), "csv".to_owned())]);
        let names = files.iter().map(|name| name.as_bytes());
        let lines = lines(names, later.iter().copied(), &code);
        lines.into_iter().collect()
    }

    #[test]
    fn one_file_is_named_as_it_is() {
        for (name, line) in [
            ("src/memo.json", "/src/memo.json"),
            ("out/a.csv", "/out/a.csv"),
            ("logs/run.log", "/logs/run.log"),
            ("state [1].json", r"/state\ \[1\].json"),
            ("__pycache__/x.pyc", "__pycache__/"),
        ] {
            assert_eq!(lines_of(&[name], &[]), [line]);
        }
    }

    #[test]
    fn data_of_a_folder_is_ignored_whole_only_where_there_are_two_and_nobody_writes_such_files() {
        assert_eq!(lines_of(&["out/a.csv", "out/b.csv"], &[]), ["/out/*.csv"]);
        assert_eq!(lines_of(&["out/a.csv"], &["out/b.csv"]), ["/out/*.csv"]);
        for files in [
            // Beside code, in two folders, of two kinds, and at the top.
            ["src/a.csv", "src/b.csv"],
            ["in/a.csv", "out/b.csv"],
            ["out/a.csv", "out/a.bin"],
            ["a.csv", "b.csv"],
            // What people write too.
            ["out/a.json", "out/b.json"],
            ["out/a.yaml", "out/b.yaml"],
            ["out/a.md", "out/b.md"],
            ["out/a.txt", "out/b.txt"],
            ["out/a.lock", "out/b.lock"],
            ["out/run-1.json", "out/run-2.json"],
        ] {
            let mut named = files.map(|name| format!("/{name}"));
            named.sort();
            assert_eq!(lines_of(&files, &[]), named);
            assert_eq!(
                lines_of(&files[..1], &files[1..]),
                [format!("/{}", files[0])]
            );
        }
    }
}
