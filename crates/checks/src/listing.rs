//! The workspace as a text: the names of everything in it, and the beginning of every file.
//!
//! The text is limited, and says where a part was left out. The author of the files can neither make this program read
//! outside the workspace nor forge a part of the text, because every line of a file is marked.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kelvin_base::file::beneath::{Beneath, EntryKind, FolderEntry, NotOpened};

/// The maximum length of the text in characters: it fits into the frame of a judge with default settings.
const MOST: usize = 16_000;
/// How many characters of one file are shown at most.
const MOST_OF_FILE: usize = 4_000;
/// How many names are shown at most.
const MOST_NAMES: usize = 200;
/// How many entries are examined at most; for a larger workspace the text describes only these.
const MOST_ENTRIES: usize = 20_000;

/// The workspace as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkspaceListing {
    /// The text; empty if there are no files.
    pub(super) text: String,
    /// Whether a part was left out of the text.
    pub(super) is_cut: bool,
}

/// Lists a workspace, in the order of the names. Fails if the workspace itself cannot be read. Unreadable entries are
/// reported in the text.
pub(super) fn list_workspace(beneath: &Beneath) -> io::Result<WorkspaceListing> {
    let (found, is_whole) = entries(beneath)?;
    let mut listing = WorkspaceListing {
        text: String::new(),
        is_cut: !is_whole,
    };
    if found.is_empty() {
        return Ok(listing);
    }
    listing.names(&found, is_whole);
    listing.files(beneath, &found);
    Ok(listing)
}

/// All entries below the folder except folders, with relative paths, and whether the list is complete.
fn entries(beneath: &Beneath) -> io::Result<(Vec<(PathBuf, FolderEntry)>, bool)> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut folders = vec![PathBuf::from(".")];
    while let Some(folder) = folders.pop() {
        let inside = match beneath.entries(&folder, MOST_ENTRIES - looked_at) {
            Ok(inside) => inside,
            Err(NotOpened::Refused(error)) if folder == Path::new(".") => return Err(error),
            // The folder was removed or replaced meanwhile, or may not be read.
            Err(_) => {
                found.push((folder, FolderEntry::unreadable()));
                continue;
            }
        };
        looked_at += inside.len();
        for entry in inside {
            let path = match folder == Path::new(".") {
                true => PathBuf::from(&entry.name),
                false => folder.join(&entry.name),
            };
            match entry.kind {
                // The content of `.git` is a history, not a result of the pipeline.
                EntryKind::Folder if entry.name == ".git" => found.push((path, entry)),
                EntryKind::Folder => folders.push(path),
                _ => found.push((path, entry)),
            }
        }
        if looked_at >= MOST_ENTRIES {
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            return Ok((found, false));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok((found, true))
}

impl WorkspaceListing {
    fn names(&mut self, found: &[(PathBuf, FolderEntry)], is_whole: bool) {
        self.line("The workspace has:");
        for (path, entry) in found.iter().take(MOST_NAMES) {
            let what = match entry.kind {
                EntryKind::File => format!("{} bytes", entry.size),
                EntryKind::Link => "a link, which was not followed".to_owned(),
                EntryKind::Folder => "a folder, whose content is not listed".to_owned(),
                EntryKind::Other => "neither a file nor a folder".to_owned(),
                EntryKind::Unreadable => "it cannot be read".to_owned(),
            };
            self.line(&format!("- {}: {what}", shown(path)));
        }
        let more = found.len().saturating_sub(MOST_NAMES);
        match (more, is_whole) {
            (0, true) => {}
            (more, true) => self.left_out(&format!("{more} further names are left out here")),
            (_, false) => self.left_out(&format!(
                "there are more than {MOST_ENTRIES} entries; the others were not looked at"
            )),
        }
    }

    fn files(&mut self, beneath: &Beneath, found: &[(PathBuf, FolderEntry)]) {
        let is_file = |entry: &FolderEntry| entry.kind == EntryKind::File;
        let files: Vec<&PathBuf> = found
            .iter()
            .filter(|(_, entry)| is_file(entry))
            .map(|(path, _)| path)
            .collect();
        if !files.is_empty() {
            self.line("\nThe content of the files, each line after a bar:");
        }
        for (at, path) in files.iter().enumerate() {
            let room = MOST.saturating_sub(self.text.chars().count());
            if room == 0 {
                let more = files.len() - at;
                self.left_out(&format!(
                    "the content of {more} further files is left out here"
                ));
                return;
            }
            self.line(&format!("\n{}:", shown(path)));
            let most = MOST_OF_FILE.min(room);
            match beginning(beneath, path, most) {
                Ok((text, is_whole)) => {
                    for line in text.lines() {
                        self.line(&format!("| {line}"));
                    }
                    if !is_whole {
                        self.left_out("the rest of this file is left out here");
                    }
                }
                Err(why) => self.left_out(&format!("not shown: {why}")),
            }
        }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn left_out(&mut self, what: &str) {
        self.is_cut = true;
        self.line(&format!("({what})"));
    }
}

/// A name without line breaks and control characters, so that it stays on its line.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// The first `most` characters of a file, and whether the file has no more.
fn beginning(beneath: &Beneath, path: &Path, most: usize) -> Result<(String, bool), String> {
    let opened = beneath.open(path).map_err(|error| match error {
        NotOpened::Absent => "it is not there any more".to_owned(),
        NotOpened::Escapes => "it leads out of the workspace".to_owned(),
        NotOpened::Refused(error) => format!("it cannot be read ({error})"),
    })?;
    let read = |file: File| -> io::Result<Option<Vec<u8>>> {
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        // A character has at most four bytes; one more byte shows that there is more text.
        file.take(most as u64 * 4 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = read(opened).map_err(|error| format!("it cannot be read ({error})"))?;
    let bytes = bytes.ok_or("it is no regular file")?;
    if bytes.contains(&0) {
        return Err("it is no text".to_owned());
    }
    let whole = String::from_utf8_lossy(&bytes);
    Ok(match whole.char_indices().nth(most) {
        Some((at, _)) => (whole[..at].to_owned(), false),
        None => (whole.into_owned(), true),
    })
}
