//! One history of 30 commits whose falls are known, and what every command that judges more than one run says of it.

use kelvin_fixtures::text::redacted;
use serde_json::{Value, json};

use super::{Kept, Made, place};
use crate::project::{CONSTANT, GROUNDED};
use crate::repository::{commit, git, save};

const COMMITS: usize = 30;
/// The commit with which the step comes: a Thursday.
const STEP: usize = 10;
/// The commit that was measured badly once.
const BAD: usize = 5;
/// The old commit that is measured once more at the end.
const AGAIN: usize = 3;
/// The commit whose only run has a clock of 2030.
const AHEAD: usize = 20;

/// The value of a case at a commit. Times lie in the past whenever the test is run.
fn value(case: &str, at: usize) -> f64 {
    match case {
        "step" if at >= STEP => 0.75,
        "step" => 0.95,
        "drift" => 0.95 - 0.01 * at as f64,
        // One run by itself is bad; the same commit was measured well once more.
        _ => 0.9,
    }
}

const CASES: [&str; 3] = ["step", "drift", "steady"];

/// One commit a day from Monday, 6 January 2025.
fn time(at: usize) -> String {
    let (month, day) = if at < 26 { (1, at + 6) } else { (2, at - 25) };
    format!("2025-{month:02}-{day:02}T12:00:00Z")
}

/// The history, and its commits in their order.
fn history() -> (Kept, Vec<String>) {
    let kept = Kept::new();
    let project = &kept.project;
    let mut commits = Vec::new();
    for at in 0..COMMITS {
        project.write("notes.md", &format!("{at}\n"));
        commits.push(commit(project, &format!("commit {at}")));
    }
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "aside", &commits[AGAIN]],
    );
    project.write("aside.md", "never merged\n");
    let aside = commit(project, "aside");
    git(project.root(), &["checkout", "--quiet", "main"]);
    let mut files = Vec::new();
    let mut add = |commit: &str, time: &str, values: [f64; 3]| {
        let values = CASES.into_iter().zip(values.map(|value| vec![value; 3]));
        let cases: Vec<(&str, Vec<f64>)> = values.collect();
        let report = kept.form.report(&Made {
            at: time,
            commit,
            code: 1,
            cases: &cases,
        });
        files.push((place(files.len() + 1), report.to_string()));
    };
    for (at, commit) in commits.iter().enumerate() {
        let values = CASES.map(|case| value(case, at));
        let clock = match at {
            AHEAD => "2030-01-01T12:00:00Z".to_owned(),
            at => time(at),
        };
        add(commit, &clock, values);
    }
    // Four runs after the step and a bad one before it are too few to be sure of the step within its week.
    let bad = [value("step", BAD), 0.2, 0.2];
    add(&commits[BAD], "2025-01-11T15:00:00Z", bad);
    let old = CASES.map(|case| value(case, AGAIN));
    add(&commits[AGAIN], "2025-02-05T12:00:00Z", old);
    add(&aside, "2025-02-04T12:00:00Z", [0.1; 3]);
    kept.push(&files);
    (kept, commits)
}

fn said(kept: &Kept, arguments: &[&str]) -> String {
    kept.project.kelvin(arguments).expect(0).stdout
}

fn as_json(kept: &Kept, arguments: &[&str]) -> Value {
    serde_json::from_str(&said(kept, arguments)).expect("JSON")
}

