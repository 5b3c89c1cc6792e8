//! Files and folders that are named by a command, by a script that the command names, or by the script that prepares
//! the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::file::OUTPUT_MARK;

/// For a larger file, only its size and time are used: reading it would take longer than a call.
const READ_WHOLE: u64 = 64 * 1024 * 1024;
/// How many files of a folder are read; for the other files, only the size and the time are used.
const READ_FILES: usize = 5_000;
/// A longer file counts as data, not as a script.
const LONGEST_SCRIPT: u64 = 256 * 1024;
/// The extensions of files that programs leave behind and do not read for an answer.
const LEFT_BEHIND: [&str; 5] = ["lock", "log", "pid", "pyc", "tmp"];
/// Folders that a pipeline does not read: the data of git, and compiled files of interpreters.
const PASSED_OVER: [&str; 2] = [".git", "__pycache__"];

/// The words of a text as a shell, Python or JavaScript would split them.
pub(super) fn words(text: &str) -> BTreeSet<&str> {
    let is_between = |letter: char| letter.is_whitespace() || "'\"`=;&|<>(),".contains(letter);
    let words = text.split(is_between);
    words.filter(|word| !word.is_empty()).collect()
}

/// Collects the files that texts name, by the paths in these texts.
pub(super) struct Named<'a> {
    root: &'a Path,
    found: BTreeMap<String, Digest>,
}

impl<'a> Named<'a> {
    pub(super) fn of(root: &'a Path) -> Self {
        Self {
            root,
            found: BTreeMap::new(),
        }
    }

    /// The collected files.
    pub(super) fn found(self) -> BTreeMap<String, Digest> {
        let found = self.found.into_iter();
        found
            .map(|(name, digest)| (format!("`{name}`"), digest))
            .collect()
    }

    /// Adds files and folders that a command names, and returns the scripts among them.
    pub(super) fn command(&mut self, text: &str) -> Vec<NamedScript> {
        let mut scripts = Vec::new();
        let written = written(text);
        for word in words(text).difference(&written) {
            match self.file(word) {
                true => scripts.extend(NamedScript::read(&self.root.join(word))),
                false => self.folder(word),
            }
        }
        scripts
    }

    /// Adds files and folders that a script names, except those to which the script obviously writes.
    pub(super) fn script(&mut self, script: &NamedScript) {
        let written = match script.is_of_a_shell {
            true => written(&script.text),
            false => BTreeSet::new(),
        };
        for word in words(&script.text) {
            let ending = Path::new(word).extension().unwrap_or_default();
            if written.contains(word) || LEFT_BEHIND.iter().any(|left| ending == *left) {
                continue;
            }
            // If a word is a pattern, or a path that the script composes, only its folder is known.
            let fixed = word.split(['*', '?', '[', '{', '$']).next();
            let fixed = fixed.unwrap_or_default();
            if !self.file(word)
                && let Some(end) = fixed.rfind('/')
            {
                self.folder(&fixed[..=end]);
                self.folder(fixed);
            }
        }
    }

    /// Adds files that a text names.
    pub(super) fn files(&mut self, text: &str) {
        for word in words(text) {
            self.file(word);
        }
    }

    /// Adds the file that a word names. Returns whether there is a readable file with this name.
    fn file(&mut self, word: &str) -> bool {
        let content = content(&self.root.join(word));
        let is_there = content.is_some();
        self.found
            .extend(content.map(|content| (word.to_owned(), content)));
        is_there
    }

    /// Adds a folder of the project. A folder outside the project, or one that contains it, has too many other files.
    fn folder(&mut self, word: &str) {
        let path = Path::new(word);
        let inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let below = path
            .components()
            .any(|part| matches!(part, Component::Normal(_)));
        let name = word.trim_end_matches('/');
        if !inside || !below || self.found.contains_key(name) {
            return;
        }
        let mut files = Vec::new();
        if fs::symlink_metadata(self.root.join(name)).is_ok_and(|data| data.is_dir()) {
            list(&self.root.join(name), &mut files);
            let mut fields = Fields::of("kelvin/folder/v1");
            files.sort();
            for (at, path) in files.iter().enumerate() {
                let known = match at < READ_FILES {
                    true => content(path),
                    false => fs::metadata(path)
                        .ok()
                        .and_then(|data| size_and_time(&data)),
                };
                if let Some(known) = known {
                    let path = path.strip_prefix(self.root).unwrap_or(path);
                    fields = fields.field("name", path.as_os_str().as_bytes());
                    fields = fields.field("content", known.bytes());
                }
            }
            self.found.insert(name.to_owned(), fields.digest());
        }
    }
}

/// The files below a folder, without the output of Kelvin runs. Links to folders are not followed, because they may
/// lead back to a parent.
fn list(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    let is_of_kelvin = [OUTPUT_MARK, "CACHEDIR.TAG"];
    if is_of_kelvin.iter().any(|mark| folder.join(mark).exists()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        match kind.is_dir() {
            true if PASSED_OVER.iter().any(|name| entry.file_name() == *name) => {}
            true => list(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

/// A file that the command names and that may be a script.
pub(super) struct NamedScript {
    pub(super) text: String,
    /// Whether a shell runs it, according to its extension or its first line.
    pub(super) is_of_a_shell: bool,
}

impl NamedScript {
    pub(super) fn read(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        if data.len() > LONGEST_SCRIPT {
            return None;
        }
        let text = String::from_utf8(fs::read(path).ok()?).ok()?;
        let ending = path.extension().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let is_named = first.starts_with("#!") && first.contains("sh");
        Some(Self {
            is_of_a_shell: ending == "sh" || ending == "bash" || is_named,
            text,
        })
    }
}

/// The words after the characters with which a shell redirects output to a file.
pub(super) fn written(text: &str) -> BTreeSet<&str> {
    let is_between = |letter: char| letter.is_whitespace() || "'\"`;&|<(),".contains(letter);
    let after = text.split('>').skip(1);
    let after = after.filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '\t', '"', '\'']);
        rest.split(is_between).next()
    });
    after.collect()
}

