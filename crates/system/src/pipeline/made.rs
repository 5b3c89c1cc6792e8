//! Files that the pipeline creates itself in the repository, although git does not ignore them.
//!
//! The file system does not record who created a file. The first call of a run is made alone, so a file that is new
//! afterwards was created by this call, or by another program in those seconds. So only data files count: a possible
//! program, prompt or setting is never treated as a file of the pipeline.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CodeFile, Files};

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
}
