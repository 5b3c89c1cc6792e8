//! Computes the figures from the indicators.

use std::collections::BTreeMap;

use globset::{Glob, GlobSet};

use super::record::{CaseQuality, QualityBasis, QualityIndicators, QualityItem};
use super::score::{Band, Factor};
use super::scorer;
use kelvin_base::stats;
use kelvin_record::{CaseValue, Cell, Cells, Interval, Metric};

/// The family of all figures of this probe.
const ALL: &str = "quality";

/// The items, by the name of the case.
pub(super) type Items = BTreeMap<String, QualityItem>;

/// Computes the score of every invocation again; it depends only on the factors and the weights. Scores of a scorer
/// that this version does not have stay unchanged.
pub(super) fn score_all(items: &mut Items, basis: &QualityBasis) {
    let Some(scorer) = scorer::scorer(&basis.scorer) else {
        return;
    };
    for run in items.values_mut().flat_map(QualityItem::scored_mut) {
        run.quality_score = scorer::score(scorer, &basis.weights, &basis.factors, run);
    }
}

/// Every figure, by id.
pub(super) fn figures(items: &Items, basis: &QualityBasis) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    let mut put = |name: &str, metric: Metric| {
        metrics.insert(format!("{ALL}.{name}"), metric.of_family(ALL));
    };
    let score = |run: &QualityIndicators| run.quality_score;
    let mut of_all = of_cases(items, basis, &score, &|_| true);
    // A suite without any score has no figure, and must not pass because of that.
    of_all.gated = !items.is_empty();
    of_all.poor_below = Some(Band::REVIEW);
    put("quality_score", of_all);
    for factor in &basis.factors {
        let value = |run: &QualityIndicators| run.factor(*factor);
        let mut metric = of_cases(items, basis, &value, &|_| true);
        // The contract is required of every case; the other factors are a matter of degree.
        metric.is_declared = *factor == Factor::Conformance;
        put(factor.as_str(), metric);
    }
    for (group, globs) in &basis.groups {
        let globs = globs_of(globs);
        let mut metric = of_cases(items, basis, &score, &|case| globs.is_match(case));
        metric.poor_below = Some(Band::REVIEW);
        // The gate already pairs the cells of the case scores, from which this mean is made, so this metric has no
        // cells of its own.
        for case in metric.per_case.values_mut() {
            case.cells = Cells::default();
        }
        put(&format!("group.{group}"), metric);
    }
    let of_variants = |item: &QualityItem| -> Vec<Option<f64>> {
        let cases = item.probes.values();
        let runs = cases.flat_map(|case| case.variants.values()).flatten();
        runs.map(score).collect()
    };
    if let Some(metric) = apart(items, "no run of a variant has a score", &of_variants) {
        put("variants", metric);
    }
    let of_dry_runs =
        |item: &QualityItem| -> Vec<Option<f64>> { item.dry_runs.iter().map(score).collect() };
    if let Some(metric) = apart(items, "no recorded output has a score", &of_dry_runs) {
        put("dry_runs", metric);
    }
    metrics
}

