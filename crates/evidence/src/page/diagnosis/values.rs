//! The conclusions from the changes within a rule: whether the pipeline uses the values in it.

use std::collections::BTreeSet;

use super::{MOVES, SampledDecisions, Weighted};
use crate::page::EvidenceRun;
use crate::page::swaps::{ENOUGH_CASES, ENOUGH_SWAPS, SwapCounts};
use crate::{VariantRecord, perturb};
use kelvin_page::{Phrase, Tone, counted};
use kelvin_record::Metric;

/// The decision ignores a kind of change within a rule if the sensitivity to it is below this and the interval ends
/// below [`STILL_UP_TO`].
const STILL: f64 = 0.10;
/// The limit for the upper end of the interval; see [`STILL`].
const STILL_UP_TO: f64 = 0.35;

/// The diagnosis that whole swaps of a unit move the decision, but other conditions in the same unit do not: the
/// decision may depend on the words around the conditions.
pub(super) fn conditions(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let content = run.metrics.get("evidence.content_effect")?.value?;
    let condition = run.metrics.get("evidence.sensitivity_condition")?;
    if content < MOVES || !is_still(condition) {
        return None;
    }
    let seen = SampledDecisions::of(run, |variant| variant.kind == "swap_condition");
    let text = format!(
        "other conditions in a rule moved the decision in {} of {}, whole rules in their place \
         moved it: the pipeline may go by the words around the conditions",
        seen.moved,
        counted(seen.samples, "exchange"),
    );
    Some(Weighted::new(Tone::Alarm, 0.9, Phrase::text(text)))
}

/// The diagnosis that other numbers, comparators and opposites do not move the decision, although whole swaps of the
/// same type do. If whole swaps do not move it either, another diagnosis names the type.
pub(super) fn mechanical(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let types = run.governing_types.iter().map(String::as_str);
    let moving: BTreeSet<&str> = types
        .filter(|name| SwapCounts::of_type(run, name).moved_share() >= MOVES)
        .collect();
    let is_compared = |variant: &VariantRecord| {
        let kind = perturb::find(&variant.kind);
        kind.is_some_and(|kind| kind.figure == perturb::Figure::Mechanical)
            && variant
                .unit_type
                .as_deref()
                .is_some_and(|name| moving.contains(name))
    };
    let seen = SampledDecisions::of(run, is_compared);
    let enough = seen.samples >= 2 * ENOUGH_SWAPS && seen.cases >= ENOUGH_CASES;
    if !enough || seen.moved as f64 >= STILL * seen.samples as f64 {
        return None;
    }
    let variants = run.cases.values().flat_map(|case| &case.variants);
    let asked = variants.filter(|variant| is_compared(variant) && !variant.samples.is_empty());
    let kinds: BTreeSet<&str> = asked.map(|variant| &*variant.kind).collect();
    let text = Phrase::default().names(kinds).and(format!(
        " moved the decision in {} of {}, although whole rules in their place move it: the pipeline may not \
         read the values in a rule",
        seen.moved,
        counted(seen.samples, "variant"),
    ));
    Some(Weighted::new(Tone::Alarm, 0.8, text))
}

/// Whether a figure of changes that should move the decision is certainly close to 0.
fn is_still(metric: &Metric) -> bool {
    metric.value.is_some_and(|value| value < STILL)
        && metric
            .interval
            .is_some_and(|interval| interval.high < STILL_UP_TO)
}
