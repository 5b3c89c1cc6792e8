//! The kinds of checks, one file each. A check examines the files and services after a run of the pipeline, and says
//! whether it holds, how well, and why.

mod command;
mod comparison;
mod file;
mod http_mock_assertions;
mod json;
mod judged;
mod numeric;
mod sql;
mod text;

use std::fmt;

use serde_json::Value;

use super::keys::CheckKeys;
use super::record::{CheckResult, Outcome, ToJudge};
use super::scenario::Scenario;
use super::scene::{Scene, Unread};
use super::services::DeclaredServices;

/// The maximum size of a compiled pattern in bytes: the cost of a match grows with its size.
const PATTERN_SIZE: usize = 1 << 20;
/// How many characters of an external text a reason shows at most.
const SHOWN: usize = 200;

/// A check that is ready to use.
pub(super) trait Check: fmt::Debug + Send + Sync {
    /// Examines the state after a run, until the result is known. Fails with the result if the check ends early.
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd>;

    /// Examines the state after a run. Fails if the run was interrupted meanwhile.
    fn look(&self, scene: &Scene<'_>) -> Result<CheckFinding, CheckInterrupted> {
        match self.examine(scene) {
            Ok(finding) => Ok(finding),
            Err(EarlyEnd::Found(finding)) => Ok(*finding),
            Err(EarlyEnd::Interrupted) => Err(CheckInterrupted),
        }
    }

    /// Whether the check can be used for a scenario, as far as this is known before the run. Fails with the missing
    /// part of the scenario, or with a part that cannot be used.
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let _ = scenario;
        Ok(())
    }
}

/// The run was interrupted during a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckInterrupted;

/// The reason why a check ends early.
#[derive(Debug)]
pub(super) enum EarlyEnd {
    /// The run was interrupted.
    Interrupted,
    /// The result is already known.
    Found(Box<CheckFinding>),
}

