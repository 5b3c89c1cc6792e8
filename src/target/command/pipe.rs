//! The pipe through which a process prints.

use std::io::{self, PipeReader, PipeWriter};
use std::process::Stdio;

/// Both ends of a pipe. The end for writing stays open here as long as the other one: a process that ends
/// closes its streams one after the other, and each that comes to its end would wake whoever waits. The end
/// of the process is what is waited for, and it has a descriptor of its own.
#[derive(Debug)]
pub(super) struct Pipe {
    /// What was printed is read here.
    pub(super) reader: PipeReader,
    writer: PipeWriter,
}

impl Pipe {
    /// A new pipe.
    pub(super) fn open() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader, writer })
    }

    /// The end for a process.
    pub(super) fn end(&self) -> io::Result<Stdio> {
        Ok(self.writer.try_clone()?.into())
    }
}