#[test]
fn a_history_with_known_falls_has_the_same_ones_in_every_command_that_judges_it() {
    let (kept, commits) = history();
    // The course of all versions, as `regression` tells it.
    let compared = as_json(&kept, &["history", "regression", "--format", "json"]);
    assert_eq!(compared["current"], commits[COMMITS - 1]);
    assert_eq!(compared["prior"], commits[COMMITS - 2]);
    let rows = compared["rows"].as_array().expect("rows");
    assert!(
        rows.iter().all(|row| row["standing"] == "held"),
        "from one commit to the next nothing drops: {compared:#}"
    );
    let lasting = compared["lasting"].as_array().expect("a list").clone();
    let of = |case: &str| {
        let own = lasting.iter().filter(|fall| fall["case"] == case);
        own.cloned().collect::<Vec<Value>>()
    };
    let step = of("step");
    assert_eq!(step.len(), 1, "{lasting:#?}");
    assert_eq!(step[0]["commit"], commits[STEP]);
    assert_eq!(step[0]["is_gradual"], false);
    let drift = of("drift");
    assert!(
        drift.iter().any(|fall| fall["is_gradual"] == true),
        "{lasting:#?}"
    );
    // Neither one bad run, nor the old commit, nor the branch, nor the clock made a fall.
    assert_eq!(of("steady"), [Value::Null; 0]);

    // The digest of the week of the step, of the week after it, and of all weeks.
    for (since, until) in [("2025-W03", "2025-W04"), ("2025-W04", "2025-W05")] {
        let arguments = [
            "history", "digest", "--since", since, "--until", until, "--format", "json",
        ];
        let summary = as_json(&kept, &arguments);
        assert_eq!(summary["read"]["left"], json!({"unmerged": 1}));
        let candidates = summary["candidates"].as_array().expect("a list");
        let step = candidates.iter().find(|one| one["row"]["case"] == "step");
        let step = step.unwrap_or_else(|| panic!("{since}: {summary:#}"));
        assert_eq!(step["since"]["commit"], commits[STEP], "{since}");
        assert!(candidates.iter().all(|one| one["row"]["case"] != "steady"));
        let page = said(&kept, &arguments[..6]);
        let told = format!("`step` fell in `{}`", super::METRIC);
        assert!(page.contains(&told), "{page}");
    }
    // The run of 2030 stands where its commit stands, and the old commit where it was.
    let week = [
        "history", "digest", "--since", "2025-W04", "--until", "2025-W05", "--format", "json",
    ];
    let summary = as_json(&kept, &week);
    assert_eq!(summary["configurations"][0]["runs"], 7, "{summary:#}");

    // The page of all runs has the same falls.
    let page = said(&kept, &["history", "--format", "markdown"]);
    let short = &commits[STEP][..7];
    let line = page.lines().find(|line| line.contains("`step` fell in"));
    assert!(line.is_some_and(|line| line.contains(short)), "{page}");
    let mut alarms = page.lines().filter(|line| line.starts_with("- ❗"));
    assert!(alarms.all(|line| !line.contains("`steady`")), "{page}");

    // A change is compared with the newest commit of its own history that has a report, whatever a branch beside it, or a
    // clock, says.
    let root = kept.project.root();
    git(
        root,
        &["checkout", "--quiet", "--detach", &commits[COMMITS - 3]],
    );
    save(&kept.project);
    git(
        root,
        &["checkout", "--quiet", "--detach", &commits[COMMITS - 2]],
    );
    kept.project.write("pipeline.sh", CONSTANT);
    commit(&kept.project, "beside");
    save(&kept.project);
    for (script, code) in [(GROUNDED, 0), (CONSTANT, 3)] {
        git(
            root,
            &["checkout", "--quiet", "--detach", &commits[COMMITS - 2]],
        );
        kept.project.write("pipeline.sh", script);
        kept.project.write("notes.md", "a change\n");
        commit(&kept.project, "the change");
        let gated = kept.project.kelvin(&["gate"]);
        let judged = kept.project.json("kelvin/gate.json");
        assert_eq!(judged["base"]["commit"], commits[COMMITS - 3]);
        assert_eq!(gated.code, Some(code));
    }
    git(root, &["checkout", "--quiet", "main"]);

    // The version before the step beside the one with it.
    git(root, &["checkout", "--quiet", &commits[STEP]]);
    let compared = as_json(&kept, &["history", "regression", "--format", "json"]);
    assert_eq!(compared["current"], commits[STEP]);
    assert_eq!(compared["prior"], commits[STEP - 1]);
    let rows = compared["rows"].as_array().expect("rows");
    let step = rows.iter().find(|row| row["unit"] == "step");
    assert_eq!(step.expect("it has a row")["standing"], "dropped");
    let failing = ["history", "regression", "--fail-on-regression"];
    kept.project.kelvin(&failing).expect(3);
    // With an old commit checked out, no later one is the version before it.
    git(root, &["checkout", "--quiet", &commits[0]]);
    let said = kept.project.kelvin(&failing).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: no version before [HASH] has a run; those that have one come after it or are of other branches
      help: check the newest commit out to compare it with the one before, or name a version with `--against`
    ");
}
