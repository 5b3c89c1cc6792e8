//! The distribution of the items' values, as bars in the units of a drawing.

use serde::Serialize;

use super::plane::tidy;
use crate::{Spread, brief};

/// The height of the highest bar and the width of all bars.
const HEIGHT: f64 = 100.0;
const WIDTH: f64 = 200.0;

/// A drawing of bars.
#[derive(Serialize)]
pub(super) struct SpreadView {
    label: String,
    metric: &'static str,
    items: &'static str,
    count: usize,
    low: String,
    high: String,
    wide: f64,
    bars: Vec<BarView>,
}

#[derive(Serialize)]
struct BarView {
    x: f64,
    y: f64,
    high: f64,
    count: usize,
    title: String,
}

impl SpreadView {
    pub(super) fn of(spread: &Spread) -> Self {
        let (low, high) = spread.ends;
        let parts = spread.parts();
        let most = parts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let wide = WIDTH / parts.len() as f64;
        let step = (high - low) / parts.len() as f64;
        let bars: Vec<BarView> = parts
            .iter()
            .enumerate()
            .map(|(at, count)| {
                let tall = *count as f64 / most * HEIGHT;
                let from = low + step * at as f64;
                BarView {
                    x: tidy(at as f64 * wide),
                    y: tidy(HEIGHT - tall),
                    high: tidy(tall),
                    count: *count,
                    title: format!("{} to {}: {count}", brief(from), brief(from + step)),
                }
            })
            .collect();
        let told = bars.iter().filter(|bar| bar.count > 0);
        let told: Vec<&str> = told.map(|bar| bar.title.as_str()).collect();
        Self {
            label: format!(
                "{} of {} {}: {}",
                spread.metric,
                spread.values.len(),
                spread.items,
                told.join("; ")
            ),
            metric: spread.metric,
            items: spread.items,
            count: spread.values.len(),
            low: brief(low),
            high: brief(high),
            wide: tidy(wide - 2.0),
            bars,
        }
    }
}
