//! The fields are chosen by a person.

use std::cell::RefCell;

use super::{Ask, args, folder, read, run, unit};
use crate::cli::ask::Check;

/// A person who answers from a list.
struct Script {
    answers: RefCell<Vec<&'static str>>,
    shown: RefCell<Vec<String>>,
}

impl Ask for Script {
    fn show(&self, lines: &[String]) {
        self.shown.borrow_mut().extend_from_slice(lines);
    }

    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String> {
        let answer = self.answers.borrow_mut().remove(0);
        let answer = match (answer, default) {
            ("", Some(default)) => default,
            (answer, _) => answer,
        };
        check(answer).unwrap_or_else(|wrong| panic!("{question} {answer}: {wrong}"));
        Ok(answer.to_owned())
    }
}

#[test]
fn a_person_chooses_the_fields_and_can_go_back() {
    let text = r#"{"id": "a", "q": "Why?", "docs": [{"t": "x", "k": "Rule"}], "label": "yes"}"#;
    let folder = folder("d.jsonl", text.as_bytes());
    let script = Script {
        // The fields are in the order of the alphabet: docs, id, label, q.
        answers: RefCell::new(vec!["", "3", "<", "4", "1", "2", "1", "yes"]),
        shown: RefCell::default(),
    };
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
