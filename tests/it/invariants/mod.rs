mod added;
mod checks_of_base;
mod expected;
mod gate;
mod judged;
mod mock;
mod own;
mod services;
mod tampered;

use kelvin_fixtures::text::lines_with;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::project::{Project, Said};
use crate::repository::{bare, commit, git, verdict};

/// An agent that leaves a file in its workspace, and says something.
const AGENT: &str = r#"
read -r _ _ room < "$1"
echo "done: room ${room%.}"
echo "$KELVIN_SCENARIO" > made.txt
"#;

/// A project with a pipeline, some cases, and nothing else in its configuration.
fn project(script: &str, cases: usize, more: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..cases {
        project.write(&format!("cases/s{at:02}.md"), &format!("Give room {at}.\n"));
    }
    configure(&project, more);
    project
}

fn configure(project: &Project, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!("run: sh {{root}}/pipeline.sh {{input}}\ncases: cases\njobs: 4\n{more}"),
    );
}

const INVARIANTS: &str = "\
invariants:
  tests_pass:
    description: All tests pass
    gate: true
    check: {type: command_exit, command: 'test -s made.txt || { echo nothing was made >&2; exit 3; }'}
  says_done:
    description: It says that it is done
    weight: 0.3
    check: {type: contains, value: 'done:'}
";

fn figure(report: &Value, name: &str) -> Value {
    report["metrics"][format!("checks.{name}")]["value"].clone()
}

/// The run of a scenario, from 0.
fn ran(report: &Value, scenario: &str, run: usize) -> Value {
    report["probes"]["checks"]["items"][scenario]["runs"][run].clone()
}

#[test]
fn inv_25_a_scenario_runs_in_a_workspace_is_looked_at_and_scored() {
    let project = project(AGENT, 3, INVARIANTS);
    let said = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["= "]), @"= All 3 scenarios pass");
    assert!(!project.path("made.txt").exists(), "it ran in a workspace");
    let report = project.report();
    assert_eq!(figure(&report, "composite"), json!(1.0));
    assert_eq!(figure(&report, "pass_rate"), json!(1.0));
    let run = ran(&report, "s01", 0);
    assert_eq!(run["outcome"], "passed");
    assert_eq!(
        run["checks"]["tests_pass"]["reason"],
        "ended with exit code 0"
    );

    // One of the two is lost: 1.0 / 1.3, to the last digit, which is no pass without a threshold.
    project.write("pipeline.sh", "echo x > made.txt; echo nothing");
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(figure(&report, "composite"), json!(1.0 / 1.3));
    assert_eq!(figure(&report, "says_done"), json!(0.0));
    assert_eq!(figure(&report, "pass_rate"), json!(0.0));
    configure(
        &project,
        &format!("{INVARIANTS}scoring: {{pass_threshold: 0.75}}\n"),
    );
    project.kelvin(&["check"]).expect(0);
    assert_eq!(figure(&project.report(), "pass_rate"), json!(1.0));
}

