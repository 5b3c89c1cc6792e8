//! The available kinds of probes, as a value that the top layer makes and passes to the lower layers. A new kind needs
//! a crate and a line here.

use std::fmt;
use std::path::Path;

use kelvin_checks::ChecksKind;
use kelvin_evidence::EvidenceKind;
use kelvin_gate::report::{Report, json};
use kelvin_grading::GradingKind;
use kelvin_probe::Kind;
use kelvin_quality::QualityKind;
use kelvin_record::{AnySection, Kinds, SectionKind, Sections};
use kelvin_results::ResultsKind;
use kelvin_retrieval::RetrievalKind;
use kelvin_run::config::{Config, Overrides};

/// The kinds of probes that a program knows, in the order in which probes are run and reported.
#[derive(Clone, Copy)]
pub struct Registry(&'static [&'static dyn Kind]);

impl Registry {
    /// Every kind that is shipped.
    pub const fn shipped() -> Self {
        Self(&[
            &EvidenceKind,
            &RetrievalKind,
            &GradingKind,
            &ChecksKind,
            &QualityKind,
            &ResultsKind,
        ])
    }

    /// Returns these kinds and one more after them. This is for programs that add their own probe. Call it only once:
    /// the memory of the list is never freed.
    #[must_use]
    pub fn with(self, kind: &'static dyn Kind) -> Self {
        let all: Vec<_> = self.0.iter().copied().chain([kind]).collect();
        Self(all.leak())
    }

    /// Every kind, in the order in which probes are run and reported.
    pub(crate) const fn kinds(self) -> &'static [&'static dyn Kind] {
        self.0
    }

    /// The kind with this name; none if this program does not know it.
    pub(crate) fn kind(self, name: &str) -> Option<&'static dyn Kind> {
        self.0.iter().copied().find(|kind| kind.name() == name)
    }

    /// Every section whose kind is known to this program, in the order of the kinds.
    pub(crate) fn known(self, sections: &Sections) -> Vec<(&'static dyn Kind, &dyn AnySection)> {
        let kinds = self.0.iter();
        kinds
            .filter_map(|kind| Some((*kind, sections.of(kind.name())?)))
            .collect()
    }

    /// Returns the kinds in the form that a report needs.
    pub(crate) fn of_sections(self) -> Kinds {
        let kinds = self.0.iter();
        kinds.map(|kind| *kind as &dyn SectionKind).collect()
    }

    /// Reads and checks the configuration. Fails like [`Config::load`].
    pub(crate) fn configured(self, overrides: &Overrides) -> anyhow::Result<Config> {
        kelvin_probe::configured(overrides, self.0)
    }

    /// Reads and checks a configuration from its file, without overrides. Fails like [`Config::load`].
    pub(crate) fn configured_in(self, file: &Path) -> anyhow::Result<Config> {
        self.configured(&overrides_naming(file))
    }

    /// Checks a text that will be written to `file`. Fails like [`Config::load`].
    pub(crate) fn configured_by(self, text: &str, file: &Path) -> anyhow::Result<Config> {
        kelvin_probe::configured_by(text, file, self.0)
    }

    /// Reads a run report that has our version of the format. Fails like [`json::read`].
    pub(crate) fn report(self, bytes: &[u8]) -> anyhow::Result<Report> {
        json::read(bytes, &self.of_sections())
    }
}

/// The overrides of a command line that only names a configuration file.
pub(crate) fn overrides_naming(file: &Path) -> Overrides {
    Overrides {
        file: Some(file.to_path_buf()),
        ..Overrides::default()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|kind| kind.name()))
            .finish()
    }
}
