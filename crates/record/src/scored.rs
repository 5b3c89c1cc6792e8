//! What an invocation was worth, for whoever collects good ones.

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
    /// Which repeat, from 1.
    pub repeat: usize,
    /// The digest of the input of the item; none where it is not known, as that of a variant.
    pub input: Option<Digest>,
    /// The score; none where it has none.
    pub score: Option<f64>,
    /// What the score is made of, by name.
    pub indicators: BTreeMap<String, f64>,
    /// What the checks have said of it, by name.
    pub verdicts: BTreeMap<String, CheckSaid>,
}

/// What a check has said of an invocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckSaid {
    /// Whether it holds: `passed`, `failed`, `error` or `skipped`.
    pub outcome: &'static str,
    /// How well, from 0 to 1; none where nobody knows.
    pub score: Option<f64>,
}
