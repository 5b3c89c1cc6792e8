//! Refusals of a pipeline whose answer is a text with what is known of it beside it.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::door::fresh;
use crate::project::Project;

const ANSWERS: &str = r#"PAGES = {"fee": "It is fifty cents.", "return": "Within thirty days."}

def ask(query):
    pages = [word for word in PAGES if word in query]
    text = PAGES[pages[0]] if pages else "I don't know."
    return {"answer": text, "grounded": bool(pages), "sources": pages}
"#;

const GOLDEN: &str = r#"{"id": "fee", "query": "What is the fee?", "expected_doc_ids": ["fee"]}
{"id": "return", "query": "May I return it?", "expected_doc_ids": ["return"]}
{"id": "cup", "query": "Who won the cup?", "expected_doc_ids": []}
"#;

/// A project whose outputs have these fields besides the hits.
fn answers(output_fields: &str, app: &str) -> Project {
    let (_remote, project) = fresh(&[("app.py", app), ("golden.jsonl", GOLDEN)]);
    let fields = format!("{{hits: sources{output_fields}}}");
    project.write(
        "kelvin.yaml",
        &format!(
            "retrieval:\n  run: {{python: \"app:ask\"}}\n  golden: golden.jsonl\n  output_fields: {fields}\n"
        ),
    );
    project
}

/// The shares of what is answered and of what is refused, where it should be.
fn shares(project: &Project) -> [Value; 2] {
    let report = project.report();
    ["answered_rate", "refusal_correctness"]
        .map(|name| report["metrics"][format!("retrieval.{name}")]["value"].clone())
}

#[test]
fn a_refusal_is_told_by_grounded_beside_a_text_and_its_loss_is_red() {
    let project = answers("", ANSWERS);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(shares(&project), [json!(1.0), json!(1.0)]);
    project.write("base.json", &project.read("kelvin/report.json"));
    for worse in [
        // An answer is made up.
        ANSWERS.replace("\"grounded\": bool(pages)", "\"grounded\": True"),
        // What is known is refused, although it is found.
        ANSWERS.replace("bool(pages)", "\"fee\" in pages"),
    ] {
        project.write("app.py", &worse);
        project
            .kelvin(&["gate", "--baseline", "base.json"])
            .expect(3);
        assert_ne!(shares(&project), [json!(1.0), json!(1.0)], "{worse}");
    }
}

#[test]
fn the_field_that_tells_a_refusal_may_have_another_name_and_one_that_is_not_read_is_told() {
    let nested = ANSWERS.replace(
        "\"grounded\": bool(pages)",
        "\"meta\": {\"grounded\": bool(pages)}",
    );
    let project = answers("", &nested);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(shares(&project), [json!(1.0), json!(0.0)]);
    let notices = project.report()["notices"].clone();
    let notice = notices.as_array().into_iter().flatten();
    let texts: Vec<&str> = notice
        .filter_map(|notice| notice["text"].as_str())
        .collect();
    insta::assert_snapshot!(lines_with(&texts.join("\n"), &["grounded"]), @"outputs have `meta.grounded`, which is not read: an answer that is a text counts as given unless `grounded` beside it is false; if `meta.grounded` is true for an answer and false for a refusal, write `retrieval: {output_fields: {grounded: meta.grounded}}`");

    let project = answers(", grounded: meta.grounded", &nested);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(shares(&project), [json!(1.0), json!(1.0)]);
    assert!(!project.report()["notices"].to_string().contains("unread"));
    let project = answers(", grounded: meta.sure", &nested);
    let said = project.kelvin(&["check"]).expect(2);
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let told = words.join(" ");
    assert!(
        told.contains("has no `meta.sure` that is true or false"),
        "{told}"
    );
}

#[test]
fn init_writes_which_field_tells_a_refusal() {
    let nested = ANSWERS.replace(
        "\"grounded\": bool(pages)",
        "\"meta\": {\"grounded\": bool(pages)}",
    );
    let (_remote, project) = fresh(&[("app.py", &nested), ("golden.jsonl", GOLDEN)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    assert!(
        said.stdout
            .contains("`meta.grounded` of the output is taken for `grounded`"),
        "{}",
        said.stdout
    );
    project.kelvin(&["check"]).expect(0);
    assert_eq!(shares(&project), [json!(1.0), json!(1.0)]);
}
