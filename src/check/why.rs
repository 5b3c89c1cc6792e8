//! Adds to each reason of a verdict why its example item got a bad result: a figure only shows that the pipeline got
//! worse, but the record of the item says why.

use kelvin_gate::policy::Effect;
use kelvin_gate::report::{self, Report};
use kelvin_gate::verdict::{Cause, Reason, ReasonCode, Verdict};
use kelvin_page::{in_one_line, safe};
use kelvin_record::{Ending, probe_of};

/// A reason that does not concern a single metric.
pub(super) fn reason(code: ReasonCode, effect: Option<Effect>, text: &str) -> Reason {
    Reason::new(code, effect, safe::line(text))
}

/// The maximum length in characters: a longer text would hide the reason behind its details.
const LONGEST: usize = 240;

/// Names the first item of each reason with an effect, and adds the explanation from its record.
pub(super) fn explain_reasons(head: &Report, verdict: &mut Verdict) {
    let mut told = Vec::new();
    for reason in &verdict.reasons {
        let why = || {
            let metric = reason
                .metric
                .as_deref()
                .filter(|_| reason.effect.is_some())?;
            let item = first(verdict, reason.code, metric)?;
            let probe = probe_of(metric);
            let why = head
                .probes
                .kind(probe)?
                .why(head.probes.of(probe)?, item, metric)?;
            Some(in_item(item, &why))
        };
        told.push(why());
    }
    for (reason, why) in verdict.reasons.iter_mut().zip(told) {
        reason.text.extend(why);
    }
    explain_no_answer(head, verdict);
}

/// Where a probe of the head got no answer at all, adds its first failure to the first reason that tells of it.
pub(super) fn explain_no_answer(head: &Report, verdict: &mut Verdict) {
    if head.run.ending != Ending::Failed {
        return;
    }
    let page = report::page::run_page(head);
    let Some(first) = page.first_failure() else {
        return;
    };
    let tells = |reason: &&mut Reason| {
        let metric = reason.metric.as_deref();
        let metric = metric.and_then(|id| verdict.metrics.get(id));
        // Without a baseline there is one reason, which is of no metric.
        reason.code == ReasonCode::NotMeasured
            || metric.is_some_and(|metric| {
                let is_so = matches!(metric.cause, Cause::Incomparable | Cause::NoValue);
                is_so && metric.head.is_none()
            })
    };
    if let Some(reason) = verdict.reasons.iter_mut().find(tells) {
        let why = in_item(first.item, &in_one_line(first.failure));
        reason.text.push_str(&why);
    }
}

/// The words for what happened to an item, which come from outside.
pub(super) fn in_item(item: &str, why: &str) -> String {
    let why = safe::cut(&safe::line(why), LONGEST);
    // An unpaired backtick would format the following text as code.
    let is_paired = why.matches('`').count().is_multiple_of(2);
    let why = if is_paired {
        why
    } else {
        why.replace('`', "'")
    };
    format!("; in `{}`: {why}", safe::cut_middle(item, 60))
}

/// The item that a reason names first.
fn first<'v>(verdict: &'v Verdict, code: ReasonCode, metric: &str) -> Option<&'v str> {
    let is_certain = match code {
        ReasonCode::BrokenCases => true,
        ReasonCode::DoubtfulCases => false,
        ReasonCode::Metric | ReasonCode::NothingGated => {
            let driver = verdict.metrics.get(metric)?.drivers.first()?;
            return Some(&driver.case);
        }
        _ => return None,
    };
    let mut broken = verdict.broken_cases.iter();
    let case = broken.find(|case| case.certain == is_certain && case.metric == metric)?;
    Some(&case.case)
}
