//! A person whose answers a test gives in advance.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Ask, Check, Stopped};

/// One answer of a person.
#[derive(Clone, Debug)]
pub(in crate::cli) enum ScriptedAnswer {
    Text(&'static str),
    One(usize),
    Several(&'static [usize]),
    Yes(bool),
    /// An empty line, which means the default.
    Default,
    Stop,
}

use ScriptedAnswer::{Default, One, Several, Stop, Text, Yes};

/// A simulated person who answers from a list. It records the shown texts, the choices that were offered, and why an
/// answer was rejected.
pub(in crate::cli) struct Script {
    pub(in crate::cli) answers: RefCell<VecDeque<ScriptedAnswer>>,
    pub(in crate::cli) shown: RefCell<Vec<String>>,
    pub(in crate::cli) defaults: RefCell<Vec<String>>,
    pub(in crate::cli) complaints: RefCell<Vec<String>>,
}

impl Script {
    pub(in crate::cli) fn of(answers: &[ScriptedAnswer]) -> Self {
        Self {
            answers: RefCell::new(answers.iter().cloned().collect()),
            shown: RefCell::default(),
            defaults: RefCell::default(),
            complaints: RefCell::default(),
        }
    }

    fn next(&self, question: &str) -> anyhow::Result<ScriptedAnswer> {
        match self.answers.borrow_mut().pop_front() {
            Some(answer) => Ok(answer),
            None => panic!("nobody expected the question {question:?}"),
        }
    }
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
        self.defaults
            .borrow_mut()
            .push(default.unwrap_or_default().to_owned());
        loop {
            let line = match self.next(question)? {
                Text(text) => text.to_owned(),
                One(place) => (place + 1).to_string(),
                Several(places) => {
                    let numbers: Vec<String> =
                        places.iter().map(|place| (place + 1).to_string()).collect();
                    numbers.join(", ")
                }
                Yes(answer) => if answer { "y" } else { "No" }.to_owned(),
                Default => default.expect("there is a default").to_owned(),
                Stop => return Err(Stopped.into()),
            };
            match check(&line) {
                Ok(()) => return Ok(line),
                Err(complaint) => self.complaints.borrow_mut().push(complaint),
            }
        }
    }
}
