//! Finds single cases that broke completely: the mean over fifty cases does not show one such case.
//!
//! The evidence is an e-value (Vovk and Wang, "E-values: calibration, combination and applications", Annals of
//! Statistics 49, 2021): the ratio of how well two hypotheses explain the runs of the case, namely that it is broken,
//! and that there is only its usual noise. It may be computed after every run. If no case can be run again, the
//! evidence of all cases is combined (`together`).

mod together;

use super::look::{GUARD, PairedCase, are_kept_within, pair};
use kelvin_base::stats::ln_beta;

/// A run is bad if it is worse than the base's median by at least this share of the scale of the metric.
const BAD: f64 = 0.5;

/// Fewer base runs than this say too little about the noise of the case.
pub(super) const FEWEST_BASE_RUNS: usize = 3;

/// The maximum number of runs of a case. At a noise of 0.15, one case of two hundred needs this many runs.
const MOST_RUNS: usize = 12;

/// The probability of a false alarm over all cases of all gated metrics.
pub(super) const ALPHA: f64 = 0.02;

/// The probability of a false alarm when a case is reported as possibly broken.
const ALPHA_OF_DOUBT: f64 = 0.05;

/// The parameters of a Beta distribution for the share of bad runs of a broken case.
const BROKEN: (f64, f64) = (9.0, 1.0);

/// How many runs the noise of all cases counts as in the estimate for one case.
const PRIOR_WEIGHT: f64 = 6.0;

/// The finding for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BrokenFinding {
    /// The case is not broken: its first run is not bad enough, or its later runs are explained by noise.
    Clear,
    /// The case must be run this often in total before more can be said.
    Rerun(usize),
    /// The case is broken.
    Broken {
        /// How many of the runs were bad.
        bad: usize,
        /// How many runs there were.
        runs: usize,
    },
    /// The case may be broken, but this cannot be decided: there are too few base runs, or the head was run often
    /// enough.
    Suspected {
        /// How many of the runs were bad.
        bad: usize,
        /// How many runs there were.
        runs: usize,
    },
}

/// The requirement for the cases of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The scale of the metric, computed by [`scale`].
    pub scale: f64,
    /// Whether the configuration requires the metric of every case: then one good run shows that the base met it.
    pub is_declared: bool,
    /// Whether the values come from ranks: a change from rank 1 to 2 halves a reciprocal rank, but the case is not
    /// broken. With ranks, a run is bad only if it has the worst value, and no case counts as broken for certain.
    pub by_rank: bool,
}

impl Default for Demand {
    /// The demand for a metric that is a share from 0 to 1 and that the configuration does not require of every item.
    fn default() -> Self {
        Self {
            scale: 1.0,
            is_declared: false,
            by_rank: false,
        }
    }
}

/// The distance between the best and the worst value of a metric. If its range is open, that is 1 if all values are
/// between 0 and 1, and infinite otherwise: nobody can say how many seconds are half of the scale, so no case breaks
/// because of them.
pub fn scale(cases: &[PairedCase], widest: f64) -> f64 {
    if widest.is_finite() {
        return widest;
    }
    let cells = cases.iter().flat_map(|case| &case.cells);
    let mut losses = cells.flat_map(|cell| cell.base.values.iter().chain(&cell.head.values));
    match losses.all(|loss| loss.is_none_or(|loss| (-GUARD..=1.0 + GUARD).contains(&loss))) {
        true => 1.0,
        false => f64::INFINITY,
    }
}

/// The usual noise in a suite: how often a run of an unchanged case is bad.
#[derive(Clone, Copy, Debug)]
pub struct UsualBreaks {
    /// The usual rate of bad runs.
    rate: f64,
    /// The logarithm of the e-value from which a case counts as broken.
    enough: f64,
    /// Whether the pipeline is declared deterministic: then one run is enough.
    deterministic: bool,
    /// How many metrics are gated.
    gated: usize,
    /// Whether stored reports of the base show that repeats are not independent runs: then no result is certain.
    are_kept: bool,
    /// The logarithm of the e-value from which a case is reported as possibly broken.
    doubtful: f64,
    demand: Demand,
}

