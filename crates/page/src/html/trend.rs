//! Figures over time, scaled to the units of their drawing.

use std::fmt::Write as _;

use super::drawings::tidy;
use super::foreign::{say, shortened, text};
use crate::{Trend, TrendLine, TrendStep, brief, display, safe};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;
/// How many names of steps fit below the axis.
const NAMED: usize = 12;
/// The width of the name of a mark; a mark that is closer has a line but no name.
const MARK_WIDTH: f64 = 60.0;
/// How many lines have their own colour; all other lines share the last colour.
const COLOURS: usize = 5;

/// Adds a plot to a page, as a picture with its text.
pub(super) fn plot(to: &mut String, trend: &Trend) {
    let count = trend.steps.len();
    let (low, high) = trend.ends;
    let title = shortened(&trend.title);
    to.push_str("<figure class=\"trend\">\n<figcaption>");
    say(to, &title);
    // The values may link to rows of a table; then the drawing is not only a picture.
    let has_links = trend.steps.iter().any(|step| step.anchor.is_some());
    let role = if has_links { "group" } else { "img" };
    let _ = write!(
        to,
        "</figcaption>\n<svg viewBox=\"-44 -8 660 196\" role=\"{role}\" aria-label=\""
    );
    let name = title.show(|_, text| text.to_owned());
    let (top, bottom) = (brief(high), brief(low));
    text(
        to,
        &format!("{name}, by {}, from {bottom} to {top}", trend.step),
    );
    // The position of the first step in the period of the page.
    let begin = match trend.begin {
        0 => 0.0,
        begin => tidy((across(begin, count) + across(begin - 1, count)) / 2.0),
    };
    let _ = write!(
        to,
        "\">\n<rect class=\"q good\" x=\"{begin:?}\" y=\"0\" width=\"{:?}\" height=\"160\"/>\n\
         <path class=\"axis\" d=\"M0 0V160H600M0 80H600M0 0H600\"/>\n",
        WIDTH - begin
    );
    to.push_str("<text x=\"-6\" y=\"4\" text-anchor=\"end\">");
    text(to, &top);
    to.push_str("</text><text x=\"-6\" y=\"164\" text-anchor=\"end\">");
    text(to, &bottom);
    to.push_str("</text>\n");
    let every = count.div_ceil(NAMED).max(1);
    let steps = trend.steps.iter().enumerate();
    // Steps are counted from the last one, which always has a name.
    for (at, step) in steps.filter(|(at, _)| (count - 1 - at).is_multiple_of(every)) {
        let x = across(at, count);
        let _ = write!(to, "<text x=\"{x:?}\" y=\"178\" text-anchor=\"middle\">");
        text(to, &safe::cut(&step.name, 12));
        to.push_str("</text>");
    }
    to.push('\n');
    for (x, name) in marks(trend) {
        let _ = write!(to, "<path class=\"mark\" d=\"M{x:?} 0V160\"/>");
        if !name.is_empty() {
            let _ = write!(
                to,
                "<text class=\"mark\" x=\"{x:?}\" y=\"-2\" text-anchor=\"middle\">"
            );
            text(to, &name);
            to.push_str("</text>");
        }
    }
    to.push('\n');
    let numbered = || {
        (0..COLOURS)
            .chain(std::iter::repeat(COLOURS - 1))
            .zip(&trend.lines)
    };
    for (number, one) in numbered() {
        line(to, one, number, trend);
    }
    to.push_str("</svg>\n<ul class=\"legend\">");
    for (number, line) in numbered() {
        let _ = write!(to, "<li class=\"c{number}\">");
        say(to, &shortened(&line.name));
        to.push_str("</li>");
    }
    if trend.steps.iter().any(TrendStep::is_bad) {
        to.push_str("<li class=\"bad\">the gate did not pass</li>");
    }
    to.push_str("</ul>\n</figure>\n");
}

/// Adds a line: a path for each sequence without a gap, so that no line crosses a step without a value, and its values.
fn line(to: &mut String, line: &TrendLine, number: usize, trend: &Trend) {
    let (low, high) = trend.ends;
    let count = trend.steps.len();
    let mut paths: Vec<String> = Vec::new();
    let mut dots = String::new();
    let mut joined = false;
    for (at, (point, step)) in line.points.iter().zip(&trend.steps).enumerate() {
        let Some((value, n)) = point else {
            joined = false;
            continue;
        };
        let share = (value - low) / (high - low);
        let x = across(at, count);
        let y = tidy((1.0 - share.clamp(0.0, 1.0)) * HEIGHT);
        match paths.last_mut().filter(|_| joined) {
            Some(path) => path.push_str(&format!("L{x} {y}")),
            None => paths.push(format!("M{x} {y}")),
        }
        joined = true;
        let name = safe::cut(&step.name, 20);
        let word = step.word.as_ref().map(|(word, _)| format!(", {word}"));
        let word = safe::cut(&word.unwrap_or_default(), 60);
        let title = format!("{name}: {} (n={n}){word}", display(*value));
        dot(&mut dots, (x, y), &title, number, step);
    }
    for path in &paths {
        let _ = write!(to, "<path class=\"course c{number}\" d=\"{path}\"/>");
    }
    to.push_str(&dots);
}

/// Adds a value of a line.
fn dot(to: &mut String, (x, y): (f64, f64), title: &str, number: usize, step: &TrendStep) {
    if let Some(anchor) = &step.anchor {
        to.push_str("<a href=\"#");
        text(to, anchor);
        to.push_str("\" aria-label=\"");
        text(to, title);
        to.push_str("\">");
    }
    let (bad, radius) = if step.is_bad() {
        (" bad", "5")
    } else {
        ("", "3.5")
    };
    let _ = write!(
        to,
        "<circle class=\"c{number}{bad}\" cx=\"{x:?}\" cy=\"{y:?}\" r=\"{radius}\"><title>"
    );
    text(to, title);
    to.push_str("</title></circle>");
    if step.anchor.is_some() {
        to.push_str("</a>");
    }
}

/// The marks that fit side by side, the newest first.
fn marks(trend: &Trend) -> Vec<(f64, String)> {
    let count = trend.steps.len();
    let all = trend.steps.iter().enumerate();
    let marked = all.filter_map(|(at, step)| Some((across(at, count), step.mark.as_ref()?)));
    let mut shown: Vec<(f64, String)> = Vec::new();
    for (x, mark) in marked.rev() {
        let has_room = shown.last().is_none_or(|(next, _)| next - x >= MARK_WIDTH);
        let text = if has_room {
            safe::cut(mark, 12)
        } else {
            String::new()
        };
        shown.push((x, text));
    }
    shown.reverse();
    shown
}

/// The middle of a step.
fn across(at: usize, count: usize) -> f64 {
    tidy((at as f64 + 0.5) / count.max(1) as f64 * WIDTH)
}
