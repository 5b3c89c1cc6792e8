//! A small document for people, and its renderers for a terminal, Markdown and HTML.
//!
//! The caller fills the document; the renderers do not know where it comes from. External text is marked as such, and
//! each renderer escapes it in its own way.

mod block;
mod document;
mod estimate;
pub mod html;
pub mod markdown;
mod notices;
mod opening;
pub mod safe;
pub mod terminal;
mod words;

#[cfg(test)]
extern crate self as kelvin_page;
#[cfg(test)]
#[path = "../../fixtures/src/page/mod.rs"]
pub mod fixture;

pub use block::{
    AnswersView, Block, Chip, Column, Detail, HeatCell, HeatGrid, HeatRow, ItemPage, ItemSignal,
    ItemView, LISTED, PartView, Plane, Status, Table, TableCell, TableRow, Trend, TrendLine,
    TrendStep,
};
pub(crate) use document::DISCLAIMER;
pub use document::{
    Article, Breakdown, Chapter, ComparisonPage, FigureTable, Group, Headword, ItemList, RunPage,
    Signal, Spread,
};
pub use estimate::{BANDS, Estimate, band, brief, display};
pub use notices::{FailedInvocation, NoticeCount, in_one_line, label};
pub use opening::{ANSWERS, AnswerList, AnswerRow, FlippedAnswer, HitsBeside, Opening, RankedRow};
pub use words::{
    Phrase, PhrasePart, SETTING, Statement, Tone, and_more, are, capitalized, counted, duration,
    have, listed, of_judges, used,
};
