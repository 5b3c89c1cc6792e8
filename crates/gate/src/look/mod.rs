//! Makes one look at one metric: is the head worse than the base by more than its noise explains?
//!
//! Every value is a loss: a larger value is worse. The suite is fixed, so the relevant noise is the noise of running
//! the same suite again, not of drawing other cases.

mod between;
mod doubt;
mod draws;
mod exact;
mod noise;
mod paired;
mod usual;

pub(super) use between::are_kept_within;
pub(super) use doubt::{ErrorShare, doubts};
pub use draws::Draws;
pub(super) use exact::chance;
pub(super) use paired::{Paired, pair};

/// Two losses that differ by at most this count as equal, because a smaller drop may be a rounding error.
pub const GUARD: f64 = 1e-9;

/// The confidence of the upper bound.
pub(crate) const UPPER_CONFIDENCE: f64 = 0.90;

/// With fewer cells per case than this, a single changed answer makes a case look unstable or hides that it is, so
/// every case is run again.
const FEW_CELLS: f64 = 3.0;

/// The statistical power for which the minimum detectable drop is computed.
const POWER: f64 = 0.80;

/// A case with the values of both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedCase {
    /// The cells that both sides ran: the variants with the same input, or the case itself.
    pub cells: Vec<PairedCell>,
    /// How many samples of the metric each cell stands for; 1 if cells are variants.
    pub weight: f64,
    /// How many inputs are run in every repeat of the case, besides its own input.
    pub variants: usize,
    /// Whether the own input can be repeated without the variants, because every answer to it is compared with all
    /// answers to them.
    pub crosses: bool,
}

/// One cell on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedCell {
    /// The values of the base.
    pub base: Draws,
    /// The values of the head.
    pub head: Draws,
}

impl PairedCase {
    /// How often the cell was run on the head, including failed runs.
    pub fn head_runs(&self) -> usize {
        self.cells
            .iter()
            .map(|cell| cell.head.runs())
            .max()
            .unwrap_or(0)
    }
}

/// The source of the estimate of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// There is no noise: the pipeline is declared deterministic.
    Declared,
    /// The noise comes from the repeats or, without any repeats, from the differences between cases.
    Repeats,
    /// The differences between cases, even if there are repeats.
    Cases,
}

/// The parameters of a look.
#[derive(Clone, Copy, Debug)]
pub struct LookSettings {
    /// The limit of the drop, in the metric's own unit. A larger drop is a regression.
    pub max_drop: f64,
    /// The largest possible drop: the width of the metric's range, which is infinite if the range is open.
    pub widest: f64,
    /// The probability of a false alarm that this look may use for all gated metrics together.
    pub alpha: f64,
    /// How many metrics are gated: each gets its share of alpha.
    pub gated: usize,
    /// The source of the estimate of noise.
    pub noise: Noise,
    /// The share of the cases that may be lost.
    pub max_missing: f64,
}

/// The outcome of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookOutcome {
    /// The head is worse, and noise does not explain it.
    Regression,
    /// The head is not worse by more than is allowed.
    Pass,
    /// It is not certain yet whether the head is worse.
    Inconclusive,
}

/// The reason for the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookReason {
    /// The drop is beyond the limit and beyond its noise.
    Drop,
    /// The upper bound of the drop is below the limit.
    Bounded,
    /// The drop is beyond the limit, but noise may explain it.
    Suspected,
    /// The drop is within the limit, but a larger drop cannot be excluded.
    Wide,
}

/// The source of the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundsSource {
    /// The pipeline is declared deterministic.
    Declared,
    /// All values of both sides are equal.
    Identical,
    /// There are repeats, but their values did not vary.
    Still,
    /// The variation between repeats.
    Repeats,
    /// The variation between cases, with one run on each side.
    Cases,
}

/// The result of one look.
#[derive(Clone, Debug)]
pub struct Look {
    /// The outcome.
    pub outcome: LookOutcome,
    /// The reason for the outcome.
    pub reason: LookReason,
    /// The source of the bounds.
    pub basis: BoundsSource,
    /// The mean loss of the base over the cells that both sides have.
    pub base: f64,
    /// The mean loss of the head over the cells that both sides have.
    pub head: f64,
    /// Head minus base: positive is worse.
    pub drop: f64,
    /// The drop is at least this, with confidence `1 - alpha`; none if no bound is known.
    pub lower: Option<f64>,
    /// The drop is at most this, with confidence 0.90; none if no bound is known.
    pub upper: Option<f64>,
    /// The share of alpha that this metric may use, for the lower bound.
    pub alpha: f64,
    /// The smallest true drop that would be detected four times in five; none if no drop would be.
    pub detectable: Option<f64>,
    /// The change of the mean when one cell changes.
    pub resolution: f64,
    /// How many cases were judged.
    pub cases: usize,
    /// How many cells the judged cases have.
    pub cells: usize,
    /// How many of the cases moved.
    pub moved: usize,
    /// The contribution of each case to the drop, by index; 0 for a case that was not judged.
    pub shares: Vec<f64>,
    /// The indices of all cases that both sides measured.
    pub judged: Vec<usize>,
    /// The indices of the cases that moved or varied, or of all cases if a case has too few cells.
    pub unstable: Vec<usize>,
    /// The standard error of the drop; infinite if there is only one case and one run, from which no conclusion is
    /// possible.
    pub error: f64,
    /// The degrees of freedom of the error's t distribution.
    pub freedom: f64,
    /// Whether most of the error comes from cases that the base ran once: then re-runs of the head hardly reduce it.
    pub rests_on_single_bases: bool,
    /// How far one stored report of the base differs from another, as a standard deviation, if several serve as repeats
    /// and their own noise does not explain the difference.
    pub between_reports: Option<f64>,
    /// The part of the squared error that comes from this difference: running only the head again does not reduce it.
    pub fixed: f64,
    /// Whether the drop exceeds the limit only because of cases for which the head has a single value.
    pub is_unconfirmed: bool,
    /// The probability that such a drop occurs by chance, if there were only single runs and the metric requires that
    /// test.
    pub chance: Option<f64>,
}

