//! What is set up for an agent: its tasks, its folder and its check.

use std::fs;

use super::ScriptedAnswer::{Stop, Text, Yes};
use super::{Exit, PipelineKind, Request, Script, redacted, request, run};

const AGENT: &str = "python3 {root}/agent.py {input}";

/// A folder with a list of tasks, each with its text under a key.
fn with_tasks(key: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = |at: usize| format!("{{\"id\": \"task{at}\", \"{key}\": \"Write {at}.\"}}\n");
    let lines: String = (0..3).map(line).collect();
    fs::write(folder.path().join("tasks.jsonl"), lines).expect("written");
    folder
}

fn agent(folder: &tempfile::TempDir) -> Request {
    Request {
        kind: Some(PipelineKind::Acts),
        run: Some(AGENT.to_owned()),
        check: Some("test -d out".to_owned()),
        ..request(folder.path())
    }
}

fn written(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("kelvin.yaml")).expect("written")
}

#[test]
fn the_answers_about_an_agent_may_all_be_given_on_the_command_line() {
    let folder = with_tasks("prompt");
    fs::create_dir(folder.path().join("start")).expect("made");
    let given = Request {
        workspace: Some("start".to_owned()),
        ..agent(&folder)
    };
    let (ended, _) = run(&given, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    let config = written(&folder);
    for line in [
        "scenarios: tasks.jsonl",
        "workspace: {template: \"start\"}",
        "check: {type: command_exit, command: \"test -d out\", exit_code: 0}",
    ] {
        assert!(config.contains(line), "{line}: {config}");
    }
    let nowhere = Request {
        workspace: Some("nowhere".to_owned()),
        force: true,
        ..agent(&folder)
    };
    let error = run(&nowhere, None).0.expect_err("no such folder");
    insta::assert_snapshot!(format!("{error:#}"), @"
    the template of the workspace, `nowhere`, is no folder
      help: name a folder, relative to the configuration, that is copied for every scenario
    ");
}

#[test]
fn a_list_of_tasks_under_another_key_is_named_with_what_it_lacks() {
    let folder = with_tasks("task");
    let (ended, said) = run(&agent(&folder), None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(redacted(&said), @"
    a scenario has the keys `id` and `prompt`, and the records of `tasks.jsonl` have `id`, `task`, so it is not used, and the agent is started once, without a task; to have it do these: call the task `prompt`, give each record an `id`, put what else it has under `params`, and name the file with `--cases tasks.jsonl`
    wrote [TEMP]/kelvin.yaml
    next: kelvin check --config=[TEMP]/kelvin.yaml
    ");
    assert!(!written(&folder).contains("scenarios"));
}

#[test]
fn a_named_list_that_is_none_of_scenarios_is_refused_before_anything_is_asked() {
    let folder = with_tasks("task");
    let named = Request {
        cases: Some("tasks.jsonl".to_owned()),
        run: None,
        check: None,
        ..agent(&folder)
    };
    let (ended, said) = run(&named, Some(&Script::of(&[Text(AGENT)])));
    let error = ended.expect_err("it has no `prompt`");
    insta::assert_snapshot!(format!("{error:#}"), @"
    a scenario has the keys `id` and `prompt`, and the records of `tasks.jsonl` have `id`, `task`
      help: call the task `prompt`, give each record an `id`, put what else it has under `params`, and name the file with `--cases tasks.jsonl`
    ");
    let next = said.lines().last().expect("a next step");
    insta::assert_snapshot!(redacted(next), @"next, when that is fixed, with the answers so far: kelvin init --config=[TEMP]/kelvin.yaml --kind=acts '--run=python3 {root}/agent.py {input}' --cases=tasks.jsonl");
}

#[test]
fn every_answer_about_an_agent_is_kept_where_somebody_stops() {
    let folder = with_tasks("prompt");
    let asked = Request {
        check: None,
        ..agent(&folder)
    };
    let script = Script::of(&[Text("."), Text("test -d out"), Yes(false)]);
    let (ended, _) = run(&asked, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert!(!written(&folder).contains("workspace"));
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let (ended, said) = run(&asked, Some(&Script::of(&[Text("."), Stop])));
    assert_eq!(ended.expect("it is no error"), Exit::Interrupted);
    assert!(said.contains("--workspace=."), "{said}");
    let both = Request {
        workspace: Some(".".to_owned()),
        ..agent(&folder)
    };
    let again = both.again().command().expect("it can be pasted");
    assert!(
        again.contains("--workspace=.") && again.contains("'--check=test -d out'"),
        "{again}"
    );
}
