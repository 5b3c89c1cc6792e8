//! Runs tasks on threads: each thread takes the next free task.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{panic, thread};

use kelvin_base::notice::{Code, Notice};

/// Calls `work` with the numbers below `tasks`, on at most `jobs` threads. The results are in the order of the numbers,
/// not in the order of finishing. Fails with the first error of `work`; no further task is started after it. A panic of
/// `work` is raised again in the caller.
pub(super) fn run<T: Send>(
    tasks: usize,
    jobs: NonZeroUsize,
    work: &(dyn Fn(usize) -> anyhow::Result<T> + Sync),
) -> anyhow::Result<Vec<T>> {
    let jobs = jobs.get().min(tasks);
    if jobs <= 1 {
        return (0..tasks).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let take = || {
        let _guard = StopOnPanic(&failed);
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                break;
            }
            match work(task) {
                Ok(result) => done.push((task, result)),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let mut done = Vec::with_capacity(tasks);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(take)).collect();
        let mut first = Ok(());
        for worker in workers {
            match worker.join() {
                Ok(Ok(results)) => done.extend(results),
                Ok(Err(error)) => first = first.and(Err(error)),
                Err(panic) => panic::resume_unwind(panic),
            }
        }
        first
    })?;
    done.sort_unstable_by_key(|(task, _)| *task);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// If one of the threads panics, stops the others.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The maximum number of open descriptors per job: two pipes with both ends, the socket to the supervisor of the call,
/// the standard input, a file, and those for starting the process.
const PER_JOB: u64 = 10;
/// The maximum number of open descriptors for each additional call in the process of a job: a file and a folder.
const PER_CALL: u64 = 3;
/// The maximum number of open descriptors for everything else.
const BESIDE: u64 = 64;
/// The smallest limit with which a run of one job worked.
const FEWEST: u64 = 24;

/// Lowers the number of jobs, each with `at_once` calls, to what the limit of open files allows, and returns a notice
/// if it did.
pub(super) fn fit_open_files(jobs: &mut NonZeroUsize, at_once: NonZeroUsize) -> Option<Notice> {
    let asked = *jobs;
    *jobs = make_room(asked, PER_JOB + PER_CALL * (at_once.get() as u64 - 1));
    (*jobs < asked).then(|| {
        let [jobs, asked] = [*jobs, asked].map(|jobs| jobs.saturating_mul(at_once));
        let text = format!(
            "{jobs} instead of {asked} calls are made at the same time: the system allows this process too \
             few open files for more (see `ulimit -n`)"
        );
        Notice::new(Code::FewerJobs, text)
    })
}

/// How many of the `jobs` this process can run at the same time, at least one. If the limit of open files is too low
/// for all of them, it is raised as far as the system permits.
fn make_room(jobs: NonZeroUsize, per_job: u64) -> NonZeroUsize {
    let wanted = per_job * jobs.get() as u64 + BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < wanted) else {
        return jobs;
    };
    let raised = limit.maximum.map_or(wanted, |most| most.min(wanted));
    // Programs that the pipeline starts inherit the limit, so it is raised only as much as needed.
    let asked = Rlimit {
        current: Some(raised),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, asked) {
        Ok(()) => allowed(raised, jobs, per_job),
        Err(_) => allowed(current, jobs, per_job),
    }
}

/// How many jobs are possible with a limit of open files.
fn allowed(limit: u64, jobs: NonZeroUsize, per_job: u64) -> NonZeroUsize {
    let fit = limit.saturating_sub(FEWEST) / per_job;
    let fit = usize::try_from(fit).unwrap_or(usize::MAX);
    NonZeroUsize::new(fit).map_or(NonZeroUsize::MIN, |fit| fit.min(jobs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn jobs(count: usize) -> NonZeroUsize {
        count.try_into().expect("not zero")
    }

    #[test]
    fn results_are_in_order_whatever_finishes_first() {
        let work = |task: usize| {
            thread::sleep(Duration::from_millis((task as u64 * 7) % 5));
            Ok(task)
        };
        for count in [1, 2, 8, 100] {
            let results = run(40, jobs(count), &work).expect("no error");
            assert_eq!(results, (0..40).collect::<Vec<_>>());
        }
    }

    #[test]
    fn kel_40_every_task_is_done_exactly_once() {
        let counts: Vec<_> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        run(1000, jobs(8), &|task| {
            counts[task].fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .expect("no error");
        assert!(
            counts
                .iter()
                .all(|count| count.load(Ordering::Relaxed) == 1)
        );
    }

    #[test]
    fn an_error_stops_what_has_not_begun() {
        let begun = AtomicUsize::new(0);
        let result = run(1000, jobs(2), &|task| {
            begun.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            anyhow::ensure!(task != 3, "disk full");
            Ok(())
        });
        assert_eq!(result.expect_err("task 3 fails").to_string(), "disk full");
        assert!(begun.load(Ordering::Relaxed) < 1000);
    }

    #[test]
    fn a_panic_is_not_swallowed() {
        let result = panic::catch_unwind(|| {
            run(10, jobs(2), &|task| {
                assert_ne!(task, 5, "a bug");
                Ok(())
            })
        });
        assert!(result.is_err());
    }

    #[test]
    fn a_low_limit_allows_fewer_jobs_and_always_one() {
        let jobs = NonZeroUsize::new(16).expect("not 0");
        let fit = [0, 24, 40, 64, 84, 184, 1024].map(|limit| allowed(limit, jobs, PER_JOB).get());
        assert_eq!(fit, [1, 1, 1, 4, 6, 16, 16]);
    }
}
