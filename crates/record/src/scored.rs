//! The score of an invocation, for programs that collect good ones.

use std::collections::BTreeMap;

use serde::Serialize;

use kelvin_base::digest::Digest;

/// An invocation with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredInvocation {
    /// The probe that made it.
    pub probe: String,
    /// The item.
    pub case: String,
    /// The variant; none for the item itself.
    pub variant: Option<String>,
    /// The number of the repeat, from 1.
    pub repeat: usize,
    /// The digest of the input of the item; none where it is not known, as for a variant.
    pub input: Option<Digest>,
    /// The score; none where it has none.
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
    /// The score, from 0 to 1; none where there is none.
    pub score: Option<f64>,
}
