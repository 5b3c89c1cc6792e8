//! How often the pipeline gave no answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::aggregate::{ends, pair};
use crate::{CaseRecord, VariantRecord};
use kelvin_base::stats;
use kelvin_base::stats::Balanced;
use kelvin_record::{CaseValue, Cell, Metric};

/// The name of the unperturbed input among the cells; no variant has this name.
const BASELINE: &str = "baseline";

/// The share of the inputs that got no answer. A variant that was not run because the unperturbed input failed got none
/// either: there is nothing to compare it with.
pub(crate) fn failure_rate(cases: &BTreeMap<String, CaseRecord>) -> Metric {
    let per_case: BTreeMap<String, CaseValue> = cases
        .iter()
        .filter_map(|(name, case)| Some((name.clone(), of_case(case)?)))
        .collect();
    let mut all = Balanced::default();
    for case in per_case.values() {
        all.add(case.cells.iter().map(|(_, cell)| known(&cell.values)));
    }
    let values = per_case.values().flat_map(|case| case.cells.iter());
    let values = values.flat_map(|(_, cell)| known(&cell.values));
    let failed = values.filter(|value| *value > 0.0).count();
    let value = all.value().ok_or_else(|| "nothing was run".to_owned());
    let mut metric = Metric::new(value, all.samples(), failed)
        .of_family("evidence")
        .lower_is_better()
        .interval(ends(all.interval()));
    // If nothing was measured, the other figures of the run say so.
    metric.gated = !per_case.is_empty();
    metric.per_case = per_case.into();
    metric.is_failure_rate = true;
    metric
}

/// The failures of a case; none where nothing of the case was run.
fn of_case(case: &CaseRecord) -> Option<CaseValue> {
    let unperturbed: Vec<Option<f64>> = case
        .baseline
        .iter()
        .chain(&case.replays)
        .map(|sample| Some(f64::from(u8::from(sample.failure.is_some()))))
        .collect();
    let mut cells = BTreeMap::from([(Arc::from(BASELINE), (case.input, unperturbed))]);
    for variant in &case.variants {
        cells.insert(
            variant.id.clone(),
            (variant.input, of_variant(case, variant)),
        );
    }
    let mut all = Balanced::default();
    all.add(cells.values().map(|(_, values)| known(values)));
    let rounds = cells.values().map(|(_, values)| values.len()).max();
    let repeats = (0..rounds.unwrap_or(0))
        .map(|round| {
            let values: Vec<f64> = cells
                .values()
                .filter_map(|(_, values)| *values.get(round)?)
                .collect();
            stats::mean(&values)
        })
        .collect();
    Some(CaseValue {
        value: Some(all.value()?),
        n: all.samples(),
        repeats,
        cells: cells
            .into_iter()
            .filter(|(_, (_, values))| !values.is_empty())
            .map(|(name, (input, values))| {
                let input = pair(case, &input);
                (
                    name,
                    Cell {
                        input,
                        values,
                        pairs: None,
                    },
                )
            })
            .collect(),
    })
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

fn of_variant(case: &CaseRecord, variant: &VariantRecord) -> Vec<Option<f64>> {
    let mut values: Vec<Option<f64>> = variant
        .samples
        .iter()
        .map(|sample| Some(f64::from(u8::from(sample.failure.is_some()))))
        .collect();
    let mut unperturbed = case.baseline.iter().chain(&case.replays);
    if unperturbed.all(|sample| sample.failure.is_some()) {
        values.resize(values.len().max(case.baseline.len()), Some(1.0));
    }
    values
}
