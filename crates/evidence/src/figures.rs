//! Computes figures from records: invariance, sensitivity, the Kelvin score, the figures that explain them, and how
//! often the pipeline gave no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::aggregate::{CaseDetail, Figures, Turn, ends, pair};
use super::basis::{Basis, Settings};
use super::noise::corrected;
use super::places::{self, SeenPlace};
use super::{labelled, turns};
use crate::perturb::{self, Figure};
use crate::{CaseRecord, VariantRecord};
use kelvin_base::stats::{self, Balanced};
use kelvin_record::{CaseValue, Cell, Metric};

/// The id prefix of the figures of the whole suite; figures of its parts have a kind or a type in addition.
const ALL: &str = "evidence";
const INVARIANCE: &str = "evidence.invariance";
const SENSITIVITY: &str = "evidence.sensitivity";
const FOLLOWING: &str = "evidence.following";
const MECHANICAL: &str = "evidence.mechanical_sensitivity";
const DROP: &str = "evidence.drop";
const POSITION: &str = "evidence.position";
const MOVED_AT: &str = "evidence.moved_at";
const MOVED_IN_TURN: &str = "evidence.moved_in_turn";
const INVARIANCE_IN_TURN: &str = "evidence.invariance_in_turn";

/// Fills in the scores of one case.
pub(super) fn score_case(basis: &Basis, case: &mut CaseRecord) {
    let mean = |wanted: Figure| {
        let distances: Vec<f64> = case
            .variants
            .iter()
            .filter(|variant| basis.figure(&variant.kind) == Some(wanted))
            .flat_map(|variant| variant.samples.iter().filter_map(|sample| sample.distance))
            .collect();
        (stats::mean(&distances), distances.len())
    };
    let (drift, invariance_n) = mean(Figure::Invariance);
    let (sensitivity, sensitivity_n) = mean(Figure::Sensitivity);
    case.invariance = drift.map(|drift| 1.0 - drift);
    case.invariance_n = invariance_n;
    case.sensitivity = sensitivity;
    case.sensitivity_n = sensitivity_n;
}

