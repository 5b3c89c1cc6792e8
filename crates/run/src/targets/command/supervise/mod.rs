//! Every call has a process above it, its supervisor, which outlives kelvin for a moment. Every process that a call
//! starts ends up below the supervisor, even after `setsid` or a double fork, and is killed by it: when the call
//! ends, when its time is over, and when kelvin itself has ended for any reason.
//!
//! A supervisor attends to one call at a time, so all processes below it belong to that call. It is started for the
//! first call of a job and is used again for the next calls.

mod family;
mod serve;
mod spawn;
mod wire;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

pub use serve::{serve, serve_the_tests};

use kelvin_system::confine;

/// The first argument that makes this program a supervisor.
pub const WORD: &str = "__supervise";

/// Whether this program calls [`serve()`] where [`WORD`] is its first argument.
static KNOWS_WORD: AtomicBool = AtomicBool::new(false);

/// The supervisors that attend to no call.
static IDLE: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());
/// The supervisors of programs that have ended and may have left processes that are still needed.
static KEPT: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());

/// A program to start, in a group of its own.
#[derive(Debug, Default)]
pub(in crate::targets) struct SupervisedProgram {
    /// The program and its arguments.
    words: Vec<OsString>,
    /// Whether the processes that it leaves behind may go on until [`dismiss`], as a server that calls use.
    lasts: bool,
    /// Variables that differ from those of this process.
    variables: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl SupervisedProgram {
    /// A program that runs in a folder.
    pub(in crate::targets) fn new(program: impl Into<OsString>, folder: &Path) -> Self {
        Self {
            words: vec![program.into()],
            lasts: false,
            variables: Vec::new(),
            folder: folder.to_owned(),
        }
    }

    /// Adds arguments.
    pub(in crate::targets) fn args(
        &mut self,
        words: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> &mut Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Sets variables of its environment.
    pub(in crate::targets) fn envs(
        &mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> &mut Self {
        let owned = variables
            .into_iter()
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()));
        self.variables.extend(owned);
        self
    }

    /// Lets the processes that it starts outlive it until [`dismiss`].
    pub(super) const fn lasting(&mut self) -> &mut Self {
        self.lasts = true;
        self
    }
}

/// The standard streams that a program gets: input, output and error output.
pub(in crate::targets) type Streams = [OwnedFd; 3];

/// The standard streams that a program has for itself. The others are an empty input, and pipes that are read here.
pub(in crate::targets) type OwnStreams = [Option<OwnedFd>; 3];

/// The pipes of what programs print. Of a supervisor they are made once and not for each program, since none of the
/// processes that could write there is left when the next program starts.
struct Pipes {
    from: [PipeReader; 2],
    /// Where programs print. A process that ends closes its streams one after the other, and the last one to close
    /// such a stream would wake the waiting thread, so they stay open here.
    into: [OwnedFd; 2],
}

impl Pipes {
    fn open() -> io::Result<Self> {
        let (stdout, output) = io::pipe()?;
        let (stderr, errors) = io::pipe()?;
        Ok(Self {
            from: [stdout, stderr],
            into: [output.into(), errors.into()],
        })
    }
}

/// An order to a supervisor while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::targets) enum StopOrder {
    /// The group is asked to end.
    Ask,
    /// The group is killed.
    Kill,
}

/// The reply of a supervisor once a program has ended and none of its processes is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SupervisorReply {
    /// How the program ended, and how many processes could not be killed.
    Ended(i32, u32),
    /// The program could not be started; the error number of the system.
    NotStarted(i32),
    /// The supervisor could not begin its work; the error number of the system.
    Unable(i32),
}

/// A process that starts programs for this one.
struct Supervisor {
    /// The connection to the process. When it is closed, the process kills what it has started and ends.
    socket: Option<UnixStream>,
    process: Child,
    pipes: Pipes,
}

impl Supervisor {
    fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = command()?;
        // A variable that the process does not get cannot be read in its environment by others.
        kelvin_system::confine::withhold(&mut command);
        command
            .args(confine::user().iter().flat_map(|user| user.words()))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = confine::as_root(|| command.spawn()).map_err(|error| unable(&error))?;
        let supervisor = Self {
            socket: Some(socket),
            process,
            pipes: Pipes::open()?,
        };
        supervisor.lend().map_err(|error| unable(&error))?;
        Ok(supervisor)
    }

    /// Sends the streams of programs that have none of their own.
    fn lend(&self) -> io::Result<()> {
        let [output, errors] = self.pipes.into.each_ref().map(OwnedFd::try_clone);
        let streams = [nothing()?, output?, errors?];
        wire::send(self.socket()?, &wire::usual(), &streams)
    }

    /// Gets ready for another program. Only on Linux is it sure that no process of an earlier one can still print.
    fn again(mut self) -> io::Result<Self> {
        if cfg!(not(target_os = "linux")) {
            self.pipes = Pipes::open()?;
            self.lend()?;
        }
        Ok(self)
    }

    fn socket(&self) -> io::Result<&UnixStream> {
        self.socket.as_ref().ok_or_else(gone)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.process.wait();
    }
}

