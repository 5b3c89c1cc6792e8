//! The retrieval probe: does a system find what a golden set says there is to find, and does it
//! say so where there is nothing?
//!
//! Makes the metrics `retrieval.*`; docs/retrieval.md defines them.

pub(crate) mod compare;
pub(crate) mod documents;
mod figures;
mod measure;
mod measures;
mod output;
mod ranking;
mod record;
pub(crate) mod trec;

pub(crate) use figures::{failure_rate, figures};
pub(crate) use measure::{Asking, Questions, accepts, notices};
pub(crate) use ranking::Ranking;
pub(crate) use record::{
    Citations, Hit, Labels, QueryRecord, RetrievalBasis, RetrievalRecord, Retrieved, Span,
};

/// The kind of this probe.
pub(crate) struct RetrievalKind;

impl crate::probe::Kind for RetrievalKind {
    fn name(&self) -> &'static str {
        "retrieval"
    }
}
