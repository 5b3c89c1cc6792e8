//! Many jobs need many pipes: raises the limit of open files, and says how many jobs it allows.

use std::num::NonZeroUsize;

use kelvin_base::notice::{Code, Notice};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most open descriptors of one job: two pipes with both ends, the socket to the supervisor of the
/// call, the standard input, a file, and those that its start needs.
const PER_JOB: u64 = 10;
/// The most open descriptors of everything else.
const BESIDE: u64 = 64;
/// A run of one job worked with this many descriptors, and failed with fewer.
const FEWEST: u64 = 24;

/// Lowers the number of jobs to what this process has room for, and returns a notice where it did.
pub(super) fn fit(jobs: &mut NonZeroUsize) -> Option<Notice> {
    let asked = *jobs;
    *jobs = make_room(asked);
    (*jobs < asked).then(|| {
        let text = format!(
            "{jobs} instead of {asked} calls are made at the same time: the system allows this process too \
             few open files for more (see `ulimit -n`)"
        );
        Notice::new(Code::FewerJobs, text)
    })
}

/// How many of the `jobs` this process can run at the same time, at least one. Where the limit of open
/// files is too low for all of them, the limit is raised as far as the system permits.
fn make_room(jobs: NonZeroUsize) -> NonZeroUsize {
    let wanted = PER_JOB * jobs.get() as u64 + BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < wanted) else {
        return jobs;
    };
    let raised = limit.maximum.map_or(wanted, |most| most.min(wanted));
    // Programs that the pipeline starts inherit the limit, so it is raised no further than needed.
    let asked = Rlimit {
        current: Some(raised),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, asked) {
        Ok(()) => allowed(raised, jobs),
        Err(_) => allowed(current, jobs),
    }
}

/// How many jobs fit below a limit.
fn allowed(limit: u64, jobs: NonZeroUsize) -> NonZeroUsize {
    let fit = limit.saturating_sub(FEWEST) / PER_JOB;
    let fit = usize::try_from(fit).unwrap_or(usize::MAX);
    NonZeroUsize::new(fit).map_or(NonZeroUsize::MIN, |fit| fit.min(jobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_allows_fewer_jobs_and_always_one() {
        let jobs = NonZeroUsize::new(16).expect("not 0");
        let fit = [0, 24, 40, 64, 84, 184, 1024].map(|limit| allowed(limit, jobs).get());
        assert_eq!(fit, [1, 1, 1, 4, 6, 16, 16]);
    }
}
