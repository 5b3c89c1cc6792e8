//! Where a series of values changes its level, told from noise without a word about what the noise is like.
//!
//! For each place at which a series can be cut, Student's statistic compares the mean before with the mean after; the
//! largest of them, over all places, is the statistic of the series (Hawkins, "Testing a sequence of observations for a
//! shift in location", JASA 72, 1977). How large it is by chance is told by the same runs in other orders: where nothing
//! has changed each order is as likely as any other (Antoch and Huskova, "Permutation tests in change point analysis",
//! Statistics and Probability Letters 53, 2001). Several series of the same runs are tested together, by the smallest share
//! of orders that any of them has in an order (Westfall and Young, "Resampling-Based Multiple Testing", 1993), so that the
//! bound holds for all of them at once. Within a series that has changed the parts before and after are searched in the
//! same way (Vostrikova, "Detecting disorder in multidimensional random processes", 1981).

use crate::digest::Digest;
use crate::draw::Draw;

/// So many runs there are at least on each side. With one, each bad run would be a change.
const LEAST_RUNS: usize = 2;
/// The fewest and the most orders that the one that was found is compared with. A series can be told from so many others
/// only where there are many orders for each of them.
const ORDERS: (usize, usize) = (999, 9_999);
const ORDERS_OF_A_SERIES: usize = 40;
/// Two statistics that differ by less are the same, added up in another order.
const SAME: f64 = 1e-6;
/// What a variance is at least. Where nothing varies on either side, a statistic would have no bound.
const LEAST_VARIANCE: f64 = 1e-12;

/// A place at which a series changes its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// The first value after it.
    pub(super) at: usize,
    /// The part of the series that it was found in, and the end of that part.
    pub(super) part: (usize, usize),
    /// Whether a line through that part is nearer to its values than the two levels are.
    pub(super) is_gradual: bool,
}

/// The places at which each series changes its level. At most this share of all lists of series that do not change has
/// any. A series has a value, or none, for each run.
pub(super) fn splits(series: &[Vec<Option<f64>>], alpha: f64) -> Vec<Vec<Split>> {
    let runs = series.iter().map(Vec::len).max().unwrap_or(0);
    let known = |of: &Vec<Option<f64>>| of.iter().flatten().copied().collect::<Vec<f64>>();
    // What has always the same value has nothing to tell by chance either.
    let may_change = |of: &Vec<f64>| {
        of.len() >= 2 * LEAST_RUNS && of.iter().any(|value| (value - of[0]).abs() > SAME)
    };
    let testable: Vec<usize> = (0..series.len())
        .filter(|at| may_change(&known(&series[*at])))
        .collect();
    let mut found = vec![Vec::new(); series.len()];
    let wanted = ORDERS_OF_A_SERIES * testable.len();
    let orders = orders(runs, wanted.clamp(ORDERS.0, ORDERS.1));
    let shares: Vec<Vec<f64>> = testable
        .iter()
        .map(|at| shares(&series[*at], &orders))
        .collect();
    let smallest: Vec<f64> = (0..orders.len())
        .map(|order| {
            let each = shares.iter().map(|own| own[order]);
            each.fold(1.0, f64::min)
        })
        .collect();
    for (at, own) in testable.iter().zip(&shares) {
        let as_small = smallest.iter().filter(|other| **other <= own[0] + SAME);
        if as_small.count() as f64 <= alpha * orders.len() as f64 + SAME {
            let values = known(&series[*at]);
            cut(&values, (0, values.len()), None, &mut found[*at]);
            found[*at].sort_by_key(|split| split.at);
        }
    }
    found
}

/// Cuts a part that has changed, and then its parts. `alpha`: none where it is known already that it has changed.
fn cut(values: &[f64], part: (usize, usize), alpha: Option<f64>, found: &mut Vec<Split>) {
    /// Within a series that has changed a part is searched by itself.
    const OF_A_PART: f64 = 0.05;
    let own = &values[part.0..part.1];
    let Some((_, at)) = statistic(own) else {
        return;
    };
    if let Some(alpha) = alpha {
        let series: Vec<Option<f64>> = own.iter().copied().map(Some).collect();
        if shares(&series, &orders(own.len(), ORDERS.0))[0] > alpha + SAME {
            return;
        }
    }
    found.push(Split {
        at: part.0 + at,
        part,
        is_gradual: of_a_line(own) < of_levels(own, at),
    });
    let at = part.0 + at;
    for part in [(part.0, at), (at, part.1)] {
        cut(values, part, Some(OF_A_PART), found);
    }
}

/// For each order the share of orders whose statistic is at least as large.
fn shares(series: &[Option<f64>], orders: &[Vec<usize>]) -> Vec<f64> {
    let statistics: Vec<f64> = orders
        .iter()
        .map(|order| {
            let values = order.iter().filter_map(|at| *series.get(*at)?);
            let values: Vec<f64> = values.collect();
            statistic(&values).map_or(0.0, |(statistic, _)| statistic)
        })
        .collect();
    let mut sorted = statistics.clone();
    sorted.sort_by(f64::total_cmp);
    statistics
        .iter()
        .map(|own| {
            let smaller = sorted.partition_point(|other| *other < own * (1.0 - SAME));
            (sorted.len() - smaller) as f64 / sorted.len() as f64
        })
        .collect()
}

/// The order that was found, and others by chance; the same ones for the same number of runs.
fn orders(runs: usize, count: usize) -> Vec<Vec<usize>> {
    let mut draw = Draw::of(Digest::of(format!("kelvin/split/v1 {runs}").as_bytes()));
    let found: Vec<usize> = (0..runs).collect();
    let mut orders = vec![found.clone()];
    for _ in 0..count {
        let mut order = found.clone();
        draw.shuffle(&mut order);
        orders.push(order);
    }
    orders
}

/// The largest statistic of two means, and the first value after the place where it is.
fn statistic(values: &[f64]) -> Option<(f64, usize)> {
    let count = values.len();
    if count < 2 * LEAST_RUNS {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let mut best: Option<(f64, usize)> = None;
    let mut sum = 0.0;
    for at in 1..=count - LEAST_RUNS {
        sum += values[at - 1] - mean;
        if at < LEAST_RUNS {
            continue;
        }
        let (old, new) = (at as f64, (count - at) as f64);
        // Deviations from the mean add up to zero, so those after the place are those before it with another sign.
        let apart = sum / old + sum / new;
        let between = apart.powi(2) * old * new / count as f64;
        let variance = ((squares - between) / (count as f64 - 2.0)).max(LEAST_VARIANCE);
        let statistic = apart.abs() / (variance * (1.0 / old + 1.0 / new)).sqrt();
        if best.is_none_or(|(known, _)| statistic > known * (1.0 + SAME)) {
            best = Some((statistic, at));
        }
    }
    best
}

/// The sum of the squared distances to the two levels.
fn of_levels(values: &[f64], at: usize) -> f64 {
    let of = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
    };
    of(&values[..at]) + of(&values[at..])
}

/// The sum of the squared distances to the line of least squares.
fn of_a_line(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
    let each = || {
        values
            .iter()
            .enumerate()
            .map(|(at, value)| (at as f64 - middle, value - mean))
    };
    let (across, along) = each().fold((0.0, 0.0), |(across, along), (x, y)| {
        (across + x * y, along + x * x)
    });
    let slope = if along > 0.0 { across / along } else { 0.0 };
    each().map(|(x, y)| (y - slope * x).powi(2)).sum()
}