/// The bad runs of a case on both sides.
struct BadRuns {
    base: usize,
    bad_base: usize,
    head: Vec<bool>,
    /// Whether the head gave no value at all but the base gave one.
    is_unanswered: bool,
    /// Whether the first run of the head is better than the base by as much as a bad run is worse.
    is_better: bool,
}

impl UsualBreaks {
    /// Estimates the usual noise from the base runs of all cases.
    pub fn of(cases: &[PairedCase], gated: usize, (deterministic, demand): (bool, Demand)) -> Self {
        let (mut bad, mut runs, mut count) = (0, 0, 0_usize);
        for here in cases.iter().filter_map(|case| BadRuns::of(case, demand)) {
            count += 1;
            // If the base of a case was not repeated, it counts whether the case got better, since noise makes as many
            // cases better as worse.
            let (is_bad, of) = match here.base >= FEWEST_BASE_RUNS {
                true => (here.bad_base, here.base),
                false => (usize::from(here.is_better), 1),
            };
            bad += is_bad;
            runs += of;
        }
        let hypotheses = (count.max(1) * gated.max(1)) as f64;
        Self {
            // One additional run counts as half bad: a rate of 0 would turn the first bad run into a certainty.
            rate: (bad as f64 + 0.5) / (runs as f64 + 1.0),
            enough: (hypotheses / ALPHA).ln(),
            doubtful: (hypotheses / ALPHA_OF_DOUBT).ln(),
            demand,
            gated: gated.max(1),
            deterministic,
            are_kept: are_kept_within(&pair(cases).0),
        }
    }

    /// Judges a case by the runs so far. `may_rerun`: whether more runs are possible.
    pub fn judge(&self, case: &PairedCase, may_rerun: bool) -> BrokenFinding {
        let Some(runs) = BadRuns::of(case, self.demand) else {
            return BrokenFinding::Clear;
        };
        if runs.head.first() != Some(&true) {
            return BrokenFinding::Clear;
        }
        // The rows with one name may be sorted in a file, the bad ones first on both sides. So a conclusion from the
        // first runs of a case has to agree with all of its runs.
        let all_bad = runs.head.iter().filter(|is_bad| **is_bad).count();
        let all_runs = runs.head.len();
        if all_bad * runs.base <= runs.bad_base * all_runs {
            return BrokenFinding::Clear;
        }
        if self.deterministic {
            return BrokenFinding::Broken { bad: 1, runs: 1 };
        }
        if self.log_e_value(&runs, all_bad, all_runs) < 0.0 {
            return BrokenFinding::Clear;
        }
        let is_known = !self.are_kept && !self.lacks_base_runs(&runs);
        let may_be_certain = is_known && !self.demand.by_rank;
        let mut bad = 0;
        let mut so_sure = f64::NEG_INFINITY;
        for (before, is_bad) in runs.head.iter().enumerate() {
            bad += usize::from(*is_bad);
            let log_e_value = self.log_e_value(&runs, bad, before + 1);
            so_sure = log_e_value;
            if may_be_certain && log_e_value >= self.enough {
                return BrokenFinding::Broken {
                    bad: all_bad,
                    runs: all_runs,
                };
            }
            if log_e_value < 0.0 {
                return BrokenFinding::Clear;
            }
        }
        let so_far = runs.head.len();
        // Requests no more runs than would be enough if all of them were bad.
        let settled = (so_far + 1..=MOST_RUNS)
            .find(|all| self.log_e_value(&runs, bad + all - so_far, *all) >= self.enough);
        match settled {
            // Failed runs count as runs: repeating them gives no value.
            Some(all) if may_rerun && is_known && case.head_runs() < all => {
                BrokenFinding::Rerun(all)
            }
            _ if so_sure >= self.doubtful => BrokenFinding::Suspected { bad, runs: so_far },
            _ => BrokenFinding::Clear,
        }
    }