/// An empty standard input.
pub(in crate::targets) fn nothing() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

/// Tells that this program calls [`serve()`] where [`WORD`] is its first argument. The test programs that Cargo makes do
/// not: every crate whose tests start processes has a test `supervisor::of_the_tests` instead.
pub fn know_word() {
    KNOWS_WORD.store(true, Ordering::Relaxed);
}

/// The command that starts this program as a supervisor.
fn command() -> io::Result<Command> {
    // This is the file that is running, even if another file has taken its name.
    let mut command = match cfg!(target_os = "linux") {
        true => Command::new("/proc/self/exe"),
        false => Command::new(env::current_exe()?),
    };
    match KNOWS_WORD.load(Ordering::Relaxed) {
        true => command.arg(WORD),
        false => command.args([
            "--ignored",
            "--exact",
            "supervisor::of_the_tests",
            "--test-threads=1",
        ]),
    };
    Ok(command)
}

/// A running program with the supervisor above it. When the value is dropped before the program ends, everything
/// that the program has started is killed.
pub(in crate::targets) struct Running {
    supervisor: Supervisor,
    lasts: bool,
    /// Whether the supervisor attends to no program after this one.
    is_last: bool,
}

impl Running {
    /// Starts a program. A failure to start is reported by [`end`](Self::end).
    ///
    /// # Errors
    ///
    /// Where no supervisor can be started, or the program cannot be sent to it.
    pub(in crate::targets) fn start(
        program: &SupervisedProgram,
        streams: OwnStreams,
    ) -> io::Result<Self> {
        let order = wire::start(program, streams.each_ref().map(Option::is_some))?;
        let streams: Vec<OwnedFd> = streams.into_iter().flatten().collect();
        loop {
            let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let is_new = idle.is_none();
            let supervisor = match idle.map(Supervisor::again) {
                Some(Ok(supervisor)) => supervisor,
                // The idle supervisor was killed by somebody.
                Some(Err(_)) => continue,
                None => Supervisor::start()?,
            };
            match wire::send(supervisor.socket()?, &order, &streams) {
                Ok(()) => {
                    return Ok(Self {
                        supervisor,
                        lasts: program.lasts,
                        is_last: false,
                    });
                }
                Err(error) if is_new => return Err(unable(&error)),
                // The idle supervisor was killed by somebody.
                Err(_) => {}
            }
        }
    }

    /// Becomes readable when the program has ended.
    ///
    /// # Errors
    ///
    /// None while the value is in use.
    pub(in crate::targets) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.supervisor.socket()?.as_fd())
    }

    /// What the program prints: its standard output and its error output, as far as these are not its own.
    pub(in crate::targets) const fn printed(&self) -> &[PipeReader; 2] {
        &self.supervisor.pipes.from
    }

    /// Keeps the supervisor from attending to another program, since not all that this one printed was read.
    pub(in crate::targets) const fn be_the_last(&mut self) {
        self.is_last = true;
    }

    /// The number of the supervisor, which is above every process that the program has started.
    pub(in crate::targets) fn supervisor(&self) -> u32 {
        self.supervisor.process.id()
    }

    /// Stops the group of the program.
    ///
    /// # Errors
    ///
    /// Where the supervisor is gone.
    pub(in crate::targets) fn stop(&self, stop: StopOrder) -> io::Result<()> {
        wire::send(self.supervisor.socket()?, &wire::stop(stop), &[])
    }

    /// Waits for the program and tells how it ended. Nothing that it has started is left then.
    ///
    /// # Errors
    ///
    /// Where the program could not be started, where a process of it cannot be killed, or where the supervisor itself
    /// was killed.
    pub(in crate::targets) fn end(self) -> io::Result<ExitStatus> {
        use std::os::unix::process::ExitStatusExt as _;
        let reply = wire::reply(self.supervisor.socket()?).map_err(|_| gone())?;
        if let SupervisorReply::NotStarted(_) | SupervisorReply::Ended(_, 0) = reply
            && !self.is_last
        {
            let list = if self.lasts { &KEPT } else { &IDLE };
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            list.push(self.supervisor);
        }
        match reply {
            SupervisorReply::Ended(status, 0) => Ok(ExitStatus::from_raw(status)),
            SupervisorReply::Ended(_, left) => Err(io::Error::other(format!(
                "it left {left} processes that cannot be killed"
            ))),
            SupervisorReply::NotStarted(reason) => Err(io::Error::from_raw_os_error(reason)),
            SupervisorReply::Unable(reason) => Err(unable(&io::Error::from_raw_os_error(reason))),
        }
    }
}

/// Ends the idle supervisors with all processes that programs have left to them, and waits for the
/// supervisors.
pub fn dismiss() {
    for list in [&IDLE, &KEPT] {
        let supervisors = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
        // All supervisors are told to end before the first wait.
        drop(supervisors);
    }
}

fn gone() -> io::Error {
    io::Error::other("the process that watches over the calls was ended by somebody else")
}

fn unable(error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "the process that watches over the calls could not begin: {error}"
    ))
}