#[test]
fn inv_04_inv_27_a_gate_that_does_not_hold_makes_the_composite_0_and_its_output_is_told() {
    let project = project("echo done: 1\n", 1, INVARIANTS);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let run = ran(&report, "s00", 0);
    assert_eq!(run["composite"], json!(0.0), "{run}");
    assert_eq!(run["outcome"], "failed");
    let reason = run["checks"]["tests_pass"]["reason"]
        .as_str()
        .expect("a text");
    insta::assert_snapshot!(reason, @"ended with exit code 3, expected 0; stderr: nothing was made");
    assert!(said.stdout.contains("nothing was made"), "{}", said.stdout);
    let page = project.read("kelvin/report.html");
    for part in ["Scenarios", "0.0000", "nothing was made"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_pipeline_that_fails_is_an_error_and_no_0() {
    let script = format!("{AGENT}\n[ $KELVIN_SCENARIO != s01 ] || exit 9\n");
    let project = project(&script, 3, INVARIANTS);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let run = ran(&report, "s01", 0);
    assert_eq!(run["outcome"], "error");
    assert_eq!(run["composite"], Value::Null);
    assert_eq!(run["checks"]["tests_pass"]["outcome"], "skipped");
    assert_eq!(run["failure"]["kind"], json!({ "exit": 9 }));
    assert_eq!(figure(&report, "composite"), json!(1.0));
    assert_eq!(figure(&report, "failure_rate"), json!(1.0 / 3.0));
    insta::assert_snapshot!(lines_with(&said.stdout, &["~ "]), @"
    ~ It is not known whether 1 of 3 scenarios pass: `s01`; in the first one the
    ~ in 1 of 3 scenarios the pipeline or a service failed; no check was made there:
    ");
}

/// A script that counts how often it is asked, and says what it is told to.
fn script(project: &Project, name: &str, text: &str) {
    project.write(name, &format!("#!/bin/sh\n{text}\n"));
    let path = project.path(name);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("made executable");
}

#[test]
fn inv_19_inv_20_inv_28_a_custom_check_is_told_of_the_scenario_and_its_errors_are_no_failures() {
    let more = "invariants:\n\
                \x20 audit: {description: logged, check: {type: custom, script: audit.sh}}\n\
                \x20 made: {description: made, check: {type: file_exists, path: nothing.txt}}\n\
                matrix: {language: [de, en]}\n";
    let project = project(AGENT, 1, more);
    script(
        &project,
        "audit.sh",
        "cat > told.json; echo '{\"passed\": true, \"score\": 0.5, \"reason\": \"half\", \"details\": {\"n\": 1}}'",
    );
    project.kelvin(&["check"]).expect(0);
    let told = project.json("told.json");
    for key in [
        "sandbox_id",
        "workspace_path",
        "services",
        "audit_log_path",
        "trace_path",
        "task",
        "scenario_params",
    ] {
        assert!(told.get(key).is_some(), "{key}: {told}");
    }
    assert_eq!(told["task"]["prompt"], "Give room 0.\n");
    let report = project.report();
    let check = ran(&report, "s00[language=de]", 0)["checks"]["audit"].clone();
    assert_eq!(
        check,
        json!({"outcome": "passed", "score": 0.5, "reason": "half", "details": {"n": 1}})
    );
    let mut texts = Vec::new();
    for text in [
        "exit 1",
        "echo yes",
        "echo '{\"score\": 1}'",
        "echo '{\"passed\": true, \"score\": 1.5}'",
        "true",
    ] {
        script(&project, "audit.sh", text);
        let said = project.kelvin(&["check"]).expect(0);
        let run = ran(&project.report(), "s00[language=en]", 0);
        // The other check has failed, and both are there to see.
        assert_eq!(run["outcome"], "error", "{run}");
        assert_eq!(run["composite"], Value::Null);
        assert_eq!(run["checks"]["made"]["outcome"], "failed");
        assert_eq!(run["checks"]["audit"]["outcome"], "error");
        let reason = run["checks"]["audit"]["reason"].as_str().expect("a text");
        texts.push(reason.to_string());
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"! It is not known whether 2 of 2 scenarios pass: `s00[language=de]`,");
        }
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    the script ended with exit code 1
    the script printed no JSON object with `passed` (expected value at line 1 column 1): yes
    the script printed no JSON object with `passed` (missing field `passed` at line 1 column 12): {"score": 1}
    the script printed a score of 1.5, which is not from 0 to 1
    the script printed nothing, where `{"passed": true}` or the like is needed
    "#);
}

/// A copy of an example and nothing else.
fn example(name: &str) -> Project {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("made");
        for entry in fs::read_dir(from).expect("listed") {
            let path = entry.expect("listed").path();
            let to = to.join(path.file_name().expect("a name"));
            if path.is_dir() {
                copy(&path, &to);
            } else {
                fs::copy(&path, to).expect("copied");
            }
        }
    }
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    fs::remove_file(project.path("pipeline.sh")).expect("removed");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/invariants");
    copy(&from.join(name), project.root());
    project
}

#[test]
fn the_example_with_a_gate_of_tests_has_a_composite_of_1_0_by_1_3_to_the_last_digit() {
    let project = example("tests-gate");
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(
        figure(&report, "composite"),
        json!(1.0 / 1.3),
        "{}",
        said.stdout
    );
    assert_eq!(figure(&report, "pass_rate"), json!(1.0));
    assert_eq!(figure(&report, "written_down"), json!(0.0));
    // The template itself is as it was.
    assert!(project.read("project/prices.py").contains("return int("));
    // An agent that repairs nothing fails the gate, and one that edits the tests does what is forbidden.
    let agent = project.read("agent.py");
    project.write("agent.py", "print('all is well')\n");
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "run", 0);
    assert_eq!(
        (&run["outcome"], &run["composite"]),
        (&json!("failed"), &json!(0.0))
    );
    let cheat = "pathlib.Path('test_prices.py').write_text('')\n";
    project.write("agent.py", &format!("{agent}{cheat}"));
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "run", 0);
    assert_eq!(
        (&run["outcome"], &run["composite"]),
        (&json!("failed"), &json!(0.0))
    );
    assert!(
        run["forbidden"][0]
            .as_str()
            .expect("a text")
            .contains("`test_prices.py`"),
        "{run}"
    );
}

