//! Figures over time, scaled to the units of their drawing.

use std::fmt::Write as _;

use super::foreign::{say, shortened, text};
use super::plane::tidy;
use crate::{Phrase, Trend, TrendLine, TrendStep, brief, display, safe};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;
/// How many names of steps fit below the axis.
const NAMED: usize = 12;
/// The width of the name of a mark; a mark that is closer has a line but no name.
const MARK_WIDTH: f64 = 60.0;
/// How many lines have their own colour; all other lines share the last colour.
const COLOURS: usize = 5;

/// A plot.
pub(super) struct TrendView {
    title: Phrase,
    label: String,
    top: String,
    bottom: String,
    /// The position of the first step in the period of the page.
    begin: f64,
    /// The steps whose names fit.
    steps: Vec<(f64, String)>,
    lines: Vec<LineView>,
    /// Whether the values link to rows of a table, so that the drawing is not only a picture.
    has_links: bool,
    /// Whether any of the steps was bad news.
    has_bad: bool,
    /// Events at some of the steps, from the left.
    marks: Vec<(f64, String)>,
}

/// A value of a line.
struct DotView {
    x: f64,
    y: f64,
    title: String,
    anchor: Option<String>,
    is_bad: bool,
}

struct LineView {
    name: Phrase,
    number: usize,
    /// A path for each sequence without a gap: no line crosses a step without a value.
    paths: Vec<String>,
    dots: Vec<DotView>,
}

impl TrendView {
    pub(super) fn of(trend: &Trend) -> Self {
        let count = trend.steps.len();
        let every = count.div_ceil(NAMED).max(1);
        let steps = trend.steps.iter().enumerate();
        // Steps are counted from the last one, which always has a name.
        let named = steps.filter(|(at, _)| (count - 1 - at).is_multiple_of(every));
        let (low, high) = trend.ends;
        let title = shortened(&trend.title);
        Self {
            label: format!(
                "{}, by {}, from {} to {}",
                title.show(|_, text| text.to_owned()),
                trend.step,
                brief(low),
                brief(high)
            ),
            title,
            top: brief(high),
            bottom: brief(low),
            begin: match trend.begin {
                0 => 0.0,
                begin => tidy((across(begin, count) + across(begin - 1, count)) / 2.0),
            },
            steps: named
                .map(|(at, step)| (across(at, count), safe::cut(&step.name, 12)))
                .collect(),
            marks: marks(trend),
            has_links: trend.steps.iter().any(|step| step.anchor.is_some()),
            has_bad: trend.steps.iter().any(TrendStep::is_bad),
            lines: trend
                .lines
                .iter()
                .enumerate()
                .map(|(number, line)| LineView::of(line, number, trend))
                .collect(),
        }
    }
}

impl TrendView {
    /// Adds the plot to a page, as a picture with its text.
    pub(super) fn write(&self, to: &mut String) {
        to.push_str("<figure class=\"trend\">\n<figcaption>");
        say(to, &self.title);
        let role = if self.has_links { "group" } else { "img" };
        let _ = write!(
            to,
            "</figcaption>\n<svg viewBox=\"-44 -8 660 196\" role=\"{role}\" aria-label=\""
        );
        text(to, &self.label);
        let _ = write!(
            to,
            "\">\n<rect class=\"q good\" x=\"{:?}\" y=\"0\" width=\"{:?}\" height=\"160\"/>\n\
             <path class=\"axis\" d=\"M0 0V160H600M0 80H600M0 0H600\"/>\n",
            self.begin,
            WIDTH - self.begin
        );
        to.push_str("<text x=\"-6\" y=\"4\" text-anchor=\"end\">");
        text(to, &self.top);
        to.push_str("</text><text x=\"-6\" y=\"164\" text-anchor=\"end\">");
        text(to, &self.bottom);
        to.push_str("</text>\n");
        for (x, name) in &self.steps {
            let _ = write!(to, "<text x=\"{x:?}\" y=\"178\" text-anchor=\"middle\">");
            text(to, name);
            to.push_str("</text>");
        }
        to.push('\n');
        for (x, name) in &self.marks {
            let _ = write!(to, "<path class=\"mark\" d=\"M{x:?} 0V160\"/>");
            if !name.is_empty() {
                let _ = write!(
                    to,
                    "<text class=\"mark\" x=\"{x:?}\" y=\"-2\" text-anchor=\"middle\">"
                );
                text(to, name);
                to.push_str("</text>");
            }
        }
        to.push('\n');
        for line in &self.lines {
            line.write(to);
        }
        to.push_str("</svg>\n<ul class=\"legend\">");
        for line in &self.lines {
            let _ = write!(to, "<li class=\"c{}\">", line.number);
            say(to, &line.name);
            to.push_str("</li>");
        }
        if self.has_bad {
            to.push_str("<li class=\"bad\">the gate did not pass</li>");
        }
        to.push_str("</ul>\n</figure>\n");
    }
}

impl DotView {
    fn write(&self, to: &mut String, number: usize) {
        if let Some(anchor) = &self.anchor {
            to.push_str("<a href=\"#");
            text(to, anchor);
            to.push_str("\" aria-label=\"");
            text(to, &self.title);
            to.push_str("\">");
        }
        let (bad, radius) = if self.is_bad {
            (" bad", "5")
        } else {
            ("", "3.5")
        };
        let _ = write!(
            to,
            "<circle class=\"c{number}{bad}\" cx=\"{:?}\" cy=\"{:?}\" r=\"{radius}\"><title>",
            self.x, self.y
        );
        text(to, &self.title);
        to.push_str("</title></circle>");
        if self.anchor.is_some() {
            to.push_str("</a>");
        }
    }
}

impl LineView {
    fn write(&self, to: &mut String) {
        for path in &self.paths {
            let _ = write!(to, "<path class=\"course c{}\" d=\"{path}\"/>", self.number);
        }
        for dot in &self.dots {
            dot.write(to, self.number);
        }
    }

    fn of(line: &TrendLine, number: usize, trend: &Trend) -> Self {
        let (low, high) = trend.ends;
        let count = trend.steps.len();
        let down = |value: f64| {
            let share = (value - low) / (high - low);
            tidy((1.0 - share.clamp(0.0, 1.0)) * HEIGHT)
        };
        let mut paths: Vec<String> = Vec::new();
        let mut dots = Vec::new();
        let mut joined = false;
        for (at, (point, step)) in line.points.iter().zip(&trend.steps).enumerate() {
            let Some((value, n)) = point else {
                joined = false;
                continue;
            };
            let (x, y) = (across(at, count), down(*value));
            match paths.last_mut().filter(|_| joined) {
                Some(path) => path.push_str(&format!("L{x} {y}")),
                None => paths.push(format!("M{x} {y}")),
            }
            joined = true;
            let name = safe::cut(&step.name, 20);
            let word = step.word.as_ref().map(|(word, _)| format!(", {word}"));
            let word = safe::cut(&word.unwrap_or_default(), 60);
            dots.push(DotView {
                x,
                y,
                title: format!("{name}: {} (n={n}){word}", display(*value)),
                anchor: step.anchor.clone(),
                is_bad: step.is_bad(),
            });
        }
        Self {
            name: shortened(&line.name),
            number: number.min(COLOURS - 1),
            paths,
            dots,
        }
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
