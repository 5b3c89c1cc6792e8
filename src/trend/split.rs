//! Finds the positions where a series of values changes its level, without a model of the noise.
//!
//! For each position where a series can be cut, the mean before is compared with the mean after, by the sum of squares
//! between the two; the largest of these sums over all positions is the statistic of the series (Hawkins, "Testing a
//! sequence of observations for a shift in location", JASA 72, 1977). The means are means of ranks, so that one very
//! bad run does not hide a change (Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics
//! 28, 1979). The part before the cut may begin later than the series, so that an older change in the other direction
//! does not hide a newer one. The distribution of the statistic by chance is found from the same runs in other orders:
//! if nothing has changed, every order is equally likely (Antoch and Huskova, "Permutation tests in change point
//! analysis", Statistics and Probability Letters 53, 2001). Several series of the same runs are tested together, by the
//! smallest share of orders that any of them has in an order (Westfall and Young, "Resampling-Based Multiple Testing",
//! 1993), so that the bound is valid for all of them at once. Within a series that has changed, the parts before and
//! after are searched in the same way (Vostrikova, "Detecting disorder in multidimensional random processes", 1981).

use kelvin_base::digest::Digest;
use kelvin_base::draw::Draw;

/// The minimum number of runs on each side. With a minimum of one, each bad run would be a change.
const LEAST_RUNS: usize = 2;
/// The minimum and the maximum number of random orders with which the real order is compared. With more series, more
/// orders are needed to detect a change in one of them.
const ORDERS: (usize, usize) = (999, 9_999);
const ORDERS_OF_A_SERIES: usize = 40;
/// Two statistics that differ by less than this count as equal: the difference comes from the order of summation.
const SAME: f64 = 1e-6;
/// How many positions, spread evenly over the series, the part before a cut may begin at.
const BEGINNINGS: usize = 8;

/// A position where a series changes its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// The index of the first value after the change.
    pub(super) at: usize,
    /// The part of the series in which the change was found: its beginning and its end.
    pub(super) part: (usize, usize),
    /// Whether a line through that part fits its values better than the two levels do.
    pub(super) is_gradual: bool,
}

/// The positions where each series changes its level. Of lists of series that do not change, at most the share `alpha`
/// gets such a position by chance. A series has a value, or none, for each run.
pub(super) fn splits(series: &[Vec<Option<f64>>], alpha: f64) -> Vec<Vec<Split>> {
    let runs = series.iter().map(Vec::len).max().unwrap_or(0);
    let known = |of: &Vec<Option<f64>>| of.iter().flatten().copied().collect::<Vec<f64>>();
    // A series with the same value everywhere cannot change, and does not increase the chance of a false result.
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

/// Cuts a part that has changed, and then the two parts of it. `alpha` is none if the part is already known to have
/// changed.
fn cut(values: &[f64], part: (usize, usize), alpha: Option<f64>, found: &mut Vec<Split>) {
    /// The significance level for each part of a series that has changed.
    const OF_A_PART: f64 = 0.05;
    let own = &values[part.0..part.1];
    let Some(largest) = statistic(&ranks(own)) else {
        return;
    };
    if let Some(alpha) = alpha {
        let series: Vec<Option<f64>> = own.iter().copied().map(Some).collect();
        if shares(&series, &orders(own.len(), ORDERS.0))[0] > alpha + SAME {
            return;
        }
    }
    let (begin, at) = (part.0 + largest.begin, part.0 + largest.at);
    let around = &values[begin..part.1];
    found.push(Split {
        at,
        part: (begin, part.1),
        is_gradual: of_a_line(around) < of_levels(around, at - begin),
    });
    for part in [(part.0, at), (at, part.1)] {
        cut(values, part, Some(OF_A_PART), found);
    }
}

/// For each order, the share of orders whose statistic is at least as large.
fn shares(series: &[Option<f64>], orders: &[Vec<usize>]) -> Vec<f64> {
    let known: Vec<f64> = series.iter().flatten().copied().collect();
    let mut ranks = ranks(&known).into_iter();
    let ranked: Vec<Option<f64>> = series
        .iter()
        .map(|value| value.and_then(|_| ranks.next()))
        .collect();
    let statistics: Vec<f64> = orders
        .iter()
        .map(|order| {
            let values = order.iter().filter_map(|at| *ranked.get(*at)?);
            let values: Vec<f64> = values.collect();
            statistic(&values).map_or(0.0, |largest| largest.between)
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

/// The real order first, then random orders. They are always the same ones for the same number of runs.
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

/// The largest sum of squares between the parts before and after a cut.
struct Largest {
    between: f64,
    /// Where the part before the cut begins.
    begin: usize,
    /// The index of the first value after the cut.
    at: usize,
}

/// The statistic of a series; none if it has too few values to cut.
fn statistic(values: &[f64]) -> Option<Largest> {
    let count = values.len();
    let mut sums = vec![0.0; count + 1];
    for (at, value) in values.iter().enumerate() {
        sums[at + 1] = sums[at] + value;
    }
    let mut best: Option<Largest> = None;
    for begin in (0..BEGINNINGS).map(|part| part * count / BEGINNINGS) {
        for at in begin + LEAST_RUNS..(count + 1).saturating_sub(LEAST_RUNS) {
            let (old, new) = ((at - begin) as f64, (count - at) as f64);
            let apart = (sums[at] - sums[begin]) / old - (sums[count] - sums[at]) / new;
            let between = apart.powi(2) * old * new / (old + new);
            let is_larger = |known: &Largest| between > known.between * (1.0 + SAME) + SAME;
            if best.as_ref().is_none_or(is_larger) {
                best = Some(Largest { between, begin, at });
            }
        }
    }
    best
}

/// The rank of each value; equal values get the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let smaller = sorted.partition_point(|other| *other < value - SAME);
        let with_own = sorted.partition_point(|other| *other <= value + SAME);
        (smaller + with_own) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

/// The sum of the squared distances from the two levels.
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

/// The sum of the squared distances from the least-squares line.
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
