//! The processes below this one. On Linux every descendant whose parent has ended becomes a child of this process, so
//! no descendant can escape: it is enough to kill children until there are none.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, wait, waitid,
};
use signal_hook::consts::SIGCHLD;

use kelvin_system::signal::timespec;

/// The time to wait for a killed process before looking for others: it needs a moment to end.
const MOMENT: Duration = Duration::from_millis(2);

/// The children of this process.
pub(super) struct Family {
    /// Becomes readable when a child has ended.
    pub(super) deaths: UnixStream,
}

impl Family {
    /// Makes this process the parent of every descendant whose own parent has ended. Fails if the system refuses it.
    pub(super) fn adopt() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let (deaths, trigger) = UnixStream::pair()?;
        deaths.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, trigger)?;
        Ok(Self { deaths })
    }

    /// The raw exit status of a leader; none while it runs. Every other process that has ended is reaped. With `lasts`,
    /// the processes that the leader leaves behind may continue.
    pub(super) fn status(&self, leader: Pid, lasts: bool) -> Option<i32> {
        self.forget_deaths();
        // The number of the group certainly belongs to the leader only until the leader is reaped.
        if !lasts && has_ended(leader) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        reap(Some(leader)).status
    }

    /// Kills a group and then every process below this one. Returns how many processes are left after the time limit,
    /// because they belong to another user or wait for a device.
    pub(super) fn clear(&self, group: Option<Pid>, most: Duration) -> u32 {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let begun = Instant::now();
        let mut looked = false;
        loop {
            self.forget_deaths();
            if !reap(None).some_live {
                return 0;
            }
            if looked {
                let children = children();
                for child in &children {
                    let _ = kill_process(*child, Signal::KILL);
                }
                if begun.elapsed() > most {
                    return u32::try_from(children.len()).unwrap_or(u32::MAX).max(1);
                }
            }
            self.wait_for_a_death();
            looked = true;
        }
    }

    fn wait_for_a_death(&self) {
        let mut fds = [PollFd::new(&self.deaths, PollFlags::IN)];
        // The caller checks everything again, for any result of the poll.
        let _ = poll(&mut fds, Some(&timespec(MOMENT)));
    }

    fn forget_deaths(&self) {
        use std::io::Read as _;
        let mut bytes = [0; 64];
        while matches!((&self.deaths).read(&mut bytes), Ok(read) if read == bytes.len()) {}
    }
}

/// Whether a process has ended. The process is not reaped.
fn has_ended(process: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(process), look), Ok(Some(_)))
}

/// The result of reaping.
#[derive(Default)]
struct Reaped {
    /// The status of the leader.
    status: Option<i32>,
    /// Whether some children are still alive.
    some_live: bool,
}

/// Reaps every child that has ended.
fn reap(leader: Option<Pid>) -> Reaped {
    let mut reaped = Reaped::default();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid) == leader => {
                reaped.status = Some(status.as_raw());
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                reaped.some_live = true;
                return reaped;
            }
            Err(_) => return reaped,
        }
    }
}

/// The children of this process: those in the system's list, or those that name it as their parent.
#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    use std::fs;
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists: Option<Vec<String>> = threads
        .map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect();
    // The kernel may not have been built with the lists of children.
    match lists.filter(|lists| !lists.is_empty()) {
        Some(lists) => lists
            .iter()
            .flat_map(|list| list.split_whitespace())
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect(),
        None => fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
            .filter(|pid| parent(*pid) == Some(rustix::process::getpid()))
            .collect(),
    }
}

/// The parent of a process. The status line contains the name of the process, which may contain anything and ends with
/// the last bracket.
#[cfg(target_os = "linux")]
fn parent(of: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", of.as_raw_nonzero())).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    Pid::from_raw(after.split_whitespace().nth(1)?.parse().ok()?)
}

/// Other systems do not list children, and never make this process the parent of a process that it has not started.
#[cfg(not(target_os = "linux"))]
fn children() -> Vec<Pid> {
    Vec::new()
}
