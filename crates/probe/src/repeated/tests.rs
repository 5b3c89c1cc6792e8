//! Items that a function answers.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_record::Repeats;
use kelvin_run::config::{Config, Overrides};
use kelvin_run::targets::{Address, Ended, Invocation, Reply, Target};
use kelvin_run::{Program, Reader, Rules, RunnerSettings, Silent, Start};
use kelvin_system::signal::Interrupt;

/// Takes the whole answer as a text.
struct WholeText;

impl Reader for WholeText {
    fn digest(&self) -> Digest {
        Digest::of(b"whole")
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        Ok(String::from_utf8_lossy(output).into())
    }

    fn smallest(&self, value: &Value) -> Vec<u8> {
        value.as_str().unwrap_or_default().into()
    }
}

/// Answers what a function makes of the input, the repeat and the number of the call.
struct Pipeline<'a> {
    answer: &'a (dyn Fn(&str, usize, usize) -> Option<String> + Sync),
    calls: &'a Mutex<Vec<(String, usize)>>,
}

impl Target for Pipeline<'_> {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let number = {
            let mut calls = self.calls.lock().expect("nobody panics");
            calls.push((call.input.to_owned(), call.repeat));
            calls.len()
        };
        match (self.answer)(call.input, call.repeat, number) {
            Some(answer) => {
                output.extend(answer.bytes());
                Ended::Answered(Reply::default())
            }
            None => Ended::Failed {
                failure: Box::new(Failure::new(FailureKind::OutputMissing, "no answer")),
                reply: Reply::default(),
            },
        }
    }
}

