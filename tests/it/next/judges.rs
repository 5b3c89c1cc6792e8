use kelvin_fixtures::text::lines_with;
use serde_json::json;

use super::{follow, project, views};
use crate::models::server::{Faults, Request, says};
use crate::project::Project;

/// Two prompts whose answers are right but for their case.
fn graded() -> Project {
    let project = project("exit 9\n");
    let line = |at: usize| {
        format!(
            "{{\"id\": \"p{at}\", \"prompt\": \"Say word-{at}\", \"reference\": \"WORD-{at}\"}}\n"
        )
    };
    project.write("prompts.jsonl", &(0..2).map(line).collect::<String>());
    project.write("answer.sh", "sed 's/Say //' \"$1\" > \"$2\"\n");
    project.write("my own.yaml", &grading("type: exact_match"));
    project.kelvin(&["check", CONFIG]).expect(0);
    project
}

const CONFIG: &str = "--config=my own.yaml";

fn grading(judge: &str) -> String {
    format!(
        "grading:\n  prompts: prompts.jsonl\n  candidate: {{run: \"sh answer.sh {{input}} {{output}}\"}}\n  judge: \
         {{{judge}}}\n"
    )
}

#[test]
fn two_judges_of_the_same_answers_stand_side_by_side() {
    let project = graded();
    project.write(
        "my own.yaml",
        &grading("type: exact_match, normalize: casefold"),
    );
    let line = [
        "rescore",
        "grades",
        "kelvin/report.json",
        CONFIG,
        "--out=other grades",
    ];
    let said = project.kelvin(&line).expect(0);
    let said = follow(&project, &said);
    for part in [
        "exact-match/ws-v1",
        "exact-match/casefold-v1",
        "0.0000",
        "1.0000",
    ] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    insta::assert_snapshot!(said.next(), @"kelvin ledger '--config=my own.yaml'");
    follow(&project, &said);
    let said = project
        .kelvin(&[&line[..], &["--no-history"]].concat())
        .expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin view '--config=my own.yaml' '--out=other grades'");
    views(&project, &said, "other grades");
}

fn answer(at: usize) -> String {
    format!(
        "Room {at} has {} chairs and a door. The door of room {at} opens at eight. It is closed at night.",
        at + 20
    )
}

/// With a judge that a server plays, and 24 answers.
fn tried(react: impl Fn(&Request) -> f64 + Send + Sync + 'static) -> (Project, Faults) {
    let server = Faults::start(move |_, request| {
        says(&json!({"notes": "n", "quality_score": react(request)}).to_string())
    });
    let project = project("exit 9\n");
    let answers = (0..24).map(|at| {
        let line = json!({"prompt": format!("What of room {at}?"), "response": answer(at)});
        format!("{line}\n")
    });
    project.write("my answers.jsonl", &answers.collect::<String>());
    project.write("prompts.jsonl", "{\"id\": \"p\", \"prompt\": \"x\"}\n");
    project.write(
        "kelvin.yaml",
        &format!(
            "models:\n  local: {{kind: openai, base_url: \"{}\", model: gemma}}\n{}",
            server.url(),
            grading("type: llm, model: local")
        ),
    );
    (project, server)
}

#[test]
fn a_judge_that_sees_nothing_is_tried_again_when_it_is_another() {
    let (project, server) = tried(|_| 0.5);
    let said = project
        .kelvin(&["calibrate", "--answers=my answers.jsonl", "--repeats=2"])
        .expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["next, "]), @"next, with another model or another prompt as judge: kelvin calibrate '--answers=my answers.jsonl' --pass=0.5 --repeats=2");
    let before = server.requests().len();
    let again = follow(&project, &said);
    assert_eq!(server.requests().len(), 2 * before, "the same trial");
    assert_eq!(again.next(), said.next());
}

#[test]
fn a_judge_that_is_sound_is_kept_for_the_gate() {
    // The right answer stands in the question twice where the copy is whole: as the reference too.
    let (project, _server) = tried(|request| {
        let whole = |at: usize| request.body.matches(&answer(at)).count() > 1;
        if (0..24).any(whole) { 1.0 } else { 0.0 }
    });
    let line = ["calibrate", "--answers=my answers.jsonl", "--no-save"];
    let said = project.kelvin(&line).expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin calibrate '--answers=my answers.jsonl' --pass=0.5 --repeats=3");
    assert!(!said.next().contains("--no-save"));
    let said = follow(&project, &said);
    // Where the line breaks depends on how long the name of the folder is.
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let kept = words.join(" ");
    assert!(kept.contains("Kept for the gate in "), "{kept}");
    assert_eq!(said.next(), "kelvin check");
}
