//! Where there is no folder of cases, a file with records is the cases.

use std::fs;

use super::ScriptedAnswer::{Default, One, Stop, Text, Yes};
use super::{Request, Script, complete, load, request, run};
use kelvin_base::exit::Exit;
use kelvin_fixtures::text::lines_with;

const GOOD: &str = "python3 decide.py {input} {output}";

#[test]
fn where_there_are_no_cases_the_only_file_of_records_is_the_cases_and_its_label_is_kept_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = "{\"case_id\": \"a\", \"q\": \"Why is it so?\", \"gate_rule\": \"If x.\", \"label\": \"x\"}\n";
    fs::write(folder.path().join("data.jsonl"), line).expect("written");
    fs::write(folder.path().join("package.json"), "[{\"a\": 1}]").expect("written");
    let script = Script::of(&[Default, Text(GOOD), Yes(false), Default, Default]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(lines_with(&said, &["`data.jsonl`", "`label`", "1 case"]), @"
    the cases are the records of `data.jsonl` (`--cases` names others)
    `label` is the label of a case: the pipeline is not given it, and its decisions are held against it
    1 case with 2 types of units
    ");
    let config = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("read");
    assert!(
        config.contains("\nrecords: {id: \"case_id\", expected: \"label\"}\n"),
        "{config}"
    );
    assert_eq!(load(folder.path()).governing_types, ["gate_rule"]);
    // Where nobody is asked it is the same.
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let alone = Request {
        yes: true,
        run: Some(GOOD.to_owned()),
        decision_field: Some("d".to_owned()),
        ..request(folder.path())
    };
    run(&alone, None).0.expect("written");
    let again = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("read");
    assert_eq!(
        again,
        config.replace("decision_field: decision", "decision_field: d")
    );
}

#[test]
fn recorded_traces_are_no_records_and_the_import_of_them_is_named() {
    let mut told = Vec::new();
    for (name, text, flag) in [
        (
            "spans.jsonl",
            "{\"resourceSpans\": []}\n{\"resourceSpans\": []}\n",
            "--otlp",
        ),
        ("spans.json", "{\n  \"resourceSpans\": []\n}\n", "--otlp"),
        (
            "export.json",
            "[{\"id\": \"a\", \"timestamp\": \"x\", \"input\": \"q\", \"output\": \"a\", \"observations\": []}]",
            "--langfuse",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(name), text).expect("written");
        let script = Script::of(&[Default, Text(GOOD), Stop]);
        let (_, said) = run(&request(folder.path()), Some(&script));
        told.push(lines_with(
            &said,
            &[&format!("`kelvin import {flag}={name}`")],
        ));
        assert!(
            !script
                .defaults
                .borrow()
                .iter()
                .any(|default| default == name),
            "it is proposed"
        );
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `spans.jsonl` has traces: `kelvin import --otlp=spans.jsonl` makes cases of them
    `spans.json` has traces: `kelvin import --otlp=spans.json` makes cases of them
    `export.json` has traces: `kelvin import --langfuse=export.json` makes cases of them
    ");
}

#[test]
fn a_file_of_records_serves_as_the_cases_and_any_other_file_is_refused_at_that_question() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = "question,expected\nWhy?,x\n";
    fs::write(folder.path().join("questions.csv"), table).expect("written");
    fs::write(folder.path().join("more.csv"), table).expect("written");
    fs::write(folder.path().join("rag.py"), "print()").expect("written");
    let script = Script::of(&[
        One(0),
        Text(GOOD),
        Text("rag.py"),
        Text("questions.csv/x"),
        Text("questions.csv"),
        Yes(false),
        Default,
        Text("1"),
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(script.defaults.borrow()[2], "more.csv");
    let complaints = script.complaints.borrow();
    insta::assert_snapshot!(complaints[0], @"`rag.py` is a file without records; the cases are a folder with one Markdown file for each, or a file of JSON lines, JSON or CSV");
    insta::assert_snapshot!(lines_with(&said, &["1 case"]), @"1 case with 1 type of units");
    let config = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("read");
    assert!(config.contains("cases: questions.csv"), "{config}");
    assert_eq!(load(folder.path()).governing_types, ["question"]);
}

#[test]
fn the_only_file_of_records_is_asked_about_once_it_could_not_be_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The first line tells what the file is, and the second one is broken.
    let lines = "{\"id\": \"a\", \"policy\": \"If x.\"}\n{\"id\": \"a\", \"policy\": \"If y.\"}\n";
    fs::write(folder.path().join("data.jsonl"), lines).expect("written");
    let script = Script::of(&[Default, Text(GOOD), Stop]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("stopped"), Exit::Interrupted);
    assert!(said.contains("data.jsonl:2"), "{said}");
    assert_eq!(script.defaults.borrow()[2], "data.jsonl");
}

#[test]
fn a_table_with_a_column_of_its_own_is_no_mistake() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = "query,expected_doc_ids,should_refuse,note\nWhy?,a,,mine\nWho?,,true,\n";
    fs::write(folder.path().join("golden.csv"), table).expect("written");
    let alone = Request {
        yes: true,
        run: Some("app:search".to_owned()),
        probe: Some(false),
        ..request(folder.path())
    };
    let (ended, said) = run(&alone, None);
    assert!(ended.is_ok(), "{ended:?} {said}");
    let config = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("read");
    let named = "golden_fields: {query: \"query\", expected_doc_ids: \"expected_doc_ids\"}";
    assert!(config.contains(named), "{config}");
}

#[test]
fn a_file_of_records_that_a_flag_names_as_the_cases_is_read_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("questions.csv"), "q\nWhy?\n").expect("written");
    let given = Request {
        yes: true,
        run: Some(GOOD.to_owned()),
        cases: Some("questions.csv".to_owned()),
        ..request(folder.path())
    };
    // The pipeline is not there, and that is all that is wrong.
    let error = run(&given, None).0.expect_err("refused").to_string();
    assert!(error.contains("failed on case `case-"), "{error}");
}

#[test]
fn the_only_folder_whose_pages_are_built_alike_has_the_cases() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let case = "# A claim\n\n## Gate Rule\n\nAt most 100 are paid.\n\n## Facts\n\nIt is 50.\n";
    write("data/my claims/a.md", case);
    write("data/my claims/b.md", &case.replace("50", "500"));
    write("docs/a.md", "## Usage\n\nx\n");
    write("docs/b.md", "## Usage\n\ny\n");
    write("prompts/system.md", "## Role\n\nYou are an assistant.\n");
    write("prompts/user.md", "Answer {question}.\n");
    let (ended, said) = run(&complete(folder.path()), None);
    ended.expect("it is written");
    let told = "the cases are the pages of `data/my claims` (`--cases` names others)\n2 cases with 2 types of units\n";
    assert!(said.starts_with(told), "{said}");
    let written = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("written");
    assert!(written.contains("\ncases: data/my claims\n"), "{written}");
    // Of two such folders none is taken.
    write("data/others/a.md", case);
    write("data/others/b.md", case);
    let again = Request {
        force: true,
        ..complete(folder.path())
    };
    let error = run(&again, None).0.expect_err("which one is not known");
    assert!(format!("{error:#}").contains("`cases`"), "{error:#}");
}
