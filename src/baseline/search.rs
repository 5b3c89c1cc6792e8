//! The inputs of a search for a baseline, and its position in the repository.

use std::path::Path;

use super::branch::{Branch, KeptOnBranch};
use super::commit::Base;
use super::hint::Hint;
use super::remote::Remote;
use super::{Artifacts, Login};
use crate::registry::Registry;
use kelvin_gate::report::{MeasuredSuite, Report};
use kelvin_record::settings::BaselineSettings;
use kelvin_system::git::{Oid, Repository};

/// Measures a commit.
pub(crate) type Compute<'a> = dyn Fn(&Repository, Oid) -> anyhow::Result<Report> + 'a;

/// The inputs of a search.
pub(crate) struct Search<'a> {
    /// The kinds of probes whose reports can be read.
    pub(crate) registry: Registry,
    /// Where to search, and how far back.
    pub(crate) settings: &'a BaselineSettings,
    /// The folder of the configuration.
    pub(crate) root: &'a Path,
    /// The name of the configuration on the branch of reports.
    pub(crate) configuration: &'a str,
    /// The information about the base commit from the event.
    pub(crate) hint: &'a Hint,
    /// The artifacts of workflow runs; none if GitHub is not available.
    pub(crate) artifacts: Option<&'a Artifacts>,
    /// The suite with which the change was measured; needed to find the former name of a renamed configuration. None if
    /// the user gave the name.
    pub(crate) head: Option<MeasuredSuite>,
    /// The token of the action, which git may need.
    pub(crate) login: Option<&'a Login>,
    /// Checks a report from the branch of reports against its commit.
    pub(crate) hold: &'a Hold<'a>,
    /// Measures the base commit; none if no measurement was requested.
    pub(crate) compute: Option<&'a Compute<'a>>,
}

impl Search<'_> {
    /// The reports on the branch of reports, first those that only this clone has.
    pub(super) fn kept(&self, remote: &Remote<'_>) -> anyhow::Result<Vec<KeptOnBranch>> {
        let name = &self.settings.branch;
        let branch = Branch::new(remote, name);
        let asked = branch.fetch();
        let mut kept = Vec::new();
        if self.hint.in_workflow {
            // In a workflow only the answer of the server counts: the change could have written to the clone.
            asked?;
        } else {
            kept.extend(Branch::local(remote, name).kept()?);
        }
        kept.extend(branch.kept()?);
        Ok(kept)
    }
}

/// The position of a search: one base, one repository.
pub(super) struct SearchPosition<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) remote: &'a Remote<'a>,
    pub(super) base: &'a Base,
}

/// The result of checking the claims of a report: the code, the configuration and the cases that it names, and the
/// figures that follow from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// The claims match the commit.
    Hold,
    /// The claims do not match the commit; the text says why, in words that fit after "the report".
    Differ(String),
    /// The commit alone does not show whether the claims are true; the text says why.
    Unknown(String),
}

/// Checks the claims of a report against its commit.
pub(crate) type Hold<'a> = dyn Fn(&Repository, Oid, &Report) -> Claims + 'a;
