//! The order of runs: the order of the default branch if the repository has their commits, otherwise the order of their
//! clocks; the runs of each configuration in that order, and the changes from one run to the next. All code that
//! evaluates more than one run gets the runs from here.

use std::collections::BTreeMap;

use super::fall::{MetricScale, is_fall};
use super::mean;
use super::past::{LeftOutReason, PastRun, differing};
use super::summary::ReadReports;
use crate::baseline::MainLine;
use kelvin_page::counted;

/// Sorts runs by the history and leaves out runs of commits that are not in it; `read` counts these. Then the time of a
/// run is a time at which its commit was the newest: a wrong clock moves nothing, and an old commit that is measured
/// again does not become newer. `now`: no run can have started later.
pub(crate) fn placed(
    runs: Vec<PastRun>,
    line: &MainLine,
    now: i64,
    read: &mut ReadReports,
) -> Vec<PastRun> {
    let places = line.on.iter().enumerate();
    let places: BTreeMap<&str, usize> = places.map(|(at, commit)| (&**commit, at)).collect();
    let place = |run: &PastRun| places.get(run.commit.as_deref()?).copied();
    let stretches = stretches(&runs, line.on.len(), now, &place);
    let mut placed: Vec<(Option<usize>, i64, PastRun)> = Vec::new();
    let (mut moved, mut ahead) = (0, 0);
    for mut run in runs {
        let is_off = run
            .commit
            .as_ref()
            .is_some_and(|commit| line.off.contains(commit));
        if is_off {
            *read.left.entry(LeftOutReason::Unmerged).or_default() += 1;
            continue;
        }
        let clock = run.at;
        let at = place(&run);
        match at.and_then(|at| stretches[at]) {
            Some((begin, _)) if clock >= now => run.at = begin,
            Some((begin, end)) => run.at = clock.clamp(begin, end.max(begin)),
            None => ahead += usize::from(clock >= now),
        }
        moved += usize::from(run.at != clock);
        placed.push((at, clock, run));
    }
    // A commit that was measured late and the next commit may have the same time: then the history decides which one is
    // older.
    placed.sort_by_key(|(at, clock, run)| (run.at, *at, run.dirty, *clock));
    let mut say = |count: usize, what: &str| {
        if count > 0 {
            read.notices
                .push(format!("{}: {what}", counted(count, "run")));
        }
    };
    say(
        moved,
        "the clock does not fit the history of the default branch, so the place of the commit in it counts",
    );
    say(
        ahead,
        "it says that it began at a time that is still to come, and no commit of this clone tells its place",
    );
    placed.into_iter().map(|(_, _, run)| run).collect()
}

/// The time during which each commit was the newest measured one: from its first run to the first run of the next
/// commit. Only clocks that fit the history are used; a commit with another clock comes right after the previous
/// commit. None if no clock can be used at all.
fn stretches(
    runs: &[PastRun],
    commits: usize,
    now: i64,
    place: &dyn Fn(&PastRun) -> Option<usize>,
) -> Vec<Option<(i64, i64)>> {
    let mut first: Vec<Option<i64>> = vec![None; commits];
    for run in runs.iter().filter(|run| run.at < now) {
        if let Some(at) = place(run) {
            first[at] = Some(first[at].map_or(run.at, |known| known.min(run.at)));
        }
    }
    let known: Vec<(usize, i64)> = first
        .iter()
        .enumerate()
        .filter_map(|(at, time)| Some((at, (*time)?)))
        .collect();
    let believed: BTreeMap<usize, i64> = longest_rise(&known).into_iter().collect();
    let begin = |at: usize| {
        let before = believed.range(..=at).next_back();
        let time = before.or_else(|| believed.range(at..).next());
        time.map(|(_, time)| *time)
    };
    let end = |at: usize| {
        believed
            .range(at + 1..)
            .next()
            .map_or(now, |(_, time)| *time)
    };
    (0..commits).map(|at| Some((begin(at)?, end(at)))).collect()
}

