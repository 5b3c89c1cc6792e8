//! The square of two signals, scaled to the units of its drawing.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Plane;

/// The side of the square, to which values are scaled.
const SIDE: f64 = 200.0;

/// The square.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct PlaneView {
    axes: [&'static str; 2],
    corners: [&'static str; 4],
    /// The point where the regions meet.
    cut: f64,
    /// The position of the run.
    at: Dot,
    /// The position of the run with which it is compared, and an arrow from there.
    base: Option<Dot>,
    way: Option<String>,
    /// The interval of its position along each axis.
    across: Option<(f64, f64)>,
    down: Option<(f64, f64)>,
    /// The items; items at the same position are one dot.
    dots: Vec<Dot>,
    /// The number of items in the dots, and their noun.
    count: usize,
    items: &'static str,
}

/// A position, with a radius.
#[derive(Debug, PartialEq, Serialize)]
struct Dot {
    x: f64,
    y: f64,
    r: f64,
}

impl PlaneView {
    pub(super) fn of(plane: &Plane) -> Self {
        let [x, y] = plane.run;
        let [along_x, along_y] = plane.ends;
        let both = |place: fn(f64) -> f64| move |(low, high)| (place(low), place(high));
        Self {
            axes: plane.axes,
            corners: plane.corners,
            cut: across(plane.cut),
            at: Dot {
                x: across(x),
                y: down(y),
                r: 6.0,
            },
            base: plane.base.map(|[x, y]| Dot {
                x: across(x),
                y: down(y),
                r: 5.0,
            }),
            way: plane.base.and_then(|base| arrow(base, plane.run)),
            across: along_x.map(both(across)),
            down: along_y.map(both(down)),
            dots: dots(&plane.points),
            count: plane.points.len(),
            items: plane.items,
        }
    }
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

fn dots(points: &[[f64; 2]]) -> Vec<Dot> {
    let mut places: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for [x, y] in points {
        let hundredths = |value: &f64| (value * 100.0).round() as i64;
        *places.entry((hundredths(x), hundredths(y))).or_default() += 1;
    }
    let dots = places.into_iter().map(|((x, y), count)| Dot {
        x: across(x as f64 / 100.0),
        y: down(y as f64 / 100.0),
        // The area of a dot grows with the number of items at its position.
        r: tidy((2.5 * (count as f64).sqrt()).min(14.0)),
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
