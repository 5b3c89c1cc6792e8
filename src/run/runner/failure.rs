//! Failures in words; none of them names a path or a moment, so that equal runs fail equally.

use std::time::Duration;

use super::{Captured, Ended, Failure};
use crate::config::DecisionField;
use crate::run::FailureKind;
use crate::run::answer::Refusal;

/// The failure of a call that did not end well.
pub(super) fn of(ended: Ended, timeout: Duration) -> Failure {
    match ended {
        Ended::Failed(kind, captured) => with((kind.clone(), words(&kind, timeout)), captured),
        Ended::NotStarted(why) => with((FailureKind::NotStarted, why), Captured::default()),
        Ended::Done(captured) => with(
            (
                FailureKind::OutputMissing,
                words(&FailureKind::OutputMissing, timeout),
            ),
            captured,
        ),
        Ended::Interrupted => with(
            (FailureKind::NotStarted, "it was interrupted".to_owned()),
            Captured::default(),
        ),
    }
}

/// A failure with what the call has printed.
pub(super) fn with((kind, message): Refusal, captured: Captured) -> Failure {
    Failure {
        kind,
        message,
        stderr: captured.stderr,
        stdout: captured.stdout,
    }
}

/// A decision that the scorer refuses, in its words.
pub(super) fn refused(field: &DecisionField, what: &str) -> Refusal {
    let field = field.as_str();
    if field.is_empty() {
        return (FailureKind::DecisionRefused, format!("its output {what}"));
    }
    (
        FailureKind::DecisionRefused,
        format!("the decision in `{field}` is {what}"),
    )
}

fn words(kind: &FailureKind, timeout: Duration) -> String {
    match kind {
        FailureKind::Exit(code) => match code {
            126 => {
                "it ended with exit code 126: a command was found that cannot be executed".into()
            }
            127 => "it ended with exit code 127: a command was not found".into(),
            _ => format!("it ended with exit code {code}"),
        },
        FailureKind::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
            Some("SIGKILL") => {
                "SIGKILL ended it; the system does so where memory runs out".to_owned()
            }
            Some(name) => format!("{name} ended it"),
            None => format!("signal {signal} ended it"),
        },
        FailureKind::Timeout => format!(
            "it was stopped after {} s, which is what `timeout_s` allows",
            timeout.as_secs_f64()
        ),
        _ => "it wrote no output that could be read".to_owned(),
    }
}
