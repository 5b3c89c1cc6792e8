//! The word that describes a run of the evidence probe, and the figures on which it is based.

use std::collections::BTreeMap;

use serde_json::Value;

use super::swaps::{SwapCounts, ignored_types, is_followed};
use super::{EvidenceRun, QUADRANT};
use crate::perturb::Relation;
use crate::{CaseRecord, VariantRecord};
use kelvin_record::family;

/// The combined meaning of invariance and following. The first four are the quadrants for one governing type; with
/// several types, a band for following would have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Invariance and following are both high.
    Grounded,
    /// Only invariance is high.
    Flat,
    /// Following is high, or no governing type is ignored, and invariance is low.
    Brittle,
    /// Neither invariance nor following is high.
    Unstable,
    /// Several types: the decision stays where it should, and no type is ignored.
    Responsive,
    /// Several types: the decision stays where it should, and at least one type decides rarely or never.
    Selective,
    /// All answers, or nearly all, are the same for every case.
    Constant,
    /// The decision stays where it should; the swaps cannot show whether it follows the evidence.
    Unclear,
    /// The decision moves where it should not; the swaps cannot show whether it follows the evidence.
    Unsteady,
}

impl Standing {
    /// Every standing, for the test of the document that explains them.
    pub const ALL: [Self; 9] = [
        Self::Grounded,
        Self::Flat,
        Self::Brittle,
        Self::Unstable,
        Self::Responsive,
        Self::Selective,
        Self::Constant,
        Self::Unclear,
        Self::Unsteady,
    ];

    /// The standing of a run; none if invariance or following was not measured.
    pub(super) fn of(run: &EvidenceRun<'_>) -> Option<Self> {
        let value = |id: &str| run.metrics.get(id).and_then(|metric| metric.value);
        let invariance = value("evidence.invariance")?;
        // A mean over all kinds can hide one kind that moves the decision often.
        let kinds = family(run.metrics, "evidence.invariance").into_iter();
        let mut kinds = kinds.filter_map(|(_, metric)| metric.value);
        let eta = value("evidence.noise_floor").unwrap_or(0.0);
        let holds = without_noise(invariance, eta) >= QUADRANT
            && kinds.all(|value| without_noise(value, most_noise(run)) >= EVERY_KIND);
        let swaps = SwapCounts::of(run, |_| true);
        let answers = AnswerCounts::of(run).filter(AnswerCounts::are_constant);
        // If swaps move the decision much more often than presentation does, the pipeline reacts to the evidence, even
        // if it gives one answer most of the time.
        let reacts = swaps.moved_share() > 1.0 - invariance + REACTS;
        if answers.is_some() && !reacts {
            return Some(Self::Constant);
        }
        if holds && swaps.all_mean_the_same() && run.asks_a_judge() && run.cases.len() > 1 {
            return Some(Self::Constant);
        }
        let following = run.metrics.get("evidence.following")?;
        let unclear = if holds { Self::Unclear } else { Self::Unsteady };
        if swaps.samples == 0 {
            return None;
        }
        let [_] = run.governing_types else {
            return Some(several(run, holds).unwrap_or(unclear));
        };
        let Some(following) = following.value.filter(|_| swaps.are_enough()) else {
            return Some(unclear);
        };
        Some(match (holds, following >= QUADRANT) {
            (true, true) => Self::Grounded,
            (true, false) => Self::Flat,
            (false, true) => Self::Brittle,
            (false, false) => Self::Unstable,
        })
    }

    /// The standing in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grounded => "grounded",
            Self::Flat => "flat",
            Self::Brittle => "brittle",
            Self::Unstable => "unstable",
            Self::Responsive => "responsive",
            Self::Selective => "selective",
            Self::Constant => "constant",
            Self::Unclear => "not enough to tell",
            Self::Unsteady => "unsteady",
        }
    }

    /// The word as a title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Grounded => "Grounded",
            Self::Flat => "Flat",
            Self::Brittle => "Brittle",
            Self::Unstable => "Unstable",
            Self::Responsive => "Responsive",
            Self::Selective => "Selective",
            Self::Constant => "Constant",
            Self::Unclear => "Not enough to tell",
            Self::Unsteady => "Unsteady",
        }
    }

    /// The meaning of the word, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Grounded => "follows the evidence, and little else",
            Self::Flat => "holds, but does not follow the evidence",
            Self::Brittle => "follows the evidence, but other things move it too",
            Self::Unstable => "moves, but not with the evidence",
            Self::Responsive => "holds where it should, and ignores no governing type",
            Self::Selective => {
                "holds where it should, but a governing type decides rarely or never"
            }
            Self::Constant => "gives the same answer in every case",
            Self::Unclear => {
                "holds where it should; this suite cannot show whether it follows the evidence"
            }
            Self::Unsteady => {
                "moves where it should hold; this suite cannot show whether it follows the evidence"
            }
        }
    }

    /// Whether the standing is one of the quadrants, which have a place in the plane of the two signals.
    pub(crate) const fn is_quadrant(self) -> bool {
        matches!(
            self,
            Self::Grounded | Self::Flat | Self::Brittle | Self::Unstable
        )
    }
}

