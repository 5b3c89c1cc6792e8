//! A small document for people, and its renderers for a terminal, Markdown and HTML.
//!
//! Whoever has something to show fills the document; the renderers know nothing of where it comes
//! from. Text that is not ours is marked as such, and each renderer makes it harmless in its own way.

mod article;
mod block;
mod document;
mod estimate;
pub(crate) mod html;
pub(crate) mod markdown;
mod notices;
mod opening;
pub(crate) mod safe;
mod spread;
pub(crate) mod terminal;
mod trend;
mod words;

#[cfg(test)]
pub(crate) mod fixture;

pub(crate) use article::Article;
pub(crate) use block::{
    AnswersView, Block, Chip, Column, Detail, HeatCell, HeatGrid, HeatRow, ItemPage, ItemSignal,
    ItemView, LISTED, PartView, Plane, Status, Table, TableCell, TableRow,
};
pub(crate) use document::{
    Breakdown, Chapter, ComparisonPage, DISCLAIMER, FigureTable, Group, Headword, ItemList,
    RunPage, Signal,
};
pub(crate) use estimate::{BANDS, Estimate, band, brief, display};
pub(crate) use notices::{FailedInvocation, NoticeCount, label};
pub(crate) use opening::{FlippedAnswer, Opening};
pub(crate) use spread::Spread;
pub(crate) use trend::{Trend, TrendLine, TrendStep};
pub(crate) use words::{
    Phrase, PhrasePart, Statement, Tone, capitalized, counted, duration, listed, of_judges, used,
};
