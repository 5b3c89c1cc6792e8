//! The work of a supervisor: it starts one program after the other, and leaves no process behind.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::family::Family;
use super::wire::{self, SupervisorOrder};
use super::{StopOrder, Streams, SupervisedProgram, SupervisorReply};
use kelvin_system::confine;
use kelvin_system::confine::User;

/// The longest wait for killed processes that do not end.
const MOST: Duration = Duration::from_secs(5);

/// Serves the calls of the process at the other end of the standard input, until that process has ended.
///
/// # Errors
///
/// Where the standard input is not such a connection.
pub fn serve() -> anyhow::Result<()> {
    confine::hide();
    let mut words = std::env::args_os().skip(2);
    // This comes before anything is read, so that no started program has other rights than this process.
    if let (Some(uid), Some(gid)) = (words.next(), words.next()) {
        let user = User::of_words(&uid, &gid).context("that is no user that calls may have")?;
        confine::held(user).context("failed to give all rights away")?;
    }
    attend()
}

/// The same for the tests of a crate, whose program has another command line.
///
/// # Errors
///
/// As [`serve`].
#[cfg(any(test, feature = "fixtures"))]
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
    // This process must not get signals for the group or the terminal of the run, even those that cannot be caught.
    // Where the call fails, this process leads a session already.
    let _ = rustix::process::setsid();
    // A signal for this process itself must not end it before the calls: the run decides when it ends.
    kelvin_system::signal::heed()?;
    let family = Family::adopt();
    while let Some(order) = wire::order(&socket)? {
        let SupervisorOrder::Start(program, streams) = order else {
            // The program has ended in the meantime.
            continue;
        };
        let reply = match &family {
            Ok(family) => family.attend(&socket, &program, streams),
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
    /// Starts a program, and waits until none of its processes is left. Returns no reply where the other side
    /// has ended.
    fn attend(
        &self,
        socket: &UnixStream,
        program: &SupervisedProgram,
        streams: Streams,
    ) -> Option<SupervisorReply> {
        let child = match command(program, streams).spawn() {
            Ok(child) => child,
            Err(error) => return Some(SupervisorReply::NotStarted(number(&error))),
        };
        let leader = Pid::from_child(&child);
        let status = loop {
            let mut fds = [
                PollFd::new(&self.deaths, PollFlags::IN),
                PollFd::new(socket, PollFlags::IN),
            ];
            // The loop checks all sources again, whatever has ended the poll.
            let _ = poll(&mut fds, None);
            let [died, told] = fds.map(|fd| !fd.revents().is_empty());
            if died && let Some(status) = self.status(leader, program.lasts) {
                break status;
            }
            if told {
                match wire::order(socket) {
                    Ok(Some(SupervisorOrder::Stop(stop))) => {
                        let signal = match stop {
                            StopOrder::Ask => Signal::TERM,
                            StopOrder::Kill => Signal::KILL,
                        };
                        // A leader that has moved to another group leaves an empty group behind.
                        if kill_process_group(leader, signal).is_err() || stop == StopOrder::Kill {
                            let _ = kill_process(leader, signal);
                        }
                    }
                    Ok(Some(SupervisorOrder::Start(..)) | None) | Err(_) => {
                        self.clear(Some(leader), MOST);
                        return None;
                    }
                }
            }
        };
        let left = match program.lasts {
            true => 0,
            false => self.clear(None, MOST),
        };
        Some(SupervisorReply::Ended(status, left))
    }
}

/// Nothing may run between fork and exec, so that the standard library can start the process without a
/// copy of the page tables of this one.
fn command(program: &SupervisedProgram, streams: Streams) -> Command {
    let (first, rest) = program
        .words
        .split_first()
        .map_or_else(Default::default, |(first, rest)| (first.as_os_str(), rest));
    let mut command = Command::new(first);
    let [input, output, errors] = streams;
    command
        .args(rest)
        .current_dir(&program.folder)
        .process_group(0)
        .stdin(input)
        .stdout(output)
        .stderr(errors);
    for (name, value) in &program.variables {
        command.env(name, value);
    }
    command
}

/// The number by which the system names this error.
fn number(error: &io::Error) -> i32 {
    const INVALID: i32 = 22;
    error.raw_os_error().unwrap_or(INVALID)
}