/// Why a look is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The base has no value either.
    Nothing,
    /// Too many cases that the base measured have no value on the head.
    Coverage {
        /// The indices of these cases.
        lost: Vec<usize>,
        /// How many cases the base measured.
        of: usize,
    },
}

impl Look {
    /// The cases to repeat before the next look; none once there is a verdict.
    #[cfg(test)]
    pub fn rerun(&self) -> &[usize] {
        match self.outcome {
            LookOutcome::Inconclusive => &self.unstable,
            LookOutcome::Regression | LookOutcome::Pass => &[],
        }
    }
}

/// The mean loss of the base and that of the head, over the cells that both sides have; none if there are none.
pub fn means(cases: &[PairedCase]) -> Option<(f64, f64)> {
    let (paired, _) = pair(cases);
    (!paired.is_empty()).then(|| (mean(&paired, Paired::base), mean(&paired, Paired::head)))
}

fn mean(paired: &[Paired], loss: impl Fn(&Paired) -> f64) -> f64 {
    let total: f64 = paired.iter().map(Paired::samples).sum();
    let losses = paired
        .iter()
        .map(|case| case.samples() / total * loss(case));
    losses.sum()
}

/// Makes one look.
///
/// # Errors
///
/// Fails if the metric was not measured on one of the sides, or in too few cases.
pub fn look(cases: &[PairedCase], question: &LookSettings) -> Result<Look, Unmeasured> {
    let (paired, lost) = pair(cases);
    let measured = paired.len() + lost.len();
    if measured == 0 {
        return Err(Unmeasured::Nothing);
    }
    if paired.is_empty() || lost.len() as f64 > question.max_missing * measured as f64 + GUARD {
        return Err(Unmeasured::Coverage { lost, of: measured });
    }
    let total: f64 = paired.iter().map(Paired::samples).sum();
    let drop = mean(&paired, Paired::difference);
    let alpha = question.alpha / question.gated.max(1) as f64;
    let spread = noise::spread(&paired, total, drop, question.noise);
    let bounds = spread.bounds(drop, alpha);
    let moved = paired.iter().filter(|case| case.has_moved()).count();
    let beyond = drop > question.max_drop + GUARD;
    let regressed = beyond
        && bounds.lower.is_some_and(|lower| lower > GUARD)
        && drop - spread.rests_on_single_runs(&paired, total) > question.max_drop + GUARD;
    let enough =
        spread.basis != BoundsSource::Cases || moved == 0 || paired.len() >= noise::FEW_CASES;
    let upper = bounds
        .upper
        .map(|upper| upper.min(question.widest.max(drop)));
    let is_allowed_whole = question.widest <= question.max_drop + GUARD;
    let bounded = is_allowed_whole
        || upper.is_some_and(|upper| upper <= question.max_drop + GUARD)
            && drop + spread.gained_on_single_runs(&paired, total) <= question.max_drop + GUARD;
    let (outcome, reason) = match () {
        () if regressed => (LookOutcome::Regression, LookReason::Drop),
        () if bounded && enough => (LookOutcome::Pass, LookReason::Bounded),
        () if beyond => (LookOutcome::Inconclusive, LookReason::Suspected),
        () => (LookOutcome::Inconclusive, LookReason::Wide),
    };
    let cells: usize = paired.iter().map(Paired::cells).sum();
    let few = (cells as f64) < FEW_CELLS * paired.len() as f64;
    let mut shares = vec![0.0; cases.len()];
    for case in &paired {
        shares[case.place()] = case.samples() / total * case.difference();
    }
    Ok(Look {
        outcome,
        reason,
        basis: spread.basis,
        base: mean(&paired, Paired::base),
        head: mean(&paired, Paired::head),
        drop,
        lower: bounds.lower,
        upper,
        alpha,
        detectable: spread.detectable(question, alpha),
        resolution: paired.iter().map(Paired::weight).fold(0.0, f64::max) / total,
        cases: paired.len(),
        cells,
        moved,
        shares,
        judged: paired.iter().map(Paired::place).collect(),
        unstable: paired
            .iter()
            .filter(|case| few || case.is_unstable())
            .map(Paired::place)
            .collect(),
        error: spread.standard(),
        freedom: spread.freedom(),
        rests_on_single_bases: spread.rests_on_single_bases(),
        between_reports: spread.between_reports(),
        fixed: spread.fixed(),
        is_unconfirmed: beyond
            && drop - noise::lost_on_single_runs(&paired, total) <= question.max_drop + GUARD,
        chance: None,
    })
}

#[cfg(test)]
mod tests;
