//! What `kelvin merge` refuses.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;

use serde_json::Value;

use super::{merge, run_shards};
use crate::project::{CONSTANT, Project};

#[test]
fn a_missing_shard_is_named_with_what_runs_it_again() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 3, &[]);
    // A job that died has left cases and no report of the run.
    fs::remove_file(project.path("shards/2/report.json")).expect("removed");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    insta::assert_snapshot!(said, @"
    error: shard 2/3 is missing: its job left no report
      help: on GitHub, `Re-run failed jobs` runs them again; elsewhere `kelvin check --shard 2/3 --out FOLDER`; then merge again
    ");
    assert!(!project.path("kelvin").exists());
    fs::remove_dir_all(project.path("shards/3")).expect("removed");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    insta::assert_snapshot!(said, @"
    error: the shards 2/3 and 3/3 are missing: their jobs left no report
      help: on GitHub, `Re-run failed jobs` runs them again; elsewhere `kelvin check --shard 2/3 --out FOLDER`, `kelvin check --shard 3/3 --out FOLDER`; then merge again
    ");
}

#[test]
fn shards_that_overlap_are_refused_by_name() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    project
        .kelvin(&["check", "--shard", "2/2", "--out", "again"])
        .expect(0);
    let said = project
        .kelvin(&["merge", "shards", "again"])
        .expect(1)
        .stderr;
    insta::assert_snapshot!(said, @"
    error: shard 2/2 is there twice: `again/report.json` and `shards/2/report.json`
      help: leave one of them out; of two attempts of a job, the later one counts
    ");
    // The same file named twice is one file.
    project
        .kelvin(&["merge", "shards", "shards/2/report.json"])
        .expect(0);
}

/// Runs one of two shards differently, and expects the merge to say what differs.
fn differs(change: impl Fn(&Project), arguments: &[&str], says: &str) {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    change(&project);
    let again = [&["check", "--shard", "2/2", "--out", "shards/2"], arguments].concat();
    project.kelvin(&again).expect(0);
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(said.contains(says), "{says}: {said}");
    for name in ["shards/1/report.json", "shards/2/report.json"] {
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn shards_of_different_runs_are_refused_with_what_differs() {
    differs(
        |_| {},
        &["--seed", "4"],
        "the seed is `0` in the first and `4`",
    );
    differs(|_| {}, &["--only", "alder"], "choice of items");
    differs(
        |project| project.write("cases/elm.md", "## Rule\n\nOne.\n"),
        &[],
        "digest of the cases",
    );
    differs(
        |project| {
            project.config("perturbations: {enable: [drop]}\n");
        },
        &[],
        "digest of the configuration",
    );
    differs(
        |project| {
            project.config("repeats: 2\n");
        },
        &[],
        "number of repeats",
    );
    differs(
        |project| {
            project.config("fingerprint: [pipeline.sh]\n");
        },
        &[],
        "digest of the pipeline",
    );
    differs(
        |project| {
            project.config("env: [HOME]\n");
        },
        &[],
        "digest of the command",
    );
}

/// Changes the report of the second shard by hand, and returns why it is refused.
fn edited(edit: impl Fn(&mut Value)) -> String {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    let mut report = project.json("shards/2/report.json");
    edit(&mut report);
    project.write("shards/2/report.json", &report.to_string());
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(!project.path("kelvin").exists());
    let error = redacted(&lines_with(&said, &["error: "]));
    error.replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}

#[test]
fn reports_that_are_not_what_a_shard_writes_are_refused() {
    let mut told = Vec::new();
    told.push(edited(|report| report["tool"]["version"] = "0.0.1".into()));
    told.push(edited(|report| report["schema_version"] = 1.into()));
    told.push(edited(|report| {
        report["run"]["shard"].take();
    }));
    told.push(edited(|report| report["run"]["shard"]["index"] = 5.into()));
    told.push(edited(|report| report["run"]["shard"]["count"] = 3.into()));
    told.push(edited(|report| {
        let cases = report["probes"]["evidence"]["items"]
            .as_object_mut()
            .expect("cases");
        let (_, case) = cases.iter().next().expect("one");
        let case = case.clone();
        // The other shard has one of these two.
        cases.insert("alder".to_owned(), case.clone());
        cases.insert("birch".to_owned(), case);
    }));
    told.push(edited(|report| {
        report["probes"]["evidence"]["items"] = serde_json::json!({});
    }));
    told.push(edited(|report| {
        let cases = report["probes"]["evidence"]["items"]
            .as_object_mut()
            .expect("cases");
        let (_, case) = cases.iter_mut().next().expect("one");
        case["folder"] = "../../elsewhere".into();
    }));
    told.push(edited(|report| {
        let metric = report["metrics"]["evidence.invariance"].clone();
        report["metrics"]["retrieval.mrr"] = metric;
    }));
    insta::assert_snapshot!(told.join("\n"), @"
    error: shard 1/2 (`shards/1/report.json`) and shard 2/2 (`shards/2/report.json`) are not of the same run: the version of kelvin is `[VERSION]` in the first and `0.0.1` in the second
    error: `shards/2/report.json` is unusable: it was written by an early kelvin (schema 1), which is not read any more: measure again
    error: `shards/2/report.json` is the report of a whole run, not of a shard
    error: `shards/2/report.json` calls itself shard 5/2, and there is no such shard
    error: shard 1/2 (`shards/1/report.json`) and shard 2/3 (`shards/2/report.json`) are not of the same run: the number of shards is `2` in the first and `3` in the second
    error: shard 2/2 (`shards/2/report.json`) holds the case `birch`, which belongs to shard 1/2
    error: the shards hold 1 cases together, and should hold 4
    error: shard 2/2 (`shards/2/report.json`) names `../../elsewhere`, which is no folder of its own
    error: shard 2/2 (`shards/2/report.json`) has the figure `retrieval.mrr`, which cannot be joined from shards
    ");
    let project = Project::new(CONSTANT);
    project.write("shards/1/report.json", "{\"schema_version\": 1, ");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    insta::assert_snapshot!(said, @"
    error: `shards/1/report.json` is unusable: it is cut off: EOF while parsing a value at line 1 column 22
      help: run that shard again, and merge then
    ");
    project.kelvin(&["merge", "nowhere"]).expect(1);
    fs::create_dir_all(project.path("empty")).expect("made");
    let said = project.kelvin(&["merge", "empty"]).expect(1).stderr;
    insta::assert_snapshot!(said, @"
    error: there is no report in `empty`: no shard has finished and left one there
      help: a run writes `report.json` last; run the shards again, each with `--shard I/N --out FOLDER`
    ");
}

#[test]
fn an_output_folder_that_holds_the_shards_or_is_not_ours_is_refused() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    let before = project.files("shards");
    for out in ["shards", "shards/1", "cases", "."] {
        project.kelvin(&["merge", "shards", "--out", out]).expect(1);
    }
    assert_eq!(project.files("shards"), before);
}

#[test]
fn links_in_a_shard_lead_nowhere() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    project.write("secret", "secret");
    let case = fs::read_dir(project.path("shards/1"))
        .expect("listed")
        .map(|entry| entry.expect("listed").path())
        .find(|path| path.is_dir())
        .expect("a case");
    let name = case.file_name().expect("a name").to_owned();
    fs::remove_file(case.join("baseline/input.md")).expect("removed");
    std::os::unix::fs::symlink(project.path("secret"), case.join("baseline/input.md"))
        .expect("linked");
    merge(&project);
    let copied = project.path("kelvin").join(name).join("baseline/input.md");
    assert!(fs::symlink_metadata(copied).is_err());
}

#[test]
fn the_number_of_a_shard_is_checked() {
    let project = Project::new(CONSTANT);
    for wrong in ["0/8", "9/8", "three", "1/1000"] {
        let said = project
            .kelvin(&["check", "--shard", wrong])
            .expect(1)
            .stderr;
        assert!(said.contains("`3/8`"), "{said}");
    }
}
