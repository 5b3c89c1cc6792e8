//! The conclusions from the swaps of a run: which of them could move the decision, and which did.

use std::collections::BTreeSet;

use super::EvidenceRun;
use crate::{SwapRecord, VariantRecord};
use kelvin_page::counted;

/// At least this many swaps must have a donor with another answer; with fewer, no conclusion is possible.
pub(super) const ENOUGH_SWAPS: usize = 5;
/// At least this many cases must have a swap whose donor has another answer; with fewer, no conclusion is possible.
pub(super) const ENOUGH_CASES: usize = 3;
/// The mean contrast must be at least this share of the noise. Below it, two answers of the same case differ nearly as
/// much as the answers of two cases, so swaps allow no conclusion.
const CLEAR: f64 = 0.25;

/// With several governing types, a type counts as ignored if its following is below this and the interval ends below
/// [`IGNORED_UP_TO`]. The limits are low because each of several types may move little and still be used: if three
/// types must agree, most exchanges of one of them rightly change nothing.
const IGNORED: f64 = 0.10;
/// The limit for the upper end of the interval; see [`IGNORED`].
const IGNORED_UP_TO: f64 = 0.35;

/// The swaps of a run, or those of one governing type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SwapCounts {
    /// The number of samples that have a distance.
    pub samples: usize,
    /// The number of samples in which the decision moved.
    pub moved: usize,
    /// The number of samples whose donor has another answer: these could move the decision.
    pub could: usize,
    /// The number of samples that could move the decision and did.
    pub followed: usize,
    /// The number of swaps whose donor has another answer, without repeats.
    pub(super) variants: usize,
    /// The number of cases with swaps whose donor has another answer.
    pub(super) cases: usize,
    /// The contrasts and the noise, each summed over the samples that could move the decision.
    contrast: f64,
    noise: f64,
    /// Whether the answers of the donors are known.
    known: bool,
}

impl SwapCounts {
    /// Counts the swaps that `pick` selects.
    pub(super) fn of(run: &EvidenceRun<'_>, pick: impl Fn(&VariantRecord) -> bool) -> Self {
        let mut all = Self::default();
        for case in run.cases.values() {
            let before = all.variants;
            for variant in case.variants.iter().filter(|v| v.kind == "swap" && pick(v)) {
                all.take(variant);
            }
            all.cases += usize::from(all.variants > before);
        }
        all
    }

    /// Counts the swaps of one governing type.
    pub(super) fn of_type(run: &EvidenceRun<'_>, governing: &str) -> Self {
        Self::of(run, |variant| {
            variant.unit_type.as_deref() == Some(governing)
        })
    }

    fn take(&mut self, variant: &VariantRecord) {
        let distances = variant.samples.iter().filter_map(|sample| sample.distance);
        let (samples, moved) = distances.fold((0, 0), |(samples, moved), distance| {
            (samples + 1, moved + usize::from(distance > 0.0))
        });
        self.samples += samples;
        self.moved += moved;
        let Some(SwapRecord {
            contrast,
            noise,
            donor_differs,
            ..
        }) = variant.swap.as_deref().filter(|_| samples > 0)
        else {
            return;
        };
        self.known = true;
        if *donor_differs {
            self.contrast += contrast * samples as f64;
            self.noise += noise * samples as f64;
            self.could += samples;
            self.followed += moved;
            self.variants += 1;
        }
    }

    /// The share of the samples in which the decision moved; 0 if there are no samples.
    pub(super) fn moved_share(&self) -> f64 {
        self.moved as f64 / self.samples.max(1) as f64
    }

    /// Whether most of the swaps that could move the decision did, in any direction.
    pub(super) const fn mostly_moved(&self) -> bool {
        self.followed * 2 > self.could
    }

    /// Whether no swap moved the decision, and none could: the donors have the same answers.
    pub(super) const fn all_mean_the_same(&self) -> bool {
        self.known && self.moved == 0 && self.could == 0
    }

    /// Whether there are enough swaps, with enough contrast, for a conclusion about the pipeline.
    pub(super) fn are_enough(&self) -> bool {
        self.variants >= ENOUGH_SWAPS
            && self.cases >= ENOUGH_CASES
            && self.contrast >= CLEAR * self.noise
    }

    /// Whether there are enough swaps, but too much noise for a conclusion.
    pub(super) fn are_drowned(&self) -> bool {
        self.variants >= ENOUGH_SWAPS && self.cases >= ENOUGH_CASES && !self.are_enough()
    }

    /// `28 of 48 swaps moved the decision; the donors' own answers differ in 27 of the 48, and the pipeline followed
    /// those`; none if there is no swap, or the answers of the donors are not known.
    pub(super) fn sentence(&self) -> Option<String> {
        if !self.known {
            return None;
        }
        let swaps = counted(self.samples, "swap");
        let followed = match self.could {
            0 => String::new(),
            could if could == self.followed => ", and the pipeline followed those".to_owned(),
            _ => format!(", and the decision moved in {} of those", self.followed),
        };
        Some(format!(
            "{} of {swaps} moved the decision; the donors' own answers differ in {} of the {}\
             {followed}",
            self.moved, self.could, self.samples
        ))
    }
}

/// Whether the swaps give any sign that the decision follows this one of several governing types.
pub(super) fn is_followed(run: &EvidenceRun<'_>, governing: &str) -> bool {
    let metric = run.metrics.get(&format!("evidence.following.{governing}"));
    let value = metric.and_then(|metric| metric.value);
    value.is_some_and(|value| value >= IGNORED) && SwapCounts::of_type(run, governing).are_enough()
}

/// The governing types that the pipeline ignores, according to the swaps. A single governing type is judged by the
/// bands of its following instead.
pub(super) fn ignored_types<'a>(run: &EvidenceRun<'a>) -> BTreeSet<&'a str> {
    let types = run.governing_types;
    let is_ignored = |name: &&String| {
        let metric = run.metrics.get(&format!("evidence.following.{name}"));
        let low = metric
            .and_then(|metric| metric.value)
            .is_some_and(|value| value < IGNORED);
        let sure = metric
            .and_then(|metric| metric.interval)
            .is_some_and(|interval| interval.high < IGNORED_UP_TO);
        low && sure && SwapCounts::of_type(run, name).are_enough()
    };
    let several = types.len() > 1;
    types
        .iter()
        .filter(|_| several)
        .filter(is_ignored)
        .map(String::as_str)
        .collect()
}
