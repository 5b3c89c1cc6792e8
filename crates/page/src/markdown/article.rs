//! A page that is about no single run, and figures over time as a table.

use super::writer::{Writer, name, phrase, quote};
use super::{block, row, statements};
use crate::{Article, DISCLAIMER, Trend, brief, display};

/// Renders an article, which has no limit.
pub fn render_article(article: &Article<'_>) -> String {
    let mut writer = Writer::default();
    writer.line(&format!("# {}", phrase(&article.title)));
    writer.gap();
    statements(&mut writer, article.statements.iter());
    writer.gap();
    for one in &article.blocks {
        block(&mut writer, one);
    }
    writer.line(&format!("{}.", article.scope.join(", ")));
    writer.line(&format!("kelvin {}.", quote(article.version)));
    writer.gap();
    writer.line(&format!("_{DISCLAIMER}_"));
    writer.finish()
}

/// A row for each course and a column for each step; a step without a value has a dot.
pub(super) fn trend(writer: &mut Writer, trend: &Trend) {
    writer.line(&format!(
        "{}, by {}, on a scale from {} to {}:",
        phrase(&trend.title),
        trend.step,
        brief(trend.ends.0),
        brief(trend.ends.1)
    ));
    writer.gap();
    let steps = trend.steps.iter().map(|step| match &step.mark {
        Some(mark) => format!("{} ({})", name(&step.name), name(mark)),
        None => name(&step.name),
    });
    writer.line(&row([String::new()].into_iter().chain(steps)));
    let rules = trend.steps.iter().map(|_| "---:".to_owned());
    writer.line(&row(["---".to_owned()].into_iter().chain(rules)));
    for line in &trend.lines {
        let points = line.points.iter().map(|point| match point {
            Some((value, n)) => format!("{} (n {n})", display(*value)),
            None => "·".to_owned(),
        });
        writer.line(&row([phrase(&line.name)].into_iter().chain(points)));
    }
}
