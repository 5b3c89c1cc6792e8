//! A page that is about no single run: sentences, tables and courses over time.

use super::{Block, Phrase, Statement};

/// A page of text, tables and plots.
#[derive(Clone, Debug)]
pub struct Article<'a> {
    /// Its title.
    pub title: Phrase,
    /// The contents of the page, in short.
    pub scope: Vec<String>,
    /// What a reader should know first.
    pub statements: Vec<Statement>,
    /// The parts of the page.
    pub blocks: Vec<Block<'a>>,
    /// The version of the program that wrote it.
    pub version: &'a str,
}