/// The cases that some globs match. The globs were checked when the configuration was read.
pub(super) fn globs_of(globs: &[String]) -> GlobSet {
    let mut set = GlobSet::builder();
    for glob in globs.iter().filter_map(|glob| Glob::new(glob).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

/// Whether a case has fewer runs with a score than it needs in a probe.
pub(super) fn is_insufficient(case: &CaseQuality, basis: &QualityBasis) -> bool {
    scored(case) < basis.live_runs
}

/// How many runs of the unperturbed input have a score.
pub(super) fn scored(case: &CaseQuality) -> usize {
    let runs = case.runs.iter();
    runs.filter(|run| run.quality_score.is_some()).count()
}

/// The mean over the cases of the mean over their runs. A case with fewer runs than it needs has no value: otherwise a
/// pipeline that hides the tokens of its bad runs would remove these runs from its mean.
fn of_cases(
    items: &Items,
    basis: &QualityBasis,
    value: &dyn Fn(&QualityIndicators) -> Option<f64>,
    is_chosen: &dyn Fn(&str) -> bool,
) -> Metric {
    let mut per_case = BTreeMap::new();
    let mut clusters: Vec<(f64, usize)> = Vec::new();
    let (mut runs, mut without, mut insufficient) = (0, 0, 0);
    for (name, item) in items.iter().filter(|(name, _)| is_chosen(name)) {
        let mut cells = BTreeMap::new();
        let mut means = Vec::new();
        let mut repeats: Vec<Vec<f64>> = Vec::new();
        let mut of_case = 0;
        for (probe, case) in &item.probes {
            let Some(input) = case.input else { continue };
            let values: Vec<Option<f64>> = case.runs.iter().map(value).collect();
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            without += values.len() - known.len();
            let values = match known.len() < basis.live_runs {
                true => {
                    insufficient += 1;
                    vec![None; values.len()]
                }
                false => {
                    of_case += known.len();
                    means.extend(stats::mean(&known));
                    for (at, value) in values.iter().enumerate() {
                        if repeats.len() <= at {
                            repeats.push(Vec::new());
                        }
                        repeats[at].extend(value);
                    }
                    values
                }
            };
            cells.insert(
                probe.as_str().into(),
                Cell {
                    input,
                    values,
                    pairs: None,
                },
            );
        }
        if cells.is_empty() {
            continue;
        }
        runs += of_case;
        if !means.is_empty() {
            clusters.push((means.iter().sum(), means.len()));
        }
        let case = CaseValue {
            value: stats::mean(&means),
            n: of_case,
            repeats: repeats.iter().map(|values| stats::mean(values)).collect(),
            cells: cells.into(),
        };
        per_case.insert(name.clone(), case);
    }
    let count: usize = clusters.iter().map(|(_, n)| n).sum();
    let sum: f64 = clusters.iter().map(|(sum, _)| sum).sum();
    let value = match (count, per_case.is_empty()) {
        (0, true) => Err("no invocation was looked at".to_owned()),
        (0, false) => Err(format!(
            "insufficient: no case has {} live runs with a value",
            basis.live_runs
        )),
        (count, _) => Ok(sum / count as f64),
    };
    let interval = stats::clustered_interval(&clusters);
    let interval = interval.map(|(low, high)| Interval { low, high });
    let mut metric = Metric::new(value, runs, without.max(insufficient)).interval(interval);
    metric.per_case = per_case.into();
    metric
}

/// The mean over scores that do not contribute to the score of a case; none if there are none.
fn apart(
    items: &Items,
    why: &str,
    scores: &dyn Fn(&QualityItem) -> Vec<Option<f64>>,
) -> Option<Metric> {
    let mut clusters = Vec::new();
    let mut all = 0;
    for item in items.values() {
        let scores = scores(item);
        all += scores.len();
        let known: Vec<f64> = scores.into_iter().flatten().collect();
        if !known.is_empty() {
            clusters.push((known.iter().sum::<f64>(), known.len()));
        }
    }
    if all == 0 {
        return None;
    }
    let count: usize = clusters.iter().map(|(_, n)| n).sum();
    let sum: f64 = clusters.iter().map(|(sum, _)| sum).sum();
    let value = match count {
        0 => Err(why.to_owned()),
        count => Ok(sum / count as f64),
    };
    let interval = stats::clustered_interval(&clusters);
    let interval = interval.map(|(low, high)| Interval { low, high });
    Some(Metric::new(value, count, all - count).interval(interval))
}

/// The mean of every case with a score, the lowest first.
pub(super) fn scores(items: &Items, basis: &QualityBasis) -> Vec<(String, f64)> {
    let metric = of_cases(items, basis, &|run| run.quality_score, &|_| true);
    let cases = metric.per_case.into_iter();
    let mut scores: Vec<(String, f64)> = cases
        .filter_map(|(name, case)| Some((name, case.value?)))
        .collect();
    scores.sort_by(|(one, a), (other, b)| a.total_cmp(b).then_with(|| one.cmp(other)));
    scores
}

/// The factors of the score that the configuration leaves out.
pub(super) fn dropped(basis: &QualityBasis) -> Vec<Factor> {
    let is_dropped =
        |factor: &Factor| !basis.factors.contains(factor) && basis.weights.of(*factor) > 0.0;
    Factor::ALL.into_iter().filter(is_dropped).collect()
}
