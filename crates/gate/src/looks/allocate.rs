//! Decides about the next calls: they go to the input, the variants and the side where each call reduces the errors of
//! the open metrics most. If the affordable calls cannot decide a metric at all, no more calls are made.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{GatedMetric, Means, Rerun, Side};
use crate::look::{self, ErrorShare, Look, PairedCase};
use kelvin_record::{Repeats, WantedRepeats};

/// The runs of an unstable case before the second look, if its own input can be repeated without its variants. An
/// answer to that input needs one call and affects every cell of the case.
const OPENING: Repeats = Repeats {
    input: 4,
    variants: 2,
};

/// The runs of an unstable case before the second look, if every repeat needs all inputs.
const OPENING_OF_ALL: usize = 3;

/// Cheaper choices for a small budget, which are tried one after the other; each applies to all cases.
const CHEAPER: [(Repeats, usize); 3] = [
    (
        Repeats {
            input: 4,
            variants: 1,
        },
        2,
    ),
    (
        Repeats {
            input: 3,
            variants: 1,
        },
        2,
    ),
    (
        Repeats {
            input: 2,
            variants: 1,
        },
        2,
    ),
];

/// An error below this counts as zero.
const NO_ERROR: f64 = 1e-9;

/// An open metric with its last look.
pub(super) struct OpenMetric<'a> {
    pub(super) subject: &'a GatedMetric,
    pub(super) look: &'a Look,
}

/// The runs that are possible.
pub(super) struct Allocation<'a> {
    pub(super) means: Means,
    /// The cases whose base was run together with the head.
    pub(super) fresh: &'a BTreeSet<String>,
    /// How many calls may still be made, on both sides together.
    pub(super) left: usize,
}

/// A case and how often it was run.
struct CaseRuns {
    variants: usize,
    base: Repeats,
    head: Repeats,
}

/// A possible run of a case on a side: its own input, its variants, or both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CaseShare {
    Input,
    Variants,
    Both,
}

