//! What a probe would run, and what that would take.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::digest::Digest;
use crate::notice::Notice;

/// What a probe would run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Listing {
    /// How many invocations there are, by what they are for.
    pub(crate) invocations: BTreeMap<&'static str, usize>,
    /// The variants of the items, in the order in which they are planned.
    pub(crate) variants: Vec<ListedVariant>,
    /// The caps and skips.
    pub(crate) notices: Vec<Notice>,
}

/// One variant that would be run.
#[derive(Debug, Serialize)]
pub(crate) struct ListedVariant {
    /// The item that it is made of.
    pub(crate) case: Arc<str>,
    /// Its name within the item.
    pub(crate) variant: Arc<str>,
    /// What the answer ought to do.
    pub(crate) relation: &'static str,
    /// The digest of its input, where it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Digest>,
}

/// What is still to be paid at some point of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Invocations to come.
    pub(crate) invocations: usize,
    /// Seconds they will take, from the calls so far and the number of jobs.
    pub(crate) seconds: f64,
}
