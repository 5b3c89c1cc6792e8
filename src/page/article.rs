//! A page that is about no single run: sentences, tables and courses over time.

use super::{Block, Phrase, Statement};

/// A page of text, tables and plots.
#[derive(Clone, Debug)]
pub(crate) struct Article<'a> {
    /// Its title.
    pub(crate) title: Phrase,
    /// What it covers, in short.
    pub(crate) scope: Vec<String>,
    /// What a reader should know first.
    pub(crate) statements: Vec<Statement>,
    /// What it says.
    pub(crate) blocks: Vec<Block<'a>>,
    /// The version of the program that wrote it.
    pub(crate) version: &'a str,
}
