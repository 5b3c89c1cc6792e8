//! The drawings of a chapter, in their units: the square of two signals, and the distribution of the values as bars.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Plane, Spread, brief};

/// The side of the square, to which values are scaled.
const SIDE: f64 = 200.0;

/// The square.
pub(super) fn plane_view(plane: &Plane) -> Value {
    let dot = |[x, y]: [f64; 2], r: f64| json!({ "x": across(x), "y": down(y), "r": r });
    let [along_x, along_y] = plane.ends;
    let both = |place: fn(f64) -> f64| move |(low, high)| (place(low), place(high));
    json!({
        "axes": plane.axes,
        "corners": plane.corners,
        // The point where the regions meet.
        "cut": across(plane.cut),
        "at": dot(plane.run, 6.0),
        "base": plane.base.map(|base| dot(base, 5.0)),
        "way": plane.base.and_then(|base| arrow(base, plane.run)),
        "across": along_x.map(both(across)),
        "down": along_y.map(both(down)),
        "dots": dots(&plane.points),
        "count": plane.points.len(),
        "items": plane.items,
    })
}

/// An arrow from one position to another, between the edges of their dots; none if the dots touch.
fn arrow(from: [f64; 2], to: [f64; 2]) -> Option<String> {
    const RIM: f64 = 8.0;
    const HEAD: f64 = 5.0;
    let [from, to] = [from, to].map(|[x, y]| [across(x), down(y)]);
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length = dx.hypot(dy);
    if length < 3.0 * RIM {
        return None;
    }
    let (dx, dy) = (dx / length, dy / length);
    let at = |along: f64, aside: f64| {
        let x = tidy(from[0] + dx * along - dy * aside);
        let y = tidy(from[1] + dy * along + dx * aside);
        format!("{x} {y}")
    };
    let end = length - RIM;
    Some(format!(
        "M{}L{}M{}L{}L{}",
        at(RIM, 0.0),
        at(end, 0.0),
        at(end - HEAD, HEAD),
        at(end, 0.0),
        at(end - HEAD, -HEAD),
    ))
}

/// The items; items at the same position are one dot.
fn dots(points: &[[f64; 2]]) -> Vec<Value> {
    let mut places: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for [x, y] in points {
        let hundredths = |value: &f64| (value * 100.0).round() as i64;
        *places.entry((hundredths(x), hundredths(y))).or_default() += 1;
    }
    let dots = places.into_iter().map(|((x, y), count)| {
        // The area of a dot grows with the number of items at its position.
        let r = tidy((2.5 * (count as f64).sqrt()).min(14.0));
        json!({ "x": across(x as f64 / 100.0), "y": down(y as f64 / 100.0), "r": r })
    });
    dots.collect()
}

fn across(value: f64) -> f64 {
    tidy(value.clamp(0.0, 1.0) * SIDE)
}

fn down(value: f64) -> f64 {
    tidy((1.0 - value.clamp(0.0, 1.0)) * SIDE)
}

/// One decimal is finer than a pixel.
pub(super) fn tidy(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The height of the highest bar and the width of all bars.
const HEIGHT: f64 = 100.0;
const WIDTH: f64 = 200.0;

/// The bars of a distribution.
pub(super) fn spread_view(spread: &Spread) -> Value {
    let (low, high) = spread.ends;
    let parts = spread.parts();
    let most = parts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let wide = WIDTH / parts.len() as f64;
    let step = (high - low) / parts.len() as f64;
    let mut told = Vec::new();
    let bars = parts.iter().enumerate().map(|(at, count)| {
        let tall = *count as f64 / most * HEIGHT;
        let from = low + step * at as f64;
        let title = format!("{} to {}: {count}", brief(from), brief(from + step));
        told.extend((*count > 0).then(|| title.clone()));
        json!({
            "x": tidy(at as f64 * wide),
            "y": tidy(HEIGHT - tall),
            "high": tidy(tall),
            "count": count,
            "title": title,
        })
    });
    let bars: Vec<Value> = bars.collect();
    let count = spread.values.len();
    let told = told.join("; ");
    json!({
        "label": format!("{} of {count} {}: {told}", spread.metric, spread.items),
        "metric": spread.metric,
        "items": spread.items,
        "count": count,
        "low": brief(low),
        "high": brief(high),
        "wide": tidy(wide - 2.0),
        "bars": bars,
    })
}
