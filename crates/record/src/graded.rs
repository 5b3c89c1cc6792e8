//! A graded answer in the form of the ledger, whichever probe had it graded.

use kelvin_base::digest::Digest;
use kelvin_base::usage::Usage;

/// One answer that a judge has graded.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedPair {
    /// The id of the prompt.
    pub prompt: String,
    /// The digest of the prompt.
    pub prompt_digest: Digest,
    /// The system that answered: a command line or a model.
    pub candidate: String,
    /// The answer that it was graded against; none where it was graded by itself.
    pub baseline: Option<String>,
    /// The score, from 0 to 1.
    pub score: f64,
    /// The id of the judge.
    pub grader: String,
    /// How long the answer took, in seconds, where that is known.
    pub seconds: Option<f64>,
    /// The tokens that the answer used, where the pipeline reported them.
    pub usage: Option<Usage>,
    /// The tokens that the judge used for it.
    pub judge_usage: Option<Usage>,
    /// The tags by which prompts are grouped.
    pub tags: Vec<String>,
}