/// The longest subsequence whose times never decrease; if there are several, the one that starts first.
fn longest_rise(list: &[(usize, i64)]) -> Vec<(usize, i64)> {
    let mut best: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, (_, time)) in list.iter().enumerate() {
        let before = (0..at).filter(|before| list[*before].1 <= *time);
        let before = before.max_by_key(|before| (best[*before].0, usize::MAX - *before));
        best.push((before.map_or(1, |before| best[before].0 + 1), before));
    }
    let mut next = (0..list.len()).max_by_key(|at| (best[*at].0, usize::MAX - *at));
    let mut found = Vec::new();
    while let Some(at) = next {
        found.push(list[at]);
        next = best[at].1;
    }
    found.reverse();
    found
}

/// The runs of one configuration, oldest first.
pub(super) struct Runs<'a> {
    pub(super) name: &'a str,
    pub(super) runs: Vec<&'a PastRun>,
    /// How many older runs were left out.
    pub(super) older: usize,
    /// The metrics to show.
    pub(super) metrics: BTreeMap<&'a str, MetricScale>,
}

/// The changes from one run to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunTurn<'a> {
    /// The changed conditions on which the figures depend, in words.
    pub(super) what: Vec<&'static str>,
    /// The cases whose value changed by more than the limit for a fall, the largest change first.
    pub(super) moved: Vec<MovedCase<'a>>,
}

/// A case whose value has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MovedCase<'a> {
    pub(super) case: &'a str,
    pub(super) metric: &'a str,
    pub(super) before: f64,
    pub(super) now: f64,
    /// By how much the value is worse, as a share of the scale; negative if it is better.
    pub(super) worse_by: f64,
}

/// The newest runs of each configuration, by the name of the configuration.
pub(super) fn runs_of_each<'a>(
    runs: &'a [PastRun],
    metrics: &[String],
    most: usize,
) -> Vec<Runs<'a>> {
    let mut by_name: BTreeMap<&str, Vec<&PastRun>> = BTreeMap::new();
    for run in runs {
        by_name.entry(&run.configuration).or_default().push(run);
    }
    let each = by_name.into_iter().map(|(name, mut runs)| {
        runs.sort_by_key(|run| run.at);
        let older = runs.len().saturating_sub(most);
        runs.drain(..older);
        let metrics = super::summary::metrics(&runs, metrics);
        Runs {
            name,
            runs,
            older,
            metrics,
        }
    });
    each.collect()
}

/// Finds the changes from one run to the next.
pub(super) fn turn<'a>(
    before: &PastRun,
    now: &'a PastRun,
    metrics: &BTreeMap<&'a str, MetricScale>,
) -> RunTurn<'a> {
    let mut moved = Vec::new();
    for (metric, scale) in metrics {
        for case in mean::cases(&[now], metric) {
            let value = |run: &PastRun| mean::of_case(&[run], metric, case).value;
            let (Some(old), Some(new)) = (value(before), value(now)) else {
                continue;
            };
            let worse_by = scale.worse_by(old, new).unwrap_or(0.0);
            if is_fall(worse_by) || is_fall(-worse_by) {
                moved.push(MovedCase {
                    case,
                    metric,
                    before: old,
                    now: new,
                    worse_by,
                });
            }
        }
    }
    moved.sort_by(|one, other| other.worse_by.abs().total_cmp(&one.worse_by.abs()));
    RunTurn {
        what: differing(&before.made_of, &now.made_of),
        moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_do_not_fit_the_others_are_not_believed_whichever_way_they_are_wrong() {
        let rise = |times: &[i64]| {
            let list: Vec<(usize, i64)> = times.iter().copied().enumerate().collect();
            let found = longest_rise(&list).into_iter();
            found.map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(rise(&[1, 2, 3]), [0, 1, 2]);
        assert_eq!(rise(&[1, 9, 2, 3]), [0, 2, 3]);
        assert_eq!(rise(&[1, 2, 0, 3, 4]), [0, 1, 3, 4]);
        assert_eq!(rise(&[5, 5, 5]), [0, 1, 2]);
        assert_eq!(rise(&[]), [0_usize; 0]);
    }
}
