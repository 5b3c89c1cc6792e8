//! Checks whether an answer depends on earlier calls. A process that stays in memory may remember something from one
//! call to the next; then its answers, and every figure made from them, depend on the order of the calls. A few inputs
//! are called alone and in two orders, each time in a process without earlier calls. If only one process exists, the
//! sequences are run one after the other, so that each always follows the same sequence. If a process handles several
//! calls at once, the inputs are also called together, in the same two orders.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use super::{Input, OUTPUT, Runner, sample};
use crate::targets::{Ended, FreshTarget, Invocation, Target};
use crate::{Task, pool, retry};
use kelvin_base::digest::Fields;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};

/// How often everything is repeated once an answer has differed: an answer that varies by chance also varies in the
/// same order.
const AGAIN: usize = 3;

/// An answer in the form in which it is compared: the part of the value that decides, or the kind of the failure.
type Comparable = Result<Value, FailureKind>;

/// The answers to one input.
#[derive(Default)]
struct ByPlace {
    /// The answers for each position of the input: in the first order, in the second, and alone.
    places: [Vec<Comparable>; 3],
    /// The answers for the two orders when the calls are made together; empty if a process handles one call at a time.
    together: [Vec<Comparable>; 2],
}

impl ByPlace {
    /// Whether some answers differ, for any reason.
    fn some_differ(&self) -> bool {
        self.differ_apart() || self.strange().next().is_some()
    }

    /// Whether the answers to separate calls differ, alone or after others.
    fn differ_apart(&self) -> bool {
        let mut all = self.places.iter().flatten();
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    /// Whether the answers for the same position differ, which no order can explain.
    fn vary(&self) -> bool {
        let vary = |answers: &Vec<Comparable>| answers.windows(2).any(|two| two[0] != two[1]);
        self.places.iter().any(vary)
    }

    /// The answers after other inputs that differ from the answer to the input alone.
    fn strange(&self) -> impl Iterator<Item = &Comparable> {
        let alone = self.places.iter().flatten().next();
        let together = self.together.iter().flatten();
        together.filter(move |answer| Some(*answer) != alone)
    }

    /// Whether the order of the calls explains the differences.
    fn follow_the_order(&self) -> bool {
        self.differ_apart() && !self.vary()
    }

    /// Whether only simultaneous calls explain the differences: separate calls always agree, and at least half of the
    /// simultaneous ones differ from them. Which ones differ may depend on timing, so the same position need not give
    /// the same answer.
    fn follow_the_company(&self) -> bool {
        let together = self.together.iter().flatten().count();
        let strange = self.strange().count();
        !self.differ_apart() && strange > 0 && strange * 2 >= together
    }
}

/// How a sequence of inputs is called.
#[derive(Clone, Copy)]
enum RowPlace {
    /// The calls were made one after the other, or alone; the index in `places`.
    Apart(usize),
    /// The calls were made together; the number of the order.
    Together(usize),
}

/// How many inputs are called to find out whether their order matters.
const INPUTS_OF_AN_ORDER: usize = 4;

/// How many calls find out whether the order of the calls matters, for a process that stays in memory and a number of
/// different inputs, if no answers differ: each input in one order, in the other, and alone. `is_together`: whether the
/// process handles several calls at once, and the two orders are called together as well.
pub fn calls_of_an_order(inputs: usize, is_together: bool) -> usize {
    match inputs.min(INPUTS_OF_AN_ORDER) {
        0 | 1 => 0,
        inputs => inputs * if is_together { 5 } else { 3 },
    }
}

impl Runner<'_> {
    /// Finds out, before the first tasks with several inputs are run, whether the order of the calls matters. A resumed
    /// run and a run with a cache already have the result.
    pub(super) fn look_at_the_order(
        &self,
        tasks: &[Task],
        input: &Input<'_, '_>,
    ) -> anyhow::Result<()> {
        if self.order.get().is_some() || self.target.afresh().is_none() {
            return Ok(());
        }
        let mut inputs: Vec<(String, String)> =
            self.first_input.get().cloned().into_iter().collect();
        for task in tasks {
            let text = input(task);
            if !inputs.iter().any(|(_, other)| *other == text) {
                inputs.push((task.to_string(), text.into_owned()));
            }
            if inputs.len() == INPUTS_OF_AN_ORDER {
                break;
            }
        }
        if inputs.len() < 2 {
            if let Some(only) = inputs.pop() {
                let _ = self.first_input.set(only);
            }
            return Ok(());
        }
        let texts = inputs
            .iter()
            .fold(Fields::of("kelvin/order/v1"), |fields, (_, text)| {
                fields.field("input", text)
            });
        let key = self.memory.key(&texts.digest().to_string());
        let known = self.memory.known_order(key.as_ref());
        let notices = match known {
            Some(notices) => notices,
            None => {
                let Some(notices) = self.ask_in_two_orders(&inputs)? else {
                    return Ok(());
                };
                self.memory.note_order(key.as_ref(), &notices)?;
                notices
            }
        };
        let _ = self.order.set(notices);
        Ok(())
    }

