//! Where there are no cases, they can be made of a file of records.

use super::ScriptedAnswer::{Default, Text, Yes};
use super::{Script, load, request, run};
use kelvin_base::exit::Exit;

const GOOD: &str = "python3 decide.py {input} {output}";

#[test]
fn where_there_are_no_cases_a_file_of_records_is_offered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = "{\"id\": \"a\", \"q\": \"Why?\", \"gate_rule\": \"If x.\", \"facts\": \"x\"}\n";
    std::fs::write(folder.path().join("data.jsonl"), line).expect("written");
    std::fs::write(folder.path().join("package.json"), "[{}]").expect("written");
    let alone = super::Request {
        yes: true,
        run: Some(GOOD.to_owned()),
        ..request(folder.path())
    };
    let error = run(&alone, None).0.expect_err("refused").to_string();
    assert!(error.contains("`kelvin import cases "), "{error}");
    assert!(error.contains("data.jsonl --into="), "{error}");

    let script = Script::of(&[
        Text(GOOD),
        Default,
        // The cases as they are proposed.
        Yes(true),
        Yes(false),
        Default,
        Default,
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert!(said.contains("wrote 1 case into "), "{said}");
    assert!(said.contains("1 case with 2 types of units"), "{said}");
    let config = load(folder.path());
    assert_eq!(config.governing_types, ["gate_rule"]);
    let case = std::fs::read_to_string(folder.path().join("cases/a.md")).expect("read");
    assert_eq!(case, "Why?\n\n## Facts\n\nx\n\n## Gate rule\n\nIf x.\n");
}

#[test]
fn a_file_of_records_serves_as_the_cases_and_any_other_file_is_refused_at_that_question() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = "question,expected\nWhy?,x\n";
    std::fs::write(folder.path().join("questions.csv"), table).expect("written");
    std::fs::write(folder.path().join("rag.py"), "print()").expect("written");
    // The name that is offered else is taken.
    std::fs::write(folder.path().join("cases"), "mine").expect("written");
    let script = Script::of(&[
        Text(GOOD),
        Text("rag.py"),
        Text("questions.csv/x"),
        Text("questions.csv"),
        Yes(true),
        Yes(false),
        Default,
        Text("1"),
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(script.defaults.borrow()[1], "cases-2");
    let complaints = script.complaints.borrow();
    assert!(
        complaints[0].starts_with("`rag.py` is a file; "),
        "{complaints:?}"
    );
    assert!(said.contains("1 case with 1 type of units"), "{said}");
    assert!(!folder.path().join("cases-2").exists(), "no folder is made");
    let config = std::fs::read_to_string(folder.path().join("kelvin.yaml")).expect("read");
    assert!(config.contains("cases: questions.csv"), "{config}");
    assert_eq!(load(folder.path()).governing_types, ["question"]);
}

#[test]
fn a_file_of_records_that_a_flag_names_as_the_cases_is_read_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("questions.csv"), "q\nWhy?\n").expect("written");
    let given = super::Request {
        yes: true,
        run: Some(GOOD.to_owned()),
        cases: Some("questions.csv".to_owned()),
        ..request(folder.path())
    };
    // The pipeline is not there, and that is all that is wrong.
    let error = run(&given, None).0.expect_err("refused").to_string();
    assert!(
        error.contains("the pipeline failed on case `case-0001`"),
        "{error}"
    );
}
