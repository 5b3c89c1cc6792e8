//! Scores the traces of chains that another tool has recorded, in the same way as the invocations of this tool.

use super::indicators::efficiency;
use super::record::{QualityIndicators, TokenCounts};
use super::rescore::{named, parsed};
use super::score::{Factor, Weights};
use super::scorer::{self, QualityScorer, SCORERS};
use kelvin_base::exit::Misuse;
use kelvin_probe::Rescoring;
use kelvin_run::trace::{ChainTrace, StepStatus, StepTrace, TraceTokens};

/// A trace with its score.
#[derive(Clone, Debug)]
pub struct ScoredTrace<'t> {
    /// The trace.
    pub trace: &'t ChainTrace,
    /// The score of the whole chain; none if a factor is missing.
    pub score: Option<f64>,
    /// The unit of each step, with the score of the step.
    pub units: Vec<(&'t str, Option<f64>)>,
    /// Whether the total of its tokens differs from the sum of its parts.
    pub is_off: bool,
}

/// Scores traces by the requested rules, or by those of a new run. A trace that waits for a person's decision is scored
/// too; code that computes means leaves it out.
///
/// # Errors
///
/// A [`Misuse`] if the rules are invalid.
pub fn scored_traces<'t>(
    traces: &'t [ChainTrace],
    rules: &Rescoring<'_>,
) -> Result<Vec<ScoredTrace<'t>>, Misuse> {
    let weights = match rules.weights {
        Some(weights) => parsed(weights)?,
        None => configured(rules),
    };
    let scorer = match rules.scorer {
        Some(name) => named(name)?,
        None => SCORERS[0],
    };
    let traces = traces.iter();
    Ok(traces
        .map(|trace| scored(trace, &weights, scorer))
        .collect())
}

fn configured(rules: &Rescoring<'_>) -> Weights {
    let settings = rules.config.and_then(|config| config.settings());
    settings.map_or_else(
        Weights::default,
        |settings: &super::config::QualitySettings| settings.basis.weights,
    )
}

fn scored<'t>(
    trace: &'t ChainTrace,
    weights: &Weights,
    scorer: &dyn QualityScorer,
) -> ScoredTrace<'t> {
    let score =
        |indicators: &QualityIndicators| scorer::score(scorer, weights, &Factor::ALL, indicators);
    let units = trace.steps.iter().map(|step| {
        let unit = step.unit_uri.as_deref().unwrap_or(&step.step_id);
        (unit, score(&of_step(step)))
    });
    ScoredTrace {
        score: score(&of_chain(trace)),
        units: units.collect(),
        is_off: trace
            .token_counts
            .is_some_and(|tokens| !counts(&tokens).adds_up()),
        trace,
    }
}

/// The factors of a chain: it conforms if every step does, its completeness is the mean of its steps, and its
/// efficiency comes from its own tokens. A chain that did not finish has 0 for every factor for which its steps have no
/// value.
fn of_chain(trace: &ChainTrace) -> QualityIndicators {
    let steps: Vec<QualityIndicators> = trace.steps.iter().map(of_step).collect();
    let all = |value: fn(&QualityIndicators) -> Option<f64>| -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = steps.iter().map(value).collect();
        values.filter(|values| !values.is_empty())
    };
    let conformance = all(|step| step.conformance).map(|values| {
        let conforms = values.iter().all(|value| *value >= 1.0);
        if conforms { 1.0 } else { 0.0 }
    });
    let completeness = all(|step| step.completeness)
        .map(|values| values.iter().sum::<f64>() / values.len() as f64);
    let of_tokens = trace
        .token_counts
        .and_then(|tokens| efficiency(&counts(&tokens)).ok());
    let missing = trace.has_failed().then_some(0.0);
    QualityIndicators {
        // Missing outputs have no form, even if the earlier steps had one.
        conformance: match trace.has_failed() {
            true => Some(0.0),
            false => conformance,
        },
        completeness: completeness.or(missing),
        efficiency: of_tokens.or(missing),
        ..QualityIndicators::default()
    }
}

/// The score of a whole trace, by the rules of an empty configuration; none if a factor is missing.
pub fn score_of_trace(trace: &ChainTrace) -> Option<f64> {
    let weights = Weights::default();
    scorer::score(SCORERS[0], &weights, &Factor::ALL, &of_chain(trace))
}

/// The score of one step, by the same rules.
pub fn score_of_step(step: &StepTrace) -> Option<f64> {
    let weights = Weights::default();
    scorer::score(SCORERS[0], &weights, &Factor::ALL, &of_step(step))
}

fn of_step(step: &StepTrace) -> QualityIndicators {
    let missing = (step.status != StepStatus::Completed).then_some(0.0);
    let found = step.quality_indicators.unwrap_or_default();
    let of_tokens = step
        .token_counts
        .and_then(|tokens| efficiency(&counts(&tokens)).ok());
    QualityIndicators {
        conformance: found.contract_conformance.or(missing),
        completeness: found.completeness.or(missing),
        efficiency: found.token_efficiency.or(of_tokens).or(missing),
        ..QualityIndicators::default()
    }
}

