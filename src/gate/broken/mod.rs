//! One case that broke completely: a mean hides it among fifty others, so it is looked for apart.
//!
//! The evidence is an e-value (Vovk and Wang, "E-values: calibration, combination and
//! applications", Annals of Statistics 49, 2021): how much better the runs of the case fit "it is
//! broken" than "it is its usual noise". It may be looked at after every run.

use super::look::{Case, GUARD, are_kept_within, pair};
use crate::stats::ln_beta;

/// A run that is worse than the base's median by this much is a bad one.
const BAD: f64 = 0.5;

/// Fewer base runs than this say too little of the case's own noise.
const FEWEST_BASE_RUNS: usize = 3;

/// A case is run up to so often.
const MOST_RUNS: usize = 8;

/// The probability of a false alarm over all cases of all gated metrics.
const ALPHA: f64 = 0.02;

/// How often the runs of a broken case are bad: a Beta with these parameters.
const BROKEN: (f64, f64) = (9.0, 1.0);

/// How many runs the noise of all cases together weighs in the expectation for one.
const PRIOR_WEIGHT: f64 = 6.0;

/// What a case gives rise to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Finding {
    /// Nothing: its first run is not that bad, or its further runs fit its noise.
    Clear,
    /// It must be run this often in all before more can be said.
    Rerun(usize),
    /// It is broken.
    Broken {
        /// How many of the runs were bad.
        bad: usize,
        /// How many runs there were.
        runs: usize,
    },
    /// It may be broken, and nothing more can be told: too few base runs, or enough of the head.
    Suspected {
        /// How many of the runs were bad.
        bad: usize,
        /// How many runs there were.
        runs: usize,
    },
}

/// What is usual in a suite: how often a run of an unchanged case is bad.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    /// The usual rate of bad runs.
    rate: f64,
    /// The logarithm of the e-value from which a case is called broken.
    enough: f64,
    /// The pipeline is declared deterministic: one run tells.
    deterministic: bool,
    /// Repeats are no runs of their own, as stored reports of the base show: nothing is certain.
    are_kept: bool,
}

/// The bad runs of a case on both sides.
struct Runs {
    base: usize,
    bad_base: usize,
    head: Vec<bool>,
}

impl Guard {
    /// Learns the usual noise from the base runs of all cases.
    pub(crate) fn of(cases: &[Case], gated: usize, deterministic: bool) -> Self {
        let (mut bad, mut runs, mut count) = (0, 0, 0_usize);
        for here in cases.iter().filter_map(Runs::of) {
            count += 1;
            if here.base >= FEWEST_BASE_RUNS {
                bad += here.bad_base;
                runs += here.base;
            }
        }
        let hypotheses = (count.max(1) * gated.max(1)) as f64;
        Self {
            // Half a bad run in one more: a rate of 0 would make the first bad run a certainty.
            rate: (bad as f64 + 0.5) / (runs as f64 + 1.0),
            enough: (hypotheses / ALPHA).ln(),
            deterministic,
            are_kept: are_kept_within(&pair(cases).0),
        }
    }

    /// Judges a case by the runs that there are. `may_rerun`: whether there can be more.
    pub(crate) fn judge(&self, case: &Case, may_rerun: bool) -> Finding {
        let Some(runs) = Runs::of(case) else {
            return Finding::Clear;
        };
        if runs.head.first() != Some(&true) {
            return Finding::Clear;
        }
        if self.deterministic {
            return Finding::Broken { bad: 1, runs: 1 };
        }
        let mut bad = 0;
        for (before, is_bad) in runs.head.iter().enumerate() {
            bad += usize::from(*is_bad);
            let log_e_value = self.log_e_value(&runs, bad, before + 1);
            if !self.are_kept && runs.base >= FEWEST_BASE_RUNS && log_e_value >= self.enough {
                return Finding::Broken {
                    bad,
                    runs: before + 1,
                };
            }
            if log_e_value < 0.0 {
                return Finding::Clear;
            }
        }
        let so_far = runs.head.len();
        // No more runs than could settle it, were they all bad.
        let settled = (so_far + 1..=MOST_RUNS)
            .find(|all| self.log_e_value(&runs, bad + all - so_far, *all) >= self.enough);
        match settled {
            Some(all)
                if may_rerun
                    && !self.are_kept
                    && runs.base >= FEWEST_BASE_RUNS
                    && case.head_runs() < all =>
            {
                Finding::Rerun(all)
            }
            _ => Finding::Suspected { bad, runs: so_far },
        }
    }

    /// The logarithm of the e-value of `bad` bad runs among `runs`: the ratio of two Beta-binomial
    /// likelihoods.
    fn log_e_value(&self, seen: &Runs, bad: usize, runs: usize) -> f64 {
        let (bad, good) = (bad as f64, (runs - bad) as f64);
        let likelihood = |(a, b): (f64, f64)| ln_beta(a + bad, b + good) - ln_beta(a, b);
        let usual = (
            PRIOR_WEIGHT * self.rate + seen.bad_base as f64,
            PRIOR_WEIGHT * (1.0 - self.rate) + (seen.base - seen.bad_base) as f64,
        );
        likelihood(BROKEN) - likelihood(usual)
    }
}

impl Runs {
    /// None where the case has no cell that both sides measured.
    fn of(case: &Case) -> Option<Self> {
        let (paired, _) = pair(std::slice::from_ref(case));
        let (base, head) = paired.first()?.sides();
        let usual = median(base.repeats());
        let is_bad = |loss: &f64| loss - usual >= BAD - GUARD;
        Some(Self {
            base: base.repeats().len(),
            bad_base: base.repeats().iter().filter(|loss| is_bad(loss)).count(),
            head: head.repeats().iter().map(is_bad).collect(),
        })
    }
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
