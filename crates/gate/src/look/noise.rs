//! The uncertainty of a drop: its standard error, and the bounds that follow from it.

use super::between::Between;
use super::paired::Paired;
use super::usual::Usual;
use super::{BoundsSource, LookSettings, Noise, POWER, UPPER_CONFIDENCE};
use kelvin_base::stats;

/// With one run on each side and fewer cases than this, a metric in which a case moved cannot pass.
pub(super) const FEW_CASES: usize = 5;

/// At a look that uses no alpha, the minimum detectable drop is computed with this alpha: the share that the next looks
/// would have.
const NEXT_ALPHA: f64 = 0.03;

/// The uncertainty of a drop.
pub(super) struct DropSpread {
    /// The source of the estimate.
    pub(super) basis: BoundsSource,
    /// The uncertainty of the whole drop.
    whole: MeanError,
    /// The standard error of the cases that the base ran once; re-runs of the head cannot reduce it.
    of_single_bases: f64,
    /// The loss of cases with a single value on each side, if the noise is estimated from repeats: their re-runs
    /// failed, or their answers came from the pipeline's own cache.
    unrepeated: f64,
    /// The uncertainty of the rest of the drop.
    rest: MeanError,
    /// How far stored reports of the base differ; additional runs do not reduce this part.
    between: Option<Between>,
}

/// The uncertainty of a mean.
#[derive(Clone, Copy)]
struct MeanError {
    /// The standard error; infinite if there is only one case and one run on each side, from which no conclusion is
    /// possible.
    standard: f64,
    /// The degrees of freedom of its t distribution, at least 1.
    freedom: f64,
}

/// The bounds of the drop; none if it is unbounded.
pub(super) struct Bounds {
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

/// The uncertainty of a drop over `total` samples.
pub(super) fn spread(cases: &[Paired], total: f64, drop: f64, noise: Noise) -> DropSpread {
    let of = |basis, whole| DropSpread {
        basis,
        whole,
        of_single_bases: 0.0,
        unrepeated: 0.0,
        rest: whole,
        between: None,
    };
    let spread = match noise {
        _ if cases.iter().all(Paired::is_identical) => of(BoundsSource::Identical, MeanError::NONE),
        Noise::Declared => of(BoundsSource::Declared, MeanError::NONE),
        Noise::Repeats if is_repeated(cases) => between_repeats(cases, total),
        Noise::Repeats | Noise::Cases => of(BoundsSource::Cases, between_cases(cases, total, drop)),
    };
    match (noise, Between::of(cases, total)) {
        (Noise::Repeats | Noise::Cases, Some(between)) => spread.wider_by(between),
        _ => spread,
    }
}

fn is_repeated(cases: &[Paired]) -> bool {
    cases.iter().any(|case| {
        let (base, head) = case.sides();
        !base.is_single() || !head.is_single()
    })
}

fn between_repeats(cases: &[Paired], total: f64) -> DropSpread {
    let usual = Usual::of(cases);
    let whole = within(&usual, cases.iter(), total);
    let is_unrepeated = |case: &&Paired| is_single(case) && case.sides().0.is_single();
    let is_base_single = |case: &&Paired| case.sides().0.is_single();
    DropSpread {
        basis: match cases.iter().any(varies_in_repeats) {
            true => BoundsSource::Repeats,
            false => BoundsSource::Still,
        },
        whole,
        of_single_bases: within(&usual, cases.iter().filter(is_base_single), total).standard,
        unrepeated: lost(cases.iter().filter(is_unrepeated), total),
        rest: within(
            &usual,
            cases.iter().filter(|case| !is_unrepeated(case)),
            total,
        ),
        between: None,
    }
}

fn varies_in_repeats(case: &Paired) -> bool {
    let (base, head) = case.sides();
    base.varies() || head.varies()
}

/// The variances within the cases add up; the degrees of freedom are those of Welch, "The
/// generalization of Student's problem", Biometrika 34 (1947), and Satterthwaite (1946).
fn within<'a>(usual: &Usual, cases: impl Iterator<Item = &'a Paired>, total: f64) -> MeanError {
    let (mut variance, mut squares) = (0.0, 0.0);
    for case in cases {
        let share = (case.samples() / total).powi(2);
        for (term, freedom) in usual.terms(case) {
            variance += share * term;
            squares += (share * term).powi(2) / freedom;
        }
    }
    MeanError {
        standard: variance.sqrt(),
        freedom: if squares > 0.0 {
            (variance * variance / squares).max(1.0)
        } else {
            1.0
        },
    }
}

/// The variance between the cases (Cochran, "Sampling Techniques", 1977, section 6.4), the only estimate with one
/// run on each side.
fn between_cases(cases: &[Paired], total: f64, drop: f64) -> MeanError {
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
    MeanError {
        standard,
        freedom: (n - 1.0).max(1.0),
    }
}

/// The contribution to the drop of cases with a single value on the head.
pub(super) fn lost_on_single_runs(cases: &[Paired], total: f64) -> f64 {
    lost(cases.iter().filter(|case| is_single(case)), total)
}

/// The contribution to the drop of the cases that got worse.
fn lost<'a>(cases: impl Iterator<Item = &'a Paired>, total: f64) -> f64 {
    cases
        .map(|case| (case.samples() / total * case.difference()).max(0.0))
        .sum()
}

