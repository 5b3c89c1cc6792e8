//! Means over samples, with their intervals and their parts per case.

use std::collections::BTreeMap;

use super::basis::Settings;
use crate::{CaseRecord, Sample, VariantRecord};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::stats::{self, Balanced};
use kelvin_record::{
    CaseValue, Cell, Cells, Crosses, Ending, Interval, Metric, Pairs, Range, Unit,
};
use kelvin_run::judge::Scorer;

/// How a distance becomes a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// 1 - distance.
    Stability,
    /// The distance itself.
    Distance,
}

impl Turn {
    /// The figure of one distance.
    pub(super) fn of(self, distance: f64) -> f64 {
        match self {
            Self::Stability => 1.0 - distance,
            Self::Distance => distance,
        }
    }
}

/// How much detail a figure contains about each case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseDetail {
    /// Nothing.
    None,
    /// The value of each case.
    Cases,
    /// The value of each case and every sample: the gate pairs the samples.
    Cells,
}

/// The cases from which figures are made.
pub(super) struct Figures<'a> {
    /// The settings on which the figures depend besides the records.
    pub(super) settings: &'a Settings<'a>,
    /// The records of the cases.
    pub(super) cases: &'a BTreeMap<String, CaseRecord>,
}

impl Figures<'_> {
    /// The mean over the variants that `pick` selects, whichever case they belong to. Each variant counts with the mean
    /// of its samples.
    pub(super) fn mean(
        &self,
        pick: &dyn Fn(&VariantRecord) -> bool,
        turn: Turn,
        detail: CaseDetail,
    ) -> Metric {
        let mut distances = Balanced::default();
        let mut failed = 0;
        let mut per_case = BTreeMap::new();
        for (name, case) in self.cases {
            let picked: Vec<&VariantRecord> = case.variants.iter().filter(|v| pick(v)).collect();
            let samples = picked.iter().flat_map(|variant| &variant.samples);
            failed += samples.filter(|sample| sample.distance.is_none()).count();
            distances.add(picked.iter().map(|variant| known(variant)));
            if detail != CaseDetail::None && !picked.is_empty() {
                let of = (turn, detail, self.settings.crossing());
                per_case.insert(name.clone(), case_value(case, &picked, of));
            }
        }
        let value = distances.value().map(|mean| turn.of(mean));
        let value = value.ok_or_else(|| self.why_empty(failed, turn));
        let interval = distances.interval().map(|(low, high)| match turn {
            Turn::Stability => (turn.of(high), turn.of(low)),
            Turn::Distance => (low, high),
        });
        let mut metric = Metric::new(value, distances.samples(), failed).interval(ends(interval));
        metric.crosses = Crosses(self.settings.crossing().is_some());
        metric.per_case = per_case.into();
        metric
    }

    /// Why a swap has no sample; `failed` is the number of its invocations that failed.
    pub(super) fn why_no_sample(&self, failed: usize) -> String {
        self.why_empty(failed, Turn::Distance)
    }

    /// Why there is no answer at all, right or wrong.
    pub(super) fn why_nothing_ran(&self) -> String {
        self.why_empty(0, Turn::Stability)
    }

    /// Whether no variant that `is_one` selects can be made from the cases of the run, so that a complete run has none.
    pub(super) fn has_none(&self, is_one: &dyn Fn(&VariantRecord) -> bool) -> bool {
        let mut variants = self.cases.values().flat_map(|case| &case.variants);
        self.settings.ending == Ending::Complete && !self.cases.is_empty() && !variants.any(is_one)
    }

    /// Why there is no sample.
    fn why_empty(&self, failed: usize, turn: Turn) -> String {
        let ending = self.settings.ending;
        if ending == Ending::DryRun {
            "dry run: nothing was run".to_owned()
        } else if ending == Ending::Failed {
            "every baseline invocation failed".to_owned()
        } else if self.cases.is_empty() {
            "this shard has no cases".to_owned()
        } else if failed > 0 {
            format!("all {failed} invocations failed")
        } else if turn == Turn::Distance && self.settings.basis.governing_types.is_empty() {
            "no governing types are declared".to_owned()
        } else if turn == Turn::Distance && self.settings.basis.cases < 2 {
            "there is only one case, and so no other to take evidence from".to_owned()
        } else if ending == Ending::Interrupted {
            "the run was stopped before any of these variants had finished".to_owned()
        } else {
            "no variant could be made; the notices say why".to_owned()
        }
    }

    /// K = (1 - invariance) + (1 - sensitivity), in [0, 2]. The interval adds the ends of both parts, and so it covers
    /// at least 95 %.
    pub(super) fn kelvin(&self, invariance: &Metric, sensitivity: &Metric) -> Metric {
        let value = match (invariance.value, sensitivity.value) {
            (Some(invariance), Some(sensitivity)) => Ok((1.0 - invariance) + (1.0 - sensitivity)),
            (None, _) => Err(part_missing("invariance", invariance)),
            (_, None) => Err(part_missing("sensitivity", sensitivity)),
        };
        let interval = invariance
            .interval
            .zip(sensitivity.interval)
            .filter(|_| value.is_ok())
            .map(|(inv, sens)| Interval {
                low: (1.0 - inv.high) + (1.0 - sens.high),
                high: (1.0 - inv.low) + (1.0 - sens.low),
            });
        let mut metric = Metric::new(
            value,
            invariance.n + sensitivity.n,
            invariance.n_failed + sensitivity.n_failed,
        )
        .counts_in(Unit::Score, Range::of(0.0, 2.0))
        .lower_is_better()
        .interval(interval);
        metric.per_case = invariance
            .per_case
            .iter()
            .filter_map(|(name, inv)| {
                let sens = sensitivity.per_case.get(name)?;
                let value = (1.0 - inv.value?) + (1.0 - sens.value?);
                let value = CaseValue {
                    value: Some(value),
                    n: inv.n + sens.n,
                    repeats: Vec::new(),
                    cells: Cells::default(),
                };
                Some((name.clone(), value))
            })
            .collect();
        metric
    }
}

