//! The words for processes that did not end well. None of them names a path or a time of day, so
//! that equal runs fail in equal words.

use std::io;
use std::time::Duration;

use kelvin_base::failure::FailureKind;

/// How a process ended by itself: with an exit code, or by a signal.
pub(super) fn ended(kind: &FailureKind) -> String {
    match kind {
        FailureKind::Exit(126) => {
            "it ended with exit code 126: a command was found that cannot be executed".to_owned()
        }
        FailureKind::Exit(127) => "it ended with exit code 127: a command was not found".to_owned(),
        FailureKind::Exit(code) => format!("it ended with exit code {code}"),
        FailureKind::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
            Some("SIGKILL") => {
                "SIGKILL ended it; the system does so where memory runs out".to_owned()
            }
            Some(name) => format!("{name} ended it"),
            None => format!("signal {signal} ended it"),
        },
        _ => "it wrote no output that could be read".to_owned(),
    }
}

/// A program could not be started.
pub(super) fn not_started(program: &str, error: &io::Error) -> String {
    // Without the number that the standard library adds.
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and is its path right?",
        io::ErrorKind::PermissionDenied => "; is it executable?",
        // ENOEXEC: the system does not know the format, as of a script without an interpreter.
        _ if error.raw_os_error() == Some(8) => "; does it begin with a `#!` line?",
        _ => "",
    };
    format!("`{program}` could not be started: {reason}{hint}")
}

/// A process took longer than it may.
pub(super) fn timed_out(timeout: Duration) -> String {
    format!(
        "it was stopped after {} s, which is what `timeout_s` allows",
        timeout.as_secs_f64()
    )
}

/// Whether processes end like this when somebody stops them: by a signal, or with the exit code by
/// which a shell reports one of the signals 1 to 15.
pub(super) const fn is_of_a_stop(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::Signal(_) | FailureKind::Exit(129..=143))
}
