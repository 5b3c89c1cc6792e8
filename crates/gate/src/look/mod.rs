//! One look at one metric: is the head worse than the base by more than its noise explains?
//!
//! Everything is a loss: a bigger value is worse. The suite is fixed, so the noise that matters is
//! that of running it again, not that of drawing other cases.

mod between;
mod doubt;
mod draws;
mod noise;
mod paired;
mod usual;

pub(super) use between::are_kept_within;
pub(super) use doubt::{Doubt, doubts};
pub use draws::Draws;
pub(super) use paired::pair;

use paired::Paired;

/// Two losses this close are the same: no drop of a metric is told from rounding below it.
pub const GUARD: f64 = 1e-9;

/// How sure the upper bound is.
pub const UPPER_CONFIDENCE: f64 = 0.90;

/// Fewer cells than this per case, and one flip makes a case unstable or hides that it is: then
/// every case is re-run.
const FEW_CELLS: f64 = 3.0;

/// The power that the minimum detectable drop is stated for.
const POWER: f64 = 0.80;

/// One case as both sides saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// What both sides ran: the variants whose input was the same, or the case itself.
    pub cells: Vec<Cell>,
    /// How many samples of the metric each cell stands for; 1 where cells are variants.
    pub weight: f64,
    /// How many inputs are run with every repeat of it beside its own.
    pub variants: usize,
    /// Whether its own input can be repeated without the others, since every answer to it is compared with
    /// all of theirs.
    pub crosses: bool,
}

/// One cell on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// On the base.
    pub base: Draws,
    /// On the head.
    pub head: Draws,
}

impl Case {
    /// How often it was run on the head, failed or not.
    pub fn head_runs(&self) -> usize {
        self.cells
            .iter()
            .map(|cell| cell.head.runs())
            .max()
            .unwrap_or(0)
    }
}

/// Where the noise is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// The pipeline is declared deterministic: there is none.
    Declared,
    /// From the repeats; from the differences between cases where nothing was repeated.
    Repeats,
    /// From the differences between cases, whatever was repeated.
    Cases,
}

/// What a look is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// A drop beyond this is a regression; in the metric's own unit.
    pub max_drop: f64,
    /// No drop can be wider than this, whatever happens: the width of the metric's range; infinite where
    /// the range is open.
    pub widest: f64,
    /// The probability of a false alarm that this look may spend on all gated metrics together.
    pub alpha: f64,
    /// How many metrics are gated: each gets its share of alpha.
    pub gated: usize,
    /// Where the noise is read from.
    pub noise: Noise,
    /// The share of the cases that may have been lost.
    pub max_missing: f64,
}

/// What a look says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Worse, and not by noise.
    Regression,
    /// Not worse by more than is allowed.
    Pass,
    /// Neither can be said yet.
    Inconclusive,
}

/// Why it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The drop is beyond the limit and beyond its noise.
    Drop,
    /// The drop is bounded below the limit.
    Bounded,
    /// The drop is beyond the limit, but noise may explain it.
    Suspected,
    /// The drop is within the limit, but a larger one is not ruled out.
    Wide,
}

/// How the bounds came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The pipeline is declared deterministic.
    Declared,
    /// Both sides are equal, value by value.
    Identical,
    /// The repeats, none of which varied.
    Still,
    /// The variation between repeats.
    Repeats,
    /// The variation between cases, one run on each side.
    Cases,
}

