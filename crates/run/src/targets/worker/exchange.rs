//! A running worker: its messages are written and read. A worker that breaks the protocol, takes too long or uses too
//! much memory cannot be used any more; it is killed when it is dropped.

use std::cell::RefCell;
use std::io::{self, PipeReader, PipeWriter, Read, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::rpc::{self, WorkerLine};
use crate::targets::command::{Running, StopOrder, SupervisedProgram, Tail};
use kelvin_system::signal::{Interrupt, timespec};

/// How long a worker may take to end, after the request to end, before it is killed.
const GRACE: Duration = Duration::from_millis(300);
/// How often the memory of a worker is checked.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many buffers of a worker's printed text are read at most after each answer.
const LAST_READS: usize = 64;
/// How much longer than its output a message may be, in addition to the JSON escapes.
pub(super) const AROUND: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 * 1024]);
}

/// The limits of an exchange.
#[derive(Clone, Copy)]
pub(super) struct WorkerLimits<'a> {
    /// The time limit for the answer.
    pub(super) timeout: Duration,
    /// The maximum length of a message.
    pub(super) longest: usize,
    /// How many bytes of memory the worker and its descendants may use.
    pub(super) max_memory: Option<u64>,
    /// Stops the run.
    pub(super) interrupt: &'a Interrupt,
}

/// The end of an exchange.
pub(super) enum ExchangeEnd {
    /// The worker has answered with these bytes.
    Answered(Vec<u8>),
    /// The worker has answered with an error.
    Refused(i32, String),
    /// The worker has to be replaced.
    Lost(WorkerLoss),
    /// The run was stopped.
    Interrupted,
}

/// Why a worker has to be replaced.
pub(super) enum WorkerLoss {
    /// The worker could not be started, or the connection to it failed.
    Unreachable(io::Error),
    /// The worker ended by itself.
    Ended,
    /// The worker gave no answer in time.
    TimedOut,
    /// The worker broke the protocol, in words that fit after "the worker".
    OutOfProtocol(&'static str),
    /// The worker answered a list of calls with a wrong list of answers, in words that fit after "the worker".
    WrongList(String),
    /// The answer of the worker is too long.
    TooLong,
    /// The worker uses too much memory.
    TooLarge,
}

/// A running worker.
pub(super) struct RunningWorker {
    running: Running,
    to: PipeWriter,
    from: PipeReader,
    log: PipeReader,
    /// The bytes that were read and do not form a complete line yet.
    begun: Vec<u8>,
    /// The time of the last check of its memory.
    looked: Instant,
    /// The write ends of its streams stay open here, so that closing a pipe does not wake the thread. The end of the
    /// worker is reported in another way.
    _theirs: [OwnedFd; 2],
}

impl RunningWorker {
    pub(super) fn start(program: &SupervisedProgram) -> io::Result<Self> {
        let (input, to) = io::pipe()?;
        let (from, output) = io::pipe()?;
        let (log, errors) = io::pipe()?;
        for ours in [to.as_fd(), from.as_fd(), log.as_fd()] {
            fcntl_setfl(ours, fcntl_getfl(ours)? | OFlags::NONBLOCK)?;
        }
        let theirs = [OwnedFd::from(output), OwnedFd::from(errors)];
        let [output, errors] = theirs.each_ref().map(OwnedFd::try_clone);
        // This process keeps no copy of the read end, so that a write to an ended worker fails and is noticed.
        let streams = [Some(input.into()), Some(output?), Some(errors?)];
        let running = Running::start(program, streams)?;
        Ok(Self {
            running,
            to,
            from,
            log,
            begun: Vec::new(),
            looked: Instant::now(),
            _theirs: theirs,
        })
    }

    /// Whether the worker uses too much memory. This is only checked from time to time.
    pub(super) fn is_too_large(&mut self, max_memory: Option<u64>) -> bool {
        let Some(most) = max_memory.filter(|_| self.looked.elapsed() >= LOOK_EVERY) else {
            return false;
        };
        self.looked = Instant::now();
        bytes_below(self.running.supervisor()) > most
    }

