//! The work of a supervisor: it starts one program after the other, and leaves no process behind.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{io, thread};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::family::Family;
use super::wire::{self, SupervisorOrder};
use super::{OwnStreams, StopOrder, Streams, SupervisedProgram, SupervisorReply};
use kelvin_system::confine::{self, User};

/// The longest wait for killed processes that do not end.
const MOST: Duration = Duration::from_secs(5);
/// How often a program is tried whose file is still open for writing. A process that was started while the file was
/// copied holds it open for the moment until it runs its own program.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Serves the calls of the process at the other end of the standard input, until that process has ended.
///
/// # Errors
///
/// Fails if the standard input is not a connection to such a process.
pub fn serve() -> anyhow::Result<()> {
    confine::hide();
    let mut words = std::env::args_os().skip(2);
    // The rights are set before any input is read, so that no started program has other rights than this process.
    if let (Some(uid), Some(gid)) = (words.next(), words.next()) {
        let user = User::of_words(&uid, &gid).context("that is no user that calls may have")?;
        confine::held(user).context("failed to give all rights away")?;
    }
    attend()
}

/// Serves as a supervisor in the tests of a crate, whose program has another command line.
///
/// # Errors
///
/// Fails like [`serve`].
pub fn serve_the_tests() -> anyhow::Result<()> {
    confine::hide();
    attend()
}

fn attend() -> anyhow::Result<()> {
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .context("failed to take the standard input")?;
    socket
        .peer_addr()
        .context("kelvin starts this command by itself; there is no use in starting it")?;
    // This process must not get signals for the group or the terminal of the run, especially those that cannot be
    // caught. The call fails only if this process already leads a session.
    let _ = rustix::process::setsid();
    // A signal for this process must not end it before its calls: the run decides when it ends.
    kelvin_system::signal::heed()?;
    let family = Family::adopt();
    let mut usual = None;
    while let Some(order) = wire::order(&socket)? {
        let (program, own) = match order {
            SupervisorOrder::Start(program, own) => (program, own),
            SupervisorOrder::Usual(streams) => {
                usual = Some(streams);
                continue;
            }
            // The program has ended in the meantime.
            SupervisorOrder::Stop(_) => continue,
        };
        let reply = match &family {
            Ok(family) => match start(&program, own, usual.as_ref()) {
                Ok(leader) => family.attend(&socket, leader, program.lasts),
                Err(error) => Some(SupervisorReply::NotStarted(number(&error))),
            },
            Err(error) => Some(SupervisorReply::Unable(number(error))),
        };
        match reply {
            Some(reply) => wire::answer(&socket, reply)?,
            None => break,
        }
    }
    if let Ok(family) = &family {
        family.clear(None, MOST);
    }
    Ok(())
}

impl Family {
    /// Waits until a program has ended and all its processes are gone. Returns no reply if the process that sends the
    /// orders has ended.
    fn attend(&self, socket: &UnixStream, leader: Pid, lasts: bool) -> Option<SupervisorReply> {
        let status = loop {
            let mut fds = [
                PollFd::new(&self.deaths, PollFlags::IN),
                PollFd::new(socket, PollFlags::IN),
            ];
            // The loop checks all sources again, for any result of the poll.
            let _ = poll(&mut fds, None);
            let [died, told] = fds.map(|fd| !fd.revents().is_empty());
            if died && let Some(status) = self.status(leader, lasts) {
                break status;
            }
            if told {
                match wire::order(socket) {
                    Ok(Some(SupervisorOrder::Stop(stop))) => {
                        let signal = match stop {
                            StopOrder::Ask => Signal::TERM,
                            StopOrder::Kill => Signal::KILL,
                        };
                        // A leader that has changed to another group leaves an empty group behind.
                        if kill_process_group(leader, signal).is_err() || stop == StopOrder::Kill {
                            let _ = kill_process(leader, signal);
                        }
                    }
                    Ok(Some(SupervisorOrder::Start(..) | SupervisorOrder::Usual(_)) | None)
                    | Err(_) => {
                        self.clear(Some(leader), MOST);
                        return None;
                    }
                }
            }
        };
        let left = match lasts {
            true => 0,
            false => self.clear(None, MOST),
        };
        Some(SupervisorReply::Ended(status, left))
    }
}

/// Starts a program as the leader of its own process group, with its own streams; if one of them is missing, the usual
/// stream is used.
fn start(program: &SupervisedProgram, own: OwnStreams, usual: Option<&Streams>) -> io::Result<Pid> {
    if let Some([_, output, errors]) = usual {
        // An earlier program may have set the stream to non-blocking, which would also affect this program.
        fcntl_setfl(output, OFlags::empty())?;
        fcntl_setfl(errors, OFlags::empty())?;
    }
    let [first, words @ ..] = &program.words[..] else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Below this process, one program runs at a time, and this process itself uses no relative paths. The folder is
    // entered for each program, since another folder may have taken its name. `Command::current_dir` would copy the page
    // tables of this process if the C library cannot set a folder for `posix_spawn`.
    rustix::process::chdir(&program.folder)?;
    let mut command = Command::new(first);
    command.args(words).process_group(0);
    // The program is searched for in the `PATH` that it gets itself.
    command.envs(program.variables.iter().map(|(name, value)| (name, value)));
    let usual = usual.map(|streams| streams.each_ref());
    let [input, output, errors] = usual.map_or([None; 3], |streams| streams.map(Some));
    let [own_input, own_output, own_errors] = own;
    command
        .stdin(stream(own_input, input)?)
        .stdout(stream(own_output, output)?)
        .stderr(stream(own_errors, errors)?);
    let mut tries = 1..TRIES;
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && tries.next().is_some() =>
            {
                thread::sleep(BETWEEN_TRIES);
            }
            started => return Ok(Pid::from_child(&started?)),
        }
    }
}

fn stream(own: Option<OwnedFd>, usual: Option<&OwnedFd>) -> io::Result<Stdio> {
    let stream = match (own, usual) {
        (Some(own), _) => own,
        (None, Some(usual)) => usual.try_clone()?,
        (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    Ok(stream.into())
}

/// The system's number of this error.
fn number(error: &io::Error) -> i32 {
    const INVALID: i32 = 22;
    error.raw_os_error().unwrap_or(INVALID)
}
