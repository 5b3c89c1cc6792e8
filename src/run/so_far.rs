//! How far a run is, for somebody who only looks: nothing is locked.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

use super::tree;

/// How many answers the journal of an output folder has, and when the last was added; none where there is no journal,
/// because no run is under way and none was interrupted. An answer that is being written is not counted.
pub(crate) fn so_far(out: &Path) -> Option<(usize, SystemTime)> {
    let file = File::open(tree::journal_of(out)).ok()?;
    let at = file.metadata().ok()?.modified().ok()?;
    let mut lines = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        let is_answer = line.ends_with(b"\n") && !line.starts_with(b"{\"kelvin_journal\"");
        lines += usize::from(is_answer);
        line.clear();
    }
    Some((lines, at))
}
