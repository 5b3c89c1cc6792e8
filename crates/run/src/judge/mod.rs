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
mod exhibit;
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
mod unscored;

use std::fmt;

use serde_json::Value;

use kelvin_base::failure::Failure;

pub use exhibit::Exhibit;
pub use grade::{Grade, GradePart, Order, flip_rate, model_names};
pub use mode::RagMeasure;
pub(crate) use model::declared_identity;
pub use scorer::ScorerKind;
pub(crate) use scorer::has_added;
#[cfg(any(test, feature = "fixtures"))]
pub use scorer::tests_only;
pub use scorer::{AskedJudge, Choice, Known, Pair, Scorer, of, stored};
pub use seat::{Question, Seat};
pub use settings::{JudgeSettings, Needs};
pub use ungraded::{Ungraded, UngradedCode};
pub use unscored::MaxErrors;

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