/// Why a figure is null: one of its parts is null.
pub(super) fn part_missing(part: &str, metric: &Metric) -> String {
    let reason = metric.reason.as_deref().unwrap_or("not measured");
    format!("{part} is null: {reason}")
}

/// The ends of an interval in the form of a report.
pub(super) fn ends(interval: Option<(f64, f64)>) -> Option<Interval> {
    interval.map(|(low, high)| Interval { low, high })
}

/// The digest by which a comparison pairs the variants of its two sides: it is made from the input of the variant and
/// the input of the baseline.
pub(super) fn pair(case: &CaseRecord, variant: &Digest) -> Digest {
    Fields::of("kelvin/pair/v1")
        .field("baseline", case.input.bytes())
        .field("variant", variant.bytes())
        .digest()
}

/// Every answer to a variant compared with every answer to the case itself; none if both have only one answer.
fn pairs(
    case: &CaseRecord,
    variant: &VariantRecord,
    turn: Turn,
    scorer: &dyn Scorer,
) -> Option<Box<Pairs>> {
    if case.baseline.len() < 2 && variant.samples.len() < 2 {
        return None;
    }
    let of_answer = |answer: &Sample| {
        let baselines = case.baseline.iter();
        let value = |before: &Sample| {
            let (before, after) = (before.decision.as_ref()?, answer.decision.as_ref()?);
            Some(turn.of(scorer.distance(before, after)?))
        };
        baselines.map(value).collect()
    };
    Some(Box::new(Pairs(
        variant.samples.iter().map(of_answer).collect(),
    )))
}

/// The known distances of a variant.
fn known(variant: &VariantRecord) -> Vec<f64> {
    let samples = variant.samples.iter();
    samples.filter_map(|sample| sample.distance).collect()
}

fn case_value(
    case: &CaseRecord,
    picked: &[&VariantRecord],
    (turn, detail, crossing): (Turn, CaseDetail, Option<&dyn Scorer>),
) -> CaseValue {
    let mut distances = Balanced::default();
    distances.add(picked.iter().map(|variant| known(variant)));
    let rounds = picked.iter().map(|variant| variant.samples.len()).max();
    let repeats = (0..rounds.unwrap_or(0))
        .map(|round| {
            let distances: Vec<f64> = picked
                .iter()
                .filter_map(|variant| variant.samples.get(round)?.distance)
                .collect();
            stats::mean(&distances).map(|mean| turn.of(mean))
        })
        .collect();
    let cells = picked
        .iter()
        .filter(|_| detail == CaseDetail::Cells)
        .map(|variant| {
            let cell = Cell {
                input: pair(case, &variant.input),
                values: variant
                    .samples
                    .iter()
                    .map(|sample| sample.distance.map(|distance| turn.of(distance)))
                    .collect(),
                pairs: crossing.and_then(|scorer| pairs(case, variant, turn, scorer)),
            };
            (variant.id.clone(), cell)
        })
        .collect();
    CaseValue {
        value: distances.value().map(|mean| turn.of(mean)),
        n: distances.samples(),
        repeats,
        cells,
    }
}
