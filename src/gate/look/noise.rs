//! How far a drop may be off: its standard error, and the bounds that follow.

use super::paired::Paired;
use super::{Basis, Noise, POWER, Question, UPPER_CONFIDENCE};
use crate::stats;

/// Fewer cases than this, with one run on each side, can move and still tell nothing.
pub(super) const FEW_CASES: usize = 5;

/// What stands in for alpha in the minimum detectable drop at a look that spends none: the share
/// that the next looks would have.
const NEXT_ALPHA: f64 = 0.03;

/// How far a drop may be off.
pub(super) struct Spread {
    /// What that is known from.
    pub(super) basis: Basis,
    /// How far all of it may be off.
    whole: Error,
    /// What cases lost of which each side has a single value, where it is repeats that tell: their
    /// re-runs failed, or came from answers that the pipeline keeps.
    unrepeated: f64,
    /// How far the rest may be off.
    rest: Error,
}

/// How far a mean may be off.
#[derive(Clone, Copy)]
struct Error {
    /// The standard error; infinite where one case and one run each tell nothing.
    standard: f64,
    /// The degrees of freedom of its t distribution, at least 1.
    freedom: f64,
}

/// The ends of what the drop may be; none where that is unbounded.
pub(super) struct Bounds {
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

/// The spread of a drop over `total` samples.
pub(super) fn spread(cases: &[Paired], total: f64, drop: f64, noise: Noise) -> Spread {
    let repeated = cases.iter().any(|case| {
        let (base, head) = case.sides();
        base.variance().is_some() || head.variance().is_some()
    });
    let of = |basis, whole| Spread {
        basis,
        whole,
        unrepeated: 0.0,
        rest: whole,
    };
    match noise {
        _ if cases.iter().all(Paired::is_identical) => of(Basis::Identical, Error::NONE),
        Noise::Declared => of(Basis::Declared, Error::NONE),
        Noise::Repeats if repeated => between_repeats(cases, total),
        Noise::Repeats | Noise::Cases => of(Basis::Cases, between_cases(cases, total, drop)),
    }
}

fn between_repeats(cases: &[Paired], total: f64) -> Spread {
    let whole = within(cases.iter(), total);
    let is_unrepeated = |case: &&Paired| is_single(case) && case.sides().0.runs() < 2.0;
    Spread {
        basis: match whole.standard > 0.0 {
            true => Basis::Repeats,
            false => Basis::Still,
        },
        whole,
        unrepeated: lost(cases.iter().filter(is_unrepeated), total),
        rest: within(cases.iter().filter(|case| !is_unrepeated(case)), total),
    }
}

/// The variances within the cases add up; the degrees of freedom are those of Welch, "The
/// generalization of Student's problem", Biometrika 34 (1947), and Satterthwaite (1946).
fn within<'a>(cases: impl Iterator<Item = &'a Paired>, total: f64) -> Error {
    let (mut variance, mut squares) = (0.0, 0.0);
    for case in cases {
        let share = (case.samples() / total).powi(2);
        for (term, freedom) in terms(case) {
            variance += share * term;
            squares += (share * term).powi(2) / freedom;
        }
    }
    Error {
        standard: variance.sqrt(),
        freedom: if squares > 0.0 {
            (variance * variance / squares).max(1.0)
        } else {
            1.0
        },
    }
}

/// The variance of a case's difference, in independent parts with their degrees of freedom.
fn terms(case: &Paired) -> Vec<(f64, f64)> {
    let (base, head) = case.sides();
    let both_runs = 1.0 / base.runs() + 1.0 / head.runs();
    match (base.variance(), head.variance()) {
        (Some(of_base), Some(of_head)) => vec![
            (of_base / base.runs(), base.runs() - 1.0),
            (of_head / head.runs(), head.runs() - 1.0),
        ],
        // A side with one run borrows the other's variance: one estimate, used twice.
        (Some(of_base), None) => vec![(of_base * both_runs, base.runs() - 1.0)],
        (None, Some(of_head)) => vec![(of_head * both_runs, head.runs() - 1.0)],
        // It was not run again. The squared difference is what noise alone would make it on average.
        (None, None) if case.has_moved() => vec![(case.difference().powi(2), 1.0)],
        (None, None) => Vec::new(),
    }
}

