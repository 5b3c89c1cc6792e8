//! Answers of a model that are recorded, to be replayed without it.

use serde_json::{Value, json};

use super::server::{Faults, decides};
use super::{CALLS, project};
use crate::project::Project;

/// A project whose pipeline is a recording of the model `local`.
fn recording(server: &Faults) -> Project {
    let project = project(
        server,
        "    price: {input_per_million: 1, output_per_million: 1}\n",
        "  tape: {kind: replay, file: tape.jsonl, record: local}\n",
    );
    edit(&project, "run: {model: local}", "run: {model: tape}");
    project
}

fn edit(project: &Project, from: &str, to: &str) {
    let text = project.read("kelvin.yaml");
    assert!(text.contains(from), "{from}\n{text}");
    project.write("kelvin.yaml", &text.replace(from, to));
}

#[test]
fn what_a_model_answered_is_recorded_once_and_replayed_without_it() {
    let server = Faults::start(|_, _| decides());
    let project = recording(&server);
    project.check();
    assert_eq!(server.requests().len(), CALLS);
    let items = project.report()["probes"].clone();
    let tape = project.read("tape.jsonl");
    let lines: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), CALLS);
    for line in &lines {
        assert!(
            line["prompt"].is_string() && line["answer"].is_string(),
            "{line}"
        );
    }
    // What is recorded is not asked for again, and what is not is added.
    project.check();
    assert_eq!(server.requests().len(), CALLS);
    let shorter: Vec<&str> = tape.lines().skip(1).collect();
    project.write("tape.jsonl", &format!("{}\n", shorter.join("\n")));
    project.check();
    assert_eq!(server.requests().len(), CALLS + 1);
    assert_eq!(project.read("tape.jsonl").lines().count(), CALLS);
    // Without the model it is the same, and no server is there.
    edit(&project, ", record: local", "");
    project.check();
    assert_eq!(server.requests().len(), CALLS + 1);
    assert_eq!(
        project.report()["probes"]["evidence"]["items"],
        items["evidence"]["items"]
    );
}

#[test]
fn a_recording_needs_a_model_that_can_be_asked() {
    let server = Faults::start(|_, _| decides());
    let mut texts = Vec::new();
    for record in ["nobody", "tape"] {
        let project = recording(&server);
        edit(&project, "record: local", &format!("record: {record}"));
        let refused = project.kelvin(&["check"]).expect(1);
        texts.push(refused.stderr.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    error: `models.tape.record` names the model `nobody`, which is not declared
      --> kelvin.yaml:14:50
       |
    14 |   tape: {kind: replay, file: tape.jsonl, record: nobody}
       |                                                  ^^^^^^
       |
       = help: declared under `models`: local, tape

    error: `tape` has only recorded answers, and cannot give new ones
      --> kelvin.yaml:14:50
       |
    14 |   tape: {kind: replay, file: tape.jsonl, record: tape}
       |                                                  ^^^^
       |
       = help: name a model of the kind `openai`, `anthropic` or `cmd`
    ");
    // Without `record` a file that is not there is told, and is not made.
    let project = recording(&server);
    edit(&project, ", record: local", "");
    let refused = project.kelvin(&["check"]).expect(1);
    assert!(refused.stderr.contains("tape.jsonl"), "{}", refused.stderr);
    assert!(!project.path("tape.jsonl").exists());
    assert_eq!(json!(server.requests().len()), json!(0));
}
