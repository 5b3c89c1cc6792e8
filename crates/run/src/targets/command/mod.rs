//! The pipeline as a command line: one process for each call, in its own process group. It reads a file and writes a
//! file.

mod lookup;
mod process;
mod prompt;
mod setup;
mod side_command;
mod supervise;
mod tail;
mod template;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::{env, io};

use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::{Ended, Invocation, Launch, Reply, Target, TargetKind, TargetSite};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use process::{ProcessEnd, ProgramCall};
use tail::Printed;

pub(super) use lookup::look_up;
pub(super) use process::{ended, how, not_started, timed_out};
pub(super) use prompt::PromptCommand;
pub use setup::setup;
pub use side_command::{SideCommand, SideEnd, SideProgram};
pub(super) use supervise::{Running, StopOrder, SupervisedProgram};
pub use supervise::{WORD as SUPERVISE, dismiss, know_word, serve, serve_the_tests};
pub(super) use tail::Tail;
pub(super) use template::{CommandTemplate, CommandWord, Paths, PlainPaths};

/// The kind of target whose settings are a command line.
pub(super) struct CommandKind;

impl TargetKind for CommandKind {
    fn key(&self) -> Option<&'static str> {
        None
    }

    fn schema(&self) -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        Ok(Box::new(CommandTarget::new(line(settings), site)?))
    }

    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse> {
        look_up(line(settings), root)
    }
}

/// The command line; the schema allows only a string.
fn line(settings: &Value) -> &str {
    settings.as_str().unwrap_or_default()
}

/// Runs a command line.
struct CommandTarget {
    template: CommandTemplate,
    /// The link names that replace placeholders in a script.
    names: PlainPaths,
    /// Whether the command line contains the placeholder of the workspace; such a command cannot be called without a
    /// workspace.
    names_workspace: bool,
    /// Where the program of a direct command was found.
    program: PathBuf,
    site: TargetSite,
    /// Whether the process reads its input from standard input, and whether it prints its output
    /// instead of writing a file.
    streams: Piped,
    /// Additional variables of the process.
    environment: Vec<(&'static str, String)>,
}

/// Says which files are replaced by the standard streams of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Piped {
    input: bool,
    output: bool,
}

impl CommandTarget {
    /// Reads the command line. Fails with a [`Misuse`] if the quotes do not match, or a placeholder follows a
    /// backslash.
    fn new(line: &str, site: &TargetSite) -> Result<Self, Misuse> {
        let template = CommandTemplate::parse(line)?;
        let program = match &template {
            CommandTemplate::Direct(words) => words
                .first()
                .and_then(CommandWord::fixed)
                .map_or_else(PathBuf::new, |name| find_program(name, &site.root)),
            CommandTemplate::Script(_) => PathBuf::from("/bin/sh"),
        };
        Ok(Self {
            template,
            names: PlainPaths::default(),
            names_workspace: CommandTemplate::names_workspace(line),
            program,
            site: site.clone(),
            streams: Piped::default(),
            environment: Vec::new(),
        })
    }

    /// Starts the process of one call. Fails if a file for one of the standard streams cannot be opened, or the process
    /// cannot be started.
    fn start(&self, invocation: &Invocation<'_>) -> io::Result<ProgramCall> {
        let workplace = invocation.workplace.as_ref();
        let paths = Paths {
            input: invocation.input_file,
            output: invocation.output_file,
            root: &self.site.root,
            workspace: workplace.map(|workplace| workplace.folder),
        };
        let folder = paths.workspace.unwrap_or(paths.root);
        let mut program = match &self.template {
            CommandTemplate::Direct(words) => {
                let mut words = words.iter().map(|word| word.fill(&paths));
                let first = words.next().unwrap_or_default();
                let mut program = match self.program.as_os_str().is_empty() {
                    true => SupervisedProgram::new(first, folder),
                    false => SupervisedProgram::new(&self.program, folder),
                };
                program.args(words);
                program
            }
            CommandTemplate::Script(script) => {
                let mut program = SupervisedProgram::new(&self.program, folder);
                let script = script.fill_plainly(&paths, &self.names)?;
                program.args([OsStr::new("-c"), &script]);
                program
            }
        };
        program
            .envs([("KELVIN_SAMPLE", invocation.sample)])
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(workplace) = workplace {
            let variables = workplace.variables.iter();
            program.envs(variables.map(|(name, value)| (name, value)));
        }
        let input = match self.streams.input {
            true => Some(File::open(invocation.input_file)?.into()),
            false => None,
        };
        let output = match self.streams.output {
            true => Some(File::create_new(invocation.output_file)?.into()),
            false => None,
        };
        ProgramCall::start(&program, input, output)
    }

    /// The program as the user wrote it.
    fn shown_program(&self) -> &str {
        match &self.template {
            CommandTemplate::Direct(words) => words
                .first()
                .and_then(CommandWord::fixed)
                .unwrap_or("the program"),
            CommandTemplate::Script(_) => "/bin/sh",
        }
    }

    /// The failure of a process that could not be started.
    fn unstarted(&self, error: &io::Error) -> Failure {
        let message = not_started(self.shown_program(), error);
        Failure::new(FailureKind::NotStarted, message)
    }