/// The variance between the cases (Cochran, "Sampling Techniques", 1977, section 6.4): all that one
/// run on each side tells.
fn between_cases(cases: &[Paired], total: f64, drop: f64) -> Error {
    let n = cases.len() as f64;
    let squares: f64 = cases
        .iter()
        .map(|case| (case.samples() / total * (case.difference() - drop)).powi(2))
        .sum();
    let still = cases.iter().all(|case| !case.has_moved());
    let standard = match () {
        () if still => 0.0,
        () if cases.len() < 2 => f64::INFINITY,
        () => (n / (n - 1.0) * squares).sqrt(),
    };
    Error {
        standard,
        freedom: (n - 1.0).max(1.0),
    }
}

/// What cases with a single value on the head add to the drop.
pub(super) fn lost_on_single_runs(cases: &[Paired], total: f64) -> f64 {
    lost(cases.iter().filter(|case| is_single(case)), total)
}

/// What cases add to the drop that got worse.
fn lost<'a>(cases: impl Iterator<Item = &'a Paired>, total: f64) -> f64 {
    cases
        .map(|case| (case.samples() / total * case.difference()).max(0.0))
        .sum()
}

/// Whether the head has a single value of a case.
fn is_single(case: &Paired) -> bool {
    case.sides().1.runs() < 2.0
}

impl Spread {
    /// Lower at confidence `1 - alpha`, upper at 0.90.
    pub(super) fn bounds(&self, drop: f64, alpha: f64) -> Bounds {
        // A look that may spend nothing says nothing of the lower end, but of a declared pipeline.
        let lower = match () {
            () if self.basis == Basis::Declared => Some(drop),
            () if alpha <= 0.0 => None,
            // How much of a difference between two single runs is luck nobody knows. So none of it
            // counts as a drop, and it does not hide what repeats confirm.
            () => Some(drop - self.unrepeated - self.rest.off(alpha)),
        };
        let finite = |bound: &f64| bound.is_finite();
        Bounds {
            lower: lower.filter(finite),
            upper: Some(drop + self.whole.off(1.0 - UPPER_CONFIDENCE)).filter(finite),
        }
    }

    /// The true drop that is found with the power of four times in five: it must pass the limit
    /// and its noise, and then fall short of neither by bad luck.
    pub(super) fn detectable(&self, question: &Question, alpha: f64) -> Option<f64> {
        let alpha = if alpha > 0.0 {
            alpha
        } else {
            NEXT_ALPHA / question.gated.max(1) as f64
        };
        let least = question.max_drop.max(self.whole.off(alpha)) + self.whole.off(1.0 - POWER);
        Some(least).filter(|least| least.is_finite())
    }

    /// The part of the drop that rests on one run of the head alone, where it is repeats that tell:
    /// cases whose re-run failed. No regression may rest on it.
    pub(super) fn rests_on_single_runs(&self, cases: &[Paired], total: f64) -> f64 {
        if !matches!(self.basis, Basis::Still | Basis::Repeats) {
            return 0.0;
        }
        lost_on_single_runs(cases, total)
    }

    /// What cases gained, as a positive number, against one run of the base alone: by chance that run
    /// may have been worse than the base is. No pass may rest on it.
    pub(super) fn gained_on_single_runs(&self, cases: &[Paired], total: f64) -> f64 {
        if !matches!(self.basis, Basis::Still | Basis::Repeats) {
            return 0.0;
        }
        cases
            .iter()
            .filter(|case| case.sides().0.runs() < 2.0)
            .map(|case| (-case.samples() / total * case.difference()).max(0.0))
            .sum()
    }
}

impl Error {
    const NONE: Self = Self {
        standard: 0.0,
        freedom: 1.0,
    };

    /// How far off the mean may be on one side, with probability `1 - alpha`.
    fn off(&self, alpha: f64) -> f64 {
        if self.standard == 0.0 {
            return 0.0;
        }
        stats::t_upper_quantile(alpha, self.freedom) * self.standard
    }
}
