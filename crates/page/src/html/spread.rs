//! The distribution of the items' values, as bars in the units of a drawing.

use serde_json::{Value, json};

use super::plane::tidy;
use crate::{Spread, brief};

/// The height of the highest bar and the width of all bars.
const HEIGHT: f64 = 100.0;
const WIDTH: f64 = 200.0;

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
