//! The project files that make up a program: those that its command names, and the scripts that these files name.
//!
//! Their digest has to be the same on a laptop and on a runner, and before and after a run. So programs and packages of
//! the machine are left out, and so are data that a script names, because the script may write them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::named::{NamedScript, content, words, written};
use kelvin_base::digest::{Digest, Fields};

/// The extensions of scripts and of templates for prompts. A file that only a script names needs one of them to count.
const OF_SCRIPTS: [&str; 20] = [
    "bash", "cjs", "jinja", "jinja2", "j2", "jl", "js", "lua", "md", "mjs", "php", "pl", "prompt",
    "py", "r", "rb", "sh", "tmpl", "ts", "zsh",
];
/// How many files are examined at most.
const MOST_FILES: usize = 500;

/// The digest of the files of the project in `root` that make up the program of a command; none if the command names
/// none.
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