impl From<CheckFinding> for EarlyEnd {
    fn from(finding: CheckFinding) -> Self {
        Self::Found(Box::new(finding))
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckFinding {
    /// Whether the check holds, or why that is not known.
    pub(super) outcome: Outcome,
    /// How well the check holds, in `[0, 1]`; none if not known.
    pub(super) score: Option<f64>,
    /// The reason, in words.
    pub(super) reason: String,
    /// More details.
    pub(super) details: Option<Value>,
    /// Whether there was no value to check: then neither the check nor its opposite holds.
    pub(super) found_nothing: bool,
    /// The text that a judge still has to grade: until then the finding is an error.
    pub(super) to_judge: Option<ToJudge>,
}

impl CheckFinding {
    /// The finding that a check holds, or that it does not.
    fn of(holds: bool, reason: impl Into<String>) -> Self {
        Self::scored(holds, f64::from(u8::from(holds)), reason)
    }

    /// The finding that a check holds or does not, with its own score.
    pub(super) fn scored(holds: bool, score: f64, reason: impl Into<String>) -> Self {
        Self {
            outcome: if holds {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
            score: Some(score),
            reason: reason.into(),
            details: None,
            found_nothing: false,
            to_judge: None,
        }
    }

    /// The finding that there is no value to check, which counts as a failure for a check and also for its opposite.
    fn nothing(reason: impl Into<String>) -> Self {
        Self {
            found_nothing: true,
            ..Self::of(false, reason)
        }
    }

    /// The finding that a check could not be made.
    pub(super) fn error(reason: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Error,
            score: None,
            reason: reason.into(),
            details: None,
            found_nothing: false,
            to_judge: None,
        }
    }

    /// The finding that there is no text of this name.
    fn unread(unread: Unread, name: &str) -> Self {
        match unread {
            Unread::Absent(what) => Self::nothing(format!("{name} {what}")),
            Unread::Unknown(what) => Self::error(format!("{name} {what}")),
        }
    }

    /// The finding that a check does not apply.
    fn skipped(reason: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Skipped,
            ..Self::error(reason)
        }
    }

    /// The opposite finding. An unknown result stays unknown.
    pub(super) fn negated(self) -> Self {
        if self.found_nothing {
            return self;
        }
        let outcome = match self.outcome {
            Outcome::Passed => Outcome::Failed,
            Outcome::Failed => Outcome::Passed,
            Outcome::Error | Outcome::Skipped => return self,
        };
        Self {
            outcome,
            score: self.score.map(|score| 1.0 - score),
            reason: format!("{}, and `not: true` asks for the opposite", self.reason),
            ..self
        }
    }

    /// The result in the form in which it is stored.
    pub(super) fn stored(self) -> CheckResult {
        CheckResult {
            outcome: self.outcome,
            score: self.score,
            reason: self.reason,
            details: self.details,
            judged: None,
        }
    }
}

/// Opens a check: `written` is the text of the file, for messages, and `keys` the same with the values of its
/// variables. `services` are those that the configuration declares. Fails with the problem of one of its keys: the key,
/// and the message.
pub(super) fn open(
    written: &CheckKeys,
    keys: &CheckKeys,
    services: &DeclaredServices,
) -> Result<Box<dyn Check>, (&'static str, String)> {
    use CheckKeys as Keys;
    Ok(match (written, keys) {
        (_, Keys::CommandExit(keys)) => Box::new(keys.clone()),
        (Keys::FileExists(written), Keys::FileExists(keys)) => {
            Box::new(file::FileIs::of(written, keys, true)?)
        }
        (Keys::FileAbsent(written), Keys::FileAbsent(keys)) => {
            Box::new(file::FileIs::of(written, keys, false)?)
        }
        (Keys::FileContent(written), Keys::FileContent(keys)) => {
            Box::new(file::FileContent::of(written, keys)?)
        }
        (_, Keys::Custom(keys)) => Box::new(keys.clone()),
        (Keys::Contains(written), Keys::Contains(keys)) => {
            Box::new(text::Contains::of(written, keys)?)
        }
        (Keys::Regex(written), Keys::Regex(keys)) => Box::new(text::Matches::of(written, keys)?),
        (Keys::Equals(written), Keys::Equals(keys)) => Box::new(text::Equals::of(written, keys)?),
        (_, Keys::JsonSchema(keys)) => Box::new(json::FitsSchema::of(keys)?),
        (Keys::JsonPath(written), Keys::JsonPath(keys)) => {
            Box::new(json::HasPath::of(written, keys)?)
        }
        (_, Keys::Levenshtein(keys)) => Box::new(text::Levenshtein::of(keys)?),
        (_, Keys::Numeric(keys)) => Box::new(numeric::Numeric::of(keys)?),
        (_, Keys::Latency(keys)) => Box::new(keys.clone()),
        (Keys::Sql(written), Keys::Sql(keys)) => Box::new(sql::Sql::of(written, keys, services)?),
        (_, Keys::LlmAsJudge(keys)) => Box::new(judged::JudgedText::of(keys, services)?),
        (Keys::HttpMockAssertions(written), Keys::HttpMockAssertions(keys)) => Box::new(
            http_mock_assertions::HttpMockAssertions::of(written, keys, services)?,
        ),
        _ => unreachable!("values are put into the texts of a check, and leave its type as it is"),
    })
}

/// An external text for a reason: in one line, shortened.
fn shown(text: &str) -> String {
    let line: String = text.trim().chars().take(SHOWN).collect();
    let line = line.replace(['\n', '\r', '\t'], " ");
    match text.trim().chars().nth(SHOWN) {
        Some(_) => format!("{line}…"),
        None => line,
    }
}

/// A regular expression. The engine has no look-around and no back-references; in return it takes linear time for any
/// pattern and any text.
fn pattern(text: &str) -> Result<regex::Regex, String> {
    let built = regex::RegexBuilder::new(text)
        .size_limit(PATTERN_SIZE)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(most) => {
            format!("the pattern is too large: compiled it takes more than {most} bytes")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.unwrap_or_default().trim();
            format!(
                "this is no regular expression: {}",
                last.trim_start_matches("error: ")
            )
        }
    })
}

#[cfg(test)]
mod tests;
