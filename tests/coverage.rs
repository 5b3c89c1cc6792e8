//! Every statement that the project promises to hold has a test that carries its id.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_id_is_carried_by_a_test() {
    let mut found = BTreeSet::new();
    for folder in ["src", "crates", "tests"] {
        collect(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut found,
        );
    }
    let wanted = (1..=17)
        .map(|n| format!("m{n}"))
        .chain((1..=16).map(|n| format!("p{n}")))
        .chain((1..=51).map(|n| format!("kel_{n:02}")))
        .chain((1..=34).map(|n| format!("ret_{n:02}")))
        .chain((1..=17).map(|n| format!("act_{n:02}")))
        .chain(["4b", "4d", "4e"].map(str::to_owned));
    let missing: Vec<String> = wanted.filter(|id| !found.contains(id)).collect();
    assert!(missing.is_empty(), "no test carries {missing:?}");
}

/// Takes in the ids in the names of the functions of every file.
fn collect(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("listed").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("it is text");
            // Only what a test runner runs counts: the attribute stands right before the name.
            for part in text.split("#[test]").skip(1) {
                let Some((_, rest)) = part.split_once("fn ") else {
                    continue;
                };
                let name = rest.split('(').next().unwrap_or_default();
                let words: Vec<&str> = name.split('_').collect();
                for (at, word) in words.iter().enumerate() {
                    found.insert((*word).to_owned());
                    if let Some(next) = words.get(at + 1) {
                        found.insert(format!("{word}_{next}"));
                    }
                }
            }
        }
    }
}
