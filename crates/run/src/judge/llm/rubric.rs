//! The fixed texts of the questions. Whoever changes a word of them raises [`VERSION`]; the digest of the
//! texts stands in the id of the judge anyway, so that grades by other words are never compared.

use super::scale::Scale;
use crate::judge::mode::Mode;

/// The version of all rubrics.
pub(super) const VERSION: &str = "v1";

/// How the frames are to be read.
const FRAMES: &str = include_str!("rubric/frames.txt");

impl Mode {
    /// Its name in the id of a judge.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Criteria => "criteria",
            Self::Pairwise => "pairwise",
            Self::Equivalence => "equivalence",
        }
    }

    /// What the examiner is to do.
    pub(super) const fn rules(self) -> &'static str {
        match self {
            Self::Reference => include_str!("rubric/reference.txt"),
            Self::Criteria => include_str!("rubric/criteria.txt"),
            Self::Pairwise => include_str!("rubric/pairwise.txt"),
            Self::Equivalence => include_str!("rubric/equivalence.txt"),
        }
    }
}

/// What comes before the frames, with the rules of a mode or of a template.
pub(super) fn before(rules: &str) -> String {
    format!("{rules}\n{FRAMES}")
}

/// What comes after them. The form of the answer comes last, where a model follows it best.
pub(super) fn after(scale: &Scale) -> String {
    format!(
        "The frames end here. Answer by the rules before them, with one JSON object and nothing else:\n{}\n",
        scale.form()
    )
}
