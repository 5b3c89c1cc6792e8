//! The lines of a file or of a part of it, in pieces that are whole lines and UTF-8, so that a file
//! of any size needs one buffer.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// How much is read at a time; a longer line makes the buffer grow.
const PIECE: usize = 1 << 20;

/// What stops a reader.
#[derive(Debug)]
pub(super) enum Stop {
    /// The disk.
    Unreadable(io::Error),
    /// A line, from 1 within the part, and what is wrong with it.
    Wrong(u64, String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Takes a line and its number within the part, or says what is wrong with it.
type Take<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

/// Hands every line that begins at `from` or later and before `to` on, with its number within the
/// part. Gives the number of lines.
pub(super) fn each(path: &Path, (from, to): (u64, u64), take: &mut Take<'_>) -> Result<u64, Stop> {
    let mut file = File::open(path)?;
    // The line that holds the byte before `from` begins before it, and is of the part before.
    let mut left = to.saturating_sub(from);
    let mut skips = false;
    if from > 0 {
        file.seek(SeekFrom::Start(from - 1))?;
        skips = true;
        left += 1;
    }
    let (mut buffer, mut filled) = (vec![0; PIECE], 0);
    let mut number = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let read = match file.read(&mut buffer[filled..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        filled += read;
        let at_end = read == 0;
        let whole = if at_end {
            filled
        } else {
            buffer[..filled]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1)
        };
        let mut begun = 0;
        if skips && whole > 0 {
            begun = buffer[..whole]
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(whole, |at| at + 1);
            skips = false;
        }
        let mut rest = &buffer[begun..whole];
        let text = std::str::from_utf8(rest);
        let valid = begun + text.err().map_or(rest.len(), |error| error.valid_up_to());
        while !rest.is_empty() {
            if left <= begun as u64 {
                return Ok(number);
            }
            let length = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
            let line = &rest[..length];
            let next = (length + 1).min(rest.len());
            number += 1;
            if begun + length > valid {
                return Err(Stop::Wrong(number, "it is not UTF-8 text".to_owned()));
            }
            take(number, line).map_err(|what| Stop::Wrong(number, what))?;
            rest = &rest[next..];
            begun += next;
        }
        left = left.saturating_sub(whole as u64);
        if at_end || left == 0 {
            return Ok(number);
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

/// The columns of a line, which are parted by white space.
///
/// # Errors
///
/// Where there are more or fewer than `N`.
pub(super) fn columns<'l, const N: usize>(
    line: &'l [u8],
    names: &str,
) -> Result<[&'l [u8]; N], String> {
    let mut columns = [&line[..0]; N];
    let mut count = 0;
    let words = line
        .split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c))
        .filter(|word| !word.is_empty());
    for word in words {
        if let Some(column) = columns.get_mut(count) {
            *column = word;
        }
        count += 1;
    }
    if count == N {
        Ok(columns)
    } else {
        Err(format!(
            "{N} columns are needed ({names}), found {count}: {}",
            super::quoted(line)
        ))
    }
}

/// Whether there is nothing in a line.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
