//! The fields are chosen by a person.

use super::{args, folder, read, run, unit};
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