/// The digest of the content of a file; none if there is no readable file.
pub(super) fn content(path: &Path) -> Option<Digest> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    match data.len() <= READ_WHOLE {
        true => fs::read(path).ok().map(|bytes| Digest::of(&bytes)),
        false => size_and_time(&data),
    }
}

fn size_and_time(data: &fs::Metadata) -> Option<Digest> {
    let time = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let fields = Fields::of("kelvin/large-file/v1").field("size", data.len().to_be_bytes());
    Some(fields.field("time", time.as_nanos().to_be_bytes()).digest())
}

/// The extensions of scripts and of templates for prompts. A file that only a script names needs one of them to count.
const OF_SCRIPTS: [&str; 20] = [
    "bash", "cjs", "jinja", "jinja2", "j2", "jl", "js", "lua", "md", "mjs", "php", "pl", "prompt",
    "py", "r", "rb", "sh", "tmpl", "ts", "zsh",
];
/// How many files are examined at most.
const MOST_FILES: usize = 500;

/// The digest of the files of the project in `root` that make up the program of a command: those that the command names,
/// and the scripts that these files name; none if the command names none. The digest has to be the same on a laptop and
/// on a runner, and before and after a run. So programs and packages of the machine are left out, and so are data that a
/// script names, because the script may write them.
pub(crate) fn files_of_project(command: &str, root: &Path) -> Option<Digest> {
    let root = root.canonicalize().ok()?;
    let mut found = BTreeMap::new();
    let mut waiting = Vec::new();
    let mut add = |path: PathBuf, waiting: &mut Vec<PathBuf>| {
        let Some(path) = path.canonicalize().ok() else {
            return;
        };
        let Ok(name) = path.strip_prefix(&root) else {
            return;
        };
        if found.len() < MOST_FILES
            && !found.contains_key(name)
            && let Some(digest) = content(&path)
        {
            found.insert(name.to_path_buf(), digest);
            waiting.push(path);
        }
    };
    let (all, written) = (words(command), written(command));
    for word in all.difference(&written) {
        add(root.join(word), &mut waiting);
        // A command may change into a folder first: `cd judges && python3 judge.py`.
        for folder in &all {
            add(root.join(folder).join(word), &mut waiting);
        }
    }
    while let Some(path) = waiting.pop() {
        let Some(script) = NamedScript::read(&path) else {
            continue;
        };
        let beside = path.parent().unwrap_or(&root).to_path_buf();
        let own = path.extension().and_then(|ending| ending.to_str());
        for word in words(&script.text) {
            // An import names a module without its file extension.
            let module = own.map(|own| format!("{}.{own}", word.replace('.', "/")));
            let names = [Some(word.to_owned()), module];
            for name in names.into_iter().flatten() {
                let ending = Path::new(&name)
                    .extension()
                    .and_then(|ending| ending.to_str());
                if ending.is_some_and(|ending| OF_SCRIPTS.contains(&ending)) {
                    add(beside.join(&name), &mut waiting);
                    add(root.join(&name), &mut waiting);
                }
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let fields = found.iter().fold(
        Fields::of("kelvin/files-of-project/v1"),
        |fields, (name, digest)| {
            fields
                .field("name", name.to_string_lossy().as_bytes())
                .field("content", digest.bytes())
        },
    );
    Some(fields.digest())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The digest of a command in a project in which a file has another content.
    fn with(command: &str, changed: &str) -> Option<Digest> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (name, text) in [
            (
                "judge.py",
                "import rubric\nfrom lib.scale import one\nopen('seen.db')\n",
            ),
            ("rubric.py", "TEXT = open('rubric.md').read()\n"),
            ("rubric.md", "Be strict.\n"),
            ("lib/scale.py", "one = 1\n"),
            ("judges/judge.sh", ". ./common.sh\necho x >> calls\n"),
            ("judges/common.sh", "true\n"),
            ("weights.bin", "1"),
            ("seen.db", "1"),
            ("calls", "1"),
            ("unrelated.py", "1"),
        ] {
            write(root, name, text);
        }
        if !changed.is_empty() {
            write(root, changed, "another\n");
        }
        files_of_project(command, root)
    }

    #[test]
    fn the_files_of_a_program_count_wherever_it_lies_and_what_it_may_write_does_not() {
        for (command, counts, does_not) in [
            (
                "python3 judge.py --weights=weights.bin",
                &[
                    "judge.py",
                    "rubric.py",
                    "rubric.md",
                    "lib/scale.py",
                    "weights.bin",
                ][..],
                &["seen.db", "unrelated.py", "judges/judge.sh"][..],
            ),
            (
                "cd judges && sh judge.sh {input} 2> calls > {output}",
                &["judges/judge.sh", "judges/common.sh"],
                &["calls", "judge.py"],
            ),
        ] {
            let before = with(command, "");
            assert!(before.is_some(), "{command}");
            assert_eq!(with(command, ""), before, "another folder: {command}");
            for name in counts {
                assert_ne!(with(command, name), before, "{command}: {name}");
            }
            for name in does_not {
                assert_eq!(with(command, name), before, "{command}: {name}");
            }
        }
    }

    #[test]
    fn a_command_without_a_file_of_the_project_has_no_digest() {
        assert_eq!(with("cat", ""), None);
        assert_eq!(with("/bin/sh -c true", ""), None);
        assert_eq!(with("", ""), None);
    }
}
