//! A graded answer as the ledger keeps it, whichever probe had it graded.

use crate::digest::Digest;
use crate::target::Usage;

/// One answer that a judge has graded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GradedPair {
    /// The id of the prompt.
    pub(crate) prompt: String,
    /// The digest of the prompt.
    pub(crate) prompt_digest: Digest,
    /// What answered: a command line or a model.
    pub(crate) candidate: String,
    /// What it was graded next to; none where it was graded by itself.
    pub(crate) baseline: Option<String>,
    /// The score, from 0 to 1.
    pub(crate) score: f64,
    /// The id of the judge.
    pub(crate) grader: String,
    /// How long the answer took, in seconds, where that is known.
    pub(crate) seconds: Option<f64>,
    /// What the answer used, where the pipeline told it.
    pub(crate) usage: Option<Usage>,
    /// What the judge used for it.
    pub(crate) judge_usage: Option<Usage>,
    /// The words that prompts are sorted by.
    pub(crate) tags: Vec<String>,
}
