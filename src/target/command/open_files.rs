//! Many jobs need many pipes: raises the limit of open files.

use std::num::NonZeroUsize;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One job has at most so many open descriptors: two pipes with both ends, the socket to the process above the
/// call, the standard input, a file, and what its start needs.
const PER_JOB: u64 = 10;
/// Everything else has at most so many.
const BESIDE: u64 = 64;

/// Raises the limit of open files of this process where `jobs` need more than it allows and the
/// system permits it. Where it does not, calls fail, and their failure names the reason.
pub(super) fn make_room(jobs: NonZeroUsize) {
    let wanted = PER_JOB * jobs.get() as u64 + BESIDE;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = limit.maximum.map_or(wanted, |most| most.min(wanted));
        // Programs that the pipeline starts inherit it, so it is raised by no more than is needed.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(current),
                maximum: limit.maximum,
            },
        );
    }
}
