//! Finds repeats that a pipeline answered from its own cache: such repeats do not show its noise.

use super::Outcome;
use kelvin_base::notice::{Code, Notice};

/// The minimum time of a first call in seconds; from faster calls no conclusion is possible. Starting a process takes
/// some milliseconds, which vary with the disk and the load of the machine. No model answers in this time.
const SLOW_ENOUGH: f64 = 0.1;

/// A repeat that takes less than this share of the first call's time was not computed again.
const SHARE: f64 = 0.1;

/// How many inputs are needed for a conclusion: with fewer, a short load on the machine could make one call slow.
const INPUTS: usize = 3;

/// The minimum total time of the first calls, in seconds. A machine that is busy during these calls and idle afterwards
/// looks like a pipeline that caches its answers; such a load is usually short.
const MOMENT: f64 = 3.0;

/// How long the calls of a case took, in seconds, if all repeats gave the same answer.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// The first call of each cell.
    first: Vec<f64>,
    /// All later calls for the same input.
    later: Vec<f64>,
}

impl Times {
    /// The times of a case whose cells have one outcome per repeat, in order. None if the answers of repeats differ, if
    /// one failed, or if there are no repeats.
    pub fn of(cells: &[Vec<&Outcome>]) -> Option<Self> {
        let mut times = Self::default();
        for cell in cells.iter().filter(|cell| cell.len() > 1) {
            let answer = &cell[0].result;
            // The time of a retried call includes the failed attempts.
            let is_same = |outcome: &&Outcome| match (answer, &outcome.result) {
                (Ok(answer), Ok(other)) => answer == other && outcome.attempts <= 1,
                _ => false,
            };
            if !cell.iter().all(is_same) {
                return None;
            }
            // A process loads data at its first call, so a fast second call does not prove a cache.
            if cell[0].is_first {
                continue;
            }
            times.first.push(cell[0].seconds);
            times
                .later
                .extend(cell[1..].iter().map(|outcome| outcome.seconds));
        }
        (!times.first.is_empty()).then_some(times)
    }

    /// Whether the pipeline answered the repeats from its own cache, by the medians over the inputs. One slow start,
    /// such as the first call of a run, does not count.
    fn are_kept(&self) -> bool {
        self.are_enough() && is_memory(median(&self.first), median(&self.later))
    }

    /// Whether the pipeline answered the repeats of a single case from its own cache. The case has few inputs, all
    /// called within a short time, so every first call has to be slow, and every later call fast.
    fn are_kept_without_exception(&self) -> bool {
        let fastest = self.first.iter().copied().reduce(f64::min);
        let slowest = self.later.iter().copied().reduce(f64::max);
        self.are_enough() && is_memory(fastest, slowest)
    }

    fn are_enough(&self) -> bool {
        self.first.len() >= INPUTS && self.first.iter().sum::<f64>() >= MOMENT
    }
}

/// Decides for each case whether the pipeline answered its repeats from its own cache. If all cases together show it,
/// it counts for each case: single times are too inaccurate on a busy machine.
pub fn are_kept(cases: &[Option<Times>]) -> Vec<bool> {
    let mut all = Times::default();
    for times in cases.iter().flatten() {
        all.first.extend(&times.first);
        all.later.extend(&times.later);
    }
    let of_all = all.are_kept();
    let is_kept = |times: &Option<Times>| {
        times
            .as_ref()
            .is_some_and(|times| of_all || times.are_kept_without_exception())
    };
    cases.iter().map(is_kept).collect()
}

/// The notice about a case that was answered from the pipeline's own cache.
pub fn notice(case: &str) -> Notice {
    Notice::new(
        Code::AnswersKept,
        "its repeats are all the same and came back in under a tenth of the time of the first call, \
         so they count as one run: the pipeline seems to keep its answers; put `KELVIN_SAMPLE` into \
         the key under which it keeps them, so that each repeat is a run of its own",
    )
    .case(case)
}

/// Whether the times of the first call and of the later calls mean that the later ones were answered from a cache.
fn is_memory(first: Option<f64>, later: Option<f64>) -> bool {
    let both = first.zip(later);
    both.is_some_and(|(first, later)| first >= SLOW_ENOUGH && later < SHARE * first)
}