    /// The result of a call whose process ended by itself.
    fn over(
        &self,
        status: ExitStatus,
        streams: Streams,
        call: &Invocation<'_>,
        output: &mut Vec<u8>,
    ) -> Ended {
        if status.success() {
            let read = read_output(call.output_file, self.site.max_output_bytes, output);
            let exit = Some(0);
            return match read {
                Ok(()) => Ended::Answered(Reply {
                    exit,
                    streams,
                    ..Reply::default()
                }),
                Err(failure) => Ended::failed(failure.printed(streams), exit),
            };
        }
        let kind = how(status);
        // When users stop a run, they often stop its processes too. If a process ends in this way, the pipeline has not
        // failed.
        if process::is_of_a_stop(&kind) && self.site.interrupt.tripped() {
            return Ended::Interrupted;
        }
        let message = ended(&kind);
        Ended::failed(Failure::new(kind, message).printed(streams), status.code())
    }
}

impl Target for CommandTarget {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        if self.names_workspace && call.workplace.is_none() {
            let message = "`run` names `{workspace}`, and this call has none".to_owned();
            return Ended::failed(Failure::new(FailureKind::NotStarted, message), None);
        }
        let started = match self.start(call) {
            Ok(started) => started,
            Err(error) => return Ended::failed(self.unstarted(&error), None),
        };
        // The whole printed text is needed only if the call has a workplace.
        let most = call.workplace.map_or(0, |_| self.site.max_output_bytes);
        let (mut stdout, mut stderr) = (Printed::at_most(most), Tail::default());
        let timeout = self.site.timeout;
        let interrupt = &self.site.interrupt;
        let end = started.watch(timeout, interrupt, &mut stdout, &mut stderr);
        let streams = Streams {
            stdout: stdout.tail.text(),
            stderr: stderr.text(),
        };
        if let Some(workplace) = &call.workplace {
            *workplace.printed.borrow_mut() = stdout.start();
        }
        match end {
            Ok(ProcessEnd::Exited(status)) => self.over(status, streams, call, output),
            Ok(ProcessEnd::TimedOut) => {
                let message = timed_out(timeout);
                Ended::failed(
                    Failure::new(FailureKind::Timeout, message).printed(streams),
                    None,
                )
            }
            Ok(ProcessEnd::Interrupted) => Ended::Interrupted,
            Err(error) => Ended::failed(self.unstarted(&error), None),
        }
    }

    fn writes_the_output_file(&self) -> bool {
        true
    }
}

/// The path of a program; none if there is no such program.
pub(super) fn locate_program(name: &str, root: &Path) -> Option<PathBuf> {
    let path = find_program(name, root);
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// Finds a program once, so that not every call has to search for it. A name with a slash is relative to the
/// root, any other name is looked for in the search path. A name that is not found is returned unchanged.
pub(super) fn find_program(name: &str, root: &Path) -> PathBuf {
    if name.contains('/') {
        return root.join(name);
    }
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    env::var_os("PATH")
        .iter()
        .flat_map(env::split_paths)
        .map(|folder| root.join(folder).join(name))
        .find(is_program)
        .unwrap_or_else(|| PathBuf::from(name))
}

/// Reads an output file of at most `most` bytes into `bytes`, which is emptied first. Fails if the file does not exist,
/// or is not a regular file.
fn read_output(path: &Path, most: u64, bytes: &mut Vec<u8>) -> Result<(), Failure> {
    bytes.clear();
    let unreadable = |what: String| Failure::new(FailureKind::OutputUnreadable, what);
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::new(
                FailureKind::OutputMissing,
                "it ended with exit code 0, but wrote no output file",
            ));
        }
        // A link could point to any file, even to an answer that another program has written.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(unreadable(
                "its output is a symbolic link, not a file".to_owned(),
            ));
        }
        Err(error) => return Err(unreadable(format!("its output cannot be opened: {error}"))),
    };
    let failed = |error: io::Error| unreadable(format!("its output cannot be read: {error}"));
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(unreadable("its output is not a regular file".to_owned()));
    }
    // The bytes are counted while they are read, because the file may still grow.
    file.take(most.saturating_add(1))
        .read_to_end(bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        // Many output files over the limit would fill the disk without any use. The bytes in memory are dropped too.
        *bytes = Vec::new();
        std::fs::remove_file(path).map_err(failed)?;
        return Err(Failure::too_large(most));
    }
    Ok(())
}

/// Opens a file without following a link and without waiting for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn p14_only_a_regular_file_of_bounded_size_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("whole"), b"{}").expect("written");
        symlink(path("whole"), path("link")).expect("linked");
        symlink(path("nowhere"), path("dangling")).expect("linked");
        fs::create_dir(path("folder")).expect("made");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a pipe");
        let mut bytes = vec![1, 2, 3];
        let mut kind = |name: &str, most| {
            read_output(&path(name), most, &mut bytes).map_err(|failure| failure.kind)
        };
        assert_eq!(kind("whole", 2), Ok(()));
        fs::write(path("large"), b"{}").expect("written");
        assert_eq!(kind("large", 1), Err(FailureKind::OutputTooLarge));
        assert!(!path("large").exists(), "it is not kept");
        assert_eq!(kind("absent", 1), Err(FailureKind::OutputMissing));
        for name in ["link", "dangling", "folder", "pipe"] {
            assert_eq!(kind(name, 9), Err(FailureKind::OutputUnreadable), "{name}");
        }
        read_output(&path("whole"), 2, &mut bytes).expect("read");
        assert_eq!(bytes, b"{}", "what was there before is gone");
    }
}
