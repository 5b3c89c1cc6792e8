//! The messages for processes that did not end well. No message contains a path or a time of day, so
//! that equal runs fail with equal messages.

use std::io;
use std::time::Duration;

use kelvin_base::failure::FailureKind;

/// The message for a process that ended by itself, with an exit code or by a signal.
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

/// The message for a program that could not be started.
pub(super) fn not_started(program: &str, error: &io::Error) -> String {
    // The message leaves out the number that the standard library adds.
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and is its path right?",
        io::ErrorKind::PermissionDenied => "; is it executable?",
        // ENOEXEC: the system does not know the format, as with a script without an interpreter.
        _ if error.raw_os_error() == Some(8) => "; does it begin with a `#!` line?",
        _ => "",
    };
    format!("`{program}` could not be started: {reason}{hint}")
}

/// The message for a process that took longer than allowed.
pub(super) fn timed_out(timeout: Duration) -> String {
    format!(
        "it was stopped after {} s, which is what `timeout_s` allows",
        timeout.as_secs_f64()
    )
}

/// Whether this is how processes end when somebody stops them: by a signal, or with the exit code by
/// which a shell reports one of the signals 1 to 15.
pub(super) const fn is_of_a_stop(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::Signal(_) | FailureKind::Exit(129..=143))
}
