//! The judgement of a change that cannot have made anything worse, since it touches only harmless files. Nothing is
//! run for it, and its figures are those of the base.

use std::collections::BTreeMap;

use crate::Judgement;
use crate::policy::Policy;
use crate::provenance::Provenance;
use crate::report::Report;
use crate::verdict::{Cause, CellCounts, MetricVerdict, Reason, ReasonCode, Verdict, Word};
use kelvin_record::{Direction, Metric};

/// The judgement, with the report that is kept for the base. `why`: the sentence that tells which files were touched.
pub fn judgement(base: &Report, policy: &Policy, from: Provenance, why: &str) -> Judgement {
    let metrics = base.metrics.iter();
    let metrics = metrics.map(|(id, metric)| (id.clone(), as_on_the_base(id, metric, policy)));
    let verdict = Verdict {
        verdict: Word::Unaffected,
        passed: true,
        reasons: vec![Reason {
            code: ReasonCode::Unaffected,
            effect: None,
            metric: None,
            text: why.to_owned(),
        }],
        metrics: metrics.collect(),
        broken_cases: Vec::new(),
        answers: BTreeMap::new(),
        turnover: BTreeMap::new(),
        nouns: base.probes.nouns(),
    };
    Judgement {
        base_invocations: Some(base.run.session.cost.invocations),
        ..Judgement::with_base(verdict, from)
    }
}

fn as_on_the_base(id: &str, metric: &Metric, policy: &Policy) -> MetricVerdict {
    MetricVerdict {
        verdict: Word::Unaffected,
        cause: Cause::Unaffected,
        policy: policy.attention_to(id, metric.gated),
        headline: metric.headline,
        lower_is_better: metric.direction == Direction::Lower,
        base: metric.value,
        head: metric.value,
        drop: metric.value.map(|_| 0.0),
        max_drop: policy.max_drop(id),
        at_least: None,
        confidence: None,
        at_most: None,
        detectable: None,
        resolution: None,
        // Nothing was compared.
        cases: 0,
        cells: 0,
        between_reports: None,
        lost: Vec::new(),
        coverage: CellCounts::default(),
        unpaired: false,
        is_thin: false,
        swaps: None,
        drivers: Vec::new(),
    }
}
