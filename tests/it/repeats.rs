//! How often a base and a change are run, and what is said of a budget that buys no re-run.

use kelvin_fixtures::text::lines_with;
use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project, counting};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// A project with further lines of configuration, on its base branch.
fn configured(url: &str, script: &str, more: &str) -> Project {
    let project = pushed(url, script);
    project.config(more);
    commit(&project, "settings");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    project
}

#[test]
fn a_base_is_not_kept_with_fewer_runs_than_its_setting_says_and_a_change_is_run_once() {
    let (_remote, url) = bare();
    let project = configured(&url, &counting(GROUNDED), "baseline: {repeats: 3}\n");
    project.check();
    let once = project.calls();
    let refused = project.kelvin(&["baseline", "save"]).expect(1);
    insta::assert_snapshot!(refused.stderr, @"
    error: the report has 1 run for each input, and `baseline.repeats` asks for 3
      help: run `kelvin check --repeats 3`, then save
    ");
    project.kelvin(&["check", "--repeats", "3"]).expect(0);
    assert_eq!(project.calls(), 4 * once);
    project.kelvin(&["baseline", "save"]).expect(0);
    branch(&project, "same", &counting(&format!("# same\n{GROUNDED}")));
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(project.calls(), 5 * once);
    assert_eq!(judgement["base_invocations"], json!(3 * once));
}

#[test]
fn a_base_that_the_gate_measures_is_run_as_often_as_asked() {
    let (_remote, url) = bare();
    let project = configured(&url, GROUNDED, "baseline: {repeats: 2, compute: true}\n");
    project.check();
    let report = project.json("kelvin/report.json");
    let once = report["run"]["session"]["cost"]["invocations"].as_u64();
    let once = once.expect("a number");
    branch(&project, "same", &format!("# same\n{GROUNDED}"));
    for (options, times) in [
        (&["gate"][..], 2),
        (&["gate", "--base-repeats", "3"], 3),
        (&["gate", "--base-repeats=1"], 1),
        // More runs of both sides are more runs of the base too.
        (&["gate", "--base-repeats=1", "--repeats=2"], 2),
    ] {
        let said = project.kelvin(options).expect(0);
        let judgement = verdict(&project, &said);
        let took = &judgement["base_invocations"];
        assert_eq!(took, &json!(times * once), "{options:?}: {}", said.stdout);
        for option in &options[1..] {
            let given = option.split('=').next().expect("a name");
            let again = judgement["reproduce"]["arguments"].to_string();
            assert!(again.contains(given), "{option}: {again}");
        }
    }
}

/// Answers that rest on what holds: each scenario leaves a file, and the second run of one does not.
const AGENT: &str =
    "[ \"$KELVIN_SCENARIO\" = s01 ] && [ \"$KELVIN_REPEAT\" = 2 ] || echo x > made.txt\n";

#[test]
fn what_is_said_of_a_scenario_rests_on_as_many_runs_on_both_sides() {
    let (_remote, url) = bare();
    let project = pushed(&url, AGENT);
    std::fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..3 {
        project.write(&format!("cases/s{at:02}.md"), &format!("Give room {at}.\n"));
    }
    project.write(
        "kelvin.yaml",
        "run: sh {root}/pipeline.sh {input}\ncases: cases\nbaseline: {repeats: 4, compute: true}\n\
         invariants:\n  made: {description: It is made, check: {type: file_exists, path: made.txt}}\n",
    );
    commit(&project, "scenarios");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "same", &format!("{AGENT}# same\n"));
    let said = project.kelvin(&["gate", "--no-rerun"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base_invocations"], json!(12), "{}", said.stdout);
    let figure = &judgement["metrics"]["checks.scenario_pass_rate"];
    assert_eq!(figure["base"], json!(1.0), "{figure}");
    assert_eq!(figure["head"], json!(1.0), "{figure}");
}

#[test]
fn a_doubtful_input_is_run_as_often_as_asked_and_what_cannot_be_asked_is_refused() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    let mut before = 0;
    for repeats in ["1", "2", "3"] {
        let said = project.kelvin(&["gate", "--head-repeats", repeats]);
        let judgement = verdict(&project, &said);
        let report = project.json("kelvin/report.json");
        let most = report["probes"]["evidence"]["items"]
            .as_object()
            .expect("a map");
        let runs = |item: &serde_json::Value| item["baseline"].as_array().map_or(0, Vec::len);
        let most = most.values().map(runs).max();
        // A type that is lost for sure after two runs asks for no third.
        let asked: usize = repeats.parse().expect("a number");
        assert_eq!(most, Some(asked.min(2)));
        let reruns = judgement["reruns"].as_u64().expect("a number");
        assert_eq!(reruns > before, repeats == "2", "{repeats}: {reruns}");
        before = reruns;
        let again = judgement["reproduce"]["arguments"].to_string();
        let given = format!("\"--head-repeats\",\"{repeats}\"");
        assert!(again.contains(&given), "{again}");
    }
    for (option, wrong, most) in [
        ("--head-repeats", "0", "100"),
        ("--head-repeats", "101", "100"),
        ("--head-repeats", "many", "100"),
        ("--base-repeats", "0", "1000"),
        ("--base-repeats", "1001", "1000"),
        ("--base-repeats", "-1", "1000"),
        ("--repeats", "0", "1000"),
        ("--jobs", "0", "1024"),
        ("--jobs", "1025", "1024"),
    ] {
        let said = project
            .kelvin(&["gate", &format!("{option}={wrong}")])
            .expect(1);
        let text = format!("a whole number from 1 to {most}");
        assert!(
            said.stderr.contains(&text),
            "{option} {wrong}: {}",
            said.stderr
        );
    }
}

#[test]
fn a_budget_that_buys_nothing_says_so_and_nothing_ran_out_that_was_never_begun() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    // One more answer to each of the four cases takes four calls.
    let said = project.kelvin(&["gate", "--budget", "3"]);
    let judgement = verdict(&project, &said);
    let codes = judgement["difference_codes"].to_string();
    assert!(
        codes.contains("budget_too_small") && codes.contains("\"calls\":3"),
        "{codes}"
    );
    insta::assert_snapshot!(lines_with(&said.stdout, &["3 calls"]), @"  - the budget of 3 calls is too small: one more run of the doubtful cases takes");
    assert_eq!(judgement["reruns"], json!(0));
    // One that is large enough says nothing of the kind.
    let said = project.kelvin(&["gate", "--budget", "500"]);
    let judgement = verdict(&project, &said);
    let codes = judgement["difference_codes"].to_string();
    assert!(!codes.contains("budget_too_small"), "{codes}");
}
