//! What is measured: the settings, the cases, and the variants that are planned for them.

use std::collections::BTreeMap;

use super::EvidenceSettings;
use super::cases::Corpus;
use super::perturb::{Peers, Plan, Planner};
use kelvin_base::threads;
use kelvin_run::config::Config;
use kelvin_run::judge::Scorer;

/// Everything that a measurement needs to know about its cases.
pub(crate) struct Survey<'a> {
    /// The general settings.
    pub config: &'a Config,
    /// The settings of this probe.
    pub settings: &'a EvidenceSettings,
    /// Every case; peers are drawn from all of them.
    pub corpus: &'a Corpus,
    /// The places of the cases to measure, in ascending order.
    pub places: &'a [usize],
    /// Whether the first of these cases is the first of all chosen cases; another shard may have that one.
    pub begins: bool,
    /// Compares decisions.
    pub scorer: &'a dyn Scorer,
}

/// Plans the variants of every case of the survey; the plans are keyed by the place of the case.
pub(crate) fn plan(survey: &Survey<'_>) -> BTreeMap<usize, Plan> {
    let plans = plan_each(survey, |at, plan| (at, plan));
    plans.into_iter().collect()
}

/// Plans the variants of every case of the survey, in order, and keeps only what `keep` makes of each plan.
pub(crate) fn plan_each<T: Send>(
    survey: &Survey<'_>,
    keep: impl Fn(usize, Plan) -> T + Sync,
) -> Vec<T> {
    let Survey {
        corpus, settings, ..
    } = *survey;
    let peers = Peers::of(corpus, settings);
    threads::map_with(
        survey.places,
        || Planner::new(corpus, settings, &peers),
        |planner, &at| keep(at, planner.plan(at)),
    )
}
