//! How the process ends, and the two errors that decide it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

/// How the process ends. No crash can produce [`Exit::GateFailed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did its job; a gate, if one was asked for, passed.
    Passed,
    /// Configuration, arguments or cases are wrong, or a command that measures nothing could not do its
    /// job.
    Misused,
    /// The measurement was impossible, or could not be finished.
    Unmeasurable,
    /// The measurement was made and the gate did not pass.
    GateFailed,
    /// Stopped by a signal; what had finished is reported.
    Interrupted,
}

impl Exit {
    #[cfg(test)]
    /// Every way to end, in the order of the documented table.
    pub const ALL: [Self; 5] = [
        Self::Passed,
        Self::Misused,
        Self::Unmeasurable,
        Self::GateFailed,
        Self::Interrupted,
    ];

    /// The number the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Misused => 1,
            Self::Unmeasurable => 2,
            Self::GateFailed => 3,
            Self::Interrupted => 130,
        }
    }

    /// The exit for an error: a [`Misuse`] anywhere in its chain is a problem that the user has to fix.
    pub fn of(error: &anyhow::Error) -> Self {
        if error.downcast_ref::<Misuse>().is_some() {
            Self::Misused
        } else {
            Self::Unmeasurable
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A problem that only the user can fix: a flag, a line of `kelvin.yaml`, a case.
///
/// The text names the place and what was found there; the help, if there is one, says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The place and what was found.
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The file and the line, if the problem is about one.
    pub at: Option<(PathBuf, usize)>,
    /// The findings one by one, if the text has several, or if more is known about one.
    pub findings: Vec<Finding>,
}

/// One problem in a form for a program: an editor or a review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file to fix; `None` if the problem is about no file, or about a missing one.
    pub file: Option<PathBuf>,
    /// The line, from 1; `None` if the problem is about the whole file.
    pub line: Option<usize>,
    /// The key of the configuration, as `gate.min_pairs` or `prompts[2].id`.
    pub key: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: Option<String>,
}

impl Misuse {
    /// A misuse with only a description of the problem.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: None,
            at: None,
            findings: Vec::new(),
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the file and the line of the problem.
    #[must_use]
    pub fn at(mut self, file: &Path, line: usize) -> Self {
        self.at = Some((file.to_path_buf(), line));
        self
    }

    /// Adds one finding.
    #[must_use]
    pub fn finding(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }

    /// The findings; at least one.
    pub fn findings(&self) -> Vec<Finding> {
        if !self.findings.is_empty() {
            return self.findings.clone();
        }
        vec![Finding {
            file: self.at.as_ref().map(|(file, _)| file.clone()),
            line: self.at.as_ref().map(|(_, line)| *line),
            key: None,
            what: self.what.clone(),
            help: self.help.clone(),
        }]
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Misuse {}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_misuse_is_found_under_added_context() {
        let error = Err::<(), _>(Misuse::new("no cases"))
            .context("failed to load the cases")
            .unwrap_err();
        assert_eq!(Exit::of(&error), Exit::Misused);
    }

    #[test]
    fn any_other_error_is_unmeasurable_and_never_a_failed_gate() {
        let error = anyhow::anyhow!("disk full");
        assert_eq!(Exit::of(&error), Exit::Unmeasurable);
    }

    #[test]
    fn codes_are_distinct() {
        let mut codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 130]);
    }
}