struct Bench {
    folder: TempDir,
    interrupt: Arc<Interrupt>,
    calls: Mutex<Vec<(String, usize)>>,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            interrupt: Interrupt::apart(),
            calls: Mutex::default(),
        }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("kelvin")
    }

    /// Has the items `one` and `two` asked twice each, and does something with them.
    fn asked<T>(
        &self,
        answer: &(dyn Fn(&str, usize, usize) -> Option<String> + Sync),
        act: impl FnOnce(&mut RepeatedItems<'_>) -> T,
    ) -> T {
        let file = self.folder.path().join("kelvin.yaml");
        fs::write(&file, "jobs: 1\n").expect("written");
        let overrides = Overrides {
            file: Some(file),
            ..Overrides::default()
        };
        let config = Config::load(&overrides, &[]).expect("a good configuration");
        let address = Address::command("none");
        let program = Program {
            turns: None,
            target: &address,
            decision_field: "",
            input_name: "input.txt",
            inputs: "items",
        };
        let out = self.out();
        let settings = RunnerSettings {
            rules: Rules::of(&config, &program),
            out: &out,
            start: Start::Fresh,
            fingerprint: None,
            watch: None,
            reader: &WholeText,
            observer: &Silent,
            observing: None,
        };
        let calls = &self.calls;
        let open = |_: &_| Ok(Box::new(Pipeline { answer, calls }) as Box<dyn Target + '_>);
        let interrupt = Arc::clone(&self.interrupt);
        let runner = Runner::stopped_by(interrupt, open, settings).expect("opened");
        let inputs = ["one", "two"].map(|id| (id, Cow::Owned(format!("the text of {id}"))));
        act(&mut RepeatedItems::new(
            &runner,
            "items",
            2,
            inputs.into_iter(),
        ))
    }

    fn calls(&self) -> Vec<(String, usize)> {
        self.calls.lock().expect("nobody panics").clone()
    }
}

fn answers(items: &RepeatedItems<'_>, id: &str) -> Vec<Option<String>> {
    let answer = |outcome: &Outcome| Some(outcome.result.as_ref().ok()?.as_str()?.to_owned());
    items.outcomes(id).map(answer).collect()
}

fn some(answers: &[&str]) -> Vec<Option<String>> {
    answers.iter().map(|one| Some((*one).to_owned())).collect()
}

fn number(_: &str, _: usize, number: usize) -> Option<String> {
    Some(number.to_string())
}

#[test]
fn each_is_asked_as_often_as_was_asked_for_and_only_what_is_missing_is_asked_again() {
    let bench = Bench::new();
    bench.asked(&number, |items| {
        items.run().expect("it runs");
        assert_eq!(items.ending(), Ending::Complete);
        assert_eq!(answers(items, "two"), some(&["3", "4"]));
        assert_eq!(answers(items, "three"), []);
        // Three repeats of one of them; an id of another probe and a smaller number change nothing.
        let wanted = [("two", 3), ("one", 1), ("three", 9)];
        let wanted = wanted
            .map(|(id, repeats)| (id.to_owned(), Repeats::of_all(repeats).into()))
            .into();
        items.repeat(&wanted).expect("it runs");
        items.repeat(&wanted).expect("it runs");
        assert_eq!(answers(items, "one"), some(&["1", "2"]));
        assert_eq!(answers(items, "two"), some(&["3", "4", "5"]));
        assert_eq!(items.ending(), Ending::Complete);
    });
    let texts = ["one", "one", "two", "two", "two"].map(|id| format!("the text of {id}"));
    let calls: Vec<_> = texts.into_iter().zip([1, 2, 1, 2, 3]).collect();
    assert_eq!(bench.calls(), calls);
}

#[test]
fn a_run_without_any_answer_has_failed_and_one_with_a_single_answer_has_not() {
    let ending = |answer: &(dyn Fn(&str, usize, usize) -> Option<String> + Sync)| {
        Bench::new().asked(answer, |items| {
            items.run().expect("it runs");
            items.ending()
        })
    };
    assert_eq!(ending(&|_, _, _| None), Ending::Failed);
    let last = |text: &str, repeat, _| (text.ends_with("two") && repeat == 2).then(String::new);
    assert_eq!(ending(&last), Ending::Complete);
}

#[test]
fn a_run_that_was_stopped_hands_on_what_it_has_and_says_so() {
    let bench = Bench::new();
    let interrupt = Arc::clone(&bench.interrupt);
    let stops = |_: &str, _, number: usize| {
        if number == 3 {
            interrupt.trip();
        }
        Some(number.to_string())
    };
    bench.asked(&stops, |items| {
        items.run().expect("it runs");
        assert_eq!(items.ending(), Ending::Interrupted);
        assert_eq!(answers(items, "one"), some(&["1", "2"]));
        assert!(answers(items, "two").len() < 2);
    });
    // The same in the re-runs of the gate.
    let bench = Bench::new();
    bench.asked(&number, |items| {
        items.run().expect("it runs");
        bench.interrupt.trip();
        let wanted = [("one".to_owned(), Repeats::of_all(3).into())].into();
        items.repeat(&wanted).expect("it runs");
        assert_eq!(items.ending(), Ending::Interrupted);
        assert_eq!(answers(items, "one"), some(&["1", "2"]));
    });
}

#[test]
fn after_a_gap_the_place_of_an_outcome_would_not_tell_its_repeat() {
    let mut item = RepeatedItem {
        id: "one".into(),
        input: "".into(),
        repeats: 3,
        outcomes: Vec::new(),
        taken: 0,
    };
    let bench = Bench::new();
    bench.asked(&number, |items| {
        items.run().expect("it runs");
        let mut outcomes = items.outcomes("one").cloned();
        item.put(1, outcomes.next().expect("it was asked twice"));
        item.put(3, outcomes.next().expect("it was asked twice"));
    });
    assert_eq!((item.outcomes.len(), item.in_order().count()), (3, 1));
    assert_eq!(item.missing().collect::<Vec<_>>(), [2]);
}

#[test]
fn an_answer_is_taken_once_and_equal_answers_are_known_as_such_from_then_on() {
    let bench = Bench::new();
    let same = |input: &str, repeat: usize, _: usize| match input.ends_with("one") {
        true => Some("the same answer".to_owned()),
        false => Some(format!("answer {repeat}")),
    };
    bench.asked(&same, |items| {
        items.run().expect("it runs");
        let mut taken = Vec::new();
        let mut take = |items: &mut RepeatedItems<'_>| {
            items.take(|id, outcome| {
                let answer = outcome.result.as_ref().expect("it answers");
                taken.push(format!("{id}: {}", answer.as_str().expect("a text")));
            });
            std::mem::take(&mut taken)
        };
        let first = take(items);
        assert!(
            first.contains(&"one: the same answer".to_owned()),
            "{first:?}"
        );
        assert!(take(items).is_empty());
        let wanted = WantedRepeats::from([("one".to_owned(), Repeats::of_all(3).into())]);
        items.repeat(&wanted).expect("it runs");
        assert_eq!(take(items), ["one: the same answer"]);
        let left = |id| answers(items, id);
        assert!(!left("one").contains(&Some("the same answer".to_owned())));
        assert!(left("one").windows(2).all(|two| two[0] == two[1]));
        assert!(left("two").windows(2).all(|two| two[0] != two[1]));
    });
}

#[test]
fn a_rehearsal_writes_the_inputs_and_asks_nothing() {
    let bench = Bench::new();
    bench.asked(&number, |items| {
        items.rehearse().expect("it writes");
        assert_eq!(items.ending(), Ending::DryRun);
    });
    let input = bench.out().join("two/baseline/input.txt");
    let written = fs::read_to_string(input).expect("it is there");
    assert_eq!(written, "the text of two");
    assert!(bench.calls().is_empty());
}
