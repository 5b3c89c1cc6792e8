//! Makes the calls of a judge. The judge defines the questions and reads the answers; the cache, the journal, the
//! retries and the thread pool are the same as for every other call.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Outcome, Program, Reader, Runner, Step, Task};
use crate::judge::{Exhibit, Grade, Judge, Question, Seat, Ungraded, UngradedCode};
use crate::targets::Reply;
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;
use kelvin_base::usage::Usage;

/// The name of the phase in which a judge is called.
const PHASE: &str = "judge";

/// The key in a stored answer for the system fingerprint of the server.
const FINGERPRINT: &str = "fingerprint";

/// The name of the files with the questions.
const INPUT: &str = "question.txt";

/// The result of grading an exhibit.
#[derive(Clone, Debug)]
pub struct Graded {
    /// The grade, or the reason why there is none.
    pub grade: Result<Grade, Ungraded>,
    /// The tokens that the answers have used, if they are known, including those of stored answers.
    pub usage: Option<Usage>,
}

/// The steps of a judge, one for each seat, in folders `judge`, `judge-2` and so on.
pub fn steps(judge: &dyn Judge) -> Vec<Step<'_>> {
    let steps = judge
        .seats()
        .into_iter()
        .enumerate()
        .map(|(at, seat)| Step {
            folder: Some(match at {
                0 => PHASE.to_owned(),
                at => format!("{PHASE}-{}", at + 1),
            }),
            program: Program {
                turns: None,
                target: seat.address(),
                decision_field: "",
                input_name: INPUT,
                inputs: "",
            },
            reader: seat,
        });
    steps.collect()
}

/// Grades exhibits, each under a unique task name, with one runner for every step of the judge. A repeat of a task is
/// always asked again and never answered from the cache.
///
/// # Errors
///
/// Fails if the run cannot continue.
pub fn grade_all(
    judge: &dyn Judge,
    runners: &[Runner<'_>],
    items: &[(Task, Exhibit<'_>)],
) -> anyhow::Result<Vec<Graded>> {
    let questions: Vec<Result<Vec<Question>, Ungraded>> = items
        .iter()
        .map(|(_, exhibit)| judge.questions(exhibit))
        .collect();
    let mut answers: Vec<Vec<Option<Outcome>>> = questions
        .iter()
        .map(|asked| vec![None; asked.as_ref().map_or(0, Vec::len)])
        .collect();
    for (seat, runner) in runners.iter().enumerate() {
        let mut places = Vec::new();
        let mut tasks = Vec::new();
        for (at, asked) in questions.iter().enumerate() {
            let asked = asked.iter().flatten().enumerate();
            for (number, question) in asked.filter(|(_, question)| question.seat == seat) {
                places.push((at, number));
                tasks.push(task(&items[at].0, question));
            }
        }
        let texts: HashMap<&Task, &str> = tasks
            .iter()
            .zip(&places)
            .filter_map(|(task, (at, number))| {
                let asked = questions[*at].as_ref().ok()?;
                Some((task, asked[*number].text.as_str()))
            })
            .collect();
        let outcomes = runner.run_all(PHASE, &tasks, &|task: &Task| {
            Cow::Borrowed(texts.get(task).copied().unwrap_or_default())
        })?;
        for ((at, number), outcome) in places.into_iter().zip(outcomes) {
            answers[at][number] = outcome;
        }
    }
    let graded = items.iter().zip(questions).zip(answers);
    Ok(graded
        .map(|(((_, exhibit), asked), answers)| {
            let grade = asked.and_then(|_| read(judge, exhibit, &answers));
            of_answers(grade, &answers)
        })
        .collect())
}

/// The cost of the steps of a judge. It is separate from the cost of the pipeline.
pub fn cost(runners: &[Runner<'_>]) -> Cost {
    let costs = runners.iter().map(Runner::cost);
    costs.fold(Cost::default(), Cost::plus)
}

/// The task of one question. It is a variant of the graded item, because a task stands for exactly one call.
fn task(item: &Task, question: &Question) -> Task {
    let variant = match &item.variant {
        Some(variant) => format!("{variant}--{}", question.name),
        None => question.name.clone(),
    };
    Task {
        case: Arc::clone(&item.case),
        variant: Some(variant.into()),
        repeat: item.repeat,
    }
}

fn read(
    judge: &dyn Judge,
    exhibit: &Exhibit<'_>,
    answers: &[Option<Outcome>],
) -> Result<Grade, Ungraded> {
    let mut read: Vec<Result<Value, Failure>> = Vec::with_capacity(answers.len());
    for outcome in answers {
        let Some(outcome) = outcome else {
            let text = "the run ended before the judge was asked";
            return Err(Ungraded::new(UngradedCode::NotAsked, text));
        };
        let result = outcome.result.as_ref();
        read.push(result.cloned().map_err(|failure| (**failure).clone()));
    }
    judge.grade(exhibit, &read)
}

fn of_answers(grade: Result<Grade, Ungraded>, answers: &[Option<Outcome>]) -> Graded {
    let answered = || answers.iter().flatten();
    let used = answered().map(|outcome| outcome.usage.as_deref().copied());
    let served = answered().filter_map(|outcome| outcome.served.as_deref());
    let served = served.map(str::to_owned).collect();
    let fingerprints =
        answered().filter_map(|outcome| outcome.result.as_ref().ok()?.get(FINGERPRINT)?.as_str());
    let fingerprints = fingerprints.map(str::to_owned).collect();
    Graded {
        grade: grade.map(|grade| grade.served_by(served).in_states(fingerprints)),
        usage: used.fold(None, Usage::sum),
    }
}

/// A run stores the score and its notes, which are all that a seat reads from an answer.
impl Reader for Seat {
    fn digest(&self) -> Digest {
        Self::digest(self)
    }

    /// The system fingerprint is stored with the answer. An answer from the cache has none, because it says nothing
    /// about the present server.
    fn read(&self, output: &[u8], reply: &Reply) -> Result<Value, Failure> {
        let mut read = Self::read(self, output)?;
        if let (Some(fingerprint), Some(keys)) = (&reply.fingerprint, read.as_object_mut()) {
            keys.insert(FINGERPRINT.to_owned(), fingerprint.as_str().into());
        }
        Ok(read)
    }

    fn smallest(&self, value: &Value) -> Vec<u8> {
        Self::smallest(self, value)
    }

    /// The question contains everything on which the answer of a server depends.
    fn depends_on_code(&self) -> bool {
        self.address().runs_code()
    }

    fn is_of_a_judge(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
