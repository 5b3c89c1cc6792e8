//! What it costs to start a program for every input and nothing else: the floor under any tool that
//! runs a pipeline this way.
//!
//! usage: `bare_spawn THREADS PROGRAM LIST OUTPUTS`
//!
//! LIST names one input a line; the outputs go to numbered files in the folder OUTPUTS. The program
//! is started directly, with standard input, output and error on the null device.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [threads, program, list, outputs] = arguments.as_slice() else {
        return Err(misuse("expected THREADS PROGRAM LIST OUTPUTS"));
    };
    let threads: usize = threads
        .parse()
        .map_err(|_| misuse("THREADS is not a number"))?;
    let list = fs::read_to_string(list)?;
    let inputs: Vec<&str> = list.lines().collect();
    let outputs = Path::new(outputs);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(program, &inputs, outputs, &next)))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .map_err(|_| Error::other("a thread panicked"))?
        })
    })
}

fn work(program: &str, inputs: &[&str], outputs: &Path, next: &AtomicUsize) -> Result<()> {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(input) = inputs.get(at) else {
            return Ok(());
        };
        let status = Command::new(program)
            .arg(input)
            .arg(outputs.join(format!("{at}.json")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(Error::other(format!(
                "{program} failed on {input}: {status}"
            )));
        }
    }
}

fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
