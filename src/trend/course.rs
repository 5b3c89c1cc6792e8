//! The order of runs: that of the default branch where the repository has their commits, that of their clocks where it
//! does not. Whatever judges more than one run takes the runs from here.

use std::collections::BTreeMap;

use super::past::{LeftOutReason, PastRun};
use super::summary::ReadReports;
use crate::baseline::MainLine;
use kelvin_page::counted;

/// Sorts runs by the history and leaves out those of commits beside it, which `read` counts. Afterwards the time of a
/// run is a time at which its commit was the newest: a wrong clock moves nothing, and an old commit that is measured
/// again does not become newer. `now`: no run can have begun later.
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
    // A commit that was measured late and the next commit may have the same time: then the history decides which came
    // first.
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

/// When each commit was the newest one that was measured: from its first run to the first run of the next. Only clocks
/// that fit the history are believed, and a commit whose clock does not fit follows right after the one before it. None
/// where no clock can be believed at all.
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

/// The longest subsequence whose times never fall; of several, the one that begins first.
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
