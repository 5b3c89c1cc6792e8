//! The retrieval probe: whether a system finds what a golden set says can be found, and whether it says so if there is
//! no answer to find.
//!
//! Makes the metrics `retrieval.*`; docs/retrieval.md defines them.

mod answered;
pub mod compare;
mod config;
pub mod documents;
mod evaluation;
mod fields;
mod figures;
pub mod golden;
mod kind;
mod measure;
mod measures;
mod output;
pub mod page;
mod proposal;
mod ranking;
mod record;
pub mod trec;

pub use config::{RetrievalSettings, SpanRule};
pub use evaluation::{EvalRequest, evaluate};
pub use fields::OutputFields;
pub use figures::figures;
pub use measure::notices;
pub use proposal::{FirstQuestion, first_question};
pub use ranking::Ranking;
pub use record::{
    AnswerRecord, Citations, Cited, Hit, Labels, QueryRecord, RetrievalBasis, RetrievalSection,
    Retrieved, Span, StoredBasis,
};

/// The kind of the retrieval probe: does a system find what can be found?
pub struct RetrievalKind;
