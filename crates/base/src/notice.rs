//! What a run has to tell beside its figures: every cap, skip and warning, as a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a notice is about; renderers group by it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The code of the pipeline changed while it ran, so that nothing is known of it.
    Changed,
    /// Every baseline invocation failed, or a case was left out because its own did.
    BaselineFailed,
    /// Variants whose invocation failed; they contribute to no score.
    VariantsFailed,
    /// Over a fifth of the invocations of a case failed.
    Insufficient,
    /// The run was stopped by a signal before it had finished.
    Interrupted,
    /// The ceiling of the calls of a model was reached before the run had finished.
    Spent,
    /// A score that could not be measured, and why.
    Unmeasured,
    /// The cache was asked for and could not be used, or an entry was unusable.
    Cache,
    /// Fewer variants than asked for, because the data allow no more.
    Cap,
    /// A kind of perturbation that made nothing for a case.
    Skip,
    /// Variants equal to the baseline input or to an earlier variant: never run, never a sample.
    Vacuous,
    /// Units that a rule-based kind could not parse, with the parse rate.
    ParseRate,
    /// Samples that a judge gave no score, or invocations that lack a factor; they are in no figure.
    Unscored,
    /// A case with nothing to perturb.
    NoUnits,
    /// Unit types that look alike but are not the same.
    LookAlikeTypes,
    /// Queries of the golden set that the run has nothing for; they count 0.
    MissingQueries,
    /// Queries of the run that the golden set does not have; they are in no figure.
    UnknownQueries,
    /// Queries whose invocation failed; they count 0.
    QueriesFailed,
    /// Queries whose expected chunks the corpus does not have; they are judged by their documents and spans.
    StaleLabels,
    /// The answers of one run name several versions of the chunker.
    ChunkerVersions,
    /// A file in the folder of the cases that is not a case.
    IgnoredFile,
    /// Fewer calls were made at the same time than asked for, since the system allows too few open files.
    FewerJobs,
    /// A folder that cannot be read, or not whole, so that cases may be missing.
    UnreadFolder,
    /// Repeats that the pipeline answered from memory; they count as one run.
    AnswersKept,
    /// Scenarios in which the pipeline or a service failed, so that no check was made.
    ScenariosFailed,
    /// Checks that could not be made; the runs have no composite.
    CheckErrors,
    /// Cases with fewer live runs with a score than they need; they have no score.
    FewRuns,
    /// Invocations that tell a total of tokens which is not the sum of its parts.
    TokenCounts,
    /// What checks that could be made warn of.
    CheckWarnings,
    /// An output that contains the path of its input: the pipeline may have taken the path for the text.
    PathInOutput,
    /// Scenarios of a change that ask and expect something else than those of its base.
    OtherQuestions,
    /// Something that only a newer version tells of.
    #[serde(other)]
    Other,
}

impl Code {
    /// Whether a person should see it before the caps and skips.
    pub const fn is_warning(self) -> bool {
        !matches!(
            self,
            Self::Cap | Self::Skip | Self::Vacuous | Self::ParseRate | Self::IgnoredFile
        )
    }
}

/// One cap, skip or warning. Never silent: it is in every report.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Notice {
    /// What it is about.
    pub code: Code,
    /// The case, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The kind of perturbation, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many were wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<u64>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<u64>,
    /// The same for a person, with the reason.
    pub text: String,
}

impl Notice {
    /// A notice about the whole run.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            case: None,
            kind: None,
            wanted: None,
            got: None,
            text: text.into(),
        }
    }

    /// Says which case it is about.
    #[must_use]
    pub fn case(mut self, case: impl Into<String>) -> Self {
        self.case = Some(case.into());
        self
    }

    /// Says which kind of perturbation it is about.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Says how many were wanted and how many there are.
    #[must_use]
    pub const fn counts(mut self, wanted: usize, got: usize) -> Self {
        self.wanted = Some(wanted as u64);
        self.got = Some(got as u64);
        self
    }
}
