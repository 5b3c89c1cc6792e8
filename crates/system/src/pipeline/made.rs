//! Files that the pipeline creates itself in the repository, although git does not ignore them.
//!
//! The file system does not record who created a file. The first call of a run is made alone, so a file that is new
//! afterwards was created by this call, or by another program in those seconds. So only data files count: a possible
//! program, prompt or setting is never treated as a file of the pipeline.
//!
//! The lines for a `.gitignore` come from here too. A line that covers too much would hide people's work from git, so a
//! file is named exactly, unless it is one of several data files that nobody writes by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::repository::escaped;
use super::{CodeFile, Files, MADE_FOLDERS};

/// Extensions of data files that programs write and that nobody writes by hand during a run.
const DATA: [&str; 29] = [
    "arrow", "avro", "bak", "bin", "cache", "ckpt", "csv", "dat", "dump", "faiss", "feather", "h5",
    "idx", "index", "json", "jsonl", "mdb", "ndjson", "npy", "npz", "out", "parquet", "pickle",
    "pkl", "pt", "state", "store", "tsv", "wal",
];

/// A folder and an extension.
pub(super) type Kind = (String, String);

/// The known files that the pipeline created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The names of these files.
    files: BTreeSet<String>,
    /// Folders and extensions that only these files have: the next call may create such a file with another name.
    kinds: BTreeSet<Kind>,
    /// The files that existed before, as far as known; the pipeline created none of them.
    #[serde(skip)]
    before: BTreeSet<String>,
    /// Other files of the same kinds that were created during this run.
    #[serde(skip)]
    later: BTreeSet<String>,
}

impl Made {
    /// Whether no file is known that the pipeline created.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The names of these files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Other files of the same kinds that were created during this run.
    pub(super) fn later(&self) -> impl Iterator<Item = &str> {
        self.later.iter().map(String::as_str)
    }

    /// Records a file that belongs to these files by its kind.
    pub(super) fn saw(&mut self, name: &[u8]) {
        let name = std::str::from_utf8(name).ok();
        let name = name.filter(|name| !self.files.contains(*name));
        self.later.extend(name.map(str::to_owned));
    }

    /// Adds the files that another run has found.
    pub fn join(&mut self, other: Self) {
        self.files.extend(other.files);
        self.kinds.extend(other.kinds);
        self.before.extend(other.before);
        self.later.extend(other.later);
    }

    /// Records a file that existed when the run began.
    pub fn was_there(&mut self, name: &str) {
        self.before.insert(name.to_owned());
    }

    /// Whether a file that git does not track was created by the pipeline.
    pub(super) fn has(&self, name: &[u8], entry: &CodeFile) -> bool {
        let Some(name) = data(name, entry).filter(|name| !self.before.contains(*name)) else {
            return false;
        };
        self.files.contains(name) || kind(name).is_some_and(|kind| self.kinds.contains(&kind))
    }

    /// Checks and adds a file that is new after the first call. `files` are those that existed before.
    pub(super) fn learn(&mut self, name: &[u8], entry: &CodeFile, files: &Files) {
        let Some(name) = data(name, entry) else {
            return;
        };
        self.files.insert(name.to_owned());
        let others = files
            .keys()
            .filter_map(|name| std::str::from_utf8(name).ok());
        let others: BTreeSet<_> = others.filter_map(kind).collect();
        self.kinds
            .extend(kind(name).filter(|kind| !others.contains(kind)));
    }
}

/// The name of a file if it is a data file by its extension, and neither hidden nor a program.
fn data<'a>(name: &'a [u8], entry: &CodeFile) -> Option<&'a str> {
    named_as_data(name).filter(|_| entry.kind == "file")
}

/// A name with the extension of a data file.
pub(super) fn named_as_data(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    let ending = Path::new(name).extension()?.to_str()?;
    let is_hidden = Path::new(name).file_name()?.to_str()?.starts_with('.');
    (!is_hidden && DATA.contains(&ending)).then_some(name)
}

/// The folder of a file and its extension; none if it has no extension.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let path = Path::new(name);
    let folder = path.parent()?.to_str()?;
    Some((folder.to_owned(), path.extension()?.to_str()?.to_owned()))
}

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
pub(super) fn ignore_lines<'a>(
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

    fn entry(kind: &'static str) -> CodeFile {
        CodeFile {
            kind,
            content: Vec::new(),
        }
    }

    #[test]
    fn data_of_the_first_call_and_its_kind_are_known_again_and_code_is_not() {
        let mut made = Made::default();
        let there = ["data.json", "prompts/one.json"];
        let files = there.map(|name| (name.as_bytes().to_vec(), entry("file")));
        let files = Files::from(files);
        for name in [
            "state.json",
            "out/alder.csv",
            "helper.py",
            "a.sh",
            ".env",
            ".x.json",
            "words",
            "note.txt",
        ] {
            made.learn(name.as_bytes(), &entry("file"), &files);
        }
        made.learn(b"tool.bin", &entry("program"), &files);
        assert_eq!(
            made.names().collect::<Vec<_>>(),
            ["out/alder.csv", "state.json"]
        );
        for (name, is_made) in [
            ("state.json", true),
            ("out/birch.csv", true),
            // Beside others of their kind that are not.
            ("extra.json", false),
            ("prompts/two.json", false),
            ("out/deep/x.csv", false),
            ("out/x.py", false),
        ] {
            assert_eq!(made.has(name.as_bytes(), &entry("file")), is_made, "{name}");
        }
        made.was_there("out/birch.csv");
        assert!(!made.has(b"out/birch.csv", &entry("file")));
    }

    mod ignoring {
        use super::super::*;

        fn lines_of(files: &[&str], later: &[&str]) -> Vec<String> {
            let code = BTreeSet::from([("src".to_owned(), "csv".to_owned())]);
            let names = files.iter().map(|name| name.as_bytes());
            let lines = ignore_lines(names, later.iter().copied(), &code);
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
        fn data_of_a_folder_is_ignored_whole_only_where_there_are_two_and_nobody_writes_such_files()
        {
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
}
