//! The page as one self-contained document in HTML: it loads nothing, works from disk, and says without its
//! script all but the details of items far down the list. It is written piece by piece, so that thousands of items are never held in memory as text.

mod article;
mod blocks;
mod diff;
mod foot;
mod foreign;
mod head;
mod item;
mod opening;
mod pack;
mod plane;
mod script;
mod spread;
mod trend;

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;

use super::RunPage;
use blocks::{PageSpace, block};
use foot::Foot;
use head::Head;
use item::item;
use pack::DetailPacks;

pub use article::write_article;
#[cfg(any(test, feature = "fixtures"))]
pub use pack::unpacked;

pub use script::permission;

/// Gives the text of an item, or of one of its parts.
pub type Texts<'a> = dyn Fn(&str, Option<&str>) -> Option<String> + 'a;

/// The style of the page, which must be readable in every scheme.
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
/// The errors of the writer.
pub fn write(to: &mut dyn Write, mut page: RunPage<'_>, texts: &Texts<'_>) -> io::Result<()> {
    let environment = environment().map_err(io::Error::other)?;
    let mut budget = PageSpace::new(texts);
    let head = Head::of(&page, &environment, &mut budget)?;
    put(to, &environment, "head.html", &head)?;
    drop(head);
    let mut first = None;
    // The indices of the items of a chapter follow those of the chapter before it.
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
    let foot = Foot::of(page, first, &anchors, &mut budget).with_plain(packs.plain());
    put(to, &environment, "foot.html", &foot)
}

fn put(
    to: &mut dyn Write,
    environment: &Environment<'_>,
    template: &str,
    view: &impl Serialize,
) -> io::Result<()> {
    to.write_all(rendered(environment, template, view)?.as_bytes())
}

fn rendered(
    environment: &Environment<'_>,
    template: &str,
    view: &impl Serialize,
) -> io::Result<String> {
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

#[cfg(test)]
mod tests;
