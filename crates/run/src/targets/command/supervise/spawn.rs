//! Starts a program for a supervisor. The standard library would build the whole environment again for every program.
//! If the C library cannot set a folder for `posix_spawn`, the standard library would also copy the page tables of this
//! process.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::spawn::{
    PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn, posix_spawnp,
};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::Pid;

use super::SupervisedProgram;

/// How often a program is tried whose file is still open for writing. A process that was started while the file was
/// copied holds it open for the moment until it runs its own program.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Data that all programs of one supervisor share.
pub(super) struct Spawner {
    /// The variables of this process as `NAME=VALUE`, by name.
    inherited: BTreeMap<OsString, CString>,
    attributes: PosixSpawnAttr,
}

impl Spawner {
    /// Reads the environment of this process.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory.
    pub(super) fn new() -> io::Result<Self> {
        let inherited = env::vars_os().filter_map(|(name, value)| {
            let pair = pair(&name, &value).ok()?;
            Some((name, pair))
        });
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
        )?;
        // The program gets its own process group.
        attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
        // Rust programs ignore SIGPIPE, but other programs expect that it ends them.
        let mut ignored = SigSet::empty();
        ignored.add(Signal::SIGPIPE);
        attributes.set_sigdefault(&ignored)?;
        attributes.set_sigmask(&SigSet::empty())?;
        Ok(Self {
            inherited: inherited.collect(),
            attributes,
        })
    }

    /// Starts a program with the given standard streams, as the leader of its own process group.
    ///
    /// # Errors
    ///
    /// Fails if its folder cannot be entered or the system cannot start it.
    pub(super) fn spawn(
        &self,
        program: &SupervisedProgram,
        streams: [&impl AsFd; 3],
    ) -> io::Result<Pid> {
        // Below this process, one program runs at a time, and this process itself uses no relative paths. The folder is
        // entered for each program, since another folder may have taken its name.
        rustix::process::chdir(&program.folder)?;
        let mut actions = PosixSpawnFileActions::init()?;
        for (stream, number) in streams.iter().zip(0..) {
            actions.add_dup2(stream.as_fd().as_raw_fd(), number)?;
        }
        let words: Vec<CString> = program
            .words
            .iter()
            .map(|word| text(word.as_bytes().to_vec()))
            .collect::<io::Result<_>>()?;
        let Some(first) = words.first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let own = program
            .variables
            .iter()
            .map(|(name, value)| Ok((name.as_os_str(), pair(name, value)?)))
            .collect::<io::Result<BTreeMap<_, _>>>()?;
        let environment = self.with(&own);
        let path = own
            .get(OsStr::new("PATH"))
            .map(|pair| &pair.to_bytes()[5..]);
        let is_path = first.to_bytes().contains(&b'/');
        // The program is searched for in the same `PATH` that it will get itself.
        let found = path
            .filter(|_| !is_path)
            .map(|path| found(program, path))
            .transpose()?;
        let start = || match &found {
            Some(found) => posix_spawn(
                found.as_path(),
                &actions,
                &self.attributes,
                &words,
                &environment,
            ),
            None => posix_spawnp(first, &actions, &self.attributes, &words, &environment),
        };
        let mut tries = 1..TRIES;
        let started = loop {
            match start() {
                Err(Errno::ETXTBSY) if tries.next().is_some() => thread::sleep(BETWEEN_TRIES),
                started => break started,
            }
        };
        let number = started?.as_raw();
        Pid::from_raw(number).ok_or_else(|| io::Error::other("the system gave no number"))
    }

    /// The environment with the additional variables of a program, by name.
    fn with<'e>(&'e self, own: &'e BTreeMap<&OsStr, CString>) -> Vec<&'e CStr> {
        let mut own = own.iter().peekable();
        let mut all = Vec::with_capacity(self.inherited.len() + own.len());
        for (name, pair) in &self.inherited {
            while let Some((_, before)) = own.next_if(|(other, _)| **other < name.as_os_str()) {
                all.push(before.as_c_str());
            }
            let replaced = own.next_if(|(other, _)| **other == name.as_os_str());
            all.push(replaced.map_or(pair.as_c_str(), |(_, other)| other.as_c_str()));
        }
        all.extend(own.map(|(_, pair)| pair.as_c_str()));
        all
    }
}

/// The path of the first program with this name in the folders of a search path.
fn found(program: &SupervisedProgram, path: &[u8]) -> io::Result<PathBuf> {
    let name = program.words.first().map_or(Path::new(""), Path::new);
    env::split_paths(OsStr::from_bytes(path))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| rustix::io::Errno::NOENT.into())
}

fn pair(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut bytes = name.to_owned().into_vec();
    bytes.push(b'=');
    bytes.extend(value.as_bytes());
    text(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}
