//! Reports of version 1 of the format: a newer kelvin reads them, so that nobody loses a baseline.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::Project;
use crate::repository::{bare, commit, git, verdict};

/// The folder with a project and the report that version 1 wrote of it.
fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1")
}

/// The project in a repository whose branch of reports has the report of version 1, and a branch for a
/// change checked out.
fn on_a_branch(url: &str) -> Project {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for name in [
        "kelvin.yaml",
        "pipeline.sh",
        "search.sh",
        "golden.yaml",
        "cases/case-1.md",
        "cases/case-2.md",
        "cases/case-3.md",
        "cases/case-4.md",
    ] {
        let text = fs::read_to_string(fixture().join(name)).expect("it is there");
        project.write(name, &text);
    }
    // Few cases and queries are gated where the configuration says so; what is measured stays the same.
    let config = project.read("kelvin.yaml");
    let gate = "gate:\n  deterministic: true\n  metrics:\n    evidence.sensitivity: {policy: gate}\n    \
                retrieval.mrr: {policy: gate}\n";
    project.write("kelvin.yaml", &format!("{config}{gate}"));
    project.write(".gitignore", "/kelvin/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", url]);
    let base = commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    // The branch as this version makes it, then with the text of version 1 in its place.
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    let there = project.path("../reports");
    git(
        root,
        &[
            "fetch",
            "--quiet",
            "origin",
            "kelvin-reports:kelvin-reports",
        ],
    );
    let path = there.display().to_string();
    git(
        root,
        &["worktree", "add", "--quiet", &path, "kelvin-reports"],
    );
    let listed = git(&there, &["ls-files"]);
    let file = listed
        .lines()
        .find(|name| name.contains(&base) && name.ends_with(".json"))
        .unwrap_or_else(|| panic!("no report of {base}: {listed}"));
    let text = fs::read_to_string(fixture().join("report.json")).expect("it is there");
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["schema_version"], 1);
    report["run"]["session"]["commit"] = base.into();
    // It is the report of that commit, which is of other code than the one of the fixture.
    let stored = fs::read_to_string(there.join(file)).expect("it is there");
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    report["run"]["fingerprints"]["pipeline"] = stored["run"]["fingerprints"]["pipeline"].clone();
    fs::write(there.join(file), report.to_string()).expect("written");
    git(&there, &["commit", "--quiet", "-am", "version 1"]);
    git(&there, &["push", "--quiet", "origin", "kelvin-reports"]);
    git(root, &["worktree", "remove", "--force", &path]);
    git(root, &["branch", "--quiet", "-D", "kelvin-reports"]);
    git(root, &["checkout", "--quiet", "-b", "change"]);
    project
}

#[test]
fn a_baseline_of_version_1_on_the_branch_of_reports_judges_a_change() {
    let (_remote, url) = bare();
    let project = on_a_branch(&url);
    project.write("notes.md", "unchanged code\n");
    commit(&project, "notes");
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert_eq!(judgement["base"]["source"], "branch");
    assert!(judgement["retrieval"].is_object());
    let differences = judgement["differences"].to_string();
    for same in [
        "the cases changed",
        "the configuration changed",
        "the command changed",
    ] {
        assert!(!differences.contains(same), "{differences}");
    }
    for metric in [
        "evidence.invariance",
        "evidence.sensitivity",
        "retrieval.mrr",
    ] {
        let metric = &judgement["metrics"][metric];
        assert!(metric["base"].is_number(), "{metric}");
        assert_eq!(metric["base"], metric["head"]);
    }
    assert_eq!(project.json("kelvin/report.json")["schema_version"], 2);

    // The same baseline finds what got worse.
    project.write(
        "pipeline.sh",
        "printf '{\"decision\": \"approve\"}' > \"$2\"\n",
    );
    commit(&project, "worse");
    let judgement = verdict(&project, &project.kelvin(&["gate", "--no-rerun"]));
    assert_eq!(judgement["verdict"], "regression");
    let sensitivity = &judgement["metrics"]["evidence.sensitivity"];
    assert_eq!(sensitivity["head"], 0.0, "{sensitivity}");
    assert!(sensitivity["base"].as_f64().is_some_and(|base| base > 0.0));
}

#[test]
fn a_report_of_version_1_is_compared_figure_by_figure() {
    let (_remote, url) = bare();
    let project = on_a_branch(&url);
    project.check();
    let old = fixture().join("report.json").display().to_string();
    let said = project.kelvin(&["compare", &old, "kelvin/report.json", "--format", "json"]);
    let judgement: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    let metrics = judgement["metrics"].as_object().expect("an object");
    assert!(metrics.len() > 20, "{}", metrics.len());
    for (id, metric) in metrics {
        assert_eq!(metric["base"], metric["head"], "{id}");
    }
}

#[test]
fn shards_of_two_versions_are_not_joined() {
    let (_remote, url) = bare();
    let project = on_a_branch(&url);
    for share in ["1/2", "2/2"] {
        let out = format!("shards/{}", &share[..1]);
        project
            .kelvin(&["check", "--shard", share, "--out", &out])
            .expect(0);
    }
    let text = fs::read_to_string(fixture().join("report.json")).expect("it is there");
    let mut old: Value = serde_json::from_str(&text).expect("JSON");
    let new = project.json("shards/2/report.json");
    old["run"]["shard"] = new["run"]["shard"].clone();
    old["run"]["session"] = new["run"]["session"].clone();
    old["run"]["fingerprints"]["config"] = new["run"]["fingerprints"]["config"].clone();
    old["run"]["fingerprints"]["pipeline"] = new["run"]["fingerprints"]["pipeline"].clone();
    project.write("shards/2/report.json", &old.to_string());
    let said = project.kelvin(&["merge", "shards", "--out", "joined"]);
    let said = said.expect(1);
    assert!(
        said.stderr.contains("are not of the same run"),
        "{}",
        said.stderr
    );
}

#[test]
fn one_probe_is_judged_against_a_baseline_that_has_others_too() {
    let (_remote, url) = bare();
    let project = on_a_branch(&url);
    // What the other probe would find is not asked for.
    project.write(
        "pipeline.sh",
        "printf '{\"decision\": \"approve\"}' > \"$2\"\n",
    );
    commit(&project, "worse for the other probe");
    let judgement = verdict(&project, &project.kelvin(&["gate", "--probe", "retrieval"]));
    let ids = judgement["metrics"].as_object().expect("an object").keys();
    assert!(ids.clone().count() > 0);
    assert!(
        ids.clone().all(|id| id.starts_with("retrieval.")),
        "{ids:?}"
    );
    let left_out = judgement["difference_codes"].as_array().expect("a list");
    let left_out = left_out.iter().find(|told| told["code"] == "left_out");
    assert_eq!(
        left_out.expect("it is told")["probes"],
        serde_json::json!(["evidence"])
    );
    let reasons = judgement["reasons"].to_string();
    assert!(!reasons.contains("evidence."), "{reasons}");
    // The search fails, and that is a regression of the probe that was asked for.
    project.write("search.sh", "printf '{\"hits\": []}' > \"$2\"\n");
    commit(&project, "nothing is found");
    let said = project.kelvin(&["gate", "--probe", "retrieval"]).expect(3);
    assert!(said.stdout.contains("retrieval."), "{}", said.stdout);
}
