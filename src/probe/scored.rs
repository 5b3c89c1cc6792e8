//! What an invocation was worth, for whoever collects good ones.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::digest::Digest;

/// An invocation with its score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScoredInvocation {
    /// The probe that made it.
    pub(crate) probe: String,
    /// The item.
    pub(crate) case: String,
    /// The variant; none for the item itself.
    pub(crate) variant: Option<String>,
    /// Which repeat, from 1.
    pub(crate) repeat: usize,
    /// The digest of the input of the item; none where it is not known, as that of a variant.
    pub(crate) input: Option<Digest>,
    /// The score; none where it has none.
    pub(crate) score: Option<f64>,
    /// What the score is made of, by name.
    pub(crate) indicators: BTreeMap<String, f64>,
    /// What the checks have said of it, by name.
    pub(crate) verdicts: BTreeMap<String, CheckSaid>,
}

/// What a check has said of an invocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CheckSaid {
    /// Whether it holds: `passed`, `failed`, `error` or `skipped`.
    pub(crate) outcome: &'static str,
    /// How well, from 0 to 1; none where nobody knows.
    pub(crate) score: Option<f64>,
}
