//! Compares and grades answers of a pipeline.
//!
//! A *scorer* computes the distance of two decisions. A *judge* grades a response, alone or against a reference.
//! Neither makes calls itself: a judge that needs a model returns the questions and reads the answers, and the runner
//! makes the calls.
//!
//! A sample that cannot be graded is *unscored*: it has a typed error, it is counted, and no mean includes it. An error
//! never becomes a score.

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
pub use scorer::{
    AskedJudge, Choice, Known, Pair, Scorer, chosen_scorer, is_list_of_scalars, stored,
};
pub use seat::{Question, Seat};
pub use settings::{JudgeSettings, Needs};
pub use ungraded::{MaxErrors, Ungraded, UngradedCode};

/// Grades a response.
pub trait Judge: Send + Sync + fmt::Debug {
    /// Names the judge with everything on which its grades depend: its version, the hash of the rubric, the model and
    /// the parameters. Grades with different ids are never compared.
    fn grader_id(&self) -> String;

    /// The seats that the judge calls; empty for a judge that makes no calls.
    fn seats(&self) -> Vec<&Seat>;

    /// The questions about an exhibit, in an order that depends only on the judge and the exhibit.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the exhibit cannot be graded at all. Then no call is made for it.
    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded>;

    /// The grade, from the values that the seats have read in the answers, in the order of the questions.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there is no grade.
    fn grade(
        &self,
        exhibit: &Exhibit<'_>,
        answers: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded>;
}

/// A response together with the texts that are needed to grade it. Every text comes from outside and may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit<'a> {
    /// The prompt for the pipeline; empty if it is not known.
    pub prompt: &'a str,
    /// The answer of the pipeline, which is graded. In a paired grading it is the candidate.
    pub response: &'a str,
    /// The answer with which the response is compared: the answer of the baseline, or an answer that is known to be
    /// right.
    pub reference: Option<&'a str>,
    /// The texts that the pipeline found and used for its answer, the best first; none if they are not known.
    pub passages: Option<&'a [String]>,
    /// The criteria for a good answer; they replace the criteria in the judge's settings.
    pub criteria: Option<&'a str>,
    /// The number of the exhibit in its series, from 0. It depends only on items and repeats. A judge that alternates
    /// the order of two texts swaps them if the number is odd.
    pub turn: usize,
}

impl<'a> Exhibit<'a> {
    /// The reference, for a judge that needs one. Fails if the exhibit has no reference.
    fn needs_reference(&self) -> Result<&'a str, Ungraded> {
        let missing = || {
            let text = "there is no reference to compare the response with";
            Ungraded::new(UngradedCode::NoReference, text)
        };
        self.reference.ok_or_else(missing)
    }

    /// The passages, for a judge that needs them. Fails if the passages are not known.
    fn needs_passages(&self) -> Result<&'a [String], Ungraded> {
        let missing = || {
            let text =
                "the passages that the answer was made from are not known, or not kept as a whole";
            Ungraded::new(UngradedCode::NoPassages, text)
        };
        self.passages.ok_or_else(missing)
    }
}
