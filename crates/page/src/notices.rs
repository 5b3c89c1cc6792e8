//! Failures and omissions: failed invocations one by one, notices counted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::safe;
use kelvin_base::cause::cause;
use kelvin_base::failure::Failure;
use kelvin_base::notice::{Code, Notice};

/// A failed invocation with its place.
#[derive(Debug)]
pub struct FailedInvocation<'a> {
    /// The item of the invocation.
    pub item: &'a str,
    /// The invocation within the item.
    pub place: &'a str,
    /// The failure.
    pub failure: &'a Failure,
    /// The folder of its input, relative to the report; none if the folder is not enough to repeat the call.
    pub folder: Option<PathBuf>,
}

impl FailedInvocation<'_> {
    /// Whether it printed anything on standard error that can be shown.
    pub(crate) fn has_printed(&self) -> bool {
        let mut lines = self.failure.stderr.lines();
        lines.any(|line| !safe::line(line).is_empty())
    }
}

/// A failure in one line: its message, and the line of its standard error that tells the cause. The words come from
/// outside.
pub fn in_one_line(failure: &Failure) -> String {
    let message = safe::line(&failure.message);
    // The last printed line of a worker often repeats its error message.
    match cause(&failure.stderr).map(safe::line) {
        Some(line) if !message.contains(&line) => format!("{message}: {line}"),
        _ => message,
    }
}

/// The notices of one code.
#[derive(Debug)]
pub struct NoticeCount<'a> {
    /// The code.
    pub code: &'a Code,
    /// Whether the notices are shown before those about limits and skips.
    pub is_warning: bool,
    /// The number of notices.
    pub count: usize,
    /// The number of notices about each kind; notices about no kind are left out.
    pub kinds: BTreeMap<&'a str, usize>,
    /// All notices, in their original order.
    pub notices: Vec<&'a Notice>,
}

impl<'a> NoticeCount<'a> {
    /// Counts notices by code: warnings first, then in the order of the codes.
    pub fn all(notices: impl IntoIterator<Item = &'a Notice>) -> Vec<Self> {
        let mut counts: BTreeMap<(bool, &Code), Self> = BTreeMap::new();
        for notice in notices {
            let code = &notice.code;
            let entry = counts.entry((!notice.is_warning(), code));
            let count = entry.or_insert_with(|| Self {
                code,
                is_warning: notice.is_warning(),
                count: 0,
                kinds: BTreeMap::new(),
                notices: Vec::new(),
            });
            count.count += 1;
            count.notices.push(notice);
            if let Some(kind) = &notice.kind {
                *count.kinds.entry(kind).or_default() += 1;
            }
        }
        counts.into_values().collect()
    }

    /// `12 caps`, `1 skip`.
    pub fn counted(&self) -> String {
        let label = label(self.code);
        match (self.code, self.count) {
            (Code::Cap | Code::Skip | Code::IgnoredFile, 2..) => {
                format!("{} {label}s", self.count)
            }
            _ => format!("{} {label}", self.count),
        }
    }
}

/// The name of a code on a page.
pub fn label(code: &Code) -> Cow<'_, str> {
    Cow::Borrowed(match code {
        Code::Changed => "the code changed",
        Code::VariantsFailed => "failed invocations",
        Code::Insufficient => "too many failures",
        Code::Interrupted => "interrupted",
        Code::Spent => "ceiling reached",
        Code::Unmeasured => "not measured",
        Code::Cache => "cache",
        Code::Cap => "cap",
        Code::Skip => "skip",
        Code::Unscored => "unscored",
        Code::IgnoredFile => "ignored file",
        Code::FewerJobs => "fewer jobs",
        Code::UnreadFolder => "unread folder",
        Code::AnswersKept => "repeats that count as one",
        Code::PathInOutput => "path in an output",
        Code::OtherQuestions => "other questions",
        Code::Copied => "nothing was run",
        Code::Harmless => "harmless",
        Code::Of(code) => return Cow::Owned(code.words()),
    })
}
