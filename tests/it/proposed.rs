//! What `kelvin init --yes` takes for a label, a golden set or a pipeline, in projects that name everything in their own
//! way.

use std::fmt::Write as _;
use std::fs;

use kelvin_fixtures::text::lines_with;
use serde_json::json;

use crate::door::fresh;
use crate::project::Project;

/// The lines of the configuration that `init` has written, without its comments.
fn written(project: &Project) -> String {
    let text = project.read("kelvin.yaml");
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().starts_with("# "));
    lines.fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{line}");
        all
    })
}

/// A pipeline that tells every field that it is given, and decides by the first one.
const CLASSIFIES: &str = r#"import json, pathlib

def classify(record):
    fields = record if isinstance(record, dict) else {"text": record}
    with pathlib.Path("../given.txt").open("a") as file:
        file.write(json.dumps(fields) + "\n")
    return {"department": "Billing" if "invoice" in fields["text"] else "Support", "model": "rules", "seconds": 1}
"#;

/// Tickets with their right answers in fields of these names.
fn tickets(fields: &[&str]) -> String {
    let lines = (0..6).map(|at| {
        let (about, right) = match at % 2 {
            0 => ("The invoice", "Billing"),
            _ => ("The server", "Support"),
        };
        let mut record =
            json!({"id": format!("t{at}"), "text": format!("{about} of month {at} is wrong.")});
        for field in fields {
            record[*field] = json!(right);
        }
        record.to_string() + "\n"
    });
    lines.collect()
}

#[test]
fn a_label_of_the_usual_forms_is_not_given_to_the_pipeline() {
    for label in [
        "expected_department",
        "true_department",
        "gold_team",
        "golden_department",
        "correct_answer",
        "target_department",
        "trueDepartment",
        "department_label",
        "department_expected",
        "departmentGold",
    ] {
        let (_remote, project) = fresh(&[
            ("app.py", CLASSIFIES),
            ("tickets.jsonl", &tickets(&[label])),
        ]);
        let said = project.kelvin(&["init", "--yes", "--decision-field", "department", "--probe"]);
        let said = said.expect(0);
        let told = format!("`{label}` is the label of a case");
        assert!(said.stdout.contains(&told), "{}", said.stdout);
        assert!(
            !said.stdout.contains("`governing_types`"),
            "{}",
            said.stdout
        );
        let config = written(&project);
        assert!(
            config.contains(&format!("records: {{expected: \"{label}\"}}")),
            "{config}"
        );
        assert!(config.contains("governing_types:\n  - text\n"), "{config}");
        let checked = project.kelvin(&["check"]).expect(0);
        assert!(
            checked.stdout.contains("does it answer as labelled?"),
            "{}",
            checked.stdout
        );
        let given = fs::read_to_string(project.root().join("../given.txt"));
        let given = given.expect("the pipeline was given something");
        assert!(!given.contains(label), "{given}");
    }
}

#[test]
fn of_several_labels_that_of_the_decision_is_taken_and_the_others_are_named() {
    let (_remote, project) = fresh(&[
        ("app.py", CLASSIFIES),
        (
            "tickets.jsonl",
            &tickets(&["category", "expected_department", "true_urgency"]),
        ),
    ]);
    let only = CLASSIFIES.replace(", \"model\": \"rules\", \"seconds\": 1", "");
    project.write("app.py", &only);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["label", "right answer"]), @r"
    `category` is the label of a case: the pipeline is not given it, and its decisions are held against it
    `expected_department` is the label and not `category`, since its name is that of the decision `department`
    `true_urgency` may have a right answer too, and the pipeline is given it: leave it out of the records, or let `records: {expected: ...}` name it in place of the other
    ");
    // What is left over besides the text is a field that may be an input, so somebody has to say which types govern.
    assert!(
        said.stderr.contains("`category`, `text`"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_field_that_is_the_decision_itself_is_not_proposed_to_govern() {
    let records = tickets(&["team"]);
    let only = CLASSIFIES.replace(", \"model\": \"rules\", \"seconds\": 1", "");
    let (_remote, project) = fresh(&[("app.py", &only), ("tickets.jsonl", &records)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["team", "governed"]), @r"
    `team` is the decision itself in the first case, and the pipeline is given it: if it has the right answers, let `kelvin.yaml` say `records: {expected: team}`
    the decision is to be governed by: text (`--governing-type` names others)
    ");
    assert!(written(&project).contains("governing_types:\n  - text\n"));
}
