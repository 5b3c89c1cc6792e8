//! Takes metrics out of a verdict whose judge was found unfit: what such a judge says is no measurement.

use std::collections::BTreeSet;

use kelvin_gate::policy::{Attention, Effect};
use kelvin_gate::verdict::{Cause, Reason, ReasonCode, Verdict, Word};
use kelvin_page::safe;
use kelvin_record::settings::UnfitJudge;

/// Makes the metrics of an unfit judge unmeasured. Refused, they fail the gate and have no figures; shown, they have
/// their figures and no say, and the gate fails only where no other metric is gated.
pub(super) fn rule_out(
    rule: UnfitJudge,
    verdict: &mut Verdict,
    metrics: &BTreeSet<String>,
    why: &str,
) {
    let is_graded =
        |metric: &Option<String>| metric.as_ref().is_some_and(|id| metrics.contains(id));
    let refuses = rule == UnfitJudge::Refused;
    for (_, metric) in verdict
        .metrics
        .iter_mut()
        .filter(|(id, _)| metrics.contains(*id))
    {
        metric.verdict = Word::Unmeasured;
        metric.cause = Cause::NoValue;
        if refuses {
            (metric.base, metric.head, metric.drop) = (None, None, None);
            (metric.at_least, metric.confidence, metric.at_most) = (None, None, None);
            metric.detectable = None;
            metric.drivers.clear();
        } else {
            metric.policy = Attention::Info;
        }
    }
    verdict
        .broken_cases
        .retain(|case| !metrics.contains(&case.metric));
    verdict
        .reasons
        .retain(|reason| !refuses || !is_graded(&reason.metric));
    for reason in verdict
        .reasons
        .iter_mut()
        .filter(|reason| is_graded(&reason.metric))
    {
        reason.effect = None;
    }
    // Reasons without an effect stand last; the order is kept otherwise.
    verdict
        .reasons
        .sort_by_key(|reason| reason.effect.is_none());

    let others: Vec<Word> = verdict
        .metrics
        .iter()
        .filter(|(id, metric)| metric.policy == Attention::Gate && !id.ends_with(".failure_rate"))
        .filter(|(id, _)| !metrics.contains(*id))
        .map(|(_, metric)| metric.verdict)
        .collect();
    let fails = refuses || others.is_empty();
    let mut reasons = verdict.reasons.iter();
    let others_fail = reasons.any(|reason| reason.effect == Some(Effect::Fail));
    verdict.verdict = match others_fail {
        true => verdict.verdict.max(Word::Unmeasured),
        false if fails => Word::Unmeasured,
        false => others.into_iter().max().unwrap_or(Word::Unmeasured),
    };
    verdict.passed = !fails && !others_fail;
    let text = match (refuses, fails) {
        (true, _) => format!(
            "{why}; an unfit judge decides nothing: take another judge, or gate on other metrics \
             (`gate.unfit_judge: shown` shows its figures)"
        ),
        (false, true) => {
            format!("{why}; its figures are shown and decide nothing, and no other metric is gated")
        }
        (false, false) => format!("{why}; its figures are shown and decide nothing"),
    };
    let reason = Reason {
        code: ReasonCode::UncalibratedJudge,
        effect: Some(match fails {
            true => Effect::Fail,
            false => Effect::Warn,
        }),
        metric: metrics.first().cloned(),
        text: safe::line(&text),
    };
    // It explains why the figures say nothing, so a reader meets it before them.
    verdict.reasons.insert(0, reason);
}
