//! Computes the score of an invocation from its factors. The factors of a run, of a stored report and of a trace from
//! another tool are all scored here, so that equal factors give exactly equal scores.
//!
//! A scorer is a type with one line in the list below.

use std::collections::BTreeMap;

use super::record::{QualityIndicators, QualitySection};
use super::score::{Factor, Weights};
use kelvin_base::digest::Digest;
use kelvin_record::ScoredInvocation;

/// A way to compute a score from weighted factors.
pub(crate) trait QualityScorer: Sync {
    /// The name in the configuration, e.g. `weighted_sum`.
    fn name(&self) -> &'static str;

    /// The name with the version of the rules: scores with different ids are never compared.
    fn id(&self) -> &'static str;

    /// The score of factors with their weights, which add up to 1. Both are from 0 to 1.
    fn score(&self, factors: &[(f64, f64)]) -> f64;
}

/// Every scorer; the first one is the default.
pub(crate) const SCORERS: &[&dyn QualityScorer] = &[&WeightedSum, &WeightedProduct];

/// The weighted sum, in which a high factor can compensate for a low one.
struct WeightedSum;

impl QualityScorer for WeightedSum {
    fn name(&self) -> &'static str {
        "weighted_sum"
    }

    fn id(&self) -> &'static str {
        "weighted_sum/1"
    }

    fn score(&self, factors: &[(f64, f64)]) -> f64 {
        let mut sum = 0.0;
        for (weight, value) in factors {
            sum += weight * value;
        }
        sum
    }
}

/// The weighted geometric mean: a factor that is 0 makes the score 0, for any values of the other factors.
struct WeightedProduct;

impl QualityScorer for WeightedProduct {
    fn name(&self) -> &'static str {
        "weighted_product"
    }

    fn id(&self) -> &'static str {
        "weighted_product/1"
    }

    fn score(&self, factors: &[(f64, f64)]) -> f64 {
        let mut product = 1.0;
        for (weight, value) in factors {
            product *= value.powf(*weight);
        }
        product
    }
}

/// The scorer with an id; none if this version does not have it.
pub(crate) fn scorer(id: &str) -> Option<&'static dyn QualityScorer> {
    SCORERS.iter().copied().find(|scorer| scorer.id() == id)
}

/// The score of an invocation; none if it lacks a factor with weight, or if no provided factor has weight.
pub(crate) fn score(
    scorer: &dyn QualityScorer,
    weights: &Weights,
    provided: &[Factor],
    indicators: &QualityIndicators,
) -> Option<f64> {
    let value = |factor: Factor| indicators.factor(factor).filter(|value| value.is_finite());
    let factors = weights.effective(provided).into_iter();
    let factors: Option<Vec<(f64, f64)>> = factors
        .map(|(factor, weight)| Some((weight, value(factor)?)))
        .collect();
    let factors = factors.filter(|factors| !factors.is_empty())?;
    Some(scorer.score(&factors))
}

/// Every invocation of a section, in order.
pub(super) fn scored_invocations(section: &QualitySection) -> Vec<ScoredInvocation> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{Band, points};

    fn score(
        weights: &Weights,
        provided: &[Factor],
        indicators: &QualityIndicators,
    ) -> Option<f64> {
        super::score(&WeightedSum, weights, provided, indicators)
    }

    fn of(
        conformance: Option<f64>,
        completeness: Option<f64>,
        efficiency: Option<f64>,
    ) -> QualityIndicators {
        QualityIndicators {
            conformance,
            completeness,
            efficiency,
            ..QualityIndicators::default()
        }
    }

    #[test]
    fn qlt_01_the_published_trace_scores_8264() {
        let efficiency = 1850.0 / (4200.0 + 1850.0);
        let whole = of(Some(1.0), Some(1.0), Some(efficiency));
        let score = score(&Weights::default(), &Factor::ALL, &whole).expect("all is there");
        assert_eq!(points(score), "0.8264");
        assert_eq!(Band::of(score), Band::Good);
    }

    #[test]
    fn qlt_03_a_factor_that_is_not_provided_for_drops_out_and_the_others_are_scaled() {
        let weights = Weights::default();
        let without_efficiency = [Factor::Conformance, Factor::Completeness];
        let effective = weights.effective(&without_efficiency);
        assert_eq!(
            effective,
            [
                (Factor::Conformance, 0.4 / 0.75),
                (Factor::Completeness, 0.35 / 0.75)
            ]
        );
        let half = of(Some(1.0), Some(0.0), None);
        let scaled = score(&weights, &without_efficiency, &half).expect("both are there");
        assert!((scaled - 0.4 / 0.75).abs() < 1e-15, "{scaled}");
        assert_eq!(score(&weights, &[], &half), None);
    }

    #[test]
    fn qlt_04_a_factor_that_is_missing_in_an_invocation_makes_the_score_null() {
        let weights = Weights::default();
        for lacking in [
            of(None, Some(1.0), Some(1.0)),
            of(Some(1.0), None, Some(1.0)),
            of(Some(1.0), Some(1.0), None),
            of(Some(1.0), Some(1.0), Some(f64::NAN)),
        ] {
            assert_eq!(score(&weights, &Factor::ALL, &lacking), None, "{lacking:?}");
        }
        // A missing factor without weight does not matter.
        let weights = Weights::parse("0.5,0.5,0").expect("weights");
        assert_eq!(
            score(&weights, &Factor::ALL, &of(Some(1.0), Some(1.0), None)),
            Some(1.0)
        );
    }

    #[test]
    fn qlt_06_a_good_score_needs_an_efficiency_of_a_fifth_by_the_default_weights() {
        let weights = Weights::default();
        let least = weights.least_efficiency(&Factor::ALL).expect("it weighs");
        assert!((least - 0.20).abs() < 1e-12, "{least}");
        let whole = |efficiency| {
            score(
                &weights,
                &Factor::ALL,
                &of(Some(1.0), Some(1.0), Some(efficiency)),
            )
        };
        assert_eq!(whole(0.20).map(Band::of), Some(Band::Good));
        assert_eq!(whole(0.1999).map(Band::of), Some(Band::Review));
        let without = [Factor::Conformance, Factor::Completeness];
        assert_eq!(weights.least_efficiency(&without), None);
        let little = Weights::parse("0.5,0.4,0.1").expect("weights");
        assert_eq!(little.least_efficiency(&Factor::ALL), None);
    }

    #[test]
    fn qlt_24_a_product_is_zero_where_a_factor_is() {
        let product = |indicators| {
            let weights = Weights::default();
            super::score(&WeightedProduct, &weights, &Factor::ALL, &indicators)
        };
        assert_eq!(product(of(Some(0.0), Some(1.0), Some(1.0))), Some(0.0));
        assert_eq!(product(of(Some(1.0), Some(1.0), Some(1.0))), Some(1.0));
        let half = product(of(Some(1.0), Some(1.0), Some(0.5))).expect("all is there");
        assert!((half - 0.5_f64.powf(0.25)).abs() < 1e-15, "{half}");
        assert_eq!(product(of(Some(1.0), None, Some(0.5))), None);
    }

    #[test]
    fn every_scorer_is_found_by_its_id_and_no_two_have_one_name() {
        for (at, one) in SCORERS.iter().enumerate() {
            assert_eq!(scorer(one.id()).map(QualityScorer::name), Some(one.name()));
            assert!(one.id().starts_with(&format!("{}/", one.name())));
            assert!(SCORERS[..at].iter().all(|other| other.name() != one.name()));
        }
        assert!(scorer("weighted_sum/9").is_none());
    }
}
