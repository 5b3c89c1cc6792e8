//! The invocations with their scores, as others see them.

use std::collections::BTreeMap;

use super::record::{QualityIndicators, QualitySection};
use super::score::Factor;
use kelvin_base::digest::Digest;
use kelvin_record::ScoredInvocation;

/// Every invocation of a section, in order.
pub(super) fn of(section: &QualitySection) -> Vec<ScoredInvocation> {
    let mut all = Vec::new();
    for (case, item) in &section.items {
        for (probe, found) in &item.probes {
            let mut add =
                |variant: Option<&String>, input: Option<Digest>, runs: &[QualityIndicators]| {
                    all.extend((1..).zip(runs).map(|(repeat, run)| ScoredInvocation {
                        probe: probe.clone(),
                        case: case.clone(),
                        variant: variant.cloned(),
                        repeat,
                        input,
                        score: run.quality_score,
                        indicators: indicators(run),
                        verdicts: BTreeMap::new(),
                    }));
                };
            add(None, found.input, &found.runs);
            for (variant, runs) in &found.variants {
                add(Some(variant), None, runs);
            }
        }
    }
    all
}

fn indicators(run: &QualityIndicators) -> BTreeMap<String, f64> {
    let factors = Factor::ALL.into_iter();
    let known =
        factors.filter_map(|factor| Some((factor.as_str().to_owned(), run.factor(factor)?)));
    known.collect()
}
