//! What may explain a difference that is none of quality is told: sides that are asked otherwise, a judge of the own
//! family, and a judge whose server is in another state.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::judges;
use crate::models::server::{Faults, Reaction, Request, says};
use crate::project::Project;

/// Two models that answer, asked in these ways, and a judge.
fn asked(candidate: &str, baseline: &str, judge: &str) -> (Project, Faults) {
    let server = Faults::start(|_, request| match request.body.contains("BEGIN RESPONSE") {
        true => says(&judges::score(0.8)),
        false => says("Thirty days."),
    });
    let url = server.url();
    let project = Project::new("exit 9\n");
    project.write(
        "prompts.jsonl",
        "{\"id\": \"a\", \"prompt\": \"How long?\", \"reference\": \"30 days\"}\n",
    );
    let model =
        |name: &str, keys: &str| format!("  {name}: {{kind: openai, base_url: \"{url}\"{keys}}}\n");
    project.write(
        "kelvin.yaml",
        &format!(
            "models:\n{}{}{}grading:\n  prompts: prompts.jsonl\n  candidate: {{model: c}}\n  baseline: {{run: {{model: {{name: \
             b, system: Be brief.}}}}}}\n  judge: {{type: llm, model: j}}\n",
            model("c", candidate),
            model("b", baseline),
            model("j", judge)
        ),
    );
    (project, server)
}

#[test]
fn sides_that_are_asked_otherwise_and_a_judge_of_the_own_family_are_told() {
    let (project, _server) = asked(
        ", model: small, temperature: 0.7, family: gemma, limits: {max_calls: 50}",
        ", model: small, temperature: 0, seed: 7",
        ", model: large, family: gemma",
    );
    let said = project.kelvin(&["check"]).expect(0);
    // The terminal shows the beginning of a long remark before the figures, and the report all of it.
    let place = |part: &str| {
        said.stdout
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {}", said.stdout))
    };
    assert!(place("`limits`") < place("judge_score"), "{}", said.stdout);
    let told = [
        project.notices("asked_otherwise"),
        project.notices("judged_by_itself"),
    ]
    .concat();
    insta::assert_snapshot!(told.join("\n"), @r#"
    the two sides are asked in different ways, so a difference between their scores may come from that: `limits` is {"max_calls":50} for the candidate and not set for the baseline; `seed` is not set for the candidate and 7 for the baseline; the system prompt differs (`not set`, `213c22ed`); `temperature` is 0.7 for the candidate and 0.0 for the baseline
    the candidate is graded by a model of its own family `gemma`: models prefer answers of their own kind, so take a judge of another family, or measure that preference by `kelvin calibrate` with answers of several families
    "#);
    let page = project.read("kelvin/report.html");
    assert!(page.contains("max_calls"), "the page tells it");

    // The same ways and another family are nothing to tell.
    let yaml = project.read("kelvin.yaml");
    let yaml = yaml.replace(
        ", temperature: 0, seed: 7",
        ", temperature: 0.7, limits: {max_calls: 50}",
    );
    let yaml = yaml.replace("run: {model: {name: b, system: Be brief.}}", "model: b");
    let yaml = yaml.replacen("family: gemma", "family: other", 1);
    project.write("kelvin.yaml", &yaml);
    let said = project.kelvin(&["check"]).expect(0);
    for code in ["asked_otherwise", "judged_by_itself"] {
        assert!(project.notices(code).is_empty(), "{code}: {}", said.stdout);
    }
}

#[test]
fn a_candidate_that_is_asked_otherwise_than_for_the_base_is_told() {
    let (project, _server) = asked(
        ", model: small, temperature: 0",
        ", model: small",
        ", model: large",
    );
    let yaml = project.read("kelvin.yaml");
    let alone = yaml.replace(
        "  baseline: {run: {model: {name: b, system: Be brief.}}}\n",
        "",
    );
    project.write("kelvin.yaml", &alone);
    project.kelvin(&["check"]).expect(0);
    let report = project.read("kelvin/report.json");
    project.write("base.json", &report);
    project.write(
        "kelvin.yaml",
        &alone.replacen("temperature: 0", "temperature: 1.5", 1),
    );
    let said = project.kelvin(&["gate", "--baseline", "base.json"]);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("`temperature`"), "{text}");
    // On every page it stands before the figures, and once.
    for page in ["kelvin/gate.md", "kelvin/report.html"] {
        let page = project.read(page);
        let (_, rest) = page
            .split_once(" is 1.5 ")
            .unwrap_or_else(|| panic!("{page}"));
        assert!(
            rest.contains("Judge score") || rest.contains("judge_score"),
            "{page}"
        );
    }
    let page = project.read("kelvin/gate.md");
    assert_eq!(page.matches("`temperature`").count(), 1, "{page}");
    let caveat = project.json("kelvin/gate.json")["caveats"][0].clone();
    insta::assert_snapshot!(caveat.as_str().unwrap_or_default(), @"the two sides are asked in different ways, so a difference between their scores may come from that: `temperature` is 1.5 for the candidate and 0.0 for the base");
}

#[test]
fn another_state_of_the_judges_server_asks_all_anchors_anew_and_is_the_same_judge() {
    let state = Arc::new(Mutex::new("fp_a"));
    let shared = Arc::clone(&state);
    let server = Faults::start(move |_, request: &Request| {
        let body = request.json();
        let question = body["messages"][0]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let body = json!({
            "model": "judge-1",
            "system_fingerprint": *shared.lock().expect("no panic"),
            "choices": [{ "message": { "role": "assistant", "content": judges::score(judges::overlap(&question)) } }],
            "usage": { "prompt_tokens": 9, "completion_tokens": 9 },
        });
        Reaction::Answer(200, Vec::new(), body.to_string())
    });
    let project = judges::project(&server.url(), "");
    project.kelvin(&["check"]).expect(0);
    let keep = || {
        let report = project.read("kelvin/report.json");
        project.write("base.json", &report);
    };
    let gate = |now: &'static str| {
        *state.lock().expect("no panic") = now;
        for folder in [".kelvin", "kelvin"] {
            fs::remove_dir_all(project.path(folder)).ok();
        }
        let said = project
            .kelvin(&["gate", "--baseline", "base.json"])
            .expect(0);
        let report = project.json("kelvin/report.json");
        let section = report["probes"]["grading"].clone();
        let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        (text + &project.read("kelvin/report.json"), section)
    };
    keep();
    gate("fp_a");
    keep();
    let (text, section) = gate("fp_a");
    assert_eq!(
        section["basis"]["planted"]["grades"],
        json!(3),
        "a known judge"
    );
    assert!(!text.contains("`fp_b`"), "{text}");
    let judge = section["basis"]["judge"].clone();
    let (text, section) = gate("fp_b");
    assert_eq!(
        section["basis"]["planted"]["grades"],
        json!(24),
        "all are asked"
    );
    assert!(
        section["basis"]["planted"]["anchors"]
            .as_array()
            .expect("a list")
            .len()
            >= 8
    );
    for part in ["`fp_b`", "`fp_a`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        section["basis"]["judge"], judge,
        "the same judge, whose calibration stands"
    );
}
