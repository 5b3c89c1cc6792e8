//! How far stored reports of the same code differ beyond their own noise: the service behind a pipeline may answer
//! differently from one day to another, or the pipeline may cache its answers for the duration of a report.
//!
//! Each report is a draw of a random effect (one-way random effects). The variance between reports is estimated by the
//! unweighted moment estimator of Hedges and Olkin, "Statistical Methods for Meta-Analysis" (1985), section 9.4, with
//! which DerSimonian and Laird, "Meta-analysis in clinical trials" (1986), compare theirs: the variance between the
//! means of the reports, minus the mean contribution of the noise within them; 0 if that is negative. It is computed
//! twice: for the whole suite, and for each case separately.

use super::GUARD;
use super::paired::{OfReport, Paired};

/// Fewer reports cannot show how far reports differ.
const FEWEST: usize = 3;

/// If repeats within a report explain less than this share of the distance between the cases of two reports, the
/// pipeline seems to cache its answers for the duration of a report.
const SHARE_OF_REPEATS: f64 = 0.5;

/// How far one report differs from another, beyond its own noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    /// The variance of the suite's mean loss between reports.
    variance: f64,
    /// How many reports contribute to the mean of the base.
    reports: f64,
}

/// A case that every report has measured.
struct Whole {
    share: f64,
    reports: Vec<OfReport>,
}

impl Between {
    /// Computes the effect for cases over `total` samples; none if the base has fewer than three reports, or if the
    /// noise within them explains their differences.
    pub(super) fn of(cases: &[Paired], total: f64) -> Option<Self> {
        let (whole, count) = whole(cases, total)?;
        let variance = of_suite(&whole, count).max(0.0) + of_cases(&whole).max(0.0);
        (variance > GUARD * GUARD).then_some(Self {
            variance,
            reports: count as f64,
        })
    }

    /// The contribution of this effect to the variance of a drop, with its degrees of freedom: the head comes from
    /// another day, and the base is the mean over as many days as there are reports.
    pub(super) fn term(self) -> (f64, f64) {
        let days = 1.0 + 1.0 / self.reports;
        (self.variance * days, self.reports - 1.0)
    }

    /// The standard deviation between one report and another.
    pub(super) fn deviation(self) -> f64 {
        self.variance.sqrt()
    }
}

/// Whether repeats within a report hardly vary although reports differ: then repeats are not independent runs.
pub(crate) fn are_kept_within(cases: &[Paired]) -> bool {
    let total: f64 = cases.iter().map(Paired::samples).sum();
    let Some((whole, _)) = whole(cases, total) else {
        return false;
    };
    let has_repeats = |case: &&Whole| case.reports.iter().any(|report| report.noise.is_some());
    let alone: f64 = whole.iter().filter(has_repeats).map(Whole::alone).sum();
    alone > 0.0 && of_cases(&whole) > (1.0 - SHARE_OF_REPEATS) * alone
}

/// The cases that every report has measured, and the number of reports.
fn whole(cases: &[Paired], total: f64) -> Option<(Vec<Whole>, usize)> {
    let counts = cases.iter().map(|case| case.sides().0.by_report().len());
    let count = counts.max().filter(|count| *count >= FEWEST)?;
    // If a report lacks a case, that case would change the mean of only that report.
    let whole = cases.iter().filter_map(|case| {
        let reports: Option<Vec<OfReport>> = case.sides().0.by_report().iter().copied().collect();
        Some(Whole {
            share: case.samples() / total,
            reports: reports.filter(|reports| reports.len() == count)?,
        })
    });
    Some((whole.collect(), count))
}

/// The effect that moves all cases together: the variance between the means of the suite, minus the part from cases
/// that move separately. A common move is contained in that part too, with the square of each share.
fn of_suite(cases: &[Whole], count: usize) -> f64 {
    let of_report = |report: usize| -> f64 {
        let shares = cases
            .iter()
            .map(|case| case.share * case.reports[report].mean);
        shares.sum()
    };
    let together = variance((0..count).map(of_report));
    let alone: f64 = cases.iter().map(Whole::alone).sum();
    let squares: f64 = cases.iter().map(|case| case.share.powi(2)).sum();
    match squares < 1.0 {
        true => (together - alone) / (1.0 - squares),
        false => 0.0,
    }
}

/// The effect that moves each case separately from report to report, but not within a report; 0 if no report has
/// repeats.
fn of_cases(cases: &[Whole]) -> f64 {
    let beyond = cases.iter().filter_map(|case| {
        let noise: Vec<f64> = case
            .reports
            .iter()
            .filter_map(|report| report.noise)
            .collect();
        let within = noise.iter().sum::<f64>() / noise.len() as f64;
        (!noise.is_empty()).then(|| case.alone() - case.share.powi(2) * within)
    });
    beyond.sum()
}

impl Whole {
    /// The contribution of the case to the variance of the suite's mean between reports, if no other case moves with
    /// it.
    fn alone(&self) -> f64 {
        let means = self.reports.iter().map(|report| report.mean);
        self.share.powi(2) * variance(means)
    }
}

/// The variance between values.
fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)
}
