//! The rule for answers that are numbers: how many of the base's moves the head still makes.
//!
//! The loss of a type is the part of the base's squared distances that the head no longer follows, divided by the
//! squared distance between two cases. So the loss does not depend on the scale: a score from 640 to 740 is judged like
//! one from 0 to 1.

use super::look::{TypeFigures, WholeSuite, Won};
use super::noise::SHRINK;
use super::{LossLimit, SuiteRules, SuiteSide, SwapSuite};
use crate::look::GUARD;

/// A loss beyond the limit counts only if it is more than this many standard errors above 0, and also if it is computed
/// from the squares alone.
const RED_Z: f64 = 3.5;
const SQUARES_Z: f64 = 2.0;

/// How many standard errors are added to a loss before it is compared with the limit.
const BOUND_Z: f64 = 2.05;

/// A swap counts as moving the decision if its answer and the answer to its case are at least this many standard errors
/// apart.
const MOVED_Z: f64 = 3.3;

/// A factor this close to 1 counts as 1.
const SNAP: f64 = 0.15;

/// With noise, a type is followed if this many swaps moved the decision; without noise, one is enough.
const MOVED_BY_MORE_THAN_LUCK: usize = 3;

/// The factor for the squared error of a sum from which its noise was subtracted, since the errors are not independent.
const CAREFUL: f64 = 1.5;

/// The numbers of one side.
struct Numbers {
    /// The mean of each case's own answers.
    own: Vec<f64>,
    /// The variance of that mean.
    own_variance: Vec<f64>,
    /// The distance of each swap from its case.
    moved: Vec<f64>,
    /// The variance of that distance.
    variance: Vec<f64>,
    /// Numbers that are at most this far apart are the same.
    tiny: f64,
}

impl Numbers {
    fn of(side: &SuiteSide<f64>, suite: &SwapSuite) -> Self {
        let own: Vec<f64> = side.own.iter().map(|own| mean(own)).collect();
        let swaps: Vec<f64> = side.swaps.iter().map(|answers| mean(answers)).collect();
        let (mut squares, mut freedom): (Vec<f64>, Vec<f64>) = side
            .own
            .iter()
            .zip(&own)
            .map(|(answers, mean)| (spread(answers, *mean), answers.len() as f64 - 1.0))
            .unzip();
        for ((item, answers), mean) in suite.items.iter().zip(&side.swaps).zip(&swaps) {
            squares[item.case] += spread(answers, *mean);
            freedom[item.case] += answers.len() as f64 - 1.0;
        }
        let pooled = squares.iter().sum::<f64>() / freedom.iter().sum::<f64>().max(1.0);
        let largest = own.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
        let tiny = (largest * 1e-9 + 1e-12).powi(2);
        let of_one: Vec<f64> = squares
            .iter()
            .zip(&freedom)
            .map(|(squares, freedom)| match pooled < tiny {
                true => 0.0,
                false => (squares + SHRINK * pooled) / (freedom + SHRINK),
            })
            .collect();
        let own_variance: Vec<f64> = of_one
            .iter()
            .zip(&side.own)
            .map(|(variance, answers)| variance / answers.len() as f64)
            .collect();
        let items = suite.items.iter().zip(&side.swaps);
        let variance = items
            .map(|(item, answers)| {
                of_one[item.case] / answers.len().max(1) as f64 + own_variance[item.case]
            })
            .collect();
        let moved = suite.items.iter().zip(&swaps);
        Self {
            moved: moved.map(|(item, swap)| swap - own[item.case]).collect(),
            own,
            own_variance,
            variance,
            tiny: tiny.sqrt(),
        }
    }

    /// The same numbers, with the distances of the swaps divided by a factor.
    fn scaled(mut self, by: f64) -> Self {
        self.moved.iter_mut().for_each(|moved| *moved /= by);
        self.variance
            .iter_mut()
            .for_each(|variance| *variance /= by * by);
        self
    }

