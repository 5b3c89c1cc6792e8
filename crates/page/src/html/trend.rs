//! Figures over time, scaled to the units of their drawing.

use serde::Serialize;

use super::foreign::shortened;
use super::plane::tidy;
use crate::{Phrase, Trend, TrendLine, TrendStep, brief, display, safe};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;
/// The most names of steps that fit below the axis.
const NAMED: usize = 12;
/// The width of the name of a mark; a nearer mark has a line but no name.
const MARK_WIDTH: f64 = 60.0;
/// The number of courses with a colour of their own; all further courses share the last colour.
const COLOURS: usize = 5;

/// A plot.
#[derive(Serialize)]
pub(super) struct TrendView {
    title: Phrase,
    label: String,
    top: String,
    bottom: String,
    /// The position where the steps begin that the page is about.
    begin: f64,
    /// The steps whose names fit.
    steps: Vec<(f64, String)>,
    lines: Vec<LineView>,
    /// Whether the values link to rows of a table: then the drawing is more than a picture.
    has_links: bool,
    /// Whether any of the steps was bad news.
    has_bad: bool,
    /// Events at some of the steps, from the left.
    marks: Vec<(f64, String)>,
}

/// A value of a course.
#[derive(Serialize)]
struct DotView {
    x: f64,
    y: f64,
    title: String,
    anchor: Option<String>,
    is_bad: bool,
}

#[derive(Serialize)]
struct LineView {
    name: Phrase,
    number: usize,
    /// A path for each stretch without a gap: no line crosses a step without a value.
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

impl LineView {
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

/// The marks that fit beside each other, the newest first.
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
