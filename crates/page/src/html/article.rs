//! A page that is about no single run.

use std::io::{self, Write};

use serde::Serialize;

use super::blocks::{PageSpace, block};
use super::foreign::shortened;
use super::head::StatementView;
use super::{environment, put};
use crate::{Article, DISCLAIMER, Phrase, safe};

#[derive(Serialize)]
struct ArticleView {
    title: Phrase,
    plain_title: String,
    scope: String,
    statements: Vec<StatementView>,
    /// The blocks as HTML.
    blocks: String,
    disclaimer: &'static str,
    version: String,
}

/// Writes an article. It has no script at all.
///
/// # Errors
///
/// The errors of the writer.
pub fn write_article(to: &mut dyn Write, article: Article<'_>) -> io::Result<()> {
    let environment = environment().map_err(io::Error::other)?;
    // An article shows no texts side by side.
    let mut budget = PageSpace::new(&|_, _| None);
    let title = shortened(&article.title);
    let mut blocks = String::new();
    for one in article.blocks {
        block(&mut blocks, one, 2, "rows", &mut budget);
    }
    let view = ArticleView {
        plain_title: title.show(|_, text| text.to_owned()),
        title,
        scope: article.scope.join(", "),
        statements: article.statements.iter().map(StatementView::of).collect(),
        blocks,
        disclaimer: DISCLAIMER,
        version: safe::cut(article.version, 40),
    };
    put(to, &environment, "article.html", &view)
}