    /// The distance of each swap's donor from its case.
    fn to_donors(&self, suite: &SwapSuite) -> Vec<f64> {
        let items = suite.items.iter();
        let apart = items.filter_map(|item| Some(self.own[item.donor?] - self.own[item.case]));
        apart.collect()
    }

    fn is_noisy(&self) -> bool {
        self.variance.iter().any(|variance| *variance > 0.0)
    }
}

/// One look at answers that are numbers.
pub(super) fn judge(
    suite: &SwapSuite,
    (base, head): (&SuiteSide<f64>, &SuiteSide<f64>),
    rules: &SuiteRules<'_>,
) -> (Vec<TypeFigures>, WholeSuite) {
    let before = Numbers::of(base, suite);
    let after = Numbers::of(head, suite);
    let scale = common_scale(&before, &after, suite);
    let after = after.scaled(scale);
    let to_donors = before.to_donors(suite);
    let own_noise = mean(&before.own_variance);
    let far = mean_of(to_donors.iter().map(|apart| apart * apart)) - 2.0 * own_noise;
    let least = 6.0 * own_noise / (before.own.len() as f64).sqrt();
    let is_clear = far > least.max(before.tiny * before.tiny);
    let types = 0..suite.types.len();
    let types = types
        .map(|of_type| {
            let places: Vec<usize> = suite.of_type(of_type);
            let pick = |all: &[f64]| -> Vec<f64> { places.iter().map(|at| all[*at]).collect() };
            let part = TypeSwaps {
                x: pick(&before.moved),
                y: pick(&after.moved),
                a: pick(&before.variance),
                b: pick(&after.variance),
                far: if is_clear { far } else { f64::INFINITY },
                tiny: (before.tiny, after.tiny),
                may_pass: rules.is_exact || !before.is_noisy() || head.draws >= 2,
            };
            let cases = places.iter().map(|at| suite.items[*at].case).collect();
            part.figures(cases, rules.max_drop[of_type], is_clear)
        })
        .collect();
    let widest = after.own_variance.iter();
    let widest = widest.fold(0.0_f64, |most, one| most.max(*one));
    let whole = WholeSuite {
        is_noisy: before.is_noisy() || after.is_noisy(),
        lost_cells: 0.0,
        is_constant_head: width(&after.own) <= after.tiny.max(4.0 * widest.sqrt()),
        is_constant_base: width(&before.own) <= before.tiny,
        tells: vec![true; suite.types.len()],
        may_be_idle: vec![false; suite.types.len()],
        unsettled: (vec![true; suite.items.len()], vec![true; suite.items.len()]),
        doubtful: vec![true; suite.items.len()],
        unsteady: Vec::new(),
    };
    (types, whole)
}

/// The swaps of one type.
struct TypeSwaps {
    /// The distances between the answers to the swaps and the answers to their cases, on the base and on the head.
    x: Vec<f64>,
    y: Vec<f64>,
    /// The variances of these distances.
    a: Vec<f64>,
    b: Vec<f64>,
    /// The mean squared distance between a case and a donor.
    far: f64,
    tiny: (f64, f64),
    may_pass: bool,
}

impl TypeSwaps {
    fn sum(&self, of: impl Fn(f64, f64, f64, f64) -> f64) -> f64 {
        let all = self.x.iter().zip(&self.y).zip(self.a.iter().zip(&self.b));
        all.map(|((x, y), (a, b))| of(*x, *y, *a, *b)).sum()
    }

