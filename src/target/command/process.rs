//! Waits for a process on the thread that started it. It reads what the process prints, stops the
//! process after its time, and ends every other process of its group.

use std::cell::RefCell;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::pipe::Pipe;
use super::printed::Sink;
use crate::signal::{Interrupt, timespec};

/// The time between the request to end (SIGTERM) and SIGKILL. A client needs some of it to stop what it
/// runs elsewhere, e.g. a container; more of it would make people wait.
const GRACE: Duration = Duration::from_millis(300);
/// How often a system without process descriptors is asked whether the process has ended.
const ASK_EVERY: Duration = Duration::from_millis(2);
/// At most so many buffers are read after a process has ended: another process may still write.
const LAST_READS: usize = 64;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 * 1024]);
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum ProcessEnd {
    /// By itself, within its time.
    Exited(ExitStatus),
    /// It was stopped after its time.
    TimedOut,
    /// It was stopped because the run was.
    Interrupted,
}

/// Which streams of a process are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadStreams {
    /// The standard output and the standard error.
    Both,
    /// The standard error; the standard output is set by whoever makes the command.
    ErrorOnly,
}

/// A process that leads a group of its own. When the value is dropped, the whole group is killed.
pub(super) struct Group {
    child: Child,
    leader: Pid,
    descriptor: Option<OwnedFd>,
    stdout: Option<Pipe>,
    stderr: Pipe,
}

impl Group {
    /// Starts a command in a group of its own.
    ///
    /// # Errors
    ///
    /// Where the process cannot be started.
    pub(super) fn start(mut command: Command, streams: ReadStreams) -> io::Result<Self> {
        let stderr = Pipe::open()?;
        command.stderr(stderr.end()?).process_group(0);
        let stdout = match streams {
            ReadStreams::Both => Some(Pipe::open()?),
            ReadStreams::ErrorOnly => None,
        };
        if let Some(stdout) = &stdout {
            command.stdout(stdout.end()?);
        }
        let child = command.spawn()?;
        let leader = Pid::from_child(&child);
        Ok(Self {
            child,
            leader,
            descriptor: descriptor(leader),
            stdout,
            stderr,
        })
    }

    /// Waits until the process itself ends, whoever else holds its standard streams, then kills
    /// what is left of its group.
    ///
    /// A process that has left the group on purpose, e.g. by `setsid`, goes on.
    pub(super) fn watch(
        mut self,
        timeout: Duration,
        interrupt: &Interrupt,
        stdout: &mut dyn Sink,
        stderr: &mut dyn Sink,
    ) -> io::Result<ProcessEnd> {
        let mut streams = [
            self.stdout.as_ref().map(|pipe| Stream::of(pipe, stdout)),
            Some(Stream::of(&self.stderr, stderr)),
        ];
        let mut deadline = Instant::now() + timeout;
        let mut stopped = None;
        let mut kills = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                stopped.get_or_insert(ProcessEnd::TimedOut);
                self.signal(if kills { Signal::KILL } else { Signal::TERM });
                kills = true;
                deadline = Instant::now() + GRACE;
                continue;
            }
            let interrupt = stopped.is_none().then(|| interrupt.fd());
            let woken = self.wait(left, interrupt, &streams)?;
            for (stream, ready) in streams.iter_mut().zip(woken.streams) {
                if ready && stream.as_mut().is_some_and(|stream| !stream.read()) {
                    *stream = None;
                }
            }
            if woken.exited {
                break;
            }
            if woken.interrupted {
                stopped = Some(ProcessEnd::Interrupted);
                deadline = Instant::now();
            }
        }
        // The number of the group belongs to it until the leader is reaped, and not longer.
        self.signal(Signal::KILL);
        for stream in streams.iter_mut().flatten() {
            stream.read_the_rest();
        }
        let status = self.child.wait()?;
        Ok(stopped.unwrap_or(ProcessEnd::Exited(status)))
    }

    /// Waits until the process ends, prints something, or the run is to stop.
    fn wait(
        &self,
        most: Duration,
        interrupt: Option<BorrowedFd<'_>>,
        streams: &[Option<Stream<'_>>; 2],
    ) -> io::Result<Woken> {
        let most = match self.descriptor {
            Some(_) => most,
            None => most.min(ASK_EVERY),
        };
        let descriptor = self.descriptor.as_ref().map(OwnedFd::as_fd);
        let [stdout, stderr] = streams.each_ref().map(|s| s.as_ref().map(Stream::fd));
        let watched = [descriptor, interrupt, stdout, stderr];
        let mut fds: Vec<PollFd<'_>> = watched
            .iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        match poll(&mut fds, Some(&timespec(most))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut seen = fds.iter().map(|fd| !fd.revents().is_empty());
        let [exited, interrupted, stdout, stderr] =
            watched.map(|fd| fd.is_some() && seen.next().unwrap_or(false));
        Ok(Woken {
            exited: exited || (self.descriptor.is_none() && self.has_exited()),
            interrupted,
            streams: [stdout, stderr],
        })
    }

    /// Whether the leader has ended. It is not reaped, so that nobody else gets its number.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(self.leader), options), Ok(Some(_)))
    }

    /// Sends a signal to every process of the group. An empty group is no failure.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After the leader was reaped, another process may have its number.
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

struct Woken {
    exited: bool,
    interrupted: bool,
    streams: [bool; 2],
}

/// One of the standard streams of a process and where what it says is kept.
struct Stream<'a> {
    from: &'a Pipe,
    sink: &'a mut dyn Sink,
}

impl<'a> Stream<'a> {
    fn of(from: &'a Pipe, sink: &'a mut dyn Sink) -> Self {
        Self { from, sink }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.from.reader.as_fd()
    }

    /// Reads once from a stream that is ready. Returns whether there may be more.
    fn read(&mut self) -> bool {
        BUFFER.with_borrow_mut(|buffer| match (&self.from.reader).read(buffer) {
            Ok(0) => false,
            Ok(read) => {
                self.sink.push(&buffer[..read]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        })
    }

    /// Reads what is there without waiting for more.
    fn read_the_rest(&mut self) {
        for _ in 0..LAST_READS {
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            let ready = poll(&mut fds, Some(&timespec(Duration::ZERO)));
            if !matches!(ready, Ok(1)) || !self.read() {
                break;
            }
        }
    }
}

/// A descriptor that becomes readable when the process ends.
#[cfg(target_os = "linux")]
fn descriptor(of: Pid) -> Option<OwnedFd> {
    // Linux before 5.3 and strict sandboxes refuse it.
    rustix::process::pidfd_open(of, rustix::process::PidfdFlags::empty()).ok()
}

/// Only Linux has such descriptors.
#[cfg(not(target_os = "linux"))]
fn descriptor(_: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_panic_kills_the_process_that_was_being_watched() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let group = Group::start(command, ReadStreams::Both).expect("started");
        let stat = format!("/proc/{}/stat", group.child.id());
        drop(group);
        let lives = fs::read_to_string(stat).is_ok_and(|stat| {
            let state = stat.rsplit(')').next().unwrap_or("");
            !state.trim_start().starts_with('Z')
        });
        assert!(!lives);
    }
}
