//! Slow drift: the head is compared with an older report as well as with its base.

use std::collections::BTreeMap;

use super::{GateRequest, stored};
use crate::baseline::{self, Anchored};
use crate::sentence::in_a_sentence;
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::differences::differences;
use kelvin_gate::drift::{Drift, metrics};
use kelvin_gate::policy::Policy;
use kelvin_gate::report::Report;
use kelvin_gate::{Judgement, align};
use kelvin_record::settings::Anchor;
use kelvin_record::{ComparedSide, Viewpoint};
use kelvin_run::config::Config;

/// Compares with the anchor, if the configuration names one, and says which metrics drifted too far.
pub(super) fn judge_drift(
    request: &GateRequest,
    config: &Config,
    head: &Report,
    judgement: &mut Judgement,
) {
    let Some(wanted) = &config.baseline.anchor else {
        return;
    };
    let drift = match found(request, config, wanted) {
        Ok(mut anchored) => {
            align::with_ids_of_the_head(&mut anchored.report, head);
            compared(config, &anchored, wanted, head)
        }
        Err(error) => none(in_a_sentence(&error)),
    };
    drift.add_to_verdict(&mut judgement.verdict, config.baseline.on_drift.into());
    judgement.drift = Some(drift);
}

fn found(request: &GateRequest, config: &Config, wanted: &Anchor) -> anyhow::Result<Anchored> {
    stored::search_stored(request, config, |search| baseline::anchor(&search, wanted))
}

const fn none(why: String) -> Drift {
    Drift {
        commit: None,
        anchor: why,
        metrics: BTreeMap::new(),
    }
}

fn compared(config: &Config, anchored: &Anchored, wanted: &Anchor, head: &Report) -> Drift {
    let anchor = words(anchored, wanted);
    if let Some(why) = differences(&anchored.report, head).incomparable {
        return none(format!("{anchor} cannot be compared: {why}"));
    }
    // The anchor was judged with the labels of its time. If labels were corrected since, both sides are compared with
    // today's labels.
    let reading = Viewpoint {
        labels: ComparedSide::Head,
        ..Viewpoint::default()
    };
    let aligned = align::align_by(&anchored.report, head, reading);
    let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
    let policy = Policy::of(&config.gate);
    let sides = (&aligned.base.metrics, &aligned.head.metrics);
    let max_drift = config.baseline.max_drift;
    Drift {
        commit: Some(anchored.commit.clone()),
        anchor,
        metrics: metrics(&policy, max_drift, &compare(&old, &new), sides),
    }
}

/// Describes the report: "the anchor 3f2a1c0 (tag `v1.2`, 12 merges before the base)".
fn words(anchored: &Anchored, wanted: &Anchor) -> String {
    let count = |count: i64, one: &str| match count {
        1 => format!("1 {one}"),
        more => format!("{more} {one}s"),
    };
    let merges = i64::try_from(anchored.merges).unwrap_or(i64::MAX);
    let mut details = Vec::new();
    details.extend(anchored.tag.as_ref().map(|tag| format!("tag `{tag}`")));
    details.push(match wanted.days() {
        Some(_) => format!("{} before the base", count(anchored.days, "day")),
        None => format!("{} before the base", count(merges, "merge")),
    });
    if anchored.is_oldest {
        details.push("the oldest report that is kept: `baseline.keep` says how many".to_owned());
    }
    let commit = &anchored.commit[..anchored.commit.len().min(7)];
    format!("the anchor {commit} ({})", details.join(", "))
}
