//! Records which sources gave no usable answer. "The source could not be reached" and "it has a report that cannot be
//! read" leave open whether there is a baseline, and must not count as "there is none".

use std::fmt;

/// Why it is not known whether a source has a baseline; stored in the chain of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The source could not be reached.
    Unreachable,
    /// There is a report, but it cannot be read.
    Unreadable,
    /// There is a report, but it does not belong to the commit for which it is stored.
    Untrue,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "it could not be asked",
            Self::Unreadable => "its report cannot be read",
            Self::Untrue => "its report is not what it says it is",
        })
    }
}

impl Unknown {
    /// Whether an error leaves open if there is a baseline.
    pub(crate) fn is_in(error: &anyhow::Error) -> bool {
        error.downcast_ref::<Self>().is_some()
    }

    /// Marks an error with this reason, unless it is marked already.
    pub(crate) fn mark(self, error: anyhow::Error) -> anyhow::Error {
        match Self::is_in(&error) {
            true => error,
            false => error.context(self),
        }
    }
}

/// Marks the error of a source that had no report while a part of the source could not be reached: that part may have
/// the report, and the error says so.
pub(super) fn beside(error: anyhow::Error, gap: Option<anyhow::Error>) -> anyhow::Error {
    match gap {
        Some(gap) if Unknown::is_in(&gap) && !Unknown::is_in(&error) => {
            gap.context(format!("{error:#}"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn a_mark_is_found_under_added_context_and_set_once() {
        let error = Err::<(), _>(Unknown::Unreachable.mark(anyhow!("timed out")))
            .context("failed to fetch")
            .expect_err("it is one");
        assert!(Unknown::is_in(&error));
        let text = format!("{:#}", Unknown::Unreadable.mark(error));
        insta::assert_snapshot!(text, @"failed to fetch: it could not be asked: timed out");
    }

    #[test]
    fn a_gap_makes_no_difference_where_it_was_asked_about() {
        let asked = beside(anyhow!("no report"), Some(anyhow!("no such branch")));
        assert!(!Unknown::is_in(&asked));
        let gap = Unknown::Unreachable.mark(anyhow!("timed out"));
        let open = beside(anyhow!("no report"), Some(gap));
        assert!(Unknown::is_in(&open));
        assert!(format!("{open:#}").starts_with("no report: "));
    }
}
