//! The retrieval probe: does a system find what a golden set says there is to find, and does it
//! say so where there is nothing?
//!
//! Makes the metrics `retrieval.*`; docs/retrieval.md defines them.

pub(crate) mod compare;
mod config;
pub(crate) mod documents;
mod evaluation;
mod figures;
pub(crate) mod golden;
mod kind;
mod measure;
mod measures;
mod output;
pub(crate) mod page;
mod ranking;
mod reader;
mod record;
pub(crate) mod trec;

pub(crate) use config::{RetrievalSettings, SpanRule};
pub(crate) use evaluation::{EvalRequest, evaluate};
#[cfg(test)]
pub(crate) use figures::figures;
#[cfg(test)]
pub(crate) use measure::notices;
pub(crate) use ranking::Ranking;
#[cfg(test)]
pub(crate) use record::{Citations, RetrievalBasis};
pub(crate) use record::{Hit, Labels, QueryRecord, RetrievalSection, Retrieved, Span, StoredBasis};

/// Is found what there is to find?
pub(crate) struct RetrievalKind;
