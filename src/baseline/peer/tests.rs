use std::path::PathBuf;

use super::*;
use crate::baseline::file;
use crate::registry::Registry;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kelvin-eval/kelvin/report.json")
}

/// A copy of the fixture to be damaged.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let from = fixture();
    let from = from.parent().expect("it has a folder");
    for name in ["alder", "birch"] {
        let to = folder.path().join(name);
        std::fs::create_dir_all(to.join("baseline")).expect("made");
        for file in ["report.json", "baseline/input.md"] {
            std::fs::copy(from.join(name).join(file), to.join(file)).expect("copied");
        }
    }
    std::fs::copy(fixture(), folder.path().join("report.json")).expect("copied");
    folder
}

fn refused(folder: &Path) -> String {
    let error = file::read_file(&folder.join("report.json"), Registry::shipped())
        .expect_err("it is refused");
    format!("{error:#}")
}

#[test]
fn its_figures_are_those_of_its_own_report() {
    let read = file::read_file(&fixture(), Registry::shipped()).expect("it is read");
    // It called a pipeline, of which its report says nothing.
    assert!(!read.report.is_evaluation());
    let text = std::fs::read(fixture()).expect("read");
    let stored: Value = serde_json::from_slice(&text).expect("JSON");
    for (id, key) in [
        ("invariance", "invariance"),
        ("sensitivity", "sensitivity"),
        ("kelvin_score", "kelvin_score"),
    ] {
        let metric = &read.report.metrics[&format!("evidence.{id}")];
        let value = metric.value.expect("it was measured");
        let theirs = stored[key].as_f64().expect("a number");
        assert!((value - theirs).abs() < 1e-12, "{id}: {value}");
        assert!(metric.per_case.values().all(|case| case.cells.is_empty()));
    }
    assert_eq!(read.report.metrics["evidence.invariance"].n, 18);
    assert_eq!(read.report.metrics["evidence.sensitivity.rule"].n, 2);
    assert_eq!(read.notices.len(), 1);
    insta::assert_snapshot!(read.notices[0], @"a report of kelvin-eval: the cases are compared as a whole, because its variants are not those of kelvin; which pipeline, configuration, model, commit and time it is of is not known");
}

#[test]
fn what_its_report_says_otherwise_is_told() {
    let folder = copy();
    let path = folder.path().join("report.json");
    let text = std::fs::read_to_string(&path).expect("read");
    std::fs::write(
        &path,
        text.replacen("\"sensitivity\": 1.0", "\"sensitivity\": 0.5", 1),
    )
    .expect("written");
    let read = file::read_file(&path, Registry::shipped()).expect("it is read");
    assert!(
        read.notices[1].contains("0.5000") && read.notices[1].contains("1.0000"),
        "{:?}",
        read.notices
    );
}

#[test]
fn a_report_that_is_missing_a_case_or_damaged_is_refused_with_its_place() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("the case `alder` of kelvin-eval", |folder| {
            std::fs::remove_file(folder.join("alder/report.json")).expect("removed");
        }),
        ("whether the case was edited", |folder| {
            std::fs::remove_file(folder.join("birch/baseline/input.md")).expect("removed");
        }),
        ("`birch/report.json` is no report of a case", |folder| {
            std::fs::write(folder.join("birch/report.json"), "{").expect("written");
        }),
        ("is no name of a case", |folder| {
            edit(&folder.join("report.json"), "\"alder\"", "\"../alder\"");
        }),
        ("of version 2", |folder| {
            edit(
                &folder.join("report.json"),
                "\"schema_version\": 1",
                "\"schema_version\": 2",
            );
        }),
        ("not within 0 and 1", |folder| {
            edit(
                &folder.join("alder/report.json"),
                "\"distance\": 0.0",
                "\"distance\": 4.0",
            );
        }),
    ];
    for (words, damage) in damages {
        let folder = copy();
        damage(folder.path());
        let said = refused(folder.path());
        assert!(said.contains(words), "{words}: {said}");
    }
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).expect("read");
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replacen(from, to, 1)).expect("written");
}

#[test]
fn our_own_reports_are_not_taken_for_one() {
    let mut text = Vec::new();
    kelvin_gate::report::json::write(&mut text, &kelvin_fixtures::report::good()).expect("written");
    assert!(!is_one(&text));
    for text in ["", "[]", "{}", "{\"schema_version\": 1}", "nonsense"] {
        assert!(!is_one(text.as_bytes()), "{text}");
    }
}
