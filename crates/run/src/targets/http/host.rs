//! A service that is started for a run: its process with all descendants, its port, and its printed text.

use std::io::{self, PipeReader, Read as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::PORT;
use crate::targets::TargetSite;
use crate::targets::command::{self, Running, StopOrder, Tail};
use crate::targets::handed::HandedInput;
use crate::targets::worker::WorkerProgram;
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_system::signal::{Interrupt, timespec};

/// How often the program checks whether a service accepts connections.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The time limit for one connection attempt.
const CONNECT: Duration = Duration::from_millis(500);
/// How long a service may take to end, after the request to end, before it is killed.
const GRACE: Duration = Duration::from_millis(300);
/// How long to wait, after connections were cut, until the end of the process is known and its log is complete.
const LAST: Duration = Duration::from_millis(200);

/// Why there is no answer.
pub(super) enum Unanswered {
    Interrupted,
    Failed(Box<Failure>),
    /// The service ended before it was called; the failure is set if no other service can be started.
    EndedBefore(Box<Failure>),
}

impl Unanswered {
    /// The same end of a call, with the turn of a conversation in the message of a failure.
    pub(super) fn of_input(mut self, input: &HandedInput<'_>) -> Self {
        if let (Some(turn), Self::Failed(failure) | Self::EndedBefore(failure)) =
            (&input.turn, &mut self)
        {
            failure.message = turn.said(&failure.message);
        }
        self
    }
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// Starts the service of a run, and another one if the first is lost.
pub(super) struct ServiceHost {
    line: String,
    /// The host name in the address, which has to be this machine.
    name: String,
    site: TargetSite,
    running: Mutex<Option<Arc<HostedService>>>,
    /// Why the service cannot be started; another attempt would fail too.
    failed: Arc<OnceLock<Failure>>,
}

impl ServiceHost {
    /// The host of a command line. Fails with a [`Misuse`] if the command line cannot be started.
    pub(super) fn open(line: &str, name: &str, site: &TargetSite) -> Result<Self, Misuse> {
        // A command line that cannot be parsed is reported before the run.
        WorkerProgram::of_line(&line.replace(PORT, "1"), "http.start", site)?;
        Ok(Self {
            line: line.to_owned(),
            name: name.trim_matches(['[', ']']).to_owned(),
            site: site.clone(),
            running: Mutex::default(),
            failed: Arc::default(),
        })
    }

    /// The same host in its initial state, without a service.
    pub(super) fn afresh(&self) -> Self {
        Self {
            line: self.line.clone(),
            name: self.name.clone(),
            site: self.site.clone(),
            running: Mutex::default(),
            failed: Arc::clone(&self.failed),
        }
    }

    /// The service, once it accepts connections. Fails with the end of the call if the service cannot be started or the
    /// run was stopped.
    pub(super) fn service(&self) -> Result<Arc<HostedService>, Unanswered> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.site.interrupt.tripped() {
            return Err(Unanswered::Interrupted);
        }
        if let Some(known) = &*running
            && known.ended(Duration::ZERO).is_none()
        {
            return Ok(Arc::clone(known));
        }
        // A service that ended between two calls had no call, so no answer is lost.
        *running = None;
        if let Some(failure) = self.failed.get() {
            return Err(failure.clone().into());
        }
        match self.start() {
            Ok(Some(service)) => Ok(Arc::clone(running.insert(Arc::new(service)))),
            Ok(None) => Err(Unanswered::Interrupted),
            Err(failure) => Err(self.failed.get_or_init(|| failure).clone().into()),
        }
    }

    /// Lets the next call start another service. Calls that the present service is still handling are not disturbed.
    pub(super) fn replace(&self, service: &Arc<HostedService>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, service))
        {
            *running = None;
        }
    }

    /// Starts a service and waits until it accepts connections; none if the run was stopped.
    fn start(&self) -> Result<Option<HostedService>, Failure> {
        let shown = format!("the service of `run.http.start` (`{}`)", self.line.trim());
        let unready = |kind, how: &str, log: &str| {
            Failure::new(kind, format!("{shown} was not ready: {how}")).printed(Streams {
                stderr: log.to_owned(),
                ..Streams::default()
            })
        };
        let not_started = |error: &io::Error| {
            let how = format!("it could not be started: {error}");
            unready(FailureKind::NotStarted, &how, "")
        };
        let port = free_port(&self.name).map_err(|error| not_started(&error))?;
        let service = self.process(port).map_err(|error| not_started(&error))?;
        let deadline = Instant::now() + self.site.timeout;
        loop {
            if let Some(kind) = service.ended(Duration::ZERO) {
                let how = format!("{} before it accepted a connection", command::ended(&kind));
                return Err(unready(FailureKind::NotStarted, &how, &service.log()));
            }
            if accepts(&self.name, port) {
                return Ok(Some(service));
            }
            if Instant::now() >= deadline {
                let how = format!(
                    "it accepted no connection on port {port} within {} s, which is what `timeout_s` allows; the \
                     command gets the port as `PORT` and `{PORT}`",
                    self.site.timeout.as_secs_f64()
                );
                return Err(unready(FailureKind::Timeout, &how, &service.log()));
            }
            if !self.site.interrupt.sleep(LOOK_EVERY) {
                return Ok(None);
            }
        }
    }

    fn process(&self, port: u16) -> io::Result<HostedService> {
        let line = self.line.replace(PORT, &port.to_string());
        let program = WorkerProgram::of_line(&line, "http.start", &self.site)
            .map_err(|misuse| io::Error::other(misuse.what))?;
        let mut supervised = program.supervised();
        supervised.envs([("PORT", port.to_string())]);
        let (log, output) = io::pipe()?;
        // This process keeps no copy of the write end; otherwise the log would never end.
        let streams = [None, Some(output.try_clone()?.into()), Some(output.into())];
        let running = Running::start(&supervised, streams)?;
        let tail = Arc::<Mutex<Tail>>::default();
        let into = Arc::clone(&tail);
        let reader = thread::Builder::new()
            .name("service".to_owned())
            .spawn(move || keep(log, &into))?;
        Ok(HostedService {
            port,
            process: Mutex::new(HostedProcess::Running(running)),
            log: tail,
            reader: Mutex::new(Some(reader)),
            interrupt: Arc::clone(&self.site.interrupt),
            _program: program,
        })
    }
}

