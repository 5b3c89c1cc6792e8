//! The `.gitignore` lines for the files that Kelvin writes, and for those that the pipeline leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::files::Target;

/// The lines that make git ignore the output folder, the cache and the history.
const OWN: &[&str] = &["/kelvin/", "/.kelvin-cache/", "/.kelvin/history.db*"];

/// The new text of each `.gitignore` that lacks lines: the old lines and the missing ones. `left`: lines for the file
/// at the top of the repository.
pub(super) fn files(
    target: &Target,
    left: &BTreeSet<String>,
) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let top = target.repository.as_ref().unwrap_or(&target.root);
    let mut wanted: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    wanted.entry(&target.root).or_default().extend(OWN);
    let left = left.iter().map(String::as_str);
    wanted.entry(top).or_default().extend(left);
    let mut files = Vec::new();
    for (folder, lines) in wanted {
        files.extend(file(&folder.join(".gitignore"), &lines)?);
    }
    Ok(files)
}

/// The new text of one `.gitignore`; none if no line is missing.
fn file(path: &Path, wanted: &[&str]) -> anyhow::Result<Option<(PathBuf, Vec<u8>)>> {
    let mut text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read `{}`", path.display()));
        }
    };
    let missing = missing(&String::from_utf8_lossy(&text), wanted);
    if missing.is_empty() {
        return Ok(None);
    }
    let newline: &[u8] = if text.windows(2).any(|two| two == b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.extend(newline);
    }
    for line in missing {
        text.extend(line.as_bytes());
        text.extend(newline);
    }
    Ok(Some((path.to_path_buf(), text)))
}

/// The wanted lines that a `.gitignore` does not contain in any spelling.
fn missing(text: &str, wanted: &[&str]) -> Vec<String> {
    let bare = |line: &str| line.trim().trim_matches('/').to_owned();
    let is_there = |wanted: &str| text.lines().any(|line| bare(line) == bare(wanted));
    let missing = wanted.iter().filter(|wanted| !is_there(wanted));
    missing.map(|line| (*line).to_owned()).collect()
}
