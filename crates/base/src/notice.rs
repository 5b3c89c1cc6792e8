//! The messages of a run besides its figures: every limit, skip and warning, as a record.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a notice is about; renderers group by it.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The code of the pipeline changed while it ran, so that no answer belongs to a known code.
    Changed,
    /// Invocations that failed; they contribute to no score.
    VariantsFailed,
    /// Over a fifth of the invocations of an item failed.
    Insufficient,
    /// The run was stopped by a signal before it had finished.
    Interrupted,
    /// The ceiling of the calls of a model was reached before the run had finished.
    Spent,
    /// A score that could not be measured, and why.
    Unmeasured,
    /// The cache was asked for and could not be used, or an entry was unusable.
    Cache,
    /// Fewer inputs than asked for, because the data allow no more.
    Cap,
    /// Inputs that were asked for and could not be made.
    Skip,
    /// Samples that a judge gave no score, or invocations that lack a factor; they are in no figure.
    Unscored,
    /// A file in the folder of the items that is not an item.
    IgnoredFile,
    /// Fewer calls were made at the same time than asked for, since the system allows too few open files.
    FewerJobs,
    /// A folder that cannot be read, or not whole, so that items may be missing.
    UnreadFolder,
    /// Repeats that the pipeline answered from memory; they count as one run.
    AnswersKept,
    /// An output that contains the path of its input: the pipeline may have taken the path for the text.
    PathInOutput,
    /// Items of a change that ask and expect something else than those of its base.
    OtherQuestions,
    /// Nothing was run: the figures are those of the base.
    Copied,
    /// A pattern of `harmless` that matches a file which may change an answer, or matches no file.
    Harmless,
    /// A code of one probe, or of a later version. People see it with spaces.
    #[serde(untagged)]
    Of(OwnCode),
}

/// A code of one probe: a few words in snake case. Anything else is read as a further notice.
// A report may come from any source, and pages show these words unchanged.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String")]
pub struct OwnCode(Cow<'static, str>);

impl OwnCode {
    /// The maximum length of a code; a longer one is rejected.
    const LONGEST: usize = 40;

    /// The words for people: the code with spaces.
    pub fn words(&self) -> String {
        self.0.replace('_', " ")
    }
}

impl From<String> for OwnCode {
    fn from(code: String) -> Self {
        let is_of_words = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let is_code = (1..=Self::LONGEST).contains(&code.len()) && code.bytes().all(is_of_words);
        Self(match is_code {
            true => Cow::Owned(code),
            false => Cow::Borrowed("further_notice"),
        })
    }
}

impl Code {
    /// The code of a single probe, in snake case; people see it with spaces.
    pub const fn own(code: &'static str) -> Self {
        Self::Of(OwnCode(Cow::Borrowed(code)))
    }
}

/// One cap, skip or warning. Never silent: it is in every report.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Notice {
    /// What the notice is about.
    pub code: Code,
    /// The case, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The kind of perturbation, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The wanted number of inputs, calls or samples, if the notice is about a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<u64>,
    /// How many of them there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<u64>,
    /// Whether the notice only says what was left out, and warns of nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minor: bool,
    /// Whether a reader has to know the notice before the figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foremost: bool,
    /// The notice in words for people, with the reason.
    pub text: String,
}

impl Notice {
    /// A notice about the whole run.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            case: None,
            kind: None,
            wanted: None,
            got: None,
            minor: false,
            foremost: false,
            text: text.into(),
        }
    }

    /// Marks the notice as not being a warning.
    #[must_use]
    pub const fn minor(mut self) -> Self {
        self.minor = true;
        self
    }

    /// Lets pages show the notice before the figures.
    #[must_use]
    pub const fn foremost(mut self) -> Self {
        self.foremost = true;
        self
    }

    /// Whether the notice is shown before those about limits and skips.
    pub const fn is_warning(&self) -> bool {
        !self.minor && !matches!(self.code, Code::Cap | Code::Skip | Code::IgnoredFile)
    }

    /// Sets the case to which the notice belongs.
    #[must_use]
    pub fn case(mut self, case: impl Into<String>) -> Self {
        self.case = Some(case.into());
        self
    }

    /// Sets the kind of perturbation to which the notice belongs.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets how many were wanted and how many there are.
    #[must_use]
    pub const fn counts(mut self, wanted: usize, got: usize) -> Self {
        self.wanted = Some(wanted as u64);
        self.got = Some(got as u64);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_a_probe_is_kept_and_what_is_none_says_nothing() {
        let read = |code: &str| -> Code {
            serde_json::from_value(serde_json::json!(code)).expect("a code")
        };
        assert_eq!(read("cap"), Code::Cap);
        assert_eq!(read("queries_failed"), Code::own("queries_failed"));
        for hostile in [
            "![x](https://example.org/x)",
            "@org/team",
            "<img src=x>",
            "",
            "a\nb",
            &"a".repeat(41),
        ] {
            assert_eq!(read(hostile), Code::own("further_notice"), "{hostile}");
        }
        let written = serde_json::to_value(Code::own("queries_failed"));
        assert_eq!(written.ok(), Some(serde_json::json!("queries_failed")));
    }
}
