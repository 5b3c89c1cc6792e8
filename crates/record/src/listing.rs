//! The planned invocations of a probe, and their cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use kelvin_base::digest::Digest;
use kelvin_base::notice::Notice;

/// The planned invocations of a probe.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    /// The number of invocations, by their purpose.
    pub invocations: BTreeMap<&'static str, usize>,
    /// The variants of the items, in the order in which they are planned.
    pub variants: Vec<ListedVariant>,
    /// The caps and skips.
    pub notices: Vec<Notice>,
    /// The cost of trying a judge in a gate, on top of the invocations; none where no judge is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_trial: Option<JudgeTrialCost>,
}

/// What a gate asks a judge about answers whose order is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JudgeTrialCost {
    /// The grades of a judge that nobody has tried yet.
    pub new: usize,
    /// The grades of a judge that proved itself in the run of the base.
    pub known: usize,
    /// The calls that one grade takes.
    pub calls_each: usize,
}

/// One variant that would be run.
#[derive(Debug, Serialize)]
pub struct ListedVariant {
    /// The item of the variant.
    pub case: Arc<str>,
    /// Its name within the item.
    pub variant: Arc<str>,
    /// The expected effect on the answer.
    pub relation: &'static str,
    /// The digest of its input, where it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
}

/// The remaining cost at some point of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Invocations to come.
    pub invocations: usize,
    /// Seconds they will take, from the calls so far and the number of jobs.
    pub seconds: f64,
}