    /// Calls the pipeline with named inputs, alone and in two orders, and describes the effect of the order. None if
    /// the run was stopped, or if each call has its own process. Fails if an input cannot be written.
    fn ask_in_two_orders(
        &self,
        inputs: &[(String, String)],
    ) -> anyhow::Result<Option<Vec<Notice>>> {
        let Some(memory) = self.target.afresh().map(|fresh| AskedMemory::of(&fresh)) else {
            return Ok(None);
        };
        let jobs = match memory.remembers {
            true => NonZeroUsize::MIN,
            false => self.settings.rules.jobs,
        };
        let inputs = &inputs[..inputs.len().min(INPUTS_OF_AN_ORDER)];
        let mut answers: Vec<ByPlace> = inputs.iter().map(|_| ByPlace::default()).collect();
        for round in 0..=AGAIN {
            let there: Vec<usize> = (0..inputs.len()).collect();
            let back: Vec<usize> = there.iter().rev().copied().collect();
            let orders = [&there, &back].into_iter().enumerate();
            let apart = orders
                .clone()
                .map(|(at, order)| (RowPlace::Apart(at), order.clone()));
            let alone = there.iter().map(|at| (RowPlace::Apart(2), vec![*at]));
            let together = orders
                .filter(|_| memory.together.is_some())
                .map(|(at, order)| (RowPlace::Together(at), order.clone()));
            let rows: Vec<(RowPlace, Vec<usize>)> = apart.chain(alone).chain(together).collect();
            let is_over = AtomicBool::new(false);
            let heard = pool::run(rows.len(), jobs, &|at| {
                let (place, row) = &rows[at];
                let row: Vec<&str> = row.iter().map(|at| &*inputs[*at].1).collect();
                match place {
                    RowPlace::Apart(_) => self.ask_in_a_row(&row, &is_over),
                    RowPlace::Together(_) => self.ask_together(&row, &is_over),
                }
            })?;
            if self.halted() {
                return Ok(None);
            }
            if is_over.load(Ordering::Relaxed) {
                let text = format!(
                    "whether the answers of a {} depend on the order of the inputs was not found out, since calls of \
                     the first inputs failed",
                    memory.noun
                );
                return Ok(Some(vec![Notice::new(Code::own("order_unknown"), text)]));
            }
            for ((place, row), heard) in rows.iter().zip(heard) {
                for (at, answer) in row.iter().zip(heard) {
                    let answers = &mut answers[*at];
                    match place {
                        RowPlace::Apart(place) => answers.places[*place].push(answer),
                        RowPlace::Together(order) => answers.together[*order].push(answer),
                    }
                }
            }
            if round == 0 && !answers.iter().any(ByPlace::some_differ) {
                return Ok(Some(Vec::new()));
            }
        }
        Ok(Some(in_words(inputs, &answers, memory)))
    }

    /// Calls the inputs one after the other in a process without earlier calls. If a call gets no answer, `is_over` is
    /// set, which ends this sequence and the others.
    fn ask_in_a_row(
        &self,
        inputs: &[&str],
        is_over: &AtomicBool,
    ) -> anyhow::Result<Vec<Comparable>> {
        let Some(FreshTarget { target, .. }) = self.target.afresh() else {
            return Ok(Vec::new());
        };
        let mut answers = Vec::new();
        for input in inputs {
            if is_over.load(Ordering::Relaxed) || self.halted() {
                break;
            }
            match self.ask_once(&*target, input)? {
                Some(answer) => answers.push(answer),
                None => is_over.store(true, Ordering::Relaxed),
            }
        }
        Ok(answers)
    }

