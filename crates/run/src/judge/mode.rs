//! The task for a judging model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Mode {
    /// How good the response is, next to the reference.
    #[default]
    Reference,
    /// How well the response satisfies the criteria; there is no reference.
    Criteria,
    /// Which of the two is better: 1 for the response, 0 for the reference, 0.5 for a tie.
    Pairwise,
    /// Whether the two mean the same.
    Equivalence,
    /// Which claims of the response the retrieved passages support: supported claims / claims.
    Faithfulness,
    /// Which statements of the response help to answer the prompt: relevant statements / statements.
    AnswerRelevance,
    /// Which retrieved passages are of use for the reference, and how high they rank: average precision.
    ContextPrecision,
    /// Which claims of the reference the retrieved passages support: supported claims / claims.
    ContextRecall,
}

/// The measures of answers that are made from retrieved passages. Their names and formulas are those of Es et al. 2023,
/// "RAGAS: Automated Evaluation of Retrieval Augmented Generation", and of the library Ragas; the relevance of an answer
/// has the form of deepeval, which needs a judge and no embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RagMeasure {
    /// The share of the claims in the response that the passages support.
    Faithfulness,
    /// The share of the statements of the response that help to answer the prompt.
    AnswerRelevance,
    /// The average precision of the passages.
    ContextPrecision,
    /// The share of the claims in the reference that the passages support.
    ContextRecall,
}

impl RagMeasure {
    /// Whether the judge sees the passages.
    pub(super) const fn needs_passages(self) -> bool {
        !matches!(self, Self::AnswerRelevance)
    }

    /// Whether the judge sees the reference instead of the response.
    pub(super) const fn needs_reference(self) -> bool {
        matches!(self, Self::ContextPrecision | Self::ContextRecall)
    }
}

impl Mode {
    /// The measure of a mode; none for a mode that asks for a grade.
    pub(super) const fn rag(self) -> Option<RagMeasure> {
        match self {
            Self::Faithfulness => Some(RagMeasure::Faithfulness),
            Self::AnswerRelevance => Some(RagMeasure::AnswerRelevance),
            Self::ContextPrecision => Some(RagMeasure::ContextPrecision),
            Self::ContextRecall => Some(RagMeasure::ContextRecall),
            Self::Reference | Self::Criteria | Self::Pairwise | Self::Equivalence => None,
        }
    }
}