/// The largest mean distance between two answers to the same input; 0 if it was not measured. The worst of several
/// kinds is worst partly by chance, so it is compared with the upper end of the interval of the noise floor.
pub(super) fn most_noise(run: &EvidenceRun<'_>) -> f64 {
    let floor = run.metrics.get("evidence.noise_floor");
    // If no two answers to the same input differed, no change is due to noise. With few cases, the upper end of the
    // interval would still allow that one change in ten is noise.
    let floor = floor.filter(|floor| floor.value != Some(0.0));
    let most = floor.and_then(|floor| floor.interval.map(|ends| ends.high).or(floor.value));
    most.unwrap_or(0.0)
}

/// Invariance after removing the effect of this much noise: a move that noise caused was not caused by the
/// presentation.
pub(super) fn without_noise(invariance: f64, eta: f64) -> f64 {
    if eta >= 1.0 {
        return invariance;
    }
    1.0 - ((1.0 - invariance - eta) / (1.0 - eta)).max(0.0)
}

/// The decision counts as stable only if the invariance of each single kind is at least this.
const EVERY_KIND: f64 = 0.75;

/// The minimum difference between the share of swaps that move the decision and the same share of other variants.
const REACTS: f64 = 0.2;

/// The standing with several governing types; none if it is unknown for some type whether the pipeline ignores it.
fn several(run: &EvidenceRun<'_>, holds: bool) -> Option<Standing> {
    let ignored = ignored_types(run);
    let types = run.governing_types.iter();
    let known = types.filter(|name| is_followed(run, name)).count();
    match (holds, ignored.is_empty()) {
        (true, false) if ignored.len() == run.governing_types.len() => Some(Standing::Flat),
        (true, false) => Some(Standing::Selective),
        (false, false) => Some(Standing::Unstable),
        _ if known < run.governing_types.len() => None,
        (true, true) => Some(Standing::Responsive),
        (false, true) => Some(Standing::Brittle),
    }
}

/// Counts of all answers of a run.
pub(super) struct AnswerCounts<'a> {
    /// The most frequent answer.
    pub(super) most: &'a Value,
    /// How often the most frequent answer was given.
    pub(super) times: usize,
    /// The total number of answers.
    pub(super) all: usize,
    /// For each case, how large the share of the most frequent answer is among its own answers: the answers to the
    /// unperturbed case, and to the variants that should not move the decision.
    own_shares: Vec<f64>,
}

impl<'a> AnswerCounts<'a> {
    /// The counts; none if there is no answer.
    pub(super) fn of(run: &EvidenceRun<'a>) -> Option<Self> {
        let mut total: BTreeMap<String, (usize, &Value)> = BTreeMap::new();
        for decision in run.cases.values().flat_map(|case| answers(case, |_| true)) {
            total.entry(decision.to_string()).or_insert((0, decision)).0 += 1;
        }
        let (times, most) = total.values().max_by_key(|(times, _)| *times)?;
        let own_share = |case: &CaseRecord| {
            let own = |variant: &VariantRecord| variant.relation == Relation::Invariance;
            let (same, all) = answers(case, own).fold((0_usize, 0_usize), |(same, all), answer| {
                (same + usize::from(answer == *most), all + 1)
            });
            (all > 0).then(|| same as f64 / all as f64)
        };
        Some(Self {
            most,
            times: *times,
            all: total.values().map(|(times, _)| times).sum(),
            own_shares: run.cases.values().filter_map(own_share).collect(),
        })
    }

    /// Whether the pipeline gives the same answer in every case, apart from noise. There must be at least two cases,
    /// since a single case has one right answer.
    pub(super) fn are_constant(&self) -> bool {
        /// The share of the cases whose own answers are mostly the most frequent answer. It is below 1 because noise
        /// may change a case or two.
        const NEARLY_ALL: f64 = 0.9;
        /// If the share of the most frequent answer in a case is at most this, the case has another answer, which noise
        /// alone does not explain.
        const DIFFERENT: f64 = 0.25;
        let prevails = self.own_shares.iter().filter(|share| **share > 0.5).count();
        let different = self.own_shares.iter().any(|share| *share <= DIFFERENT);
        self.own_shares.len() > 1
            && !different
            && prevails as f64 >= NEARLY_ALL * self.own_shares.len() as f64
    }
}

fn answers(
    case: &CaseRecord,
    pick: impl Fn(&VariantRecord) -> bool,
) -> impl Iterator<Item = &Value> {
    let variants = case.variants.iter().filter(move |variant| pick(variant));
    let samples = case
        .baseline
        .iter()
        .chain(&case.replays)
        .chain(variants.flat_map(|variant| &variant.samples));
    samples.filter_map(|sample| sample.decision.as_ref())
}
