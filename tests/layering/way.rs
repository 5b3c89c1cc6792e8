//! The way of one unit through the program, as the documentation lists it.

use std::collections::BTreeSet;
use std::fs;

/// Whoever wants to understand what becomes of a unit should not have to read more files.
const MOST_FILES: usize = 25;

#[test]
fn the_way_of_one_unit_is_short_and_leads_through_files_that_there_are() {
    let page = fs::read_to_string(super::root().join("docs/architecture.md")).expect("the page");
    let way = page.split("## The way of one unit").nth(1);
    let way = way.expect("it has the section").split("\n## ").next();
    let files: Vec<&str> = way
        .unwrap_or_default()
        .lines()
        .filter(|row| row.starts_with("| ") && row.contains(".rs`"))
        .filter_map(|row| row.split('`').nth(1))
        .collect();
    assert!((2..=MOST_FILES).contains(&files.len()), "{}", files.len());
    let different: BTreeSet<&&str> = files.iter().collect();
    assert_eq!(different.len(), files.len(), "a file is named twice");
    for file in &files {
        assert!(super::root().join(file).is_file(), "`{file}` is not there");
    }
    // From the inputs to the comment, through every room that a value has to cross.
    for room in [
        "crates/evidence/",
        "crates/run/",
        "crates/record/",
        "src/check/",
        "crates/gate/",
        "crates/github/",
    ] {
        let is_crossed = files.iter().any(|file| file.starts_with(room));
        assert!(is_crossed, "the way misses `{room}`");
    }
}
