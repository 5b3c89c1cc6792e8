//! Rules for single metrics that need no baseline: the worst allowed value of a metric, and whether the metric must
//! exist. A rule in the configuration is applied or rejected, but never ignored.

use std::collections::BTreeMap;

use super::policy::{Attention, Effect, Policy};
use super::sentence;
use super::verdict::{Cause, Reason, ReasonCode, Verdict, Word};
use crate::compare::loss;
use kelvin_record::{Metric, probe_of};

/// The maximum number of wrong letters in a name for which the right name is still suggested.
const MOST_WRONG: usize = 3;

/// Reports the rules whose metric was not measured, and the values of the report that are worse than allowed. A
/// comparison has asked this of the items that both sides have; new items, and new checks of an item, are in the report
/// alone. `metrics`: those of the head.
pub fn report_demands(policy: &Policy, metrics: &BTreeMap<String, Metric>, verdict: &mut Verdict) {
    let mut told = Vec::new();
    for (id, rule) in &policy.metrics {
        let compared = verdict.metrics.get(id);
        match (metrics.get(id), rule.min) {
            (None, _) if compared.is_some() => {}
            (None, _) => told.extend(unknown(id, policy, metrics)),
            (Some(_), Some(_)) if compared.is_some_and(|one| one.verdict == Word::Regression) => {}
            (Some(metric), Some(_)) if compared.is_some() && metric.value.is_none() => {}
            (Some(metric), Some(min)) => {
                told.extend(beyond((id, metric), min, policy));
            }
            (Some(_), None) => {}
        }
    }
    for (word, reason) in told.into_iter().rev() {
        // The table says of which metric the reason speaks, and shows the value that is worse than allowed.
        let failing = reason.metric.as_ref().filter(|_| word == Word::Regression);
        let failing = failing.and_then(|id| Some((metrics.get(id)?, verdict.metrics.get_mut(id)?)));
        if let Some((reported, metric)) = failing {
            metric.verdict = word;
            metric.cause = Cause::Minimum;
            metric.head = reported.value;
            // Its reason is of the value over the items of both sides, and says that nothing fell.
            let is_of_it = |one: &Reason| one.metric == reason.metric && one.effect.is_none();
            verdict.reasons.retain(|one| !is_of_it(one));
        }
        if reason.effect == Some(Effect::Fail) {
            verdict.passed = false;
        }
        verdict.verdict = match verdict.verdict {
            Word::NoBaseline | Word::BaselineUnreachable if word == Word::Regression => word,
            other => other.max(word),
        };
        verdict.reasons.insert(0, reason);
    }
}

/// The reason if a metric with a rule was not measured although its probe was.
fn unknown(
    id: &str,
    policy: &Policy,
    metrics: &BTreeMap<String, Metric>,
) -> Option<(Word, Reason)> {
    let is_measured = metrics.keys().any(|known| probe_of(known) == probe_of(id));
    if !is_measured {
        return None;
    }
    let near = metrics
        .keys()
        .map(|known| (strsim::levenshtein(known, id), known))
        .min();
    let cure = match near {
        Some((wrong, near)) if wrong <= MOST_WRONG => format!("did you mean `{near}`?"),
        _ => "`report.json` lists all that there are".to_owned(),
    };
    let text = format!(
        "{} has a rule under `gate: metrics:`, and there is no such metric; {cure}",
        sentence::name(id)
    );
    Some((Word::Unmeasured, reason(id, policy.on_unmeasured, text)))
}

/// The reason if a metric is worse than allowed, or has no value.
fn beyond((id, metric): (&str, &Metric), min: f64, policy: &Policy) -> Option<(Word, Reason)> {
    let effect = |effect| match policy.metrics[id].policy {
        Some(Attention::Warn | Attention::Info) => Effect::Warn,
        Some(Attention::Gate) | None => effect,
    };
    let Some(value) = metric.value else {
        let why = metric.reason.as_deref().unwrap_or("it has no value");
        let text = format!(
            "{} has a `min` and was not measured: {why}",
            sentence::name(id)
        );
        let reason = reason(id, effect(policy.on_unmeasured), text);
        return Some((Word::Unmeasured, reason));
    };
    let is_worse = loss(metric.direction, value) > loss(metric.direction, min) + super::look::GUARD;
    let text = sentence::beyond(id, metric.direction, (Some(value), Some(min)));
    is_worse.then(|| (Word::Regression, reason(id, effect(Effect::Fail), text)))
}

fn reason(id: &str, effect: Effect, text: String) -> Reason {
    Reason::new(ReasonCode::Metric, Some(effect), text).about(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_record::settings::{GateSettings, MetricRule};

    fn policy(id: &str, min: f64) -> Policy {
        let rule = MetricRule {
            min: Some(min),
            ..MetricRule::default()
        };
        let settings = GateSettings {
            metrics: BTreeMap::from([(id.to_owned(), rule)]),
            ..GateSettings::default()
        };
        Policy::of(&settings)
    }

    fn verdict_of(id: &str, min: f64, value: Result<f64, String>) -> Verdict {
        let mut verdict = Verdict::without_base(Word::NoBaseline, Effect::Warn, "there is none");
        let metrics = BTreeMap::from([("m.share".to_owned(), Metric::new(value, 12, 0))]);
        report_demands(&policy(id, min), &metrics, &mut verdict);
        verdict
    }

    #[test]
    fn a_value_that_is_worse_than_any_that_may_be_fails_without_a_base_and_one_that_is_not_does_not()
     {
        let worse = verdict_of("m.share", 0.9, Ok(0.5));
        assert_eq!((worse.verdict, worse.passed), (Word::Regression, false));
        insta::assert_snapshot!(worse.reasons[0].text, @"`m.share` is 0.5000, below the 0.9000 that the configuration allows");
        let enough = verdict_of("m.share", 0.5, Ok(0.5));
        assert_eq!((enough.verdict, enough.passed), (Word::NoBaseline, true));
        assert_eq!(enough.reasons.len(), 1);
    }

    #[test]
    fn a_rule_for_what_was_not_measured_or_is_not_there_fails_and_names_the_nearest() {
        let lacking = verdict_of("m.share", 0.5, Err("no case was scored".to_owned()));
        assert_eq!((lacking.verdict, lacking.passed), (Word::Unmeasured, false));
        let misspelt = verdict_of("m.shar", 0.5, Ok(1.0));
        assert_eq!(
            (misspelt.verdict, misspelt.passed),
            (Word::Unmeasured, false)
        );
        assert!(
            misspelt.reasons[0].text.contains("`m.share`"),
            "{misspelt:?}"
        );
        // Nothing is known of a probe that did not run, and the option `--probe` is no misspelling.
        assert!(verdict_of("other.share", 0.5, Ok(1.0)).passed);
    }
}
