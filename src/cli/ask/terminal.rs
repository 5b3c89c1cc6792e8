//! The person at the terminal.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;

use super::{Ask, Check, Stopped};
use kelvin_system::signal;

/// Reads each answer as a line, which the terminal itself lets a person edit until Enter is pressed. `dialoguer` reads
/// its lines key by key, and ignores Ctrl-D, which ends the input of every other program.
pub(in crate::cli) struct Terminal;

impl Ask for Terminal {
    fn show(&self, lines: &[String]) {
        let mut stderr = anstream::stderr();
        for line in lines {
            // If the terminal is gone, the next question ends with an error.
            let _ = writeln!(stderr, "{line}");
        }
    }

    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String> {
        let prompt = match default {
            Some(default) => format!("{question} [{default}] "),
            None => format!("{question} "),
        };
        loop {
            let typed = read(&prompt).map_err(|error| {
                // The line of an interrupted question is not yet ended.
                self.show(&[String::new()]);
                explain(error)
            })?;
            let answer = match (typed.trim(), default) {
                ("", Some(default)) => default,
                (typed, _) => typed,
            };
            let complaint = match answer.contains(char::is_control) {
                // An arrow key, for example, sends an escape sequence.
                true => Err("a key was pressed that writes no sign; type the line anew".to_owned()),
                false => check(answer),
            };
            match complaint {
                Ok(()) => return Ok(answer.to_owned()),
                // The check also says what is missing in an empty line.
                Err(complaint) => self.show(&[complaint]),
            }
        }
    }
}

fn read(prompt: &str) -> io::Result<String> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    // The whole line is read by this call, which therefore has to wait first. A blocking read would not end at a
    // signal. A pipe that its writer has closed still has the lines that were written, so it is read without waiting.
    if io::stdin().is_terminal() && !signal::can_read(io::stdin().as_fd()) {
        return Err(ErrorKind::Interrupted.into());
    }
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Ctrl-C, Ctrl-D, a signal, and a closed terminal end the questions.
fn explain(error: io::Error) -> anyhow::Error {
    let is_gone = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof => Stopped.into(),
        _ if is_gone => Stopped.into(),
        _ => anyhow::Error::new(error).context("failed to ask on the terminal"),
    }
}
