//! The fields are chosen by a person.

use super::{CasesArgs, args, folder, read, run, unit};
use crate::cli::ask::{Answer, Script};

#[test]
fn a_person_chooses_the_fields_and_can_go_back() {
    let text = r#"{"id": "a", "q": "Why?", "docs": [{"t": "x", "k": "Rule"}], "label": "yes"}"#;
    let folder = folder("d.jsonl", text.as_bytes());
    // The fields are in the order of the alphabet: docs, id, label, q.
    let answers = ["3", "<", "4", "1", "2", "1", "yes"].map(Answer::Text);
    let answers = [&[Answer::Default], &answers[..]].concat();
    let script = Script::of(&answers);
    let (ended, said) = run(args(folder.path(), "d.jsonl"), Some(&script));
    ended.expect("imported");
    assert!(said.contains("a.md:\n\nWhy?\n\n## Rule\n\nx\n"), "{said}");
    assert_eq!(
        script.shown.borrow()[..2],
        [
            "  1. docs   a list of 1: [{\"k\":\"Rule\",\"t\":\"x\"}]",
            "  2. id     \"a\""
        ]
    );
    let read = read(folder.path());
    assert_eq!(read["a"], ("Why?\n\n".to_owned(), vec![unit("rule", "x")]));
}

#[test]
fn the_right_answer_is_a_unit_only_where_somebody_wants_it() {
    let table = b"question,expected_doc,goldAnswer,note\nWhy?,x,y,z\n";
    let csv = folder("d.csv", table);
    // The fields are in the order of the alphabet: expected_doc, goldAnswer, note, question.
    let script = Script::of(&[
        Answer::Default,
        Answer::One(3),
        Answer::Default,
        Answer::Yes(true),
    ]);
    let (ended, said) = run(args(csv.path(), "d.csv"), Some(&script));
    ended.expect("imported");
    assert_eq!(script.defaults.borrow()[2], "3");
    assert!(!said.contains("right answer"), "{said}");
    let cases = read(csv.path());
    assert_eq!(cases["case-0001"].1, [unit("note", "z")]);

    // Chosen by hand, it is told what that means, before anything is written.
    let csv = folder("d.csv", b"question,expected_doc\nWhy?,x\n");
    let script = Script::of(&[
        Answer::Default,
        Answer::One(1),
        Answer::One(0),
        Answer::Yes(false),
    ]);
    let (ended, said) = run(args(csv.path(), "d.csv"), Some(&script));
    ended.expect_err("stopped");
    assert_eq!(script.defaults.borrow()[2], "", "no unit is the default");
    let shown = script.shown.borrow().join("\n");
    assert!(shown.contains("Every field that is left is the right answer"));
    assert!(
        said.contains("`expected_doc` is the right answer, by its name: it stands in the input"),
        "{said}"
    );
}

#[test]
fn what_was_answered_is_told_as_a_command_where_nothing_can_be_written() {
    let csv = folder("d.csv", b"question,note\nWhy?,x\nWho?,\n");
    let script = Script::of(&[Answer::Default, Answer::One(1), Answer::One(0)]);
    let (ended, said) = run(args(csv.path(), "d.csv"), Some(&script));
    let error = ended.expect_err("the second record has no note");
    assert!(error.to_string().contains("d.csv:3"), "{error:#}");
    assert!(
        said.contains("the same again, with the answers given: kelvin import cases "),
        "{said}"
    );
    assert!(
        said.contains("--preamble=question --units=note\n"),
        "{said}"
    );
}

#[test]
fn a_file_in_the_place_of_the_folder_is_told_before_the_first_question() {
    let csv = folder("d.csv", b"question\nWhy?\n");
    for into in ["d.csv", "d.csv/below"] {
        let given = CasesArgs {
            into: csv.path().join(into),
            ..args(csv.path(), "d.csv")
        };
        let (ended, said) = run(given, Some(&Script::of(&[])));
        let error = ended.expect_err(&said).to_string();
        assert!(
            error.contains("d.csv` is a file, and the cases need a folder"),
            "{error}"
        );
    }
}