fn median(seconds: &[f64]) -> Option<f64> {
    let mut seconds = seconds.to_vec();
    seconds.sort_unstable_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::AnswerSource;

    fn outcome(answer: &str, seconds: f64) -> Outcome {
        Outcome {
            result: Ok(json!(answer)),
            exit: Some(0),
            streams: None,
            source: AnswerSource::Called,
            attempts: 1,
            seconds,
            is_first: false,
            usage: None,
            served: None,
            observed: None,
        }
    }

    /// Whether a case of some cells is one whose answers are kept; each cell is its answers with
    /// their times.
    fn kept(cells: &[&[(&str, f64)]]) -> bool {
        let cells: Vec<Vec<Outcome>> = cells
            .iter()
            .map(|cell| {
                cell.iter()
                    .map(|(answer, time)| outcome(answer, *time))
                    .collect()
            })
            .collect();
        let cells: Vec<Vec<&Outcome>> = cells.iter().map(|cell| cell.iter().collect()).collect();
        are_kept(&[Times::of(&cells)])[0]
    }

    #[test]
    fn equal_repeats_in_under_a_tenth_of_the_time_were_kept() {
        let cell: &[(&str, f64)] = &[("a", 1.2), ("a", 0.02), ("a", 0.01)];
        assert!(kept(&[cell, cell, cell]));
        // A cell without repeats, as of a variant that was run once, says nothing.
        assert!(kept(&[cell, cell, cell, &[("b", 0.8)]]));
    }

    #[test]
    fn what_takes_its_time_again_varies_or_fails_was_not() {
        let thrice = |cell: &[(&str, f64)]| kept(&[cell, cell, cell]);
        assert!(!thrice(&[("a", 1.2), ("a", 1.2), ("a", 1.2)]));
        assert!(!thrice(&[("a", 1.2), ("b", 0.01)]));
        assert!(!thrice(&[("a", 1.2)]));
        assert!(!kept(&[]));
        assert!(!thrice(&[("a", 1.2), ("a", 0.13)]));
        // The time of a call that was tried again holds that of the attempts that failed.
        let (mut retried, later) = (outcome("a", 3.0), outcome("a", 0.1));
        retried.attempts = 2;
        assert!(Times::of(&[vec![&retried, &later]]).is_none());
    }

    #[test]
    fn a_fast_pipeline_with_a_slow_start_was_not() {
        let fast: &[(&str, f64)] = &[("a", 0.002), ("a", 0.002)];
        assert!(!kept(&[&[("a", 0.9), ("a", 0.002)], fast, fast]));
        // Below what a call of a model can take, nothing is told by its time.
        let idle: &[(&str, f64)] = &[("a", 0.06), ("a", 0.002)];
        assert!(!kept(&[idle; 60]));
    }

    #[test]
    fn a_machine_that_is_busy_during_the_first_calls_of_few_inputs_tells_nothing() {
        let of = |cells: &[&[f64]]| {
            let cells: Vec<Vec<Outcome>> = cells
                .iter()
                .map(|times| times.iter().map(|time| outcome("a", *time)).collect())
                .collect();
            let cells: Vec<Vec<&Outcome>> =
                cells.iter().map(|cell| cell.iter().collect()).collect();
            Times::of(&cells)
        };
        let (busy, fast): (&[f64], &[f64]) = (&[0.3, 0.004, 0.004], &[0.004, 0.004, 0.004]);
        // Of one query of many, and of a single one.
        let mut queries = vec![of(&[busy])];
        assert_eq!(are_kept(&queries), [false]);
        queries.extend((1..13).map(|_| of(&[fast])));
        assert_eq!(are_kept(&queries), [false; 13]);
        // Most inputs of one case among four.
        let mut cases = vec![of(&[busy, busy, busy, fast])];
        cases.extend((1..4).map(|_| of(&[fast; 4])));
        assert_eq!(are_kept(&cases), [false; 4]);
        // All of its inputs, in little more than a second.
        cases[0] = of(&[busy; 4]);
        assert_eq!(are_kept(&cases), [false; 4]);
        // For longer than a moment.
        let long: &[f64] = &[0.9, 0.004, 0.004];
        cases[0] = of(&[long; 4]);
        assert_eq!(are_kept(&cases), [true, false, false, false]);
    }

    #[test]
    fn a_case_that_took_longer_is_told_by_the_others_and_one_that_varies_is_not() {
        let of = |answers: &[(&str, f64)]| {
            let cell: Vec<Outcome> = answers.iter().map(|(a, time)| outcome(a, *time)).collect();
            Times::of(&[cell.iter().collect()])
        };
        let kept = of(&[("a", 1.2), ("a", 0.02)]);
        let slower = of(&[("a", 1.2), ("a", 0.2)]);
        let varies = of(&[("a", 1.2), ("b", 0.02)]);
        let cases = [kept.clone(), kept, slower, varies];
        assert_eq!(are_kept(&cases), [true, true, true, false]);
    }

    #[test]
    fn what_a_process_loads_at_its_first_call_is_no_sign_of_a_memory() {
        let cell = |is_first| {
            let mut first = outcome("go", 1.5);
            first.is_first = is_first;
            vec![first, outcome("go", 0.001), outcome("go", 0.001)]
        };
        let kept = |first: usize| {
            let cells: Vec<Vec<Outcome>> = (0..4).map(|at| cell(at < first)).collect();
            let cells = cells.iter().map(|cell| cell.iter().collect());
            are_kept(&[Times::of(&cells.collect::<Vec<_>>())])
        };
        assert_eq!(kept(0), [true]);
        // With four processes each has one of the inputs first.
        assert_eq!(kept(4), [false]);
    }
}
