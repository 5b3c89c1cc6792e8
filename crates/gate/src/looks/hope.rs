//! Whether the affordable calls can decide a metric at all. Where they cannot, no further call is made.

use super::Side;
use super::allocate::{Allocation, OpenMetric, is_in_doubt};
use crate::look;

/// The approximate number of standard errors by which a drop must exceed 0 to be called.
const TO_CALL: f64 = 2.4;

/// The approximate number of standard errors by which a drop must be below the limit to pass.
const TO_PASS: f64 = 1.35;

/// Whether the remaining calls may decide the metric: if the drop moved by as much as the error may still shrink, it
/// would exceed the remaining error.
pub(super) fn is_there(open: &OpenMetric<'_>, allocation: &Allocation<'_>) -> bool {
    let look = open.look;
    if !look.error.is_finite() {
        return true;
    }
    let share = share_left(open, allocation).clamp(0.0, 1.0);
    // Stored reports of other days are dropped as soon as the base is run here.
    let fixed = match allocation.means.base {
        true => 0.0,
        false => look.fixed,
    };
    let squared = (look.error * look.error - fixed).max(0.0);
    let left = (squared * share + fixed).sqrt();
    let gone = (squared * (1.0 - share)).sqrt();
    let (low, high) = (look.drop - gone, look.drop + gone);
    let may_fail = high > open.subject.max_drop && high > TO_CALL * left;
    let may_pass = low + TO_PASS * left <= open.subject.max_drop;
    may_fail || may_pass
}

/// The share of the variance that remains if all remaining calls are spent evenly on the sides that
/// can be run.
fn share_left(open: &OpenMetric<'_>, allocation: &Allocation<'_>) -> f64 {
    let doubts: Vec<_> = look::doubts(&open.subject.cases)
        .into_iter()
        .filter(is_in_doubt)
        .collect();
    let sides = allocation.sides();
    let a_round: usize = doubts
        .iter()
        .map(|doubt| 1 + open.subject.cases[doubt.place].variants)
        .sum();
    let more = allocation.left as f64 / (a_round * sides.len()).max(1) as f64;
    let (mut now, mut then) = (0.0, 0.0);
    for doubt in &doubts {
        for (side, runs) in [(Side::Base, doubt.base), (Side::Head, doubt.head)] {
            let can_run = sides.contains(&side);
            let parts = [(doubt.shared, runs.0), (doubt.own, runs.1)];
            for (variance, runs) in parts {
                let runs = (runs as f64).max(1.0);
                let most = match side {
                    Side::Head => allocation.means.head_runs as f64,
                    Side::Base => f64::INFINITY,
                };
                let later = if can_run {
                    (runs + 2.0 * more).min(most.max(runs))
                } else {
                    runs
                };
                now += doubt.weight * variance / runs;
                then += doubt.weight * variance / later;
            }
        }
    }
    if now > 0.0 { then / now } else { 0.0 }
}