#[test]
fn a_pipeline_that_prints_100_mb_says_nothing_or_never_ends_costs_its_limits() {
    let more = format!("{INVARIANTS}timeout_s: 1\nmax_output_bytes: 1000000\n");
    let project = project(AGENT, 1, &more);
    let start = Instant::now();
    for (script, kind) in [
        ("head -c 100000000 /dev/zero", json!("output_too_large")),
        ("sleep 60 & sleep 61", json!("timeout")),
        ("while :; do echo x; done", json!("timeout")),
    ] {
        project.write("pipeline.sh", script);
        project.kelvin(&["check"]).expect(2);
        let run = ran(&project.report(), "s00", 0);
        assert_eq!(run["failure"]["kind"], kind, "{script}: {run}");
        assert_eq!(run["outcome"], "error");
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    // What says nothing is looked at like anything else.
    project.write("pipeline.sh", "true");
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["checks"]["says_done"]["outcome"], "failed");
}

#[test]
fn inv_34_no_value_of_the_environment_is_in_any_file_and_a_secret_in_a_log_fails_the_run() {
    let more = "invariants:\n\
                \x20 says: {description: d, check: {type: contains, value: 'key ${SERVICE_TOKEN}'}}\n\
                \x20 ends: {description: d, check: {type: command_exit, command: 'echo $SERVICE_TOKEN; exit 1'}}\n";
    let project = project("echo key $SERVICE_TOKEN", 1, more);
    let secret = "s3cr3t-of-the-service";
    let check = |project: &Project| {
        let output = project
            .command(&["check"])
            .env("SERVICE_TOKEN", secret)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for said in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(said).contains(secret));
        }
        for (name, bytes) in project.files("kelvin") {
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{name}");
        }
        ran(&project.report(), "s00", 0)
    };
    let run = check(&project);
    assert_eq!(run["checks"]["says"]["outcome"], "passed");
    let reason = run["checks"]["ends"]["reason"].as_str().expect("a text");
    assert!(reason.contains("${SERVICE_TOKEN}"), "{reason}");
    configure(
        &project,
        &format!("{more}forbidden: {{secrets_in_logs: deny}}\n"),
    );
    let run = check(&project);
    assert_eq!(
        (&run["outcome"], &run["composite"]),
        (&json!("failed"), &json!(0.0))
    );
    let told = run["forbidden"][0].as_str().expect("a text");
    insta::assert_snapshot!(told, @"the value of the variable `SERVICE_TOKEN` stands in its output and in its standard output");
    let unset = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(unset.stderr, @"
    error: the variable `SERVICE_TOKEN` is not set in the environment
     --> kelvin.yaml:5:57
      |
    5 |   says: {description: d, check: {type: contains, value: 'key ${SERVICE_TOKEN}'}}
      |                                                         ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: set it, or write `$${SERVICE_TOKEN}` where the text itself is meant
    ");
}