impl Allocation<'_> {
    /// The sides that can be run.
    pub(super) fn sides(&self) -> Vec<Side> {
        let base = self.means.base.then_some(Side::Base);
        let head = (self.means.head_runs > 1).then_some(Side::Head);
        base.into_iter().chain(head).collect()
    }

    /// The first re-run: every case that moved or varied, better or worse. None if the budget is too small.
    ///
    /// With a fixed base, all cases must be run again. If only the cases that moved were run again, chance would
    /// average out for the head but not for the base, and bias the drop.
    pub(super) fn opening(&self, open: &[OpenMetric<'_>]) -> Option<Rerun> {
        let full = std::iter::once((OPENING, OPENING_OF_ALL));
        full.chain(CHEAPER).find_map(|(crossed, all)| {
            let mut rerun = Rerun::default();
            for open in open {
                for at in self.to_repeat(open) {
                    let case = &open.subject.cases[at];
                    let runs = match (case.crosses, self.knows_variants(case)) {
                        (false, _) => Repeats::of_all(all),
                        (true, false) => crossed,
                        (true, true) => Repeats {
                            variants: 1,
                            ..crossed
                        },
                    };
                    let name = &open.subject.names[at];
                    for side in self.sides() {
                        want(&mut rerun, side, name, self.capped(side, runs));
                    }
                }
            }
            self.affordable(rerun, &items(open, self.fresh))
        })
    }

    /// Whether repeats of a fixed base show how much the answers to the variants vary, so that repeats of the head's
    /// variants can wait.
    fn knows_variants(&self, case: &PairedCase) -> bool {
        let mut cells = case.cells.iter();
        !self.means.base && cells.any(|cell| cell.base.repeats_variants())
    }

    /// The indices of the cases that the first re-run includes.
    fn to_repeat(&self, open: &OpenMetric<'_>) -> Vec<usize> {
        match self.means.base {
            true => open.look.unstable.clone(),
            false => open.look.judged.clone(),
        }
    }

    /// The next re-run, of about `batch` calls. None if no run is left.
    pub(super) fn next(&self, open: &[OpenMetric<'_>], batch: usize) -> Option<Rerun> {
        let items = items(open, self.fresh);
        let gains = gains(open);
        let mut want_in_all: BTreeMap<(&str, Side), Repeats> = BTreeMap::new();
        let mut heap = BinaryHeap::new();
        for ((name, what), gain) in &gains {
            for side in self.sides() {
                // A stable case was not run again, and its stored runs of the base stay.
                if side == Side::Base && !self.fresh.contains(*name) {
                    continue;
                }
                let there = items[name].runs(side);
                want_in_all.insert((name, side), there);
                let candidate = RunCandidate {
                    name,
                    side,
                    what: *what,
                    gain: *gain,
                    runs: there,
                    variants: items[name].variants,
                };
                heap.push(candidate);
            }
        }
        let mut left = batch.min(self.left);
        while let Some(mut candidate) = heap.pop() {
            let cost = candidate.cost();
            let next = self.capped(candidate.side, candidate.next());
            if candidate.worth() <= 0.0 || cost > left || next != candidate.next() {
                continue;
            }
            left -= cost;
            candidate.runs = next;
            let wanted = want_in_all.entry((candidate.name, candidate.side));
            let wanted = wanted.or_default();
            *wanted = wanted.or_more(next);
            heap.push(candidate);
        }
        let mut rerun = Rerun::default();
        for ((name, side), runs) in want_in_all {
            if items[name].runs(side) != runs {
                want(&mut rerun, side, name, runs);
            }
        }
        self.affordable(rerun, &items)
    }

    /// How often an input may be run at most on a side.
    fn capped(&self, side: Side, runs: Repeats) -> Repeats {
        match side {
            Side::Base => runs,
            Side::Head => Repeats {
                input: runs.input.min(self.means.head_runs),
                variants: runs.variants.min(self.means.head_runs),
            },
        }
    }

    /// The re-run, if it contains any run and the remaining calls are enough.
    fn affordable(&self, rerun: Rerun, items: &BTreeMap<&str, CaseRuns>) -> Option<Rerun> {
        let cost = |side: Side, wanted: &WantedRepeats| -> usize {
            let of_each = wanted.iter().map(|(name, runs)| {
                let item = &items[name.as_str()];
                runs.missing(item.runs(side), item.variants, |_| 0)
            });
            of_each.sum()
        };
        let calls = cost(Side::Base, &rerun.base) + cost(Side::Head, &rerun.head);
        (calls > 0 && calls <= self.left).then_some(rerun)
    }
}

impl CaseRuns {
    const fn runs(&self, side: Side) -> Repeats {
        match side {
            Side::Base => self.base,
            Side::Head => self.head,
        }
    }
}

fn want(rerun: &mut Rerun, side: Side, name: &str, runs: Repeats) {
    let wanted = match side {
        Side::Base => &mut rerun.base,
        Side::Head => &mut rerun.head,
    };
    wanted
        .entry(name.to_owned())
        .or_default()
        .raise(&runs.into());
}

/// Every case of the open metrics, with the number of its runs. Repeats of a base that was not run together with the
/// head do not count, since the first new runs replace them.
fn items<'o>(open: &[OpenMetric<'o>], fresh: &BTreeSet<String>) -> BTreeMap<&'o str, CaseRuns> {
    let mut items: BTreeMap<&str, CaseRuns> = BTreeMap::new();
    for open in open {
        for doubt in look::doubts(&open.subject.cases) {
            let name = &open.subject.names[doubt.place];
            let runs = |(input, variants)| Repeats { input, variants };
            let base = match fresh.contains(name) {
                true => runs(doubt.base),
                false => Repeats::default(),
            };
            let item = items.entry(name).or_insert(CaseRuns {
                variants: 0,
                base,
                head: runs(doubt.head),
            });
            item.variants = item.variants.max(open.subject.cases[doubt.place].variants);
            item.base = item.base.or_more(base);
            item.head = item.head.or_more(runs(doubt.head));
        }
    }
    items
}

