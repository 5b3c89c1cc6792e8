//! The invocations with their scores, as others see them, and the score of a step of a recorded chain.

use std::collections::BTreeMap;

use super::record::{QualityIndicators, QualitySection};
use super::score::{Factor, Weights};
use super::scorer;
use crate::digest::Digest;
use crate::probe::ScoredInvocation;
use crate::trace::{StepStatus, StepTrace};

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

/// The score of a step of a chain that another tool has recorded, with the weights of a configuration that
/// names none. A step that failed and has no indicators has left nothing that could be good.
pub(crate) fn of_step(step: &StepTrace) -> Option<f64> {
    let Some(found) = step.quality_indicators else {
        return (step.status != StepStatus::Completed).then_some(0.0);
    };
    let indicators = QualityIndicators {
        conformance: found.contract_conformance,
        completeness: found.completeness,
        efficiency: found.token_efficiency,
        ..QualityIndicators::default()
    };
    scorer::score(
        scorer::SCORERS[0],
        &Weights::default(),
        &Factor::ALL,
        &indicators,
    )
}
