//! The way of one unit through the program, as the documentation lists it.

use std::collections::BTreeSet;
use std::fs;

/// Whoever wants to understand what becomes of a unit should not have to read more files.
const MOST_FILES: usize = 25;

#[test]
fn the_way_of_one_unit_is_short_and_leads_through_files_that_there_are() {
    let page =
        fs::read_to_string(super::root().join("docs/architecture.md")).expect("the page is there");
    let way = page
        .split("## The way of one unit")
        .nth(1)
        .expect("it has the section");
    let rows = way.split("\n## ").next().unwrap_or_default().lines();
    let files: Vec<&str> = rows
        .filter(|row| row.starts_with("| ") && row.contains(".rs`"))
        .filter_map(|row| row.split('`').nth(1))
        .collect();
    assert!(
        (2..=MOST_FILES).contains(&files.len()),
        "{} files",
        files.len()
    );
    let different: BTreeSet<&&str> = files.iter().collect();
    assert_eq!(different.len(), files.len(), "a file is named twice");
    let known: BTreeSet<String> = super::sources()
        .into_iter()
        .map(|(file, ..)| file)
        .collect();
    for file in &files {
        assert!(known.contains(*file), "`{file}` is not there");
    }
    // From the inputs to the comment, through every stage that a value has to cross.
    let stages: Vec<Option<usize>> = files
        .iter()
        .map(|file| super::place(file.split('/').next().unwrap_or_default()))
        .collect();
    for stage in [
        "target", "run", "probe", "baseline", "gate", "publish", "check",
    ] {
        assert!(
            stages.contains(&super::place(stage)),
            "the way misses `{stage}`"
        );
    }
}
