//! Prepares a metric for the looks: the values of both sides, as losses. The answers in stored reports of the same code
//! are added to the answers of the base.

use super::look::{Draws, PairedCase, PairedCell};
use super::looks::GatedMetric;
use crate::compare::{CasePair, CellPair, MetricPair, StoredMetric, loss};

/// The values of a metric in other reports of the base's code, and a function that says for a case whether they still
/// count: they do not if its base was run together with the head.
type Stored<'s, 'a> = (&'s [StoredMetric<'s, 'a>], &'s dyn Fn(&str) -> bool);

/// The metric in the form for the looks.
pub(super) fn gated_metric(
    metric: &MetricPair<'_>,
    max_drop: f64,
    stored: Stored<'_, '_>,
) -> GatedMetric {
    let (stored, is_fresh) = stored;
    let (names, cases) = metric
        .cases
        .iter()
        .filter(|(_, case)| !case.cells.is_empty())
        .map(|(name, case)| {
            let stored = if is_fresh(name) { &[] } else { stored };
            ((*name).to_owned(), losses(metric, (name, case), stored))
        })
        .unzip();
    GatedMetric {
        names,
        cases,
        max_drop,
        widest: metric.range.width(),
        is_failure_rate: metric.is_failure_rate,
        by_rank: metric.by_rank,
        cannot_rerun: metric.cannot_rerun,
        exact_at: metric.exact_at,
    }
}

fn losses(
    metric: &MetricPair<'_>,
    (name, case): (&str, &CasePair<'_>),
    stored: &[StoredMetric<'_, '_>],
) -> PairedCase {
    let turn = |values: &[Option<f64>]| -> Vec<Option<f64>> {
        let values = values.iter();
        values
            .map(|value| value.map(|value| loss(metric.direction, value)))
            .collect()
    };
    let draws = |values: &[Option<f64>], pairs: &[Vec<Option<f64>>]| Draws {
        values: turn(values),
        pairs: pairs.iter().map(|own| turn(own)).collect(),
        ..Draws::default()
    };
    let base = |cell: &CellPair<'_>| {
        let own = draws(cell.base, cell.base_pairs);
        let others = stored.iter().filter_map(|stored| stored.cell(name, cell));
        let others: Vec<Draws> = others
            .map(|(values, pairs)| draws(values, &pairs))
            .collect();
        match others.is_empty() {
            true => own,
            false => Draws::joined([own].into_iter().chain(others).collect(), metric.crosses),
        }
    };
    PairedCase {
        cells: case
            .cells
            .iter()
            .map(|cell| PairedCell {
                base: base(cell),
                head: draws(cell.head, cell.head_pairs),
            })
            .collect(),
        weight: case.samples as f64,
        variants: case.variants,
        crosses: metric.crosses,
    }
}