    fn figures(&self, cases: Vec<usize>, max_drop: LossLimit, is_clear: bool) -> TypeFigures {
        let n = self.x.len();
        let unit = n as f64 * self.far;
        // The part of the base's moves that the head does not make, and the same computed from the squares alone.
        let cross = self.sum(|x, y, a, _| x * (x - y) - a) / unit;
        let squares = self.sum(|x, y, a, b| x * x - a - y * y + b) / unit;
        let cross_error = self.sum(|x, _, a, b| {
            let d = (x * x - a).max(0.0);
            d * (a + b) + a * (a + b) + a * a
        });
        let cross_error = (cross_error * CAREFUL).sqrt() / unit;
        let squares_error = self.sum(|x, y, a, b| {
            let (d, h) = ((x * x - a).max(0.0), (y * y - b).max(0.0));
            4.0 * d * a + 2.0 * a * a + 4.0 * h * b + 2.0 * b * b
        });
        let squares_error = (squares_error * CAREFUL).sqrt() / unit;
        let had = (self.sum(|x, _, a, _| x * x - a) / unit).max(0.0);
        let has = (self.sum(|_, y, _, b| y * y - b) / unit).max(0.0);
        let limit = max_drop.of(had);
        let moved = |moved: &[f64], variance: &[f64], tiny: f64| -> Vec<bool> {
            let all = moved.iter().zip(variance);
            all.map(|(moved, variance)| moved.abs() > MOVED_Z * variance.sqrt() + tiny)
                .collect()
        };
        let before = moved(&self.x, &self.a, self.tiny.0);
        let after = moved(&self.y, &self.b, self.tiny.1);
        let count = |moved: &[bool]| moved.iter().filter(|moved| **moved).count();
        let enough = match self.a.iter().any(|variance| *variance > 0.0) {
            true => MOVED_BY_MORE_THAN_LUCK,
            false => 1,
        };
        let mut firm_cases: Vec<usize> = cases
            .iter()
            .zip(&before)
            .filter(|(_, moved)| **moved)
            .map(|(case, _)| *case)
            .collect();
        firm_cases.dedup();
        let z = |value: f64, error: f64| match error > 1e-12 {
            true => value / error,
            false if value > GUARD => 99.0,
            false if value < -GUARD => -99.0,
            false => 0.0,
        };
        let upper = (cross + BOUND_Z * cross_error).min(squares + BOUND_Z * squares_error);
        let dropped = cross > limit + GUARD
            && squares > limit + GUARD
            && z(cross, cross_error) > RED_Z
            && z(squares, squares_error) > SQUARES_Z;
        let rises = -squares > limit + GUARD && z(-squares, squares_error) > RED_Z;
        TypeFigures {
            swaps: n,
            moved_base: count(&before),
            moved_head: count(&after),
            firm: count(&before) as f64,
            firm_cases: firm_cases.len(),
            had,
            has,
            drop: squares,
            limit,
            is_followed_base: is_clear && count(&before) >= enough,
            is_followed_head: count(&after) >= enough,
            still: 0.0,
            likely_loss: None,
            is_dropped: dropped,
            is_kept: upper <= limit + GUARD && self.may_pass,
            rises,
            won: Won::Numbers {
                squares,
                error: squares_error,
            },
        }
    }
}

impl SwapSuite {
    /// The indices of the items of a type.
    pub(super) fn of_type(&self, of_type: usize) -> Vec<usize> {
        let items = self.items.iter().enumerate();
        let of_type = items.filter(|(_, item)| item.of_type == of_type);
        of_type.map(|(place, _)| place).collect()
    }
}

/// The factor by which all own answers of the head differ, estimated from the differences between cases; 1 if there is
/// no such factor.
fn common_scale(base: &Numbers, head: &Numbers, suite: &SwapSuite) -> f64 {
    let (before, after) = (base.to_donors(suite), head.to_donors(suite));
    let least = (5.0 * mean(&base.own_variance).sqrt()).max(base.tiny);
    let far = before
        .iter()
        .zip(&after)
        .filter(|(before, _)| before.abs() > least);
    let mut ratios: Vec<f64> = far.map(|(before, after)| after / before).collect();
    if ratios.len() < 8 {
        return 1.0;
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&ratios, share));
    if (high - low).abs() > 0.5 * middle.abs() || middle.abs() < 1e-9 {
        return 1.0;
    }
    match (middle.abs() - 1.0).abs() < SNAP {
        true => middle.signum(),
        false => middle,
    }
}

/// A quantile of sorted values, by linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied())
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), one| (sum + one, count + 1));
    if count == 0 {
        0.0
    } else {
        sum / f64::from(count)
    }
}

fn spread(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn width(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high - low
}
