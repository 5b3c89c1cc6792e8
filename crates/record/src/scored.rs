//! The score of an invocation, for programs that collect good invocations.

use serde::Serialize;
use std::collections::BTreeMap;

use kelvin_base::digest::Digest;
use kelvin_base::usage::Usage;

/// An invocation with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredInvocation {
    /// The probe that made the invocation.
    pub probe: String,
    /// The item.
    pub case: String,
    /// The variant; none for the item itself.
    pub variant: Option<String>,
    /// The number of the repeat, from 1.
    pub repeat: usize,
    /// The digest of the input of the item; none if it is not known, as for a variant.
    pub input: Option<Digest>,
    /// The score; none if the invocation has no score.
    pub score: Option<f64>,
    /// The parts of the score, by name.
    pub indicators: BTreeMap<String, f64>,
    /// The results of the checks, by name.
    pub verdicts: BTreeMap<String, CheckSaid>,
}

/// The result of a check for an invocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckSaid {
    /// The outcome: `passed`, `failed`, `error` or `skipped`.
    pub outcome: &'static str,
    /// The score, from 0 to 1; none if the invocation has no score.
    pub score: Option<f64>,
}

/// Two answers to one prompt, and which of them a judge finds better.
#[derive(Clone, Debug, PartialEq)]
pub struct RivalAnswers {
    /// The id of the prompt.
    pub prompt: String,
    /// The digest of the prompt.
    pub prompt_digest: Digest,
    /// The question.
    pub asked: String,
    /// The answer of the candidate.
    pub answer: String,
    /// The answer with which the first answer is compared.
    pub other: String,
    /// The system that gave the first answer.
    pub candidate: String,
    /// The system that gave the other answer.
    pub baseline: Option<String>,
    /// The decision of the judge: 1 if the first answer is better, 0 if the second one is, 0.5 for a tie; none if it
    /// has not graded both.
    pub judged: Option<f64>,
    /// The id of the judge.
    pub grader: String,
}

/// An answer that a judge has graded, with its grade.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedPair {
    /// The id of the prompt.
    pub prompt: String,
    /// The digest of the prompt.
    pub prompt_digest: Digest,
    /// The system that answered: a command line or a model.
    pub candidate: String,
    /// The answer against which it was graded; none if it was graded alone.
    pub baseline: Option<String>,
    /// The score, from 0 to 1.
    pub score: f64,
    /// The id of the judge.
    pub grader: String,
    /// How long the answer took, in seconds, if that is known.
    pub seconds: Option<f64>,
    /// The tokens that the answer used, if the pipeline reported them.
    pub usage: Option<Usage>,
    /// The tokens that the judge used for this answer.
    pub judge_usage: Option<Usage>,
    /// The tags by which prompts are grouped.
    pub tags: Vec<String>,
}