/// How much one more run of each kind would reduce the errors: the sum, over the open metrics, of its variance as a
/// share of their variances.
fn gains<'o>(open: &[OpenMetric<'o>]) -> BTreeMap<(&'o str, CaseShare), f64> {
    let mut gains: BTreeMap<(&str, CaseShare), f64> = BTreeMap::new();
    for open in open {
        let variance = open.look.error.powi(2).max(NO_ERROR);
        for doubt in look::doubts(&open.subject.cases) {
            if !is_in_doubt(&doubt) {
                continue;
            }
            let name = &*open.subject.names[doubt.place];
            let mut add = |what, part: f64| {
                *gains.entry((name, what)).or_default() += doubt.weight * part / variance;
            };
            match open.subject.cases[doubt.place].crosses {
                true => {
                    add(CaseShare::Input, doubt.shared);
                    add(CaseShare::Variants, doubt.own);
                }
                false => add(CaseShare::Both, doubt.shared),
            }
        }
    }
    gains
}

/// Whether a case moved or was run again; no other case is run.
const fn is_in_doubt(doubt: &ErrorShare) -> bool {
    let is_single = doubt.base.0 < 2 && doubt.base.1 < 2 && doubt.head.0 < 2 && doubt.head.1 < 2;
    doubt.is_unstable || !is_single
}

/// One more run of a part of a case, as a candidate for the next re-run.
struct RunCandidate<'a> {
    name: &'a str,
    side: Side,
    what: CaseShare,
    gain: f64,
    runs: Repeats,
    variants: usize,
}

impl RunCandidate<'_> {
    const fn next(&self) -> Repeats {
        let Repeats { input, variants } = self.runs;
        match self.what {
            CaseShare::Input => Repeats {
                input: input + 1,
                variants,
            },
            CaseShare::Variants => Repeats {
                input,
                variants: variants + 1,
            },
            CaseShare::Both => Repeats {
                input: input + 1,
                variants: variants + 1,
            },
        }
    }

    const fn cost(&self) -> usize {
        match self.what {
            CaseShare::Input => 1,
            CaseShare::Variants => self.variants,
            CaseShare::Both => 1 + self.variants,
        }
    }

    /// How much one more run reduces the errors per call: from v / n to v / (n + 1).
    fn worth(&self) -> f64 {
        let runs = match self.what {
            CaseShare::Input => self.runs.input,
            CaseShare::Variants => self.runs.variants,
            CaseShare::Both => self.runs.input.min(self.runs.variants),
        } as f64;
        let cost = self.cost();
        if cost == 0 || runs == 0.0 {
            return 0.0;
        }
        self.gain / (runs * (runs + 1.0)) / cost as f64
    }
}

impl PartialEq for RunCandidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RunCandidate<'_> {}

impl PartialOrd for RunCandidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RunCandidate<'_> {
    /// The most valuable candidate is the largest; among equal candidates the first by name.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |candidate: &Self| (candidate.side, candidate.what);
        self.worth()
            .total_cmp(&other.worth())
            .then_with(|| other.name.cmp(self.name))
            .then_with(|| key(other).cmp(&key(self)))
    }
}

/// About how many standard errors a drop must be above 0 to count as a regression.
const TO_CALL: f64 = 2.4;

/// About how many standard errors a drop must be below the limit to pass.
const TO_PASS: f64 = 1.35;

/// Whether the remaining calls may decide the metric: if the drop changed by as much as the error can still shrink, it
/// would exceed the remaining error.
pub(super) fn may_decide(open: &OpenMetric<'_>, allocation: &Allocation<'_>) -> bool {
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

/// The share of the variance that remains if all remaining calls are divided evenly among the sides that can be run.
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
