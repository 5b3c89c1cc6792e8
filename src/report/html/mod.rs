//! The report as one self-contained page: it asks for nothing, works from disk, and is complete
//! without its script. Written piece by piece, so that thousands of cases are never held as text.

mod case;
mod diff;
mod foot;
mod head;
mod heat;
mod plane;
mod script;

use std::collections::BTreeMap;
use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;

use super::document::Report;
use super::summary::{Ranked, Summary};
use case::Budget;

/// Gives the text of a case's input, or of one of its variants.
pub(crate) type Texts<'a> = dyn Fn(&str, Option<&str>) -> Option<String> + 'a;

const TEMPLATES: [(&str, &str); 5] = [
    ("macros.html", include_str!("../templates/macros.html")),
    ("head.html", include_str!("../templates/head.html")),
    ("case.html", include_str!("../templates/case.html")),
    ("foot.html", include_str!("../templates/foot.html")),
    ("style.css", include_str!("../templates/style.css")),
];

/// Writes a report as a page.
///
/// # Errors
///
/// Those of the writer.
pub(crate) fn write(to: &mut dyn Write, report: &Report, texts: &Texts<'_>) -> io::Result<()> {
    let environment = environment().map_err(io::Error::other)?;
    let summary = Summary::of(report);
    let ranked = Ranked::all(report);
    // A link to a case is the same whatever the order.
    let anchors: BTreeMap<&str, usize> = report
        .cases
        .keys()
        .enumerate()
        .map(|(at, name)| (name.as_str(), at))
        .collect();
    let head = head::Head::of(&summary, &ranked);
    put(to, &environment, "head.html", &head)?;
    let mut budget = Budget::new(texts, report);
    for one in &ranked {
        let anchor = anchors.get(one.name).copied().unwrap_or_default();
        let case = case::Case::of(anchor, one, report, &mut budget);
        put(to, &environment, "case.html", &case)?;
    }
    let foot = foot::Foot::of(&summary, &anchors, &budget);
    put(to, &environment, "foot.html", &foot)
}

fn put(
    to: &mut dyn Write,
    environment: &Environment<'_>,
    template: &str,
    view: &impl Serialize,
) -> io::Result<()> {
    let text = environment
        .get_template(template)
        .and_then(|template| template.render(context! { view => Serde(view) }))
        .map_err(io::Error::other)?;
    to.write_all(text.as_bytes())
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
mod browser_tests;
#[cfg(test)]
mod tests;