    /// Sends a message and waits for its answer. Text that the worker prints on standard error in the meantime goes to
    /// `log`; `stray` is called for a line that is not a message.
    pub(super) fn ask(
        &mut self,
        id: &str,
        message: &[u8],
        limits: WorkerLimits<'_>,
        log: &mut Tail,
        stray: &dyn Fn(),
    ) -> ExchangeEnd {
        let deadline = Instant::now() + limits.timeout;
        let mut unsent = message;
        loop {
            match self.write(&mut unsent) {
                Ok(()) => {}
                // The end of the worker is reported soon, with the exit code.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => unsent = &[],
                Err(error) => return ExchangeEnd::Lost(WorkerLoss::Unreachable(error)),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                read_all(&mut self.log, &mut |bytes| log.push(bytes));
                return ExchangeEnd::Lost(WorkerLoss::TimedOut);
            }
            let pause = match limits.max_memory {
                Some(_) => left.min(LOOK_EVERY),
                None => left,
            };
            let [has_ended, is_stopped] =
                match self.wait(pause, limits.interrupt, !unsent.is_empty()) {
                    Ok(woken) => woken,
                    Err(error) => return ExchangeEnd::Lost(WorkerLoss::Unreachable(error)),
                };
            if is_stopped {
                return ExchangeEnd::Interrupted;
            }
            let end = self.hear(id, limits.longest, stray);
            // Text that belongs to an answer was printed before it.
            read_all(&mut self.log, &mut |bytes| log.push(bytes));
            if let Some(end) = end {
                return end;
            }
            if has_ended {
                return ExchangeEnd::Lost(WorkerLoss::Ended);
            }
            if self.is_too_large(limits.max_memory) {
                return ExchangeEnd::Lost(WorkerLoss::TooLarge);
            }
        }
    }

    /// Drops text that the worker printed since the last call, because it belongs to no call.
    pub(super) fn forget_log(&mut self) {
        read_all(&mut self.log, &mut |_| {});
    }

