//! Why a call of the pipeline gave no usable result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong with an invocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The pipeline exited with this code.
    Exit(i32),
    /// A signal ended the pipeline.
    Signal(i32),
    /// The pipeline was killed after the timeout.
    Timeout,
    /// The worker or the started service that had the call has ended, broke its protocol, or held too much memory.
    WorkerLost,
    /// The worker answered with an error of this code.
    ErrorAnswer(i32),
    /// The pipeline could not be started, e.g. the program was not found.
    NotStarted,
    /// A service beside the pipeline, such as a database, could not be used or did not end as it should: that is
    /// no fault of the pipeline.
    ServiceFailed,
    /// The pipeline ended well and left no output file.
    OutputMissing,
    /// The output is not a regular file, or could not be read.
    OutputUnreadable,
    /// The output is larger than allowed.
    OutputTooLarge,
    /// The output is not JSON.
    OutputNotJson,
    /// The output is JSON, but not an object.
    OutputNotObject,
    /// The object has no decision field.
    DecisionMissing,
    /// The server of a model, or a service, refused a call, or could not do it; its HTTP status.
    Status(u16),
    /// The server of a model, or a service, takes no more calls for now (HTTP status 429).
    RateLimit,
    /// The server of a model, or a service, could not be reached, or the connection broke.
    Connection,
    /// The server of a model answered without a text.
    EmptyContent,
    /// The server of a model answered what its wire format does not allow.
    MalformedBody,
    /// The file of recorded answers has no answer for this prompt.
    NotRecorded,
    /// The ceiling of the calls of a model was reached before this call; it was not made.
    BudgetSpent,
    /// The scorer cannot compare this decision, e.g. a list.
    DecisionRefused,
    /// The answer of a judge holds no JSON object that can be read.
    GradeUnreadable,
    /// The answer of a judge holds more than one JSON object.
    GradeAmbiguous,
    /// The object that a judge answered has no score.
    GradeMissing,
    /// The score that a judge answered is not a number from 0 to 1, or not one of the choices.
    GradeInvalid,
    /// An embedder did not answer with two vectors that can be compared.
    VectorsUnusable,
}

/// A failed invocation; it has no score, but is counted and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// The failure in words for people, with what was found.
    pub message: String,
    /// The end of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The end of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
}

impl Failure {
    /// Removes the text that the pipeline printed, and a message that may quote its output.
    pub fn withhold_texts(&mut self) {
        self.stdout.clear();
        self.stderr.clear();
        let instead = match self.kind {
            // These messages contain only the exit code, the time or the setting.
            FailureKind::Exit(_)
            | FailureKind::Signal(_)
            | FailureKind::Timeout
            | FailureKind::WorkerLost
            | FailureKind::NotStarted
            | FailureKind::OutputMissing
            | FailureKind::OutputTooLarge
            | FailureKind::Status(_)
            | FailureKind::RateLimit
            | FailureKind::BudgetSpent => return,
            FailureKind::ServiceFailed | FailureKind::Connection | FailureKind::NotRecorded => {
                "the message is not kept"
            }
            FailureKind::ErrorAnswer(_) => "it answered with an error",
            FailureKind::OutputNotJson => "its output is not JSON",
            FailureKind::OutputNotObject => "its output is not a JSON object",
            FailureKind::DecisionMissing => {
                "its output has no decision in the field that should hold it"
            }
            FailureKind::OutputUnreadable
            | FailureKind::EmptyContent
            | FailureKind::MalformedBody
            | FailureKind::DecisionRefused
            | FailureKind::GradeUnreadable
            | FailureKind::GradeAmbiguous
            | FailureKind::GradeMissing
            | FailureKind::GradeInvalid
            | FailureKind::VectorsUnusable => "its output cannot be used",
        };
        instead.clone_into(&mut self.message);
    }

    /// A failure of a call without any printed text.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            stderr: String::new(),
            stdout: String::new(),
        }
    }

    /// The failure of a call whose output has more bytes than allowed.
    pub fn too_large(most: u64) -> Self {
        Self::new(
            FailureKind::OutputTooLarge,
            format!(
                "its output is larger than the {most} bytes that `max_output_bytes` allows; it was not kept"
            ),
        )
    }

    /// Adds the printed text of the call.
    #[must_use]
    pub fn printed(mut self, streams: Streams) -> Self {
        self.stderr = streams.stderr;
        self.stdout = streams.stdout;
        self
    }
}

/// The last part of the printed text of a call. Both are lossy UTF-8, at most the last 20 lines or 4 KiB each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// The last part of its standard output.
    pub stdout: String,
    /// The last part of its standard error.
    pub stderr: String,
}
