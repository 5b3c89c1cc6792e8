//! The kinds of checks, one file each. A check looks at what a run of the pipeline has left, and says
//! whether it holds, how well, and why.

mod command;
mod comparison;
mod file;
mod http_mock_assertions;
mod json;
mod judged;
mod latency;
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

/// A compiled pattern may take this many bytes: the cost of a match grows with its size.
const PATTERN_SIZE: usize = 1 << 20;
/// Texts from outside are cut to this many characters in a reason.
const SHOWN: usize = 200;

/// A check that is ready to look.
pub(super) trait Check: fmt::Debug + Send + Sync {
    /// Looks at what a run has left, as far as it takes to know what to say.
    ///
    /// # Errors
    ///
    /// What ends the look before its end.
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd>;

    /// Looks at what a run has left.
    ///
    /// # Errors
    ///
    /// Where the run was interrupted meanwhile.
    fn look(&self, scene: &Scene<'_>) -> Result<CheckFinding, CheckInterrupted> {
        match self.examine(scene) {
            Ok(finding) => Ok(finding),
            Err(EarlyEnd::Found(finding)) => Ok(*finding),
            Err(EarlyEnd::Interrupted) => Err(CheckInterrupted),
        }
    }

    /// Whether the check can look at what a scenario leaves, which shows before anything is run.
    ///
    /// # Errors
    ///
    /// What the scenario lacks, or what it has that cannot be used.
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let _ = scenario;
        Ok(())
    }
}

/// The run was interrupted while a check looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckInterrupted;

/// What ends the look of a check before its end.
#[derive(Debug)]
pub(super) enum EarlyEnd {
    /// The run was interrupted.
    Interrupted,
    /// There is nothing more to say than this.
    Found(Box<CheckFinding>),
}

impl From<CheckFinding> for EarlyEnd {
    fn from(finding: CheckFinding) -> Self {
        Self::Found(Box::new(finding))
    }
}

/// What a check says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckFinding {
    /// Whether the check holds, or why that is not known.
    pub(super) outcome: Outcome,
    /// How well the check holds, in `[0, 1]`; none where that is not known.
    pub(super) score: Option<f64>,
    /// The reason, in words.
    pub(super) reason: String,
    /// Further details.
    pub(super) details: Option<Value>,
    /// Whether there was nothing to look at: then neither the check nor its opposite holds.
    pub(super) found_nothing: bool,
    /// The text that a judge has yet to grade: until then the finding is an error.
    pub(super) to_judge: Option<ToJudge>,
}

impl CheckFinding {
    /// The finding that a check holds, or that it does not.
    fn of(holds: bool, reason: impl Into<String>) -> Self {
        Self::scored(holds, f64::from(u8::from(holds)), reason)
    }

    /// The finding that a check holds or does not, with a score of its own.
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

    /// The finding that there is nothing to look at, which is as bad for a check as for its opposite.
    fn nothing(reason: impl Into<String>) -> Self {
        Self {
            found_nothing: true,
            ..Self::of(false, reason)
        }
    }

    /// The finding that a check could not look.
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

    /// The finding where there is no text of this name to look at.
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

    /// The opposite finding. What is not known stays unknown.
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

    /// The result as it is stored.
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

/// Opens a check: `written` is what the file says, for messages, and `keys` the same with the values of
/// its variables. `services` are those that the configuration declares.
///
/// # Errors
///
/// What is wrong with one of its keys: the key, and what to say of it.
pub(super) fn open(
    written: &CheckKeys,
    keys: &CheckKeys,
    services: &DeclaredServices,
) -> Result<Box<dyn Check>, (&'static str, String)> {
    use CheckKeys as Keys;
    Ok(match (written, keys) {
        (_, Keys::CommandExit(keys)) => Box::new(command::CommandExit::of(keys)),
        (Keys::FileExists(written), Keys::FileExists(keys)) => {
            Box::new(file::FileIs::of(written, keys, true)?)
        }
        (Keys::FileAbsent(written), Keys::FileAbsent(keys)) => {
            Box::new(file::FileIs::of(written, keys, false)?)
        }
        (Keys::FileContent(written), Keys::FileContent(keys)) => {
            Box::new(file::FileContent::of(written, keys)?)
        }
        (_, Keys::Custom(keys)) => Box::new(command::Custom::of(keys)),
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
        (_, Keys::Latency(keys)) => Box::new(latency::Latency::of(keys)),
        (Keys::Sql(written), Keys::Sql(keys)) => Box::new(sql::Sql::of(written, keys, services)?),
        (_, Keys::LlmAsJudge(keys)) => Box::new(judged::JudgedText::of(keys, services)?),
        (Keys::HttpMockAssertions(written), Keys::HttpMockAssertions(keys)) => Box::new(
            http_mock_assertions::HttpMockAssertions::of(written, keys, services)?,
        ),
        _ => unreachable!("values are put into the texts of a check, and leave its type as it is"),
    })
}

/// A text from outside for a reason: one line, cut.
fn shown(text: &str) -> String {
    let line: String = text.trim().chars().take(SHOWN).collect();
    let line = line.replace(['\n', '\r', '\t'], " ");
    match text.trim().chars().nth(SHOWN) {
        Some(_) => format!("{line}…"),
        None => line,
    }
}

/// A regular expression. The engine has no look-around and no back-references; in return it takes no more than linear
/// time, whatever the pattern and the text.
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
