//! The page as one self-contained HTML document: it loads no other files, works from disk, and shows everything without
//! its script except the details of items far down the list. It is written piece by piece, so that thousands of items
//! are never in memory as text.

mod blocks;
mod diff;
mod drawings;
mod foot;
mod foreign;
mod head;
mod item;
mod opening;
mod trend;

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde_json::{Value, json};

use super::RunPage;
use crate::{Article, DISCLAIMER, safe};
use blocks::{PageSpace, block};
use foot::foot_view;
use foreign::shortened;
use head::{head_view, statement_view};
use item::{DetailPacks, item};
use kelvin_base::digest::Digest;

/// Returns the text of an item, or of one of its parts.
pub type Texts<'a> = dyn Fn(&str, Option<&str>) -> Option<String> + 'a;

/// The style of the page, which must be readable in light and dark colour schemes.
pub const STYLE: &str = include_str!("templates/style.css");

const TEMPLATES: [(&str, &str); 7] = [
    ("macros.html", include_str!("templates/macros.html")),
    ("head.html", include_str!("templates/head.html")),
    ("opening.html", include_str!("templates/opening.html")),
    ("answer.html", include_str!("templates/answer.html")),
    ("foot.html", include_str!("templates/foot.html")),
    ("article.html", include_str!("templates/article.html")),
    ("style.css", STYLE),
];

/// Writes the page of a run.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn write(to: &mut dyn Write, mut page: RunPage<'_>, texts: &Texts<'_>) -> io::Result<()> {
    let environment = environment().map_err(io::Error::other)?;
    let mut budget = PageSpace::new(texts);
    let head = head_view(&page, &environment, &mut budget)?;
    put(to, &environment, "head.html", &head)?;
    drop(head);
    let mut first = None;
    // The indices of the items of a chapter follow those of the previous chapter.
    let mut places = Vec::new();
    let mut packs = DetailPacks::default();
    let mut begin = 0;
    for chapter in &mut page.chapters {
        let Some(list) = chapter.items.take() else {
            places.push(None);
            continue;
        };
        first = first.or(Some((list.title, list.least)));
        let place = list.place;
        for mut one in list.each {
            let anchor = begin + place(one.name).unwrap_or_default();
            let mut details = String::new();
            for part in std::mem::take(&mut one.blocks) {
                block(&mut details, part, 3, list.least, &mut budget);
            }
            let details = packs.place(anchor, details);
            to.write_all(item(&one, anchor, &details).as_bytes())?;
            packs.write(to, false)?;
        }
        packs.write(to, true)?;
        places.push(Some((begin, place)));
        begin += list.count;
    }
    let anchors = |chapter: usize, item: &str| {
        let (begin, place) = places.get(chapter)?.as_ref()?;
        Some(begin + place(item)?)
    };
    let foot = foot_view(page, first, &anchors, packs.plain(), &mut budget);
    put(to, &environment, "foot.html", &foot)
}

fn put(
    to: &mut dyn Write,
    environment: &Environment<'_>,
    template: &str,
    view: &Value,
) -> io::Result<()> {
    to.write_all(rendered(environment, template, view)?.as_bytes())
}

fn rendered(environment: &Environment<'_>, template: &str, view: &Value) -> io::Result<String> {
    environment
        .get_template(template)
        .and_then(|template| template.render(context! { view => Serde(view) }))
        .map_err(io::Error::other)
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.ends_with(".css") {
        true => AutoEscape::None,
        false => AutoEscape::Html,
    });
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// Filters and sorts the items, and expands the item of a link.
const SCRIPT: &str = include_str!("templates/script.js");

/// The source expression that allows exactly this script.
pub fn permission(script: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Digest::of(script.as_bytes()).bytes())
    )
}

/// Writes an article. It has no script at all.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn write_article(to: &mut dyn Write, article: Article<'_>) -> io::Result<()> {
    let environment = environment().map_err(io::Error::other)?;
    // An article shows no texts side by side.
    let mut budget = PageSpace::new(&|_, _| None);
    let title = shortened(&article.title);
    let mut blocks = String::new();
    for one in article.blocks {
        block(&mut blocks, one, 2, "rows", &mut budget);
    }
    let statements = article.statements.iter().map(statement_view);
    let view = json!({
        "plain_title": title.show(|_, text| text.to_owned()),
        "title": title,
        "scope": article.scope.join(", "),
        "statements": statements.collect::<Vec<_>>(),
        "blocks": blocks,
        "disclaimer": DISCLAIMER,
        "version": safe::cut(article.version, 40),
    });
    put(to, &environment, "article.html", &view)
}

#[cfg(test)]
mod tests;