    /// Calls the inputs together in a process without earlier calls. `is_over` is set if a call got no answer.
    fn ask_together(
        &self,
        inputs: &[&str],
        is_over: &AtomicBool,
    ) -> anyhow::Result<Vec<Comparable>> {
        let Some(FreshTarget { target, .. }) = self.target.afresh() else {
            return Ok(Vec::new());
        };
        let mut asked = Vec::new();
        for text in inputs {
            let Some(pass) = self.may_start(text) else {
                return Ok(Vec::new());
            };
            let sample = sample(text, 1);
            asked.push((self.place(text, &sample, 1)?, sample, pass));
        }
        let calls: Vec<Invocation<'_>> = inputs
            .iter()
            .zip(&asked)
            .map(|(text, (place, sample, _))| Invocation {
                input: text,
                input_file: place.input(),
                output_file: place.output(),
                repeat: 1,
                sample,
                workplace: None,
            })
            .collect();
        let start = Instant::now();
        let ends = target.call_together(&calls);
        let time = start.elapsed();
        let mut answers = Vec::new();
        for ((mut ended, mut output), (place, _, pass)) in ends.into_iter().zip(asked) {
            Self::unname(&mut ended, &mut output, &place);
            OUTPUT.replace(output);
            let result = match ended {
                Ended::Answered(reply) => self.read(&reply),
                Ended::Failed { failure, .. } => Err(failure),
                Ended::Interrupted => return Ok(Vec::new()),
            };
            pass.used(None);
            self.tally.called(time, 1, None);
            match self.comparable(result) {
                Some(answer) => answers.push(answer),
                None => is_over.store(true, Ordering::Relaxed),
            }
        }
        Ok(answers)
    }

    /// An answer in the form in which it is compared; none for a failure that does not depend on the input.
    fn comparable(&self, result: Result<Value, Box<Failure>>) -> Option<Comparable> {
        match result {
            Ok(value) => Some(Ok(self.settings.reader.compared(value))),
            Err(failure) => match failure.kind {
                FailureKind::Timeout | FailureKind::WorkerLost | FailureKind::NotStarted => None,
                kind => Some(Err(kind)),
            },
        }
    }

    /// One call that does not belong to a task, with the same retries as a task. None if it got no answer, because such
    /// a failure does not depend on the input.
    fn ask_once(&self, target: &dyn Target, text: &str) -> anyhow::Result<Option<Comparable>> {
        let sample = sample(text, 1);
        let mut attempt = 1;
        while let Some(pass) = self.may_start(text) {
            let place = self.place(text, &sample, attempt)?;
            let call = Invocation {
                input: text,
                input_file: place.input(),
                output_file: place.output(),
                repeat: 1,
                sample: &sample,
                workplace: None,
            };
            let start = Instant::now();
            let (ended, _) = Self::invoke(target, &call, &place);
            let (result, reply) = match ended {
                Ended::Answered(reply) => (self.read(&reply), reply),
                Ended::Failed { failure, reply } => (Err(failure), reply),
                Ended::Interrupted => return Ok(None),
            };
            pass.used(reply.usage);
            self.tally.called(start.elapsed(), attempt, reply.usage);
            let failure = match result {
                Err(failure)
                    if matches!(
                        failure.kind,
                        FailureKind::RateLimit
                            | FailureKind::Connection
                            | FailureKind::Status(500..)
                    ) =>
                {
                    failure
                }
                result => return Ok(self.comparable(result)),
            };
            let rules = &self.settings.rules.retry;
            let asked = reply.retry_after;
            let delay = retry::delay(rules, "order", attempt, &failure.kind, asked);
            if delay.is_none_or(|delay| !self.interrupt.sleep(delay)) {
                return Ok(None);
            }
            attempt += 1;
        }
        Ok(None)
    }
}

