//! Every call has a process above it that outlives kelvin for a moment: its supervisor. Whatever a call has
//! started ends up below that process, also after `setsid` or a double fork, and is killed by it: when the call
//! ends, when its time is over, and when kelvin itself is gone, however it went.
//!
//! A supervisor attends to one call at a time, so what is below it belongs to that call. It is started for the
//! first call of a job and is used again for the next ones.

mod family;
mod serve;
mod wire;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

pub use serve::serve;
#[cfg(any(test, feature = "fixtures"))]
pub use serve::serve_the_tests;

use kelvin_system::confine;

/// The word after the name of this program that makes it a supervisor.
pub const WORD: &str = "__supervise";

/// The supervisors that attend to no call.
static IDLE: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());
/// Those of programs that have ended and may have left something that is still of use.
static KEPT: Mutex<Vec<Supervisor>> = Mutex::new(Vec::new());

/// A program to start, in a group of its own.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The program, and what it is given.
    words: Vec<OsString>,
    /// Whether what it leaves behind may go on until [`dismiss`], as a server that calls talk to.
    lasts: bool,
    /// Variables that differ from those of this process.
    variables: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Program {
    /// A program that runs in a folder.
    pub(super) fn new(program: impl Into<OsString>, folder: &Path) -> Self {
        Self {
            words: vec![program.into()],
            lasts: false,
            variables: Vec::new(),
            folder: folder.to_owned(),
        }
    }

    /// Adds arguments.
    pub(super) fn args(
        &mut self,
        words: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> &mut Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Sets variables of its environment.
    pub(super) fn envs(
        &mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> &mut Self {
        let owned = variables
            .into_iter()
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()));
        self.variables.extend(owned);
        self
    }

    /// Lets what it starts outlive it until [`dismiss`].
    pub(super) const fn lasting(&mut self) -> &mut Self {
        self.lasts = true;
        self
    }
}

/// The standard streams of a program, as it gets them: what it reads, prints and complains.
pub(super) type Streams = [OwnedFd; 3];

/// What can be asked of a supervisor while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The group is asked to end.
    Ask,
    /// The group is killed.
    Kill,
}

/// What a supervisor says once a program has ended and nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// How it ended, and how many processes could not be killed.
    Ended(i32, u32),
    /// It could not be started, for this reason of the system.
    NotStarted(i32),
    /// The supervisor could not take up its work, for this reason of the system.
    Unable(i32),
}

/// A process that starts programs for this one.
struct Supervisor {
    /// To and from the process. When it is closed, the process kills what it has started and ends.
    socket: Option<UnixStream>,
    process: Child,
}

impl Supervisor {
    fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = command()?;
        // What it is not given, nobody can read in its environment.
        kelvin_system::confine::withhold(&mut command);
        command
            .args(confine::user().iter().flat_map(|user| user.words()))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = confine::as_root(|| command.spawn()).map_err(|error| unable(&error))?;
        Ok(Self {
            socket: Some(socket),
            process,
        })
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

/// This program as a supervisor.
fn command() -> io::Result<Command> {
    #[cfg(any(test, feature = "fixtures"))]
    if let Some(command) = tests_only::command()? {
        return Ok(command);
    }
    // The file that runs now, also where another has taken its name.
    let mut command = match cfg!(target_os = "linux") {
        true => Command::new("/proc/self/exe"),
        false => Command::new(env::current_exe()?),
    };
    command.arg(WORD);
    Ok(command)
}

/// The test program of a crate as a supervisor: it runs the one test that serves, `supervisor::of_the_tests`, which
/// every crate has whose tests start processes.
#[cfg(any(test, feature = "fixtures"))]
mod tests_only {
    use std::process::Command;
    use std::{env, io};

    /// None where the program that runs is none that Cargo has made of tests: it puts those in a folder of their own.
    pub(super) fn command() -> io::Result<Option<Command>> {
        let program = env::current_exe()?;
        let folder = program.parent().and_then(|folder| folder.file_name());
        if folder.is_none_or(|name| name != "deps") {
            return Ok(None);
        }
        let mut command = Command::new(program);
        command.args([
            "--ignored",
            "--exact",
            "supervisor::of_the_tests",
            "--test-threads=1",
        ]);
        Ok(Some(command))
    }
}

/// A program that runs, with the supervisor above it. When the value is dropped before its end, everything
/// that the program has started is killed.
pub(super) struct Running {
    supervisor: Supervisor,
    lasts: bool,
}

impl Running {
    /// Has a program started. That it cannot be is told at its end.
    ///
    /// # Errors
    ///
    /// Where no supervisor can be started, or something in the program cannot be handed over.
    pub(super) fn start(program: &Program, streams: &Streams) -> io::Result<Self> {
        let order = wire::start(program)?;
        loop {
            let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let is_new = idle.is_none();
            let supervisor = idle.map_or_else(Supervisor::start, Ok)?;
            match wire::send(supervisor.socket()?, &order, streams) {
                Ok(()) => {
                    return Ok(Self {
                        supervisor,
                        lasts: program.lasts,
                    });
                }
                Err(error) if is_new => return Err(unable(&error)),
                // Somebody has ended it while it had nothing to do.
                Err(_) => {}
            }
        }
    }

    /// Becomes readable when the program has ended.
    ///
    /// # Errors
    ///
    /// None while the value is in use.
    pub(super) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.supervisor.socket()?.as_fd())
    }

    /// Stops the group of the program.
    ///
    /// # Errors
    ///
    /// Where the supervisor is gone.
    pub(super) fn stop(&self, stop: Stop) -> io::Result<()> {
        wire::send(self.supervisor.socket()?, &wire::stop(stop), &[])
    }

    /// How the program ended. Nothing that it has started is left then.
    ///
    /// # Errors
    ///
    /// Where it could not be started, where something of it cannot be killed, or where the supervisor itself
    /// was ended.
    pub(super) fn end(self) -> io::Result<ExitStatus> {
        use std::os::unix::process::ExitStatusExt as _;
        let reply = wire::reply(self.supervisor.socket()?).map_err(|_| gone())?;
        if let Reply::NotStarted(_) | Reply::Ended(_, 0) = reply {
            let list = if self.lasts { &KEPT } else { &IDLE };
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            list.push(self.supervisor);
        }
        match reply {
            Reply::Ended(status, 0) => Ok(ExitStatus::from_raw(status)),
            Reply::Ended(_, left) => Err(io::Error::other(format!(
                "it left {left} processes that cannot be killed"
            ))),
            Reply::NotStarted(reason) => Err(io::Error::from_raw_os_error(reason)),
            Reply::Unable(reason) => Err(unable(&io::Error::from_raw_os_error(reason))),
        }
    }
}

/// Ends the supervisors, which have nothing to do any more, with all that programs have left to them, and waits for
/// them.
pub fn dismiss() {
    for list in [&IDLE, &KEPT] {
        let supervisors = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
        // Each is told before any is waited for.
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
