//! What a search for a baseline needs to know, and where it stands.

use std::path::Path;

use crate::registry::Registry;
use kelvin_system::git::Oid;
use kelvin_system::git::Repository;

use super::claims::Hold;
use super::commit::Base;
use super::hint::Hint;
use super::remote::Remote;
use super::{Artifacts, Login};
use kelvin_gate::report::{Report, Suite};
use kelvin_record::settings::BaselineSettings;

/// Measures a commit.
pub(crate) type Compute<'a> = dyn Fn(&Repository, Oid) -> anyhow::Result<Report> + 'a;

/// What a search needs to know.
pub(crate) struct Search<'a> {
    /// The kinds of probes whose reports are read.
    pub(crate) registry: Registry,
    /// Where to look, and how far back.
    pub(crate) settings: &'a BaselineSettings,
    /// The folder of the configuration.
    pub(crate) root: &'a Path,
    /// The name of the configuration on the branch of reports.
    pub(crate) configuration: &'a str,
    /// What the event says about the base.
    pub(crate) hint: &'a Hint,
    /// The artifacts of workflow runs; none where there is no GitHub to ask.
    pub(crate) artifacts: Option<&'a Artifacts>,
    /// What the change was measured with, where its configuration may have had another name on the
    /// base; none where it was given its name by hand.
    pub(crate) head: Option<Suite>,
    /// The token of the action, which git may need.
    pub(crate) login: Option<&'a Login>,
    /// Holds a report of the branch of reports against its commit.
    pub(crate) hold: &'a Hold<'a>,
    /// Measures the base commit; none where that was not asked for.
    pub(crate) compute: Option<&'a Compute<'a>>,
}

/// Where a search stands: one base, one repository.
pub(super) struct Place<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) repo: &'a Repository,
    pub(super) remote: &'a Remote<'a>,
    pub(super) base: &'a Base,
}