#[test]
fn an_answer_is_used_again_and_one_with_an_error_is_asked_for_again() {
    let more = "cache: true\ninvariants:\n\
                \x20 made: {description: d, check: {type: command_exit, command: 'test -f \"$KELVIN_ROOT/ready\" || kill -9 $$'}}\n";
    let project = project("echo x >> $KELVIN_ROOT/calls; echo done: 1", 2, more);
    project.write(".gitignore", "/kelvin/\n/calls\n/ready\n/.kelvin-cache/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    commit(&project, "base");
    for (calls, outcome) in [(2, "error"), (4, "error")] {
        project.kelvin(&["check"]).expect(2);
        assert_eq!(project.calls(), calls);
        assert_eq!(ran(&project.report(), "s00", 0)["outcome"], outcome);
    }
    project.write("ready", "");
    for calls in [6, 6] {
        project.kelvin(&["check"]).expect(0);
        assert_eq!(project.calls(), calls);
        assert_eq!(ran(&project.report(), "s00", 0)["outcome"], "passed");
    }
    // Other checks are other questions, and other answers.
    configure(&project, &more.replace("d, check", "another, check"));
    project.kelvin(&["check"]).expect(0);
    assert_eq!(project.calls(), 8);
}

#[test]
fn shards_of_scenarios_join_to_the_report_of_the_whole_and_jobs_change_nothing() {
    let more = format!("{INVARIANTS}scoring: {{replicas: 2}}\nmatrix: {{n: [1, 2]}}\n");
    let project = project(AGENT, 5, &more);
    for share in ["1/2", "2/2"] {
        let out = format!("shards/{}", &share[..1]);
        project
            .kelvin(&["check", "--shard", share, "--out", &out])
            .expect(0);
    }
    project
        .kelvin(&["merge", "shards", "--out", "joined"])
        .expect(0);
    project.kelvin(&["check", "--jobs", "1"]).expect(0);
    let (joined, whole) = (
        project.json("joined/report.json"),
        project.json("kelvin/report.json"),
    );
    for part in ["metrics", "probes"] {
        assert_eq!(joined[part], whole[part], "{part}");
    }
    project.kelvin(&["check", "--jobs", "8"]).expect(0);
    assert_eq!(
        project.json("kelvin/report.json")["probes"],
        whole["probes"]
    );
    let said = project.kelvin(&["check", "--only", "nobody"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no scenario `nobody`
      help: the scenarios are: s00[n=1], s00[n=2], s01[n=1], s01[n=2], s02[n=1], s02[n=2], s03[n=1], s03[n=2], s04[n=1], s04[n=2]
    ");
}

#[test]
fn a_script_that_cannot_be_started_leaves_nothing_measured_and_is_told_before_and_after() {
    let custom = "invariants:\n  kept:\n    description: It is kept\n    check: {type: custom, script: look.sh}\n";
    let project = project(AGENT, 3, custom);
    let script = "#!/bin/sh\necho '{\"passed\": true}'\n";
    project.write("look.sh", script);
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stdout, &["! ", "(It is kept)"]), @"
    ! It is not known whether 3 of 3 scenarios pass: `s00`, `s01`, `s02`; in the
      first one `kept` (It is kept) is an error: the script: `look.sh` could not be
    ");
    let linted = project.kelvin(&["lint"]);
    let told = format!("{}{}", linted.stdout, linted.stderr).replace("\n  ", " ");
    insta::assert_snapshot!(lines_with(&told, &["`look.sh`"]), @"note: the invariant `kept` runs `look.sh`, which is not executable, so it will be an error in every scenario; run `chmod +x look.sh`, and commit that");
    // One scenario that is known is a measurement.
    let one = script.replace("echo", "grep -q 's01\"' && exit 3; echo");
    fs::remove_file(project.path("look.sh")).expect("removed");
    self::script(&project, "look.sh", one.trim_start_matches("#!/bin/sh\n"));
    let said = project.kelvin(&["check"]).expect(0);
    assert!(said.stdout.contains("exit code 3"), "{}", said.stdout);
    let linted = project.kelvin(&["lint"]).expect(0);
    assert!(!linted.stdout.contains("look.sh"), "{}", linted.stdout);
}