fn counts(tokens: &TraceTokens) -> TokenCounts {
    TokenCounts {
        input: tokens.input,
        output: tokens.output,
        useful: tokens.useful,
        total: tokens
            .total
            .unwrap_or_else(|| tokens.input.saturating_add(tokens.output)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> ChainTrace {
        serde_json::from_str(text).expect("a trace")
    }

    fn score(text: &str) -> Option<f64> {
        let traces = [trace(text)];
        let scored = scored_traces(&traces, &Rescoring::default()).expect("no rules are asked for");
        scored[0].score
    }

    const WHOLE: &str =
        r#"{"contract_conformance": 1.0, "completeness": 1.0, "token_efficiency": 0.31}"#;

    fn chain(status: &str, tokens: &str, steps: &str) -> String {
        format!(
            r#"{{"trace_id": "tr-1", "chain_uri": "c@1.0.0", "status": "{status}", "token_counts": {tokens}, "steps": [{steps}]}}"#
        )
    }

    fn step(status: &str, indicators: &str) -> String {
        format!(r#"{{"step_id": "s", "status": "{status}", "quality_indicators": {indicators}}}"#)
    }

    const PUBLISHED: &str = r#"{"input": 4200, "output": 1850, "total": 6050}"#;

    #[test]
    fn qlt_25_the_published_trace_gives_8264() {
        let text = chain("completed", PUBLISHED, &step("completed", WHOLE));
        let score = score(&text).expect("every factor is there");
        assert_eq!(format!("{score:.4}"), "0.8264");
        assert_eq!(score, 0.4 + 0.35 + 0.25 * (1850.0 / 6050.0));
    }

    #[test]
    fn qlt_26_a_chain_conforms_if_every_step_does_and_is_complete_in_the_mean() {
        let poor = r#"{"contract_conformance": 0.0, "completeness": 0.5, "token_efficiency": 0.5}"#;
        let steps = format!("{},{}", step("completed", WHOLE), step("completed", poor));
        let score_now =
            score(&chain("completed", PUBLISHED, &steps)).expect("every factor is there");
        let wanted = 0.35 * 0.75 + 0.25 * (1850.0 / 6050.0);
        assert!((score_now - wanted).abs() < 1e-12, "{score_now}");
        // The steps have scores of their own.
        let traces = [trace(&chain("completed", PUBLISHED, &steps))];
        let scored = scored_traces(&traces, &Rescoring::default()).expect("scored");
        let units: Vec<Option<f64>> = scored[0].units.iter().map(|(_, score)| *score).collect();
        assert_eq!(
            units,
            [
                Some(0.4 + 0.35 + 0.25 * 0.31),
                Some(0.0 + 0.35 * 0.5 + 0.25 * 0.5)
            ]
        );
    }

    #[test]
    fn qlt_27_a_failed_trace_counts_and_a_completed_one_that_lacks_a_factor_is_null() {
        assert_eq!(score(&chain("failed", "null", "")), Some(0.0));
        let half = chain("timeout", PUBLISHED, &step("completed", WHOLE));
        let half = score(&half).expect("it counts");
        assert!(
            (half - (0.35 + 0.25 * (1850.0 / 6050.0))).abs() < 1e-12,
            "{half}"
        );
        assert_eq!(
            score(&chain("completed", "null", &step("completed", WHOLE))),
            None
        );
        let no_tokens = r#"{"input": 0, "output": 0, "total": 0}"#;
        assert_eq!(
            score(&chain("completed", no_tokens, &step("completed", WHOLE))),
            None
        );
        assert_eq!(score(&chain("completed", PUBLISHED, "")), None);
        let unlike = r#"{"input": 10, "output": 5, "total": 20}"#;
        let traces = [trace(&chain(
            "completed",
            unlike,
            &step("completed", WHOLE),
        ))];
        let scored = scored_traces(&traces, &Rescoring::default()).expect("scored");
        assert!(scored[0].is_off);
    }

    #[test]
    fn other_rules_are_taken_and_wrong_ones_refused() {
        let traces = [trace(&chain(
            "completed",
            PUBLISHED,
            &step("completed", WHOLE),
        ))];
        let by = |weights, scorer| {
            let rules = Rescoring {
                config: None,
                weights,
                scorer,
            };
            scored_traces(&traces, &rules).map(|scored| scored[0].score)
        };
        assert_eq!(by(Some("0.5,0.5,0"), None).expect("weights"), Some(1.0));
        assert_eq!(
            by(Some("0,0,1"), Some("weighted_product")).expect("rules"),
            Some(1850.0 / 6050.0)
        );
        assert!(by(Some("1,1,1"), None).is_err());
        assert!(by(None, Some("harmonic")).is_err());
    }
}
