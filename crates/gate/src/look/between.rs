//! How far stored reports of the same code are apart beyond what their own noise explains: from one day to
//! another the service behind a pipeline may answer otherwise, or the pipeline keeps its answers for as long
//! as a report takes.
//!
//! Each report is a draw of a random effect (one-way random effects). A variance between reports is the moment
//! estimator without weights of Hedges and Olkin, "Statistical Methods for Meta-Analysis" (1985), section 9.4,
//! which DerSimonian and Laird, "Meta-analysis in clinical trials" (1986), set beside theirs: the variance
//! between the means of the reports, less the mean of what noise within them makes of it; 0 where that is
//! negative. It is taken twice: of the suite as a whole, and of the cases each by itself.

use super::GUARD;
use super::paired::{OfReport, Paired};

/// Fewer reports tell nothing of how far they are apart.
const FEWEST: usize = 3;

/// Where repeats within a report explain less than this share of how far its cases are from those of another,
/// the pipeline seems to keep its answers for as long as a report takes.
const SHARE_OF_REPEATS: f64 = 0.5;

/// How far one report is from another, beyond its own noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    /// The variance of the mean loss of the suite from report to report.
    variance: f64,
    /// How many reports the mean of the base is made of.
    reports: f64,
}

/// A case that every report has.
struct Whole {
    share: f64,
    reports: Vec<OfReport>,
}

impl Between {
    /// Of cases over `total` samples; none where the base is of fewer than three reports, or where what is
    /// within them explains how far they are apart.
    pub(super) fn of(cases: &[Paired], total: f64) -> Option<Self> {
        let (whole, count) = whole(cases, total)?;
        let variance = of_suite(&whole, count).max(0.0) + of_cases(&whole).max(0.0);
        (variance > GUARD * GUARD).then_some(Self {
            variance,
            reports: count as f64,
        })
    }

    /// What it adds to the variance of a drop, with its degrees of freedom: the head is of a day of its own,
    /// the base the mean of as many days as there are reports.
    pub(super) fn term(self) -> (f64, f64) {
        let days = 1.0 + 1.0 / self.reports;
        (self.variance * days, self.reports - 1.0)
    }

    /// The standard deviation of one report from another.
    pub(super) fn deviation(self) -> f64 {
        self.variance.sqrt()
    }
}

/// Whether repeats within a report hardly vary where reports differ: then they are no runs of their own.
pub(crate) fn are_kept_within(cases: &[Paired]) -> bool {
    let total: f64 = cases.iter().map(Paired::samples).sum();
    let Some((whole, _)) = whole(cases, total) else {
        return false;
    };
    let has_repeats = |case: &&Whole| case.reports.iter().any(|report| report.noise.is_some());
    let alone: f64 = whole.iter().filter(has_repeats).map(Whole::alone).sum();
    alone > 0.0 && of_cases(&whole) > (1.0 - SHARE_OF_REPEATS) * alone
}

/// The cases that every report has, and how many reports there are.
fn whole(cases: &[Paired], total: f64) -> Option<(Vec<Whole>, usize)> {
    let counts = cases.iter().map(|case| case.sides().0.by_report().len());
    let count = counts.max().filter(|count| *count >= FEWEST)?;
    // A case that a report lacks would move the mean of that report alone.
    let whole = cases.iter().filter_map(|case| {
        let reports: Option<Vec<OfReport>> = case.sides().0.by_report().iter().copied().collect();
        Some(Whole {
            share: case.samples() / total,
            reports: reports.filter(|reports| reports.len() == count)?,
        })
    });
    Some((whole.collect(), count))
}

/// What moves all cases together: the variance between the means of the suite, less what the cases make of it
/// that each move by themselves. A move of all is in those too, with the square of each share.
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

/// What moves each case by itself from report to report, and not within one; nothing where no report has
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
    /// What it adds to the variance of the suite's mean from report to report, if no other case moves with it.
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
