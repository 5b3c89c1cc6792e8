//! Reads what a pipeline wrote: one JSON object, of which only the decision is kept.

mod pick;

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::Value;

use super::FailureKind;
use crate::config::DecisionField;

/// Why there is no answer: what went wrong, and the same for a person.
pub(super) type Refusal = (FailureKind, String);

/// Reads an output file of at most `most` bytes into `bytes`, which is emptied first.
///
/// # Errors
///
/// Where there is no such file, or something that is none.
pub(super) fn read(path: &Path, most: u64, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    bytes.clear();
    let unreadable = |what: String| (FailureKind::OutputUnreadable, what);
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((
                FailureKind::OutputMissing,
                "it ended with exit code 0, but wrote no output file".to_owned(),
            ));
        }
        // A link could lead anywhere, also to an answer that somebody else has written.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(unreadable(
                "its output is a symbolic link, not a file".to_owned(),
            ));
        }
        Err(error) => return Err(unreadable(format!("its output cannot be opened: {error}"))),
    };
    let failed = |error: io::Error| unreadable(format!("its output cannot be read: {error}"));
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(unreadable("its output is not a regular file".to_owned()));
    }
    // The size is asked of the bytes that come, not of the file: it may still grow.
    file.take(most.saturating_add(1))
        .read_to_end(bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err((
            FailureKind::OutputTooLarge,
            format!("its output is larger than the {most} bytes that `max_output_bytes` allows"),
        ));
    }
    Ok(())
}

/// Opens without following a link and without waiting for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

/// Finds the decision in an output.
///
/// # Errors
///
/// Where it is not JSON, not an object, or has no such field.
pub(super) fn decision(bytes: &[u8], field: &DecisionField) -> Result<Value, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let message = format!(
            "its output is not UTF-8: byte {at}, in line {line}, is 0x{:02x}",
            bytes[at]
        );
        (FailureKind::OutputNotJson, message)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err((FailureKind::OutputNotJson, "its output is empty".to_owned()));
    }
    pick::pick(text, &path(field)).map_err(|miss| miss.explain(text, field))
}

/// The keys that lead to the decision. In a pointer `~1` is a slash and `~0` a tilde (RFC 6901).
fn path(field: &DecisionField) -> Vec<String> {
    match field {
        DecisionField::Key(key) => vec![key.clone()],
        DecisionField::Pointer(pointer) => pointer
            .split('/')
            .skip(1)
            .map(|key| key.replace("~1", "/").replace("~0", "~"))
            .collect(),
    }
}

/// The smallest output that has this decision.
pub(super) fn smallest(decision: &Value, field: &DecisionField) -> Value {
    path(field)
        .into_iter()
        .rev()
        .fold(decision.clone(), |inside, key| {
            Value::Object([(key, inside)].into_iter().collect())
        })
}

#[cfg(test)]
mod tests;
