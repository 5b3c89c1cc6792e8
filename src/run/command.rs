//! The pipeline as a command: one process, in a group of its own, for each invocation.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::private;
use super::signal::Interrupt;
use super::tail::Tail;
use super::template::{Template, Word};
use super::watch::{End, Group};
use super::{Captured, Ended, FailureKind, Invocation, Pipeline};
use crate::config::Config;
use crate::exit::Misuse;

/// Runs the command of the configuration.
pub(super) struct CommandPipeline {
    template: Template,
    /// Where the program of a direct command was found.
    program: PathBuf,
    root: PathBuf,
    timeout: Duration,
    interrupt: Arc<Interrupt>,
    /// Variables that it does not see.
    private: Vec<&'static str>,
}

impl CommandPipeline {
    /// Reads the command.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where a placeholder stands where no path can be put safely.
    pub(super) fn of(config: &Config, interrupt: Arc<Interrupt>) -> Result<Self, Misuse> {
        let template = Template::parse(&config.run).map_err(|misuse| Misuse {
            what: format!("{}: {}", config.file.display(), misuse.what),
            ..misuse
        })?;
        let program = match &template {
            Template::Direct(words) => words
                .first()
                .and_then(Word::fixed)
                .map_or_else(PathBuf::new, |name| find_program(name, &config.root)),
            Template::Script(_) => PathBuf::from("/bin/sh"),
        };
        Ok(Self {
            template,
            program,
            root: config.root.clone(),
            timeout: config.limits.timeout,
            interrupt,
            private: private::names(),
        })
    }

    /// Nothing is done between fork and exec, so that the standard library can spawn without
    /// copying the page tables of this process.
    fn command(&self, invocation: &Invocation<'_>) -> Command {
        let mut command = match &self.template {
            Template::Direct(words) => {
                let mut words = words.iter().map(|word| word.fill(invocation));
                let first = words.next().unwrap_or_default();
                let mut command = if self.program.as_os_str().is_empty() {
                    Command::new(first)
                } else {
                    Command::new(&self.program)
                };
                command.args(words);
                command
            }
            Template::Script(script) => {
                let mut command = Command::new(&self.program);
                command
                    .args([OsStr::new("-c"), OsStr::new(script)])
                    .envs(Template::environment(invocation));
                command
            }
        };
        command
            .env("KELVIN_REPEAT", invocation.repeat.to_string())
            .env("KELVIN_SAMPLE", invocation.sample)
            .current_dir(&self.root)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        private::withhold(&mut command, &self.private);
        command
    }

    /// The program as the user wrote it.
    fn shown_program(&self) -> &str {
        match &self.template {
            Template::Direct(words) => words.first().and_then(Word::fixed).unwrap_or("the program"),
            Template::Script(_) => "/bin/sh",
        }
    }
}

impl Pipeline for CommandPipeline {
    fn run(&self, invocation: &Invocation<'_>) -> Ended {
        let child = match self.command(invocation).spawn() {
            Ok(child) => child,
            Err(error) => return Ended::NotStarted(self.why_not(&error)),
        };
        let (mut stdout, mut stderr) = (Tail::default(), Tail::default());
        let end = Group::of(child).watch(self.timeout, &self.interrupt, &mut stdout, &mut stderr);
        match end {
            Ok(End::Exited(status)) => ended(status, captured(&stdout, &stderr)),
            Ok(End::TimedOut) => Ended::Failed(FailureKind::Timeout, captured(&stdout, &stderr)),
            Ok(End::Interrupted) => Ended::Interrupted,
            Err(error) => Ended::NotStarted(self.why_not(&error)),
        }
    }
}

impl CommandPipeline {
    fn why_not(&self, error: &io::Error) -> String {
        let program = self.shown_program();
        // Without the number that the standard library adds.
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "; is it installed, and is its path right?",
            io::ErrorKind::PermissionDenied => "; is it executable?",
            // The kernel knows no such format: a script without an interpreter.
            _ if error.raw_os_error() == Some(8) => "; does it begin with a `#!` line?",
            _ => "",
        };
        format!("`{program}` could not be started: {reason}{hint}")
    }
}

fn captured(stdout: &Tail, stderr: &Tail) -> Captured {
    Captured {
        stdout: stdout.text(),
        stderr: stderr.text(),
    }
}

fn ended(status: ExitStatus, captured: Captured) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Done(captured),
        (Some(code), _) => Ended::Failed(FailureKind::Exit(code), captured),
        (None, signal) => Ended::Failed(FailureKind::Signal(signal.unwrap_or(0)), captured),
    }
}

/// Where a program is, so that not every invocation has to look for it: relative to the root where
/// it has a slash, otherwise in the search path. As it is where it is not found.
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