/// Every figure of the probe.
pub(super) fn metrics(
    settings: &Settings<'_>,
    cases: &BTreeMap<String, CaseRecord>,
) -> BTreeMap<String, Metric> {
    let basis = settings.basis;
    let figures = Figures { settings, cases };
    let is =
        |wanted: Figure| move |variant: &VariantRecord| basis.figure(&variant.kind) == Some(wanted);
    let mut metrics = BTreeMap::new();
    let mut put = |family: &str, name: &str, metric: Metric| {
        metrics.insert(format!("{family}.{name}"), metric.of_family(family));
    };

    let invariance = figures.mean(&is(Figure::Invariance), Turn::Stability, CaseDetail::Cells);
    // If a judge computes the distances, it is not known which answers are equal, so no type can be judged by its
    // swaps.
    let by_type = !basis.asked && !basis.governing_types.is_empty();
    let detail = if by_type {
        CaseDetail::Cases
    } else {
        CaseDetail::Cells
    };
    let sensitivity = figures.mean(&is(Figure::Sensitivity), Turn::Distance, detail);
    let kelvin_score = figures.kelvin(&invariance, &sensitivity);
    put(ALL, "kelvin_score", headline(kelvin_score));
    put(ALL, "invariance_case_mean", case_mean(&invariance));
    put(ALL, "sensitivity_case_mean", case_mean(&sensitivity));
    if basis.noise_floor {
        let eta = figures.noise_floor();
        let (inv, sens) = (
            corrected(&invariance, &eta, Turn::Stability),
            corrected(&sensitivity, &eta, Turn::Distance),
        );
        put(ALL, "kelvin_score_corrected", figures.kelvin(&inv, &sens));
        put(ALL, "invariance_corrected", inv);
        put(ALL, "sensitivity_corrected", sens);
        put(ALL, "noise_floor", eta);
    }

    let kinds: BTreeSet<&str> = cases
        .values()
        .flat_map(|case| case.variants.iter().map(|variant| &*variant.kind))
        .collect();
    for kind in kinds {
        let of_kind = |variant: &VariantRecord| variant.kind == kind;
        match basis.figure(kind) {
            Some(Figure::Invariance) => {
                let metric = figures.mean(&of_kind, Turn::Stability, CaseDetail::None);
                put(INVARIANCE, kind, metric);
            }
            Some(Figure::Mechanical) => {
                let metric = figures.mean(&of_kind, Turn::Distance, CaseDetail::None);
                put(MECHANICAL, kind, metric);
            }
            _ => {}
        }
    }
    let pads = |variant: &VariantRecord| matches!(&*variant.kind, "pad_length" | "pad_content");
    put(
        INVARIANCE,
        "pad",
        figures.mean(&pads, Turn::Stability, CaseDetail::None),
    );
    for governing in &settings.basis.governing_types {
        let of_type = |variant: &VariantRecord| {
            is(Figure::Sensitivity)(variant) && variant.unit_type.as_deref() == Some(governing)
        };
        let metric = figures.mean(&of_type, Turn::Distance, CaseDetail::Cases);
        put(SENSITIVITY, governing, metric);
        let mut following = figures.following(&of_type);
        if by_type {
            let moved = figures.mean(&of_type, Turn::Distance, CaseDetail::Cells);
            following.crosses = moved.crosses;
            following.per_case = moved.per_case;
            following.gated = true;
        }
        put(FOLLOWING, governing, following);
    }
    let swaps = is(Figure::Sensitivity);
    put(ALL, "following", figures.following(&swaps));
    put(ALL, "donor_contrast", figures.donor_contrast(&swaps));

    let enabled = |wanted: Figure| {
        perturb::ALL.iter().any(|kind| {
            basis.figure(kind.name) == Some(wanted) && perturb::is_among(kind, &basis.enabled)
        })
    };
    if enabled(Figure::Condition) {
        let condition = figures.mean(&is(Figure::Condition), Turn::Distance, CaseDetail::Cases);
        put(ALL, "content_effect", content_effect(&figures, basis));
        put(ALL, "sensitivity_condition", condition);
    }
    if enabled(Figure::Mechanical) {
        let metric = figures.mean(&is(Figure::Mechanical), Turn::Distance, CaseDetail::Cases);
        put(ALL, "mechanical_sensitivity", metric);
    }
    if enabled(Figure::Hedge) {
        let metric = figures.mean(&is(Figure::Hedge), Turn::Stability, CaseDetail::Cases);
        put(ALL, "hedge_invariance", metric);
    }
    if perturb::ALL
        .iter()
        .any(|kind| kind.figure == Figure::Drop && perturb::is_among(kind, &basis.enabled))
    {
        let types: BTreeSet<&str> = cases
            .values()
            .flat_map(|case| &case.variants)
            .filter(|variant| is_drop(variant))
            .filter_map(|variant| variant.unit_type.as_deref())
            .collect();
        for unit_type in types {
            let of_type = |variant: &VariantRecord| {
                is_drop(variant) && variant.unit_type.as_deref() == Some(unit_type)
            };
            let metric = figures.mean(&of_type, Turn::Stability, CaseDetail::None);
            put(DROP, unit_type, metric);
        }
    }
    if enabled(Figure::Position) {
        for (list, seen) in places::seen(cases, &basis.governing_types) {
            for (place, metric) in by_place(&seen.moved_there, |seen| seen.places.start) {
                put(POSITION, &format!("{list}_{place:02}"), metric);
            }
            for (place, metric) in by_place(&seen.kept, |seen| seen.length - seen.places.end) {
                put(MOVED_AT, &format!("{list}_{place:02}"), metric);
            }
        }
    }
    for (turn, seen) in turns::figures(basis, cases) {
        let name = format!("{turn:02}");
        if let Some(value) = seen.moved.value() {
            let metric = Metric::new(Ok(value), seen.moved.samples(), 0);
            put(
                MOVED_IN_TURN,
                &name,
                metric.interval(ends(seen.moved.interval())),
            );
        }
        if let Some(drift) = seen.drift.value() {
            let held = seen.drift.interval();
            let held = held.map(|(low, high)| (1.0 - high, 1.0 - low));
            let metric = Metric::new(Ok(1.0 - drift), seen.drift.samples(), 0);
            put(INVARIANCE_IN_TURN, &name, metric.interval(ends(held)));
        }
    }
    put(ALL, "failure_rate", failure_rate(cases));
    for (name, metric) in labelled::metrics(settings, cases) {
        put(ALL, name, metric);
    }
    // If no such variant can be made from any case, no measurement is lost, as long as something else is measured. If
    // one could be made on the base, the report of the base says so, and the loss is reported.
    let mut invariance = gated(invariance);
    let is_measured = sensitivity.value.is_some() || labelled::is_measured(settings, cases);
    invariance.gated = !(is_measured && figures.has_none(&is(Figure::Invariance)));
    put(ALL, "invariance", invariance);
    put(
        ALL,
        "sensitivity",
        match by_type {
            true => headline(sensitivity),
            false => gated(sensitivity),
        },
    );
    metrics
}

