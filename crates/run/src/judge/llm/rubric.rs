//! The fixed texts of the questions. Every change of a word must raise [`VERSION`]. The digest of the
//! texts is in the id of the judge as well, so grades by different words are never compared.

use super::scale::Scale;
use crate::judge::mode::Mode;

/// The version of all rubrics.
pub(super) const VERSION: &str = "v1";

/// The instructions for reading the frames.
const FRAMES: &str = include_str!("rubric/frames.txt");

impl Mode {
    /// The name of the mode in the id of a judge.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Criteria => "criteria",
            Self::Pairwise => "pairwise",
            Self::Equivalence => "equivalence",
            Self::Faithfulness => "faithfulness",
            Self::AnswerRelevance => "answer_relevance",
            Self::ContextPrecision => "context_precision",
            Self::ContextRecall => "context_recall",
        }
    }

    /// The task of the examiner.
    pub(super) const fn rules(self) -> &'static str {
        match self {
            Self::Reference => include_str!("rubric/reference.txt"),
            Self::Criteria => include_str!("rubric/criteria.txt"),
            Self::Pairwise => include_str!("rubric/pairwise.txt"),
            Self::Equivalence => include_str!("rubric/equivalence.txt"),
            Self::Faithfulness => include_str!("rubric/faithfulness.txt"),
            Self::AnswerRelevance => include_str!("rubric/answer_relevance.txt"),
            Self::ContextPrecision => include_str!("rubric/context_precision.txt"),
            Self::ContextRecall => include_str!("rubric/context_recall.txt"),
        }
    }
}

/// The text before the frames, with the rules of a mode or of a template.
pub(super) fn before(rules: &str) -> String {
    format!("{rules}\n{FRAMES}")
}

/// The text after the frames. The form of the answer comes last, where a model follows it best.
pub(super) fn after(scale: &Scale) -> String {
    format!(
        "The frames end here. Answer by the rules before them, with one JSON object and nothing else:\n{}\n",
        scale.form()
    )
}