    /// Writes as many bytes as the pipe accepts now.
    pub(super) fn write(&mut self, unsent: &mut &[u8]) -> io::Result<()> {
        while !unsent.is_empty() {
            match self.to.write(unsent) {
                Ok(written) => *unsent = &unsent[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for the next event. Returns whether the worker has ended, and whether the run is stopped.
    fn wait(&self, most: Duration, stop: &Interrupt, has_more: bool) -> io::Result<[bool; 2]> {
        let mut fds = self.fds(has_more)?;
        fds.push(PollFd::from_borrowed_fd(stop.fd(), PollFlags::IN));
        match poll(&mut fds, Some(&timespec(most))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok([0, fds.len() - 1].map(|at| !fds[at].revents().is_empty()))
    }

    /// The descriptors to wait for, in this order: the worker has ended, it has sent something, it has printed
    /// something, and, if there is more to send, it can receive.
    pub(super) fn fds(&self, has_more: bool) -> io::Result<Vec<PollFd<'_>>> {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.running.fd()?, PollFlags::IN),
            PollFd::new(&self.from, PollFlags::IN),
            PollFd::new(&self.log, PollFlags::IN),
        ];
        if has_more {
            fds.push(PollFd::new(&self.to, PollFlags::OUT));
        }
        Ok(fds)
    }

    /// Reads the messages of the worker. None if the answer has not come yet.
    fn hear(&mut self, id: &str, most: usize, stray: &dyn Fn()) -> Option<ExchangeEnd> {
        let (end, is_too_long) = self.lines(most, |line| match rpc::read(line, id) {
            WorkerLine::Result(output) => Some(ExchangeEnd::Answered(output)),
            WorkerLine::Error(code, message) => Some(ExchangeEnd::Refused(code, message)),
            WorkerLine::Wrong(what) => Some(ExchangeEnd::Lost(WorkerLoss::OutOfProtocol(what))),
            WorkerLine::Notification => None,
            WorkerLine::Stray => {
                stray();
                None
            }
        });
        end.or_else(|| is_too_long.then_some(ExchangeEnd::Lost(WorkerLoss::TooLong)))
    }

    /// Passes the complete lines from the worker to `take`, until `take` returns a value for one of them. Also returns
    /// whether an incomplete line is longer than `most`.
    pub(super) fn lines<T>(
        &mut self,
        most: usize,
        mut take: impl FnMut(&[u8]) -> Option<T>,
    ) -> (Option<T>, bool) {
        loop {
            let known = self.begun.len();
            let is_more = read_once(&mut self.from, &mut |bytes| {
                self.begun.extend_from_slice(bytes);
            });
            let mut start = 0;
            while let Some(length) = newline(&self.begun[start.max(known)..]) {
                let end = start.max(known) + length;
                let taken = take(&self.begun[start..end]);
                start = end + 1;
                if taken.is_some() {
                    self.begun.drain(..start);
                    return (taken, false);
                }
            }
            self.begun.drain(..start);
            let is_too_long = self.begun.len() > most;
            if is_too_long || !is_more {
                return (None, is_too_long);
            }
        }
    }

    /// Passes on the text that the worker has printed.
    pub(super) fn read_log(&mut self, take: &mut dyn FnMut(&[u8])) {
        read_all(&mut self.log, take);
    }

    /// Kills the worker with all its descendants, and returns how it ended.
    pub(super) fn kill(self) -> io::Result<ExitStatus> {
        self.running.stop(StopOrder::Kill)?;
        self.running.end()
    }

    /// Waits for a worker that has ended by itself, and for the end of all its descendants.
    pub(super) fn end(self) -> io::Result<ExitStatus> {
        self.running.end()
    }

    /// Asks the worker to end.
    pub(super) fn dismiss(&mut self) {
        // A worker that does not read this message is killed.
        let mut message = &*rpc::shutdown(&rpc::token());
        let _ = self.write(&mut message);
    }

    /// Gives the worker some time to end after [`dismiss`](Self::dismiss), and then kills it.
    pub(super) fn leave(self, since: Instant) {
        let left = (since + GRACE).saturating_duration_since(Instant::now());
        let has_ended = self.running.fd().is_ok_and(|fd| {
            let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
            matches!(poll(&mut fds, Some(&timespec(left))), Ok(1))
        });
        // The result is not needed.
        let _ = match has_ended {
            true => self.end(),
            false => self.kill(),
        };
    }
}

fn newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// Reads once without waiting. Returns whether there may be more.
fn read_once(from: &mut impl Read, take: &mut dyn FnMut(&[u8])) -> bool {
    BUFFER.with_borrow_mut(|buffer| match from.read(buffer) {
        Ok(read) => {
            take(&buffer[..read]);
            read == buffer.len()
        }
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    })
}

/// Reads the available bytes without waiting for more.
fn read_all(from: &mut impl Read, take: &mut dyn FnMut(&[u8])) {
    for _ in 0..LAST_READS {
        if !read_once(from, take) {
            break;
        }
    }
}

/// Whether this system provides the number.
pub(super) const IS_KNOWN: bool = cfg!(target_os = "linux");

/// The bytes of memory that all descendants of a process use. Pages that several of them share count several times.
/// Zero if the number is not available, e.g. because the processes have ended meanwhile.
#[cfg(target_os = "linux")]
fn bytes_below(process: u32) -> u64 {
    let mut found = 0;
    let mut processes = children(process);
    while let Some(next) = processes.pop() {
        found += resident(next).unwrap_or(0);
        processes.extend(children(next));
    }
    found
}

/// The children of all threads of a process.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> {
        let words = list.split_whitespace();
        words.filter_map(|number| number.parse().ok()).collect()
    };
    lists.flat_map(numbers).collect()
}

#[cfg(target_os = "linux")]
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Other systems do not provide the number.
#[cfg(not(target_os = "linux"))]
fn bytes_below(_: u32) -> u64 {
    0
}
