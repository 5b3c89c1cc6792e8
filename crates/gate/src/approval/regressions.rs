//! The regressions that an approval covers: the metrics and the cases, each with the size of its drop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_page::safe;

use super::super::drift::Drift;
use super::super::look::GUARD;
use super::super::policy::Effect;
use super::super::verdict::{Cause, ReasonCode, Verdict, Word};

/// A change with more regressions than this cannot be approved as one decision.
const MOST: usize = 200;

/// A regression that somebody is asked to approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regressed {
    /// The metric.
    pub metric: String,
    /// The case that broke completely; missing if the metric as a whole regressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The metric on the base, to four decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// The metric on the head, to four decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<f64>,
    /// How far the metric fell, to four decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<f64>,
    /// How much further the metric may fall when the same commit is measured again: the gate does not count such a fall
    /// as another regression.
    pub within: f64,
    /// Whether the gate only suspects the regression: a drop beyond the limit that noise may explain, or that another
    /// type of evidence may have caused. Whoever approves it sees how far the metric fell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
}

/// The regressions that make a verdict fail, if all of them can be approved.
///
/// # Errors
///
/// The reason why the verdict fails although nobody can approve it: an unmeasured value is unknown, and an approval
/// needs known values.
pub fn regressed(verdict: &Verdict, drift: Option<&Drift>) -> Result<Vec<Regressed>, String> {
    let mut found = Vec::new();
    let failing = verdict
        .reasons
        .iter()
        .filter(|reason| reason.effect == Some(Effect::Fail));
    for reason in failing {
        let id = reason.metric.as_deref().unwrap_or_default();
        let metric = verdict.metrics.get(id);
        let is_suspected = metric.is_some_and(|metric| {
            metric.verdict == Word::Inconclusive && metric.cause == Cause::Suspected
        });
        let has_fallen =
            is_suspected || metric.is_some_and(|metric| metric.verdict == Word::Regression);
        match (reason.code, metric) {
            (ReasonCode::Metric | ReasonCode::NothingGated, Some(metric)) if has_fallen => {
                found.push(Regressed {
                    metric: id.to_owned(),
                    case: None,
                    base: metric.base.map(rounded),
                    head: metric.head.map(rounded),
                    drop: metric.drop.map(rounded),
                    within: metric.max_drop,
                    suspected: is_suspected,
                });
            }
            (ReasonCode::Drift, _) => {
                let drifted = drift.and_then(|drift| drift.metrics.get(id));
                let drifted = drifted.ok_or_else(|| reason.text.clone())?;
                found.push(Regressed {
                    metric: id.to_owned(),
                    case: None,
                    base: Some(rounded(drifted.anchor)),
                    head: Some(rounded(drifted.head)),
                    drop: Some(rounded(drifted.drop)),
                    within: metric.map_or(0.0, |metric| metric.max_drop),
                    suspected: false,
                });
            }
            (ReasonCode::BrokenCases, _) => {
                let broken = verdict.broken_cases.iter();
                let broken = broken.filter(|case| case.certain && case.metric == id);
                found.extend(broken.map(|case| Regressed {
                    metric: id.to_owned(),
                    case: Some(case.case.clone()),
                    base: None,
                    head: None,
                    drop: None,
                    within: 0.0,
                    suspected: false,
                }));
            }
            // The regression names both answers, so an approval does not cover a third answer. A missing answer is
            // unknown and cannot be approved.
            (ReasonCode::OtherAnswers, _) if verdict.answers.values().all(|all| all.gone == 0) => {
                for (probe, changed) in &verdict.answers {
                    if changed.other > MOST {
                        return Err(reason.text.clone());
                    }
                    found.extend(changed.answers.iter().map(|other| Regressed {
                        metric: format!("{probe}.answers"),
                        case: Some(format!(
                            "{}: {} → {}",
                            other.item,
                            safe::cut(&other.base, 60),
                            safe::cut(&other.head, 60)
                        )),
                        base: None,
                        head: None,
                        drop: None,
                        within: 0.0,
                        suspected: false,
                    }));
                }
            }
            _ => return Err(reason.text.clone()),
        }
    }
    if found.is_empty() {
        return Err("the gate does not say what has regressed".to_owned());
    }
    if found.len() > MOST {
        return Err(format!(
            "{} regressions are too many for one decision; at most {MOST} are",
            found.len()
        ));
    }
    found.sort_by(|one, other| (&one.metric, &one.case).cmp(&(&other.metric, &other.case)));
    found.dedup_by(|one, other| one.metric == other.metric && one.case == other.case);
    Ok(found)
}

/// The regressions of `now` that are not among the requested ones; empty if all of them are. If a metric dropped
/// further than before by more than the gate's tolerance for noise, it is another regression.
pub fn beyond<'a>(asked: &[Regressed], now: &'a [Regressed]) -> Vec<&'a Regressed> {
    let is_covered = |one: &Regressed| {
        asked.iter().any(|other| {
            let is_same = one.metric == other.metric && one.case == other.case;
            let reach = other.within.max(0.0) + GUARD;
            is_same
                && match (one.drop, other.drop) {
                    (Some(now), Some(asked)) => now - asked <= reach,
                    (None, None) => match (one.head, other.head) {
                        (Some(now), Some(asked)) => (now - asked).abs() <= reach,
                        (now, asked) => now == asked,
                    },
                    _ => false,
                }
        })
    };
    now.iter().filter(|one| !is_covered(one)).collect()
}

/// Rounds to four decimals: people approve the values that they see.
fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

impl Regressed {
    /// A short description, with names between backticks.
    pub fn words(&self) -> String {
        match (&self.case, self.base, self.head) {
            (Some(case), _, _) => format!("`{case}` broke in `{}`", self.metric),
            (None, Some(base), Some(head)) => {
                format!("`{}` {base:.4} → {head:.4}", self.metric)
            }
            (None, _, Some(head)) => format!("`{}` at {head:.4}", self.metric),
            (None, _, None) => format!("`{}`", self.metric),
        }
    }
}