/// Stores the last part of the service's printed text. If the pipe were not read, the service would stop once it is
/// full.
fn keep(mut log: PipeReader, tail: &Mutex<Tail>) {
    let mut buffer = [0; 8 * 1024];
    loop {
        match log.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => locked(tail).push(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A port on which nobody listens, and that no other service of this process was given. It is outside the range of
/// ports that systems assign automatically: otherwise another program could get it between this check and the moment at
/// which the service listens.
fn free_port(name: &str) -> io::Result<u16> {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two runs at the same time begin with different ports.
    let start = std::process::id().wrapping_mul(7919);
    let mut last = None;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + start.wrapping_add(step) % COUNT);
        let port = port.expect("both numbers together are below 65,536");
        match TcpListener::bind((name, port)) {
            Ok(_) => return Ok(port),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

fn accepts(name: &str, port: u16) -> bool {
    let addresses = (name, port).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, CONNECT).is_ok())
}

/// A running service. When the value is dropped, everything that the service has started is ended.
pub(super) struct HostedService {
    /// The port on which the service listens.
    pub(super) port: u16,
    process: Mutex<HostedProcess>,
    log: Arc<Mutex<Tail>>,
    /// Reads the log until nobody writes it any more.
    reader: Mutex<Option<JoinHandle<()>>>,
    interrupt: Arc<Interrupt>,
    /// Keeps the links to which its script refers.
    _program: WorkerProgram,
}

enum HostedProcess {
    Running(Running),
    Ended(FailureKind),
}

impl HostedService {
    /// How the service ended, if it ends within this time.
    pub(super) fn ended(&self, within: Duration) -> Option<FailureKind> {
        let mut process = locked(&self.process);
        let running = match &*process {
            HostedProcess::Ended(kind) => return Some(kind.clone()),
            HostedProcess::Running(running) => running,
        };
        let has_ended = running.fd().is_ok_and(|fd| {
            let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
            matches!(poll(&mut fds, Some(&timespec(within))), Ok(1))
        });
        if !has_ended {
            return None;
        }
        let unknown = HostedProcess::Ended(FailureKind::Signal(0));
        let HostedProcess::Running(running) = std::mem::replace(&mut *process, unknown) else {
            return None;
        };
        if let Ok(status) = running.end() {
            *process = HostedProcess::Ended(command::how(status));
            // None of its processes is left that could write, so the log ends at once. If a system lets a process
            // escape, that process may keep the log open; nobody waits for it.
            if let Some(reader) = locked(&self.reader).take() {
                let until = Instant::now() + LAST;
                while !reader.is_finished() && Instant::now() < until {
                    thread::sleep(Duration::from_millis(2));
                }
            }
        }
        match &*process {
            HostedProcess::Ended(kind) => Some(kind.clone()),
            HostedProcess::Running(_) => None,
        }
    }

    /// How the service ended, if that explains a broken connection.
    pub(super) fn is_lost(&self) -> Option<FailureKind> {
        self.ended(LAST)
    }

    /// The last part of the printed text.
    pub(super) fn log(&self) -> String {
        locked(&self.log).text()
    }
}

impl Drop for HostedService {
    fn drop(&mut self) {
        if self.ended(Duration::ZERO).is_some() {
            return;
        }
        if !self.interrupt.tripped() {
            if let HostedProcess::Running(running) = &*locked(&self.process) {
                // A service that ignores the request is killed.
                let _ = running.stop(StopOrder::Ask);
            }
            if self.ended(GRACE).is_some() {
                return;
            }
        }
        let gone = HostedProcess::Ended(FailureKind::Signal(0));
        let process = std::mem::replace(&mut *locked(&self.process), gone);
        if let HostedProcess::Running(running) = process {
            let _ = running.stop(StopOrder::Kill);
            // The result is not needed.
            let _ = running.end();
        }
    }
}
