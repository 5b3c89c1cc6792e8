//! The programs that a command starts, with their interpreters and packages.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::named::words;
use crate::targets::Address;

/// The longest chain of interpreters: a script may name an interpreter that is a script.
const DEEPEST: usize = 4;

/// All programs that the words of a command name, since a command may start several, or start one through another, such
/// as `env`. If a program is a script, its interpreter is included, and so on.
pub(super) fn programs_of_command(target: &Address, root: &Path) -> BTreeSet<PathBuf> {
    let mut found = chain(found(target, root), root);
    found.extend(of_script(&target.line(), root));
    found
}

/// The programs in the search path that the words of a shell script name.
pub(super) fn of_script(script: &str, root: &Path) -> BTreeSet<PathBuf> {
    let names = words(script);
    let names = names.into_iter().filter(|word| !word.contains('/'));
    names
        .flat_map(|name| chain(found(&Address::command(name), root), root))
        .collect()
}

fn found(target: &Address, root: &Path) -> Option<PathBuf> {
    target.look_up(root).ok()?.found
}

/// A program and, if it is a script, its interpreter, and so on.
fn chain(first: Option<PathBuf>, root: &Path) -> BTreeSet<PathBuf> {
    let mut programs: Vec<PathBuf> = first.into_iter().collect();
    while let Some(next) = programs
        .last()
        .and_then(|last| interpreter(last))
        .and_then(|line| found(&Address::command(&line), root))
    {
        if programs.len() == DEEPEST || programs.contains(&next) {
            break;
        }
        programs.push(next);
    }
    programs.into_iter().collect()
}

/// The interpreter that the first line of a script names.
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

/// The names and versions of the packages that a Python finds by default.
pub(super) fn packages(program: &Path) -> BTreeSet<Vec<u8>> {
    let is_python = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"python")
    };
    if !is_python(program) {
        return BTreeSet::new();
    }
    // A virtual environment links to the program, and its packages are in the folder of the link.
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