/// What one look saw.
#[derive(Clone, Debug)]
pub struct Look {
    /// What it says.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// What the bounds rest on.
    pub basis: Basis,
    /// The mean loss of the base over the cells that both sides have.
    pub base: f64,
    /// The same of the head.
    pub head: f64,
    /// Head minus base: positive is worse.
    pub drop: f64,
    /// The drop is at least this, with confidence `1 - alpha`; none where nothing can be said.
    pub lower: Option<f64>,
    /// The drop is at most this, with confidence 0.90; none where nothing can be said.
    pub upper: Option<f64>,
    /// This metric's share of alpha, for the lower bound.
    pub alpha: f64,
    /// The smallest true drop that would be found four times in five; none where none would.
    pub detectable: Option<f64>,
    /// What one cell is worth.
    pub resolution: f64,
    /// How many cases were judged.
    pub cases: usize,
    /// How many cells they have.
    pub cells: usize,
    /// How many of the cases moved.
    pub moved: usize,
    /// What each case adds to the drop, by its place; 0 for a case that was not judged.
    pub shares: Vec<f64>,
    /// The places of all cases that both sides measured.
    pub judged: Vec<usize>,
    /// The places of the cases that moved or varied, or of all where a case has too few cells.
    pub unstable: Vec<usize>,
    /// The places of the cases that the base measured and the head did not.
    pub lost: Vec<usize>,
    /// The standard error of the drop; infinite where one case and one run tell nothing.
    pub error: f64,
    /// Most of that error is of cases that the base ran once: re-runs of the head hardly lessen it.
    pub rests_on_single_bases: bool,
    /// How far one stored report of the base is from another, as a standard deviation, where several serve as
    /// repeats and their own noise does not explain it.
    pub between_reports: Option<f64>,
    /// The part of the squared error that comes from that: no run beside a base that stays lessens it.
    pub fixed: f64,
    /// The drop is beyond the limit, and not without the cases of which the head has a single value.
    pub is_unconfirmed: bool,
}

/// Why there is nothing to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The base has no value either.
    Nothing,
    /// Too many cases that the base measured have no value on the head.
    Coverage {
        /// Their places.
        lost: Vec<usize>,
        /// How many the base measured.
        of: usize,
    },
}

impl Look {
    /// The cases to repeat before the next look; none once there is a verdict.
    #[cfg(test)]
    pub fn rerun(&self) -> &[usize] {
        match self.outcome {
            Outcome::Inconclusive => &self.unstable,
            Outcome::Regression | Outcome::Pass => &[],
        }
    }
}

/// Looks once.
///
/// # Errors
///
/// Where the metric was not measured on one side or the other, or in too few cases.
pub fn look(cases: &[Case], question: &Question) -> Result<Look, Unmeasured> {
    let (paired, lost) = pair(cases);
    let measured = paired.len() + lost.len();
    if measured == 0 {
        return Err(Unmeasured::Nothing);
    }
    if paired.is_empty() || lost.len() as f64 > question.max_missing * measured as f64 + GUARD {
        return Err(Unmeasured::Coverage { lost, of: measured });
    }
    let total: f64 = paired.iter().map(Paired::samples).sum();
    let mean = |loss: &dyn Fn(&Paired) -> f64| -> f64 {
        paired
            .iter()
            .map(|case| case.samples() / total * loss(case))
            .sum()
    };
    let drop = mean(&Paired::difference);
    let alpha = question.alpha / question.gated.max(1) as f64;
    let spread = noise::spread(&paired, total, drop, question.noise);
    let bounds = spread.bounds(drop, alpha);
    let moved = paired.iter().filter(|case| case.has_moved()).count();
    let beyond = drop > question.max_drop + GUARD;
    let regressed = beyond
        && bounds.lower.is_some_and(|lower| lower > GUARD)
        && drop - spread.rests_on_single_runs(&paired, total) > question.max_drop + GUARD;
    let enough = spread.basis != Basis::Cases || moved == 0 || paired.len() >= noise::FEW_CASES;
    let upper = bounds
        .upper
        .map(|upper| upper.min(question.widest.max(drop)));
    let is_allowed_whole = question.widest <= question.max_drop + GUARD;
    let bounded = is_allowed_whole
        || upper.is_some_and(|upper| upper <= question.max_drop + GUARD)
            && drop + spread.gained_on_single_runs(&paired, total) <= question.max_drop + GUARD;
    let (outcome, reason) = match () {
        () if regressed => (Outcome::Regression, Reason::Drop),
        () if bounded && enough => (Outcome::Pass, Reason::Bounded),
        () if beyond => (Outcome::Inconclusive, Reason::Suspected),
        () => (Outcome::Inconclusive, Reason::Wide),
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
        base: mean(&Paired::base),
        head: mean(&Paired::head),
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
        lost,
        error: spread.standard(),
        rests_on_single_bases: spread.rests_on_single_bases(),
        between_reports: spread.between_reports(),
        fixed: spread.fixed(),
        is_unconfirmed: beyond
            && drop - noise::lost_on_single_runs(&paired, total) <= question.max_drop + GUARD,
    })
}

#[cfg(test)]
mod tests;
