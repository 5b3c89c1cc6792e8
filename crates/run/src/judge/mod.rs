//! Compares and grades answers of a pipeline.
//!
//! A *scorer* says how far apart two decisions are, without asking anybody. A *judge* grades a response,
//! alone or against a reference. Judges are pure too: a judge that needs a model says what to ask and how to read an
//! answer, and the runner makes the calls.
//!
//! A sample that cannot be graded is *unscored*: it has an error of a certain type, it is counted, and it is in
//! no mean. No error becomes a score.

pub mod calibration;
mod embedding;
mod exact_match;
mod grade;
mod llm;
mod mode;
mod model;
mod panel;
pub mod planted;
mod scorer;
mod seat;
mod settings;
pub mod trial;
mod ungraded;

use std::fmt;

use serde_json::Value;

use kelvin_base::failure::Failure;

pub use grade::{Grade, GradePart, Order, flip_rate, model_names};
pub use mode::RagMeasure;
pub(crate) use model::declared_identity;
pub use scorer::ScorerKind;
pub use scorer::{AskedJudge, Choice, Known, Pair, Scorer, chosen_scorer, stored};
pub use seat::{Question, Seat};
pub use settings::{JudgeSettings, Needs};
pub use ungraded::{MaxErrors, Ungraded, UngradedCode};

/// Grades a response.
pub trait Judge: Send + Sync + fmt::Debug {
    /// Names the judge with everything that its grades depend on: its version, the hash of the rubric,
    /// the model and the parameters. Grades of different ids are never compared.
    fn grader_id(&self) -> String;

    /// The seats that the judge calls; empty for a judge that asks nobody.
    fn seats(&self) -> Vec<&Seat>;

    /// The questions about an exhibit, in an order that depends only on the judge and the exhibit.
    ///
    /// # Errors
    ///
    /// Why the exhibit cannot be graded at all. No call is made for it then.
    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded>;

    /// The grade, from what the seats have read of the answers, in the order of the questions.
    ///
    /// # Errors
    ///
    /// Why there is no grade.
    fn grade(
        &self,
        exhibit: &Exhibit<'_>,
        answers: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded>;
}

/// A response with the texts that it is graded by. Every text comes from outside and may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit<'a> {
    /// What the pipeline was asked; empty where nobody knows.
    pub prompt: &'a str,
    /// What the pipeline answered; this text is graded. In a paired grading it is the candidate.
    pub response: &'a str,
    /// The answer that the response is compared with: the baseline, or one that is known to be right.
    pub reference: Option<&'a str>,
    /// The texts that the pipeline found and answered from, the best first; none where nobody knows them.
    pub passages: Option<&'a [String]>,
    /// What a good answer has to satisfy; replaces the criteria of the judge's settings.
    pub criteria: Option<&'a str>,
    /// The number of the exhibit in its series, from 0, in an order that depends on items and repeats alone. A judge
    /// that exchanges the places of two texts by turns does so where the number is odd.
    pub turn: usize,
}

impl<'a> Exhibit<'a> {
    /// The reference, for a judge that needs one.
    ///
    /// # Errors
    ///
    /// Where the exhibit has no reference.
    fn needs_reference(&self) -> Result<&'a str, Ungraded> {
        let missing = || {
            let text = "there is no reference to compare the response with";
            Ungraded::new(UngradedCode::NoReference, text)
        };
        self.reference.ok_or_else(missing)
    }

    /// The passages, for a judge that needs them.
    ///
    /// # Errors
    ///
    /// Where nobody knows the passages.
    fn needs_passages(&self) -> Result<&'a [String], Ungraded> {
        let missing = || {
            let text =
                "the passages that the answer was made from are not known, or not kept as a whole";
            Ungraded::new(UngradedCode::NoPassages, text)
        };
        self.passages.ok_or_else(missing)
    }
}