    /// Whether a case may be broken, and more runs of the base would tell.
    pub(crate) fn wants_base_runs(&self, case: &PairedCase) -> bool {
        let runs = BadRuns::of(case, self.demand).filter(|runs| runs.head.first() == Some(&true));
        runs.is_some_and(|runs| {
            let bad = runs.head.iter().filter(|is_bad| **is_bad).count();
            !self.are_kept
                && self.lacks_base_runs(&runs)
                && self.log_e_value(&runs, bad, runs.head.len()) >= 0.0
        })
    }

    /// Whether the base was run too seldom to say that a case broke. After one good run, it is known that the base met
    /// the requirements of the configuration, and that it gave an answer.
    const fn lacks_base_runs(&self, runs: &BadRuns) -> bool {
        let is_demanded = self.demand.is_declared || runs.is_unanswered;
        runs.base < if is_demanded { 1 } else { FEWEST_BASE_RUNS }
    }

    /// The logarithm of the e-value of `bad` bad runs among `runs`: the ratio of two Beta-binomial
    /// likelihoods.
    fn log_e_value(&self, seen: &BadRuns, bad: usize, runs: usize) -> f64 {
        let (bad, good) = (bad as f64, (runs - bad) as f64);
        let likelihood = |(a, b): (f64, f64)| ln_beta(a + bad, b + good) - ln_beta(a, b);
        let usual = (
            PRIOR_WEIGHT * self.rate + seen.bad_base as f64,
            PRIOR_WEIGHT * (1.0 - self.rate) + (seen.base - seen.bad_base) as f64,
        );
        likelihood(BROKEN) - likelihood(usual)
    }
}

impl BadRuns {
    /// None if the base has no value. A run of the head without a value is bad.
    fn of(case: &PairedCase, demand: Demand) -> Option<Self> {
        let (paired, lost) = pair(std::slice::from_ref(case));
        let Some(paired) = paired.first() else {
            let unanswered = Self::unanswered(case, demand);
            return unanswered.filter(|_| !lost.is_empty());
        };
        let (base, head) = paired.sides();
        let usual = median(base.repeats());
        let is_bad = |loss: &f64| match demand.by_rank {
            true => *loss >= 1.0 - GUARD && usual < 1.0 - GUARD,
            false => loss - usual >= BAD * demand.scale - GUARD,
        };
        let is_better = match (demand.by_rank, head.repeats().first()) {
            (true, Some(loss)) => usual >= 1.0 - GUARD && *loss < 1.0 - GUARD,
            (false, Some(loss)) => usual - loss >= BAD * demand.scale - GUARD,
            (_, None) => false,
        };
        Some(Self {
            base: base.repeats().len(),
            bad_base: base.repeats().iter().filter(|loss| is_bad(loss)).count(),
            head: head.repeats().iter().map(is_bad).collect(),
            is_unanswered: false,
            is_better,
        })
    }

    /// The runs of a case without any value on the head.
    fn unanswered(case: &PairedCase, demand: Demand) -> Option<Self> {
        let base = case.cells.iter().map(|cell| cell.base.runs()).max()?;
        // A value from ranks is missing if there were no hits to rank, which is reported as a failure.
        (!demand.by_rank).then(|| Self {
            base,
            bad_base: 0,
            head: vec![true; case.head_runs().max(1)],
            is_unanswered: true,
            is_better: false,
        })
    }
}

/// Whether the head gave no value at all but the base gave one.
pub(super) fn is_unanswered(case: &PairedCase) -> bool {
    let (paired, lost) = pair(std::slice::from_ref(case));
    paired.is_empty() && !lost.is_empty()
}

fn median(losses: &[f64]) -> f64 {
    let mut sorted = losses.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

#[cfg(test)]
mod tests;