/// The process or service that may remember something, for messages.
#[derive(Clone, Copy)]
struct AskedMemory {
    noun: &'static str,
    /// Whether it is the same process or service as before, so that it may remember earlier calls.
    remembers: bool,
    /// The key that allows several calls at once, if it is set.
    together: Option<&'static str>,
}

impl AskedMemory {
    const fn of(fresh: &FreshTarget<'_>) -> Self {
        Self {
            noun: fresh.noun,
            remembers: fresh.remembers,
            together: fresh.together,
        }
    }

    /// Advice for the case that the order of the calls affects the answers.
    fn remedy(self) -> &'static str {
        match self.noun {
            "worker" => "Look for a global that remembers, or set `recycle_after: 1`",
            _ => "Look for what it keeps from one request to the next",
        }
    }

    /// Advice for the case that simultaneous calls affect each other.
    fn remedy_in_company(self) -> &'static str {
        match self.together {
            Some("batch") => {
                "Look for what one input of a list does to the answer to another one, or leave out `batch`"
            }
            _ => {
                "Look for a global that a call keeps across an `await`, or leave out `concurrency`"
            }
        }
    }
}

/// Describes in words what the answers show.
fn in_words(inputs: &[(String, String)], answers: &[ByPlace], memory: AskedMemory) -> Vec<Notice> {
    let noun = memory.noun;
    let names = |is_meant: &dyn Fn(&ByPlace) -> bool| -> Vec<String> {
        let meant = inputs
            .iter()
            .zip(answers)
            .filter(|(_, answers)| is_meant(answers));
        meant.map(|((name, _), _)| format!("`{name}`")).collect()
    };
    let ordered = names(&ByPlace::follow_the_order);
    let mixed = names(&ByPlace::follow_the_company);
    let unsteady = names(&|answers| {
        answers.some_differ() && !answers.follow_the_order() && !answers.follow_the_company()
    });
    let asked = inputs.len();
    let times = AGAIN + 1;
    let are = |names: &[String]| match names {
        [_] => "this one is",
        _ => "these are",
    };
    let mut notices = Vec::new();
    if !ordered.is_empty() {
        let text = format!(
            "the answer to {} depends on what the {noun} was asked before: of {asked} inputs, each asked alone and in \
             two orders {times} times, {} answered otherwise, and always alike in the same place. Something of one call \
             stays for the next one, so that every figure of this run may be one of the order. {}",
            listed(&ordered),
            are(&ordered),
            memory.remedy(),
        );
        notices.push(Notice::new(Code::own("order_matters"), text));
    }
    if !mixed.is_empty() {
        let text = format!(
            "the answer to {} depends on what the {noun} is asked at the same time: of {asked} inputs, each asked alone, \
             after others and together with them {times} times, {} answered otherwise together, and always alike apart. \
             Something of one call reaches another one, so that every figure of this run may be one of the company. {}",
            listed(&mixed),
            are(&mixed),
            memory.remedy_in_company(),
        );
        notices.push(Notice::new(Code::own("order_matters"), text));
    }
    if !notices.is_empty() {
        return notices;
    }
    if unsteady.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "whether the answers of a {noun} depend on the order of the inputs was not found out: those to {} vary from \
         one time to the next in the same order too",
        listed(&unsteady)
    );
    let vary =
        |text: String| Notice::new(Code::own("order_unknown"), text).counts(asked, unsteady.len());
    // If the process had earlier calls, these may also be the reason for different answers.
    vec![match memory.remembers {
        false => vary(text).minor(),
        true => {
            let more = "chance makes answers vary, and so does a service that remembers more than the last request; \
                        with `run.http.start` each order is asked of a service of its own, which tells the two apart";
            vary(format!("{text}: {more}"))
        }
    }]
}

