//! A program that runs in addition to the pipeline, e.g. a test suite for the results of the pipeline. It has the same
//! limits as a pipeline: its own process group, a timeout, and bounded memory for its printed text.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::process::{self, ProcessEnd, ProgramCall};
use super::supervise::SupervisedProgram;
use super::tail::{Printed, Tail};
use crate::targets::StandardOutput;
use kelvin_base::failure::Streams;
use kelvin_system::signal::Interrupt;

/// The program to run.
#[derive(Clone, Copy, Debug)]
pub enum SideProgram<'a> {
    /// A script for `sh`.
    Script(&'a str),
    /// An executable file.
    File(&'a Path),
}

/// A program with its arguments and limits.
#[derive(Debug)]
pub struct SideCommand<'a> {
    /// The program.
    pub program: SideProgram<'a>,
    /// The working directory.
    pub folder: &'a Path,
    /// Additional variables of the environment.
    pub variables: &'a [(String, OsString)],
    /// A file for its standard input; none for an empty one.
    pub input: Option<&'a Path>,
    /// The time after which the program is stopped.
    pub timeout: Duration,
    /// How many bytes of its standard output are stored at most.
    pub most_output: u64,
}

/// How a program ended.
#[derive(Debug)]
pub enum SideEnd {
    /// The program ended with this exit code.
    Exited {
        /// The code.
        code: i32,
        /// Its standard output.
        output: StandardOutput,
        /// The last part of its printed text.
        streams: Streams,
    },
    /// The program ended without an exit code: the reason in words, and the last part of its printed text.
    Failed(String, Streams),
    /// The run was interrupted.
    Interrupted,
}

impl SideCommand<'_> {
    /// Runs the program to its end.
    pub fn run(&self, interrupt: &Interrupt) -> SideEnd {
        let not_started = |error: &std::io::Error| {
            let shown = match self.program {
                SideProgram::Script(_) => "/bin/sh".into(),
                SideProgram::File(path) => path.file_name().unwrap_or_default().to_string_lossy(),
            };
            SideEnd::Failed(process::not_started(&shown, error), Streams::default())
        };
        let started = match self.start() {
            Ok(started) => started,
            Err(error) => return not_started(&error),
        };
        let (mut stdout, mut stderr) = (Printed::at_most(self.most_output), Tail::default());
        let end = started.watch(self.timeout, interrupt, &mut stdout, &mut stderr);
        let streams = Streams {
            stdout: stdout.tail.text(),
            stderr: stderr.text(),
        };
        let status = match end {
            Ok(ProcessEnd::Exited(status)) => status,
            Ok(ProcessEnd::TimedOut) => {
                let text = format!("it was stopped after {} s", self.timeout.as_secs_f64());
                return SideEnd::Failed(text, streams);
            }
            Ok(ProcessEnd::Interrupted) => return SideEnd::Interrupted,
            Err(error) => return not_started(&error),
        };
        let kind = process::how(status);
        match status.code() {
            Some(_) if interrupt.tripped() && process::is_of_a_stop(&kind) => SideEnd::Interrupted,
            Some(code) => SideEnd::Exited {
                code,
                output: stdout.start(),
                streams,
            },
            None if interrupt.tripped() => SideEnd::Interrupted,
            None => SideEnd::Failed(process::ended(&kind), streams),
        }
    }

    fn start(&self) -> std::io::Result<ProgramCall> {
        let mut program = match self.program {
            SideProgram::Script(script) => {
                let mut program = SupervisedProgram::new("/bin/sh", self.folder);
                program.args([OsStr::new("-c"), OsStr::new(script)]);
                program
            }
            SideProgram::File(path) => SupervisedProgram::new(path, self.folder),
        };
        let variables = self.variables.iter();
        program.envs(variables.map(|(name, value)| (name, value)));
        let input = match self.input {
            Some(path) => Some(File::open(path)?.into()),
            None => None,
        };
        ProgramCall::start(&program, input, None)
    }
}