/// The mean for each position in a list, from 1.
fn by_place(
    seen: &[SeenPlace<'_>],
    place: impl Fn(&SeenPlace<'_>) -> usize,
) -> BTreeMap<usize, Metric> {
    let mut places: BTreeMap<usize, Balanced> = BTreeMap::new();
    for one in seen {
        let values = places.entry(place(one) + 1).or_default();
        values.add([vec![one.value]]);
    }
    let metric = |values: Balanced| {
        let value = values
            .value()
            .ok_or_else(|| "nothing was seen there".to_owned());
        Metric::new(value, values.samples(), 0).interval(ends(values.interval()))
    };
    places
        .into_iter()
        .map(|(place, values)| (place, metric(values)))
        .collect()
}

fn is_drop(variant: &VariantRecord) -> bool {
    perturb::find(&variant.kind).is_some_and(|kind| kind.figure == Figure::Drop)
}

fn headline(mut metric: Metric) -> Metric {
    metric.headline = true;
    metric
}

fn gated(mut metric: Metric) -> Metric {
    metric.gated = true;
    metric
}

/// The mean over the means of the cases, so that one large case cannot hide the others.
fn case_mean(metric: &Metric) -> Metric {
    let values: Vec<f64> = metric
        .per_case
        .values()
        .filter_map(|case| case.value)
        .collect();
    let clusters: Vec<(f64, usize)> = values.iter().map(|value| (*value, 1)).collect();
    let value = stats::mean(&values).ok_or_else(|| {
        metric
            .reason
            .clone()
            .unwrap_or_else(|| "no case has a value".to_owned())
    });
    Metric::new(value, values.len(), metric.n_failed)
        .interval(ends(stats::clustered_interval(&clusters)))
}

/// How far whole-unit swaps move the decision beyond the effect of exchanging only the conditions, at least 0. Only
/// units that were changed in both ways are used, so that each rule is compared with itself: most units of a suite may
/// have no conditions to exchange.
fn content_effect(figures: &Figures<'_>, basis: &Basis) -> Metric {
    let units = |wanted: Figure| -> BTreeSet<(&str, usize)> {
        let cases = figures.cases.iter();
        let units = cases.flat_map(|(name, case)| {
            let measured = case.variants.iter().filter(move |variant| {
                basis.figure(&variant.kind) == Some(wanted)
                    && variant
                        .samples
                        .iter()
                        .any(|sample| sample.distance.is_some())
            });
            measured.filter_map(move |variant| Some((name.as_str(), variant.changed_unit()?)))
        });
        units.collect()
    };
    let both: BTreeSet<(&str, usize)> = units(Figure::Sensitivity)
        .intersection(&units(Figure::Condition))
        .copied()
        .collect();
    let mean = |wanted: Figure| {
        let is_compared = |name: &str, variant: &VariantRecord| {
            let unit = variant.changed_unit();
            basis.figure(&variant.kind) == Some(wanted)
                && unit.is_some_and(|unit| both.contains(&(name, unit)))
        };
        let distances: Vec<f64> = figures
            .cases
            .iter()
            .flat_map(|(name, case)| {
                let variants = case.variants.iter();
                variants.filter(move |variant| is_compared(name, variant))
            })
            .flat_map(|variant| variant.samples.iter().filter_map(|sample| sample.distance))
            .collect();
        (stats::mean(&distances), distances.len())
    };
    let ((swaps, _), (conditions, n)) = (mean(Figure::Sensitivity), mean(Figure::Condition));
    let value = swaps.zip(conditions).map_or_else(
        || Err("no unit was both exchanged whole and given other conditions".to_owned()),
        |(swaps, conditions)| Ok((swaps - conditions).max(0.0)),
    );
    Metric::new(value, n, 0)
}

/// The name of the unperturbed input among the cells; no variant can have this name.
const BASELINE: &str = "baseline";

/// The share of the inputs without an answer. A variant that was not run because the unperturbed input failed counts as
/// failed too, because it could not be compared.
pub(crate) fn failure_rate(cases: &BTreeMap<String, CaseRecord>) -> Metric {
    let per_case: BTreeMap<String, CaseValue> = cases
        .iter()
        .filter_map(|(name, case)| Some((name.clone(), of_case(case)?)))
        .collect();
    let mut all = Balanced::default();
    for case in per_case.values() {
        all.add(case.cells.iter().map(|(_, cell)| known(&cell.values)));
    }
    let values = per_case.values().flat_map(|case| case.cells.iter());
    let values = values.flat_map(|(_, cell)| known(&cell.values));
    let failed = values.filter(|value| *value > 0.0).count();
    let value = all.value().ok_or_else(|| "nothing was run".to_owned());
    let mut metric = Metric::new(value, all.samples(), failed)
        .of_family("evidence")
        .lower_is_better()
        .interval(ends(all.interval()));
    // If there was no measurement, the other figures of the run say so.
    metric.gated = !per_case.is_empty();
    metric.per_case = per_case.into();
    metric.is_failure_rate = true;
    metric
}

/// The failures of a case; none if the case was not run.
fn of_case(case: &CaseRecord) -> Option<CaseValue> {
    let unperturbed: Vec<Option<f64>> = case
        .baseline
        .iter()
        .chain(&case.replays)
        .map(|sample| Some(f64::from(u8::from(sample.failure.is_some()))))
        .collect();
    let mut cells = BTreeMap::from([(Arc::from(BASELINE), (case.input, unperturbed))]);
    for variant in &case.variants {
        cells.insert(
            variant.id.clone(),
            (variant.input, of_variant(case, variant)),
        );
    }
    let mut all = Balanced::default();
    all.add(cells.values().map(|(_, values)| known(values)));
    let rounds = cells.values().map(|(_, values)| values.len()).max();
    let repeats = (0..rounds.unwrap_or(0))
        .map(|round| {
            let values: Vec<f64> = cells
                .values()
                .filter_map(|(_, values)| *values.get(round)?)
                .collect();
            stats::mean(&values)
        })
        .collect();
    Some(CaseValue {
        value: Some(all.value()?),
        n: all.samples(),
        repeats,
        cells: cells
            .into_iter()
            .filter(|(_, (_, values))| !values.is_empty())
            .map(|(name, (input, values))| {
                let input = pair(case, &input);
                (
                    name,
                    Cell {
                        input,
                        values,
                        pairs: None,
                    },
                )
            })
            .collect(),
    })
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

fn of_variant(case: &CaseRecord, variant: &VariantRecord) -> Vec<Option<f64>> {
    let mut values: Vec<Option<f64>> = variant
        .samples
        .iter()
        .map(|sample| Some(f64::from(u8::from(sample.failure.is_some()))))
        .collect();
    let mut unperturbed = case.baseline.iter().chain(&case.replays);
    if unperturbed.all(|sample| sample.failure.is_some()) {
        values.resize(values.len().max(case.baseline.len()), Some(1.0));
    }
    values
}