/// Whether the head has a single value for a case.
fn is_single(case: &Paired) -> bool {
    case.sides().1.is_single()
}

impl DropSpread {
    /// Increases the uncertainty if the reports of the base differ more than their own noise explains.
    fn wider_by(self, between: Between) -> Self {
        Self {
            whole: self.whole.and(between.term()),
            rest: self.rest.and(between.term()),
            between: Some(between),
            ..self
        }
    }

    /// How far one stored report of the base differs from another, if their own noise does not explain it.
    pub(super) fn between_reports(&self) -> Option<f64> {
        self.between.map(Between::deviation)
    }

    /// The part of the difference between stored reports in the squared error.
    pub(super) fn fixed(&self) -> f64 {
        self.between.map_or(0.0, |between| between.term().0)
    }

    /// The lower bound at confidence `1 - alpha`, and the upper bound at 0.90.
    pub(super) fn bounds(&self, drop: f64, alpha: f64) -> Bounds {
        // A look that may use no alpha has no lower bound, except for a pipeline that is declared deterministic.
        let lower = match () {
            () if self.basis == BoundsSource::Declared => Some(drop),
            () if alpha <= 0.0 => None,
            // It is not known how much of a difference between two single runs is due to chance. So the difference does
            // not count as a drop, but it does not hide a drop that repeats confirm.
            () => Some(drop - self.unrepeated - self.rest.off(alpha)),
        };
        let finite = |bound: &f64| bound.is_finite();
        Bounds {
            lower: lower.filter(finite),
            upper: Some(drop + self.whole.off(1.0 - UPPER_CONFIDENCE)).filter(finite),
        }
    }

    /// Whether most of the error comes from cases that the base ran once.
    pub(super) fn rests_on_single_bases(&self) -> bool {
        2.0 * self.of_single_bases * self.of_single_bases > self.whole.standard.powi(2)
    }

    /// The standard error of the whole drop.
    pub(super) const fn standard(&self) -> f64 {
        self.whole.standard
    }

    /// The degrees of freedom of the standard error.
    pub(super) const fn freedom(&self) -> f64 {
        self.whole.freedom
    }

    /// The true drop that is detected with a power of four in five: it must exceed the limit and its noise, even with
    /// bad luck.
    pub(super) fn detectable(&self, question: &LookSettings, alpha: f64) -> Option<f64> {
        let alpha = if alpha > 0.0 {
            alpha
        } else {
            NEXT_ALPHA / question.gated.max(1) as f64
        };
        let least = question.max_drop.max(self.whole.off(alpha)) + self.whole.off(1.0 - POWER);
        Some(least).filter(|least| least.is_finite())
    }

    /// The part of the drop from cases with a single run of the head, if the noise is estimated from repeats: their
    /// re-run failed. No regression may depend on this part.
    pub(super) fn rests_on_single_runs(&self, cases: &[Paired], total: f64) -> f64 {
        if !matches!(self.basis, BoundsSource::Still | BoundsSource::Repeats) {
            return 0.0;
        }
        lost_on_single_runs(cases, total)
    }

    /// The gain of cases with a single run of the base, as a positive number: by chance, that run may have been worse
    /// than the base usually is. No pass may depend on this gain.
    ///
    /// If the repeats of the head vary, as the grades of a judge do in every case, the usual noise of the case is
    /// known, and the upper bound already includes it. So only the part of a gain above one standard error counts. If
    /// all of it counted, the noise of the lucky half of the cases would be counted twice, and hardly any suite of
    /// noisy grades could pass. A head that never varied says nothing about the luck of the base, so its whole gain
    /// counts.
    pub(super) fn gained_on_single_runs(&self, cases: &[Paired], total: f64) -> f64 {
        if !matches!(self.basis, BoundsSource::Still | BoundsSource::Repeats) {
            return 0.0;
        }
        let usual = Usual::of(cases);
        let explained = |case: &Paired| match case.sides().1.varies() {
            true => {
                let variance = usual.terms(case).iter().map(|(term, _)| term).sum::<f64>();
                variance.sqrt()
            }
            false => 0.0,
        };
        cases
            .iter()
            .filter(|case| case.sides().0.is_single())
            .map(|case| case.samples() / total * (-case.difference() - explained(case)).max(0.0))
            .sum()
    }
}

impl MeanError {
    const NONE: Self = Self {
        standard: 0.0,
        freedom: 1.0,
    };

    /// Adds one more independent part, with its variance and degrees of freedom, by the formula of Welch and
    /// Satterthwaite.
    fn and(self, (variance, freedom): (f64, f64)) -> Self {
        let own = self.standard * self.standard;
        let all = own + variance;
        let squares = own * own / self.freedom + variance * variance / freedom;
        Self {
            standard: all.sqrt(),
            freedom: match squares > 0.0 && squares.is_finite() {
                true => (all * all / squares).max(1.0),
                false => self.freedom,
            },
        }
    }

    /// The margin of error of the mean on one side, with probability `1 - alpha`.
    fn off(&self, alpha: f64) -> f64 {
        if self.standard == 0.0 {
            return 0.0;
        }
        stats::t_upper_quantile(alpha, self.freedom) * self.standard
    }
}
