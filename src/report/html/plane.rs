//! Both signals at once: the run and its cases as points of a square. Only with one governing
//! type: with several the quadrants would mean nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::probe::CaseRecord;
use crate::report::Report;
use crate::report::summary::{Figure, QUADRANT, Standing, Summary};

/// The side of the square; values are scaled to it.
const SIDE: f64 = 200.0;

/// The square.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Plane {
    /// Where the quadrants meet.
    cut: f64,
    /// The run.
    at: Point,
    /// How sure its place is, along each axis.
    across: Option<(f64, f64)>,
    down: Option<(f64, f64)>,
    /// The cases, those at one place as one dot.
    dots: Vec<Point>,
    /// How many cases there are in the dots.
    cases: usize,
}

/// A place, with a radius.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Point {
    x: f64,
    y: f64,
    r: f64,
}

/// The square of a report; none where the run has no place in one of the quadrants.
pub(super) fn of(summary: &Summary<'_>) -> Option<Plane> {
    let standing = summary.standing.filter(|standing| standing.is_quadrant())?;
    let noise = summary.noise.as_ref();
    // The word for the run rests on invariance without noise, where that is known.
    let invariance = noise.map_or(&summary.invariance, |noise| &noise.invariance);
    let following = &summary.following;
    // One kind alone may be why the word is another one than that of the place.
    let holds = matches!(standing, Standing::Grounded | Standing::Flat);
    if holds != (invariance.value? >= QUADRANT) {
        return None;
    }
    let (dots, cases) = dots(summary.report);
    let ends = |figure: &Figure<'_>, place: fn(f64) -> f64| {
        let (low, high) = figure.ends?;
        Some((place(low), place(high)))
    };
    Some(Plane {
        cut: across(QUADRANT),
        at: Point {
            x: across(following.value?),
            y: down(invariance.value?),
            r: 6.0,
        },
        across: ends(following, across),
        down: ends(invariance, down),
        dots,
        cases,
    })
}

fn dots(report: &Report) -> (Vec<Point>, usize) {
    let mut places: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    let mut cases = 0;
    for case in report.cases.values() {
        if let (Some(invariance), Some(following)) = (case.invariance, following(case)) {
            let cell = |value: f64| (value * 100.0).round() as i64;
            *places
                .entry((cell(following), cell(invariance)))
                .or_default() += 1;
            cases += 1;
        }
    }
    let dots = places.into_iter().map(|((x, y), count)| Point {
        x: across(x as f64 / 100.0),
        y: down(y as f64 / 100.0),
        // The area tells how many.
        r: tidy((2.5 * (count as f64).sqrt()).min(14.0)),
    });
    (dots.collect(), cases)
}

/// Following in one case; none where no donor of its swaps is answered differently.
fn following(case: &CaseRecord) -> Option<f64> {
    let swaps = case.variants.iter().filter_map(|variant| variant.swap);
    let (reaction, contrast) = swaps
        .filter(|swap| swap.donor_differs)
        .fold((0.0, 0.0), |sum, swap| {
            (sum.0 + swap.reaction, sum.1 + swap.contrast)
        });
    (contrast > 0.0).then(|| (reaction / contrast).clamp(0.0, 1.0))
}

fn across(following: f64) -> f64 {
    tidy(following.clamp(0.0, 1.0) * SIDE)
}

fn down(invariance: f64) -> f64 {
    tidy((1.0 - invariance.clamp(0.0, 1.0)) * SIDE)
}

/// One decimal is finer than a pixel.
fn tidy(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
