//! What the command of a pipeline starts outside of its code: the program, its interpreter, the packages of that,
//! and files that the command names. Git knows none of them, and another one of them may answer otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::digest::{Digest, Fields};
use crate::target::Address;

/// Of a larger file only its size and time count: to read it would take longer than a call.
const READ_WHOLE: u64 = 64 * 1024 * 1024;
/// A script may name an interpreter that is a script.
const DEEPEST: usize = 4;

/// The digest of what can be known of it without starting anything. Where the files of the pipeline are given by
/// globs, the globs decide on those that the command names.
pub(super) fn digest(target: &Address, root: &Path, names_files: bool) -> Digest {
    let text = target.text();
    let mut fields = Fields::of("kelvin/tools/v1");
    if names_files {
        let is_between = |letter: char| letter.is_whitespace() || "'\"`=;&|<>(),".contains(letter);
        let words: BTreeSet<&str> = text
            .split(is_between)
            .filter(|word| !word.is_empty())
            .collect();
        for word in words {
            if let Some(content) = content(&root.join(word)) {
                fields = fields.field("file", word).field("content", content.bytes());
            }
        }
    }
    for program in programs(&text, root) {
        if let Some(content) = content(&program) {
            fields = fields.field("program", content.bytes());
        }
        for package in packages(&program) {
            fields = fields.field("package", package);
        }
    }
    // What npm has installed, which git ignores.
    if let Some(content) = content(&root.join("node_modules/.package-lock.json")) {
        fields = fields.field("node", content.bytes());
    }
    fields.digest()
}

/// The program of a command and, where that is a script, its interpreter, and so on.
fn programs(line: &str, root: &Path) -> Vec<PathBuf> {
    let find = |line: &str| Address::command(line).look_up(root).ok()?.found;
    let mut programs: Vec<PathBuf> = find(line).into_iter().collect();
    while let Some(next) = programs
        .last()
        .and_then(|last| interpreter(last))
        .and_then(|line| find(&line))
    {
        if programs.len() == DEEPEST || programs.contains(&next) {
            break;
        }
        programs.push(next);
    }
    programs
}

/// What the first line of a script names.
fn interpreter(program: &Path) -> Option<String> {
    let mut start = [0; 256];
    let read = fs::File::open(program).ok()?.read(&mut start).ok()?;
    let line = start[..read]
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let first = words.next()?;
    match first.ends_with("/env") {
        true => words.find(|word| !word.starts_with('-')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

/// The names and versions of the packages that a Python finds by itself.
fn packages(program: &Path) -> BTreeSet<Vec<u8>> {
    let is_python = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"python")
    };
    if !is_python(program) {
        return BTreeSet::new();
    }
    // A virtual environment links to the program, and has the packages beside the link.
    let real = program.canonicalize().ok();
    let prefixes = [Some(program), real.as_deref()];
    let prefixes = prefixes
        .into_iter()
        .flatten()
        .filter_map(|path| path.parent()?.parent());
    prefixes
        .flat_map(|prefix| listed(&prefix.join("lib")))
        .filter(|folder| is_python(folder))
        .flat_map(|folder| [folder.join("site-packages"), folder.join("dist-packages")])
        .flat_map(|folder| listed(&folder))
        .filter_map(|path| Some(path.file_name()?.as_bytes().to_vec()))
        .filter(|name| name.ends_with(b".dist-info") || name.ends_with(b".egg-link"))
        .collect()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// What tells the content of a file; none where there is no file that can be read.
fn content(path: &Path) -> Option<Digest> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if data.len() <= READ_WHOLE {
        return fs::read(path).ok().map(|bytes| Digest::of(&bytes));
    }
    let time = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let fields = Fields::of("kelvin/large-file/v1").field("size", data.len().to_be_bytes());
    Some(fields.field("time", time.as_nanos().to_be_bytes()).digest())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder in which everything is made that a digest may depend on, and the digest.
    fn of(run: &str, change: impl Fn(&Path)) -> Digest {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        };
        write("opt/bin/python3.11", "the interpreter");
        write(
            "opt/lib/python3.11/site-packages/one-1.0.dist-info/METADATA",
            "",
        );
        write(
            "venv/lib/python3.11/site-packages/two-1.0.dist-info/METADATA",
            "",
        );
        write("venv/pyvenv.cfg", "");
        fs::create_dir_all(root.join("venv/bin")).expect("made");
        symlink("../../opt/bin/python3.11", root.join("venv/bin/python")).expect("linked");
        write("weights.bin", "1");
        write("run.py", "#!venv/bin/python -u\nprint(1)\n");
        write("node_modules/.package-lock.json", "{}");
        write("unrelated", "1");
        change(root);
        digest(&Address::command(run), root, true)
    }

    #[test]
    fn whatever_the_command_starts_or_names_tells() {
        let nothing = |_: &Path| {};
        let write = |name: &'static str, text: &'static str| {
            move |root: &Path| fs::write(root.join(name), text).expect("written")
        };
        let made = |name: &'static str| {
            move |root: &Path| {
                fs::create_dir_all(root.join(name)).expect("made");
            }
        };
        for run in [
            "venv/bin/python run.py --weights=weights.bin {input} {output}",
            "./run.py --weights 'weights.bin' {input} {output}",
            "venv/bin/python run.py < weights.bin > {output}",
        ] {
            let before = of(run, nothing);
            assert_eq!(of(run, nothing), before, "{run}");
            assert_eq!(of(run, write("unrelated", "2")), before, "{run}");
            for (what, after) in [
                (
                    "the interpreter",
                    of(run, write("opt/bin/python3.11", "another")),
                ),
                ("a file", of(run, write("weights.bin", "2"))),
                (
                    "npm",
                    of(run, write("node_modules/.package-lock.json", "[]")),
                ),
                (
                    "a package",
                    of(
                        run,
                        made("venv/lib/python3.11/site-packages/new-2.dist-info"),
                    ),
                ),
                (
                    "one below",
                    of(
                        run,
                        made("opt/lib/python3.11/site-packages/new-2.dist-info"),
                    ),
                ),
            ] {
                assert_ne!(after, before, "{run}: {what}");
            }
        }
    }

    #[test]
    fn a_program_that_is_not_there_or_names_itself_is_no_trouble() {
        let itself = |root: &Path| fs::write(root.join("run.py"), "#!./run.py\n").expect("written");
        for run in ["./run.py {input} {output}", "./none {input} {output}", ""] {
            assert_eq!(of(run, itself), of(run, itself));
        }
    }
}
