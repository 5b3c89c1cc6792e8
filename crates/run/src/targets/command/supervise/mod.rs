//! Starts every call below another process, its supervisor, which lives slightly longer than Kelvin. Every process that
//! a call starts is a descendant of the supervisor, even after `setsid` or a double fork. The supervisor kills these
//! processes when the call ends, when its time limit is over, or when Kelvin itself has ended for any reason.
//!
//! A supervisor handles one call at a time, so all processes below it belong to that call. It is started for the first
//! call of a job and reused for the next calls.

mod family;
mod serve;
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

use serde::{Deserialize, Serialize};
pub use serve::{serve, serve_the_tests};

use kelvin_system::confine;

/// If this is the first argument, the program runs as a supervisor.
pub const WORD: &str = "__supervise";

/// Whether this program calls [`serve()`] if [`WORD`] is its first argument.
static KNOWS_WORD: AtomicBool = AtomicBool::new(false);

/// The supervisors that are not handling a call.
static IDLE: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());
/// The supervisors of finished programs that may have left processes which are still needed.
static KEPT: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());

/// A program to start, in its own process group.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::targets) struct SupervisedProgram {
    /// The program and its arguments.
    words: Vec<OsString>,
    /// Whether the processes that it leaves behind may continue until [`dismiss`], e.g. a server that calls use.
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

    /// Lets the processes that the program starts run on after its end, until [`dismiss`].
    pub(super) const fn lasting(&mut self) -> &mut Self {
        self.lasts = true;
        self
    }
}

/// The standard streams of a program: input, output and error output.
pub(in crate::targets) type Streams = [OwnedFd; 3];

/// The streams that are set for a single program. The others are an empty input, and pipes that this program reads.
pub(in crate::targets) type OwnStreams = [Option<OwnedFd>; 3];

/// The pipes for the printed text of programs. They are made once per supervisor and not per program, since no process
/// that could write to them is left when the next program starts.
struct Pipes {
    from: [PipeReader; 2],
    /// The write ends for programs. A process that ends closes its streams one after the other, and closing the last
    /// copy of a stream would wake the waiting thread, so copies stay open here.
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
    /// Asks the group to end.
    Ask,
    /// Kills the group.
    Kill,
}

/// The reply of a supervisor once a program has ended and all its processes are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SupervisorReply {
    /// How the program ended, and how many processes could not be killed.
    Ended(i32, u32),
    /// The program could not be started; the error number of the system.
    NotStarted(i32),
    /// The supervisor could not start its work; the error number of the system.
    Unable(i32),
}

/// A process that starts programs on behalf of this process.
struct Supervisor {
    /// The connection to the process. When it is closed, the process kills what it has started and then ends.
    socket: Option<UnixStream>,
    process: Child,
    pipes: Pipes,
}

impl Supervisor {
    fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = command()?;
        // Other processes cannot read a variable in the environment of a process that does not get it.
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

    /// Sends the streams that are used by programs without their own streams.
    fn lend(&self) -> io::Result<()> {
        let [output, errors] = self.pipes.into.each_ref().map(OwnedFd::try_clone);
        let streams = [nothing()?, output?, errors?];
        wire::send(self.socket()?, &wire::usual(), &streams)
    }

    /// Prepares for another program. Only on Linux is it certain that no process of an earlier program can still print.
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

/// Declares that this program calls [`serve()`] if [`WORD`] is its first argument. The test programs that Cargo builds
/// do not: every crate whose tests start processes has a test `supervisor::of_the_tests` instead.
pub fn know_word() {
    KNOWS_WORD.store(true, Ordering::Relaxed);
}

/// The command that starts this program as a supervisor.
fn command() -> io::Result<Command> {
    // This path names the running file, even if another file now has its name.
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
    /// Whether the supervisor will handle no other program after this one.
    is_last: bool,
}

impl Running {
    /// Starts a program. A failure to start is reported by [`end`](Self::end). Fails if no supervisor can be started,
    /// or the program cannot be sent to it.
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
                // Something has killed the idle supervisor.
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
                // Something has killed the idle supervisor.
                Err(_) => {}
            }
        }
    }

    /// A descriptor that becomes readable when the program has ended. Fails if the connection to the supervisor is
    /// closed.
    pub(in crate::targets) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.supervisor.socket()?.as_fd())
    }

    /// The pipes with the standard output and the error output of the program, unless the program has its own streams.
    pub(in crate::targets) const fn printed(&self) -> &[PipeReader; 2] {
        &self.supervisor.pipes.from
    }

    /// Prevents the supervisor from handling another program, since the output of this program was not read completely.
    pub(in crate::targets) const fn be_the_last(&mut self) {
        self.is_last = true;
    }

    /// The process id of the supervisor, which is above every process that the program has started.
    pub(in crate::targets) fn supervisor(&self) -> u32 {
        self.supervisor.process.id()
    }

    /// Stops the group of the program. Fails if the supervisor has ended.
    pub(in crate::targets) fn stop(&self, stop: StopOrder) -> io::Result<()> {
        wire::send(self.supervisor.socket()?, &wire::stop(stop), &[])
    }

    /// Waits for the program and returns how it ended. Afterwards none of the processes that it started is left. Fails
    /// if the program could not be started, if one of its processes cannot be killed, or if the supervisor itself was
    /// killed.
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

/// Ends the idle supervisors with all processes that finished programs have left, and waits for the supervisors.
pub fn dismiss() {
    for list in [&IDLE, &KEPT] {
        let supervisors = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
        // All supervisors are asked to end before the program waits for the first one.
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
