//! How far a run is, for somebody who only looks. Nothing is locked.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

use super::tree;

/// The beginnings of the lines of a journal that are no answers.
const OTHERS: [&[u8]; 2] = [b"{\"kelvin_journal\"", b"{\"made\""];

/// How many answers the journal of an output folder has, and when the last was added; none where there is no journal,
/// because no run is under way and none was interrupted. An answer that is being written is not counted.
pub fn so_far(out: &Path) -> Option<(usize, SystemTime)> {
    let file = File::open(tree::journal_of(out)).ok()?;
    let at = file.metadata().ok()?.modified().ok()?;
    let mut lines = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        // Such lines say what the answers hold for, and which files the pipeline creates itself.
        let is_another = OTHERS.iter().any(|begin| line.starts_with(begin));
        lines += usize::from(line.ends_with(b"\n") && !is_another);
        line.clear();
    }
    Some((lines, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_with_an_answer_count() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(so_far(folder.path()), None);
        let text =
            "{\"kelvin_journal\":3}\n{\"case\":\"a\"}\n{\"made\":{}}\n{\"case\":\"b\"}\n{\"cas";
        std::fs::write(tree::journal_of(folder.path()), text).expect("written");
        let (answers, _) = so_far(folder.path()).expect("there is a journal");
        assert_eq!(answers, 2);
    }
}