/// Joins the names: `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers of an input: so many times in each place.
    fn answers(places: [&[i32]; 3]) -> ByPlace {
        ByPlace {
            places: places.map(|place| place.iter().map(|n| Ok(json!(n))).collect()),
            together: [const { Vec::new() }; 2],
        }
    }

    /// The answer 1 everywhere apart, and these together.
    fn together(orders: [&[i32]; 2]) -> ByPlace {
        ByPlace {
            together: orders.map(|order| order.iter().map(|n| Ok(json!(n))).collect()),
            ..answers([&[1; 4], &[1; 4], &[1; 4]])
        }
    }

    fn codes(of: &[ByPlace]) -> Vec<Notice> {
        let inputs: Vec<(String, String)> = (0..of.len())
            .map(|n| (format!("case-{n}"), String::new()))
            .collect();
        in_words(&inputs, of, memory("worker", false))
    }

    fn memory(noun: &'static str, remembers: bool) -> AskedMemory {
        let together = None;
        AskedMemory {
            noun,
            remembers,
            together,
        }
    }

    #[test]
    fn only_an_input_that_answers_alike_in_each_place_is_said_to_depend_on_the_order() {
        let same = || answers([&[1, 1], &[1, 1], &[1, 1]]);
        let ordered = || answers([&[1, 1], &[2, 2], &[1, 1]]);
        let noisy = || answers([&[1, 2], &[1, 1], &[2, 1]]);
        assert!(codes(&[same(), same()]).is_empty());
        let [notice] = &codes(&[same(), ordered(), noisy()])[..] else {
            panic!("one notice");
        };
        assert_eq!(notice.code, Code::own("order_matters"));
        assert!(notice.is_warning());
        assert!(notice.text.contains("`case-1`"), "{}", notice.text);
        assert!(!notice.text.contains("`case-2`"), "{}", notice.text);
        let [notice] = &codes(&[same(), noisy()])[..] else {
            panic!("one notice");
        };
        assert_eq!(notice.code, Code::own("order_unknown"));
        assert!(!notice.is_warning());
    }

    #[test]
    fn what_cannot_be_begun_anew_may_remember_where_it_seems_to_vary() {
        let inputs = [("case-0".to_owned(), String::new())];
        let vary = [answers([&[1, 2], &[3, 4], &[5, 6]])];
        let [notice] = &in_words(&inputs, &vary, memory("service", true))[..] else {
            panic!("one notice");
        };
        assert!(notice.is_warning(), "{}", notice.text);
        assert!(notice.text.contains("run.http.start"), "{}", notice.text);
        let ordered = [answers([&[1, 1], &[2, 2], &[1, 1]])];
        let [notice] = &in_words(&inputs, &ordered, memory("service", true))[..] else {
            panic!("one notice");
        };
        insta::assert_snapshot!(notice.text, @"the answer to `case-0` depends on what the service was asked before: of 1 inputs, each asked alone and in two orders 4 times, this one is answered otherwise, and always alike in the same place. Something of one call stays for the next one, so that every figure of this run may be one of the order. Look for what it keeps from one request to the next");
    }

    #[test]
    fn what_differs_together_alone_follows_the_company_however_it_varies_there() {
        let inputs = [("case-0".to_owned(), String::new())];
        let of = |orders, key| {
            let memory = AskedMemory {
                together: Some(key),
                ..memory("worker", false)
            };
            in_words(&inputs, &[together(orders)], memory)
        };
        assert!(of([&[1; 4], &[1; 4]], "concurrency").is_empty());
        let orders: [[&[i32]; 2]; 3] = [
            [&[1; 4], &[2; 4]],
            [&[2, 3, 1, 4], &[1, 1, 5, 6]],
            [&[2; 4], &[3; 4]],
        ];
        for orders in orders {
            let [notice] = &of(orders, "concurrency")[..] else {
                panic!("one notice");
            };
            assert_eq!(notice.code, Code::own("order_matters"));
            for words in ["`case-0`", "`await`"] {
                assert!(notice.text.contains(words), "{}", notice.text);
            }
        }
        assert!(of([&[2; 4], &[3; 4]], "batch")[0].text.contains("`batch`"));
        // A rare difference may be chance.
        let [notice] = &of([&[1, 1, 1, 2], &[1, 3, 1, 1]], "concurrency")[..] else {
            panic!("one notice");
        };
        assert_eq!(notice.code, Code::own("order_unknown"));
    }

    #[test]
    fn a_failure_is_an_answer_like_any_other() {
        let mut answers = answers([&[1], &[1], &[1]]);
        answers.places[2] = vec![Err(FailureKind::ErrorAnswer(1))];
        assert!(answers.some_differ() && !answers.vary());
    }
}
