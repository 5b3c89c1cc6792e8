//! A graded answer as the ledger keeps it, whichever probe had it graded.

use kelvin_base::digest::Digest;
use kelvin_base::usage::Usage;

/// One answer that a judge has graded.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedPair {
    /// The id of the prompt.
    pub prompt: String,
    /// The digest of the prompt.
    pub prompt_digest: Digest,
    /// What answered: a command line or a model.
    pub candidate: String,
    /// What it was graded next to; none where it was graded by itself.
    pub baseline: Option<String>,
    /// The score, from 0 to 1.
    pub score: f64,
    /// The id of the judge.
    pub grader: String,
    /// How long the answer took, in seconds, where that is known.
    pub seconds: Option<f64>,
    /// What the answer used, where the pipeline told it.
    pub usage: Option<Usage>,
    /// What the judge used for it.
    pub judge_usage: Option<Usage>,
    /// The words that prompts are sorted by.
    pub tags: Vec<String>,
}
