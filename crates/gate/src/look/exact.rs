//! The probability that chance alone makes single runs of a head look so much worse: the sign-flip test. If nothing has
//! changed, the sign of each case's difference could equally be reversed. For passes and failures it is the exact test
//! of McNemar ("Note on the sampling error of the difference between correlated proportions", Psychometrika 12, 1947).

use super::GUARD;

/// The maximum number of differences of different size whose signs are enumerated; with more of them a grid is used.
const ALL_TRIED: usize = 16;

/// The maximum number of additions for the grid.
const WORK: usize = 1 << 25;

/// The maximum number of grid steps for the largest difference.
const FINEST: usize = 2_048;

/// The probability that the sum of these differences with random signs is at least as large as observed. If it cannot
/// be computed exactly, the result is slightly too large.
pub(crate) fn chance(differences: &[f64]) -> f64 {
    let moved: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| difference.abs() > GUARD)
        .collect();
    let sum: f64 = moved.iter().sum();
    let most = moved.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
    if moved.is_empty() || sum <= GUARD {
        return 1.0;
    }
    let are_alike = moved
        .iter()
        .all(|one| most - one.abs() <= GUARD * most.max(1.0));
    match () {
        () if are_alike => {
            let worse = moved.iter().filter(|one| **one > 0.0).count();
            of_coins(moved.len(), worse)
        }
        () if moved.len() <= ALL_TRIED => of_all_signs(&moved, sum),
        () => of_grid(&moved, (sum, most)).min(bound(&moved, sum)),
    }
}

/// The probability of at least this many heads among coins.
fn of_coins(coins: usize, heads: usize) -> f64 {
    // Logarithms are used, because the coefficients for a thousand coins exceed any floating-point number.
    let (mut log, mut all) = (-(coins as f64) * std::f64::consts::LN_2, 0.0);
    for below in 0..=coins {
        if below >= heads {
            all += log.exp();
        }
        log += ((coins - below) as f64).ln() - ((below + 1) as f64).ln();
    }
    all.min(1.0)
}

fn of_all_signs(moved: &[f64], sum: f64) -> f64 {
    let all = 1_u32 << moved.len();
    let as_large = (0..all).filter(|signs| {
        let flipped: f64 = moved
            .iter()
            .enumerate()
            .map(|(at, one)| {
                if signs >> at & 1 == 1 {
                    one.abs()
                } else {
                    -one.abs()
                }
            })
            .sum();
        flipped >= sum - GUARD
    });
    as_large.count() as f64 / f64::from(all)
}

/// The probability that a sum of whole numbers of steps, each with a random sign, is as large as it is. The possible
/// rounding error is subtracted from the observed sum.
fn of_grid(moved: &[f64], (sum, most): (f64, f64)) -> f64 {
    let steps = (WORK / (moved.len() * moved.len())).min(FINEST);
    if steps < 8 {
        return 1.0;
    }
    let step = most / steps as f64;
    let sizes: Vec<usize> = moved
        .iter()
        .map(|one| (one.abs() / step).round() as usize)
        .collect();
    let whole: usize = sizes.iter().sum();
    // The sum of sizes with signs is twice the sum of the positive sizes, minus the sum of all sizes.
    let mut likely = vec![0.0; whole + 1];
    likely[0] = 1.0;
    let mut reached = 0;
    for size in sizes {
        for place in (0..=reached).rev() {
            let half = likely[place] / 2.0;
            likely[place] = half;
            likely[place + size] += half;
        }
        reached += size;
    }
    let asked = sum / step - moved.len() as f64 / 2.0;
    let as_large = likely.iter().enumerate();
    let as_large = as_large.filter(|(plus, _)| 2.0 * *plus as f64 - whole as f64 >= asked - GUARD);
    as_large.map(|(_, likely)| likely).sum::<f64>().min(1.0)
}

/// Hoeffding's bound of the same probability ("Probability inequalities for sums of bounded random variables", Journal
/// of the American Statistical Association 58, 1963).
fn bound(moved: &[f64], sum: f64) -> f64 {
    let squares: f64 = moved.iter().map(|one| one * one).sum();
    (-sum * sum / (2.0 * squares)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn passes_and_failures_are_the_exact_test_of_mcnemar() {
        is(chance(&[1.0; 10]), 0.5_f64.powi(10));
        // Eight lost and one won: (1 + 9) / 2^9.
        let mut moved = vec![0.05; 8];
        moved.extend([-0.05, 0.0, 0.0]);
        is(chance(&moved), 10.0 / 512.0);
        is(chance(&[1.0; 30]), 0.5_f64.powi(30));
        is(chance(&[0.0; 5]), 1.0);
        is(chance(&[-1.0, -1.0, 1.0]), 1.0);
        // A thousand of them, 550 to 450: 0.000865 by R, pbinom(549, 1000, .5, lower.tail = FALSE).
        let many: Vec<f64> = (0..1_000)
            .map(|at| if at < 550 { 1.0 } else { -1.0 })
            .collect();
        assert!(
            (chance(&many) - 0.000_865_2).abs() < 1e-6,
            "{}",
            chance(&many)
        );
    }

    #[test]
    fn scores_are_flipped_in_every_way() {
        // Of the eight signs of 3, 2 and 1 only those of +6 and +4 sum up to 4 or more.
        is(chance(&[3.0, 2.0, -1.0]), 2.0 / 8.0);
        is(chance(&[0.5, 0.25, 0.125]), 1.0 / 8.0);
    }

    #[test]
    fn many_scores_are_as_likely_as_all_their_signs_say_and_never_less() {
        // Sixteen of them are tried in every way, so that both ways can be compared.
        for turn in 0..20_u32 {
            let moved: Vec<f64> = (0..16_u32)
                .map(|at| {
                    let size = f64::from((at * 37 + turn * 11) % 29 + 1) / 29.0;
                    if (at * 7 + turn) % 5 == 0 {
                        -size
                    } else {
                        size
                    }
                })
                .collect();
            let sum: f64 = moved.iter().sum();
            let most = moved.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
            let (all, grid) = (of_all_signs(&moved, sum), of_grid(&moved, (sum, most)));
            assert!(
                grid >= all - 1e-9 && grid < all * 1.2 + 1e-4,
                "{all} {grid}"
            );
            assert!(bound(&moved, sum) >= all, "{all}");
        }
    }

    #[test]
    fn thousands_of_scores_take_no_time_and_stay_on_the_safe_side() {
        let moved: Vec<f64> = (0..5_000).map(|at| f64::from(at % 7) / 7.0 - 0.4).collect();
        let found = chance(&moved);
        assert!(found < 0.001, "{found}");
    }
}
