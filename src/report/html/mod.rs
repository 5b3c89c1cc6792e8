//! The report as one self-contained page: no script, no request, works from disk.

mod diff;
mod heat;
mod view;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};

use super::document::Report;

/// Gives the text of a case's input, or of one of its variants.
pub(crate) type Texts<'a> = dyn Fn(&str, Option<&str>) -> Option<String> + 'a;

/// Renders a report.
///
/// # Errors
///
/// Never for a report of ours; a template that does not fit its values would be one.
pub(crate) fn render(report: &Report, texts: &Texts<'_>) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.add_template("report.html", include_str!("../templates/report.html"))?;
    environment.add_template("case.html", include_str!("../templates/case.html"))?;
    environment.add_template("style.css", include_str!("../templates/style.css"))?;
    let view = view::View::of(report, texts);
    Ok(environment
        .get_template("report.html")?
        .render(context! { view => Serde(&view) })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A template that only fails when it is used would fail at the user's.
    #[test]
    fn every_template_compiles() {
        let mut environment = Environment::new();
        for (name, text) in [
            ("report.html", include_str!("../templates/report.html")),
            ("case.html", include_str!("../templates/case.html")),
        ] {
            environment.add_template(name, text).expect("it compiles");
        }
    }

    #[test]
    fn kel_44_the_page_asks_for_nothing_from_elsewhere() {
        for text in [
            include_str!("../templates/report.html"),
            include_str!("../templates/case.html"),
            include_str!("../templates/style.css"),
        ] {
            for word in [
                "http:", "https:", "url(", "@import", "<script", "<link", "<img",
            ] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
