//! The square of two signals, scaled to the units of its drawing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Plane;

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
