//! The gate as it was first built, and the plain threshold, for the plot: one metric, repeats of whole cases, and
//! re-runs of the head alone.

use crate::stats;
use crate::trial::MAX_DROP;
use crate::world::{Chance, Truth, World};

/// How many runs of the head each look may have in all, and what it may spend.
const LOOKS: [(usize, f64); 3] = [(1, 0.0), (3, 0.02), (5, 0.03)];

/// What came of a world: red or not, and the runs of the suite on both sides.
pub(crate) struct Came {
    pub(crate) red: bool,
    pub(crate) runs: f64,
}

/// The mean loss of a case in one run.
fn ask(truth: &Truth, chance: &mut Chance) -> f64 {
    let input = chance.hits(truth.rate);
    let cells = truth.cells.iter();
    let bad = cells.filter(|cell| cell.bad ^ chance.hits(cell.rate) ^ input);
    bad.count() as f64 / truth.cells.len() as f64
}

fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

fn variance(losses: &[f64]) -> Option<f64> {
    let mean = mean(losses);
    let squares = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>();
    (losses.len() > 1).then(|| squares / (losses.len() as f64 - 1.0))
}

/// Worse by more than the limit, whatever noise may do.
pub(crate) fn threshold(world: &World, chance: &mut Chance, runs: usize) -> Came {
    let mut drop = 0.0;
    for case in &world.cases {
        let base: Vec<f64> = (0..runs).map(|_| ask(&case.base, chance)).collect();
        let head: Vec<f64> = (0..runs).map(|_| ask(&case.head, chance)).collect();
        drop += mean(&head) - mean(&base);
    }
    Came {
        red: drop / world.cases.len() as f64 > MAX_DROP + 1e-9,
        runs: 2.0 * runs as f64,
    }
}

/// The three looks of the first edition, against a base that was run so often.
pub(crate) fn edition(world: &World, chance: &mut Chance, base_runs: usize) -> Came {
    let base: Vec<Vec<f64>> = world
        .cases
        .iter()
        .map(|case| (0..base_runs).map(|_| ask(&case.base, chance)).collect())
        .collect();
    let mut head: Vec<Vec<f64>> = vec![Vec::new(); base.len()];
    let mut calls = 0;
    let mut red = false;
    for (runs, alpha) in LOOKS {
        for (at, case) in world.cases.iter().enumerate() {
            let is_unstable = head[at].is_empty()
                || (mean(&head[at]) - mean(&base[at])).abs() > 1e-9
                || [&base[at], &head[at]].iter().any(|side| varies(side));
            while is_unstable && head[at].len() < runs {
                head[at].push(ask(&case.head, chance));
                calls += 1;
            }
        }
        match look(&base, &head, alpha) {
            Some(is_red) => {
                red = is_red;
                break;
            }
            None => continue,
        }
    }
    Came {
        red,
        runs: base_runs as f64 + calls as f64 / base.len() as f64,
    }
}

fn varies(losses: &[f64]) -> bool {
    losses.iter().any(|loss| (loss - losses[0]).abs() > 1e-9)
}

/// Red, a pass, or neither.
fn look(base: &[Vec<f64>], head: &[Vec<f64>], alpha: f64) -> Option<bool> {
    let count = base.len() as f64;
    let differences = base
        .iter()
        .zip(head)
        .map(|(base, head)| mean(head) - mean(base));
    let differences: Vec<f64> = differences.collect();
    let drop = mean(&differences);
    let has_repeats = base.iter().chain(head).any(|side| side.len() > 1);
    let (error, freedom) = if has_repeats {
        let (mut all, mut squares) = (0.0, 0.0);
        for (base, head) in base.iter().zip(head) {
            let (one, other) = (variance(base), variance(head));
            for (own, borrowed, runs) in [(one, other, base.len()), (other, one, head.len())] {
                let term = own.or(borrowed).unwrap_or(0.0) / runs as f64 / (count * count);
                all += term;
                squares += term * term / (runs.max(2) as f64 - 1.0);
            }
        }
        let freedom = if squares > 0.0 {
            all * all / squares
        } else {
            1.0
        };
        (all.sqrt(), freedom.max(1.0))
    } else {
        let squares = differences.iter().map(|one| ((one - drop) / count).powi(2));
        (
            (count / (count - 1.0) * squares.sum::<f64>()).sqrt(),
            count - 1.0,
        )
    };
    let off = |alpha| match error > 0.0 {
        true => stats::t_upper_quantile(alpha, freedom) * error,
        false => 0.0,
    };
    let is_red = alpha > 0.0 && drop > MAX_DROP + 1e-9 && drop - off(alpha) > 1e-9;
    let is_pass = drop + off(0.10) <= MAX_DROP + 1e-9;
    match (is_red, is_pass) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}
