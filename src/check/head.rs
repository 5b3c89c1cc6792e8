//! What a gate judges.

use std::path::Path;

use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// What the same code is measured by.
pub(super) struct OtherSettings<'a> {
    /// The text of the configuration.
    pub(super) text: &'a str,
    /// The folder that everything a check reads or runs is taken from.
    pub(super) rules: &'a Path,
    /// Whether what the cache knows was found by other checks.
    pub(super) no_cache: bool,
}

/// What is judged: a measurement under way, or a finished report.
pub(super) trait Head {
    /// What has been measured so far.
    fn report(&self) -> Report;

    /// How many calls of the pipeline were made so far.
    fn invocations(&self) -> usize;

    /// Whether its cases, and those of the base beside it, can be run again.
    fn can_be_run(&self) -> bool;

    /// Measures next to what the base has stored, where a probe needs both.
    fn against(&mut self, base: &Report) -> anyhow::Result<()>;

    /// Measures the same code by other settings, and hands that on to be judged; none where nothing can be run.
    fn measured_by(
        &self,
        settings: &OtherSettings<'_>,
        observer: &dyn Observer,
        judge: &mut dyn FnMut(&mut dyn Head, &Config) -> anyhow::Result<Judgement>,
    ) -> anyhow::Result<Option<Judgement>>;

    /// What a reader of the verdict must know of the measurement, where it was not made for it.
    fn told(&self, config: &Config) -> Vec<Difference> {
        let _ = config;
        Vec::new()
    }

    /// Runs cases again.
    fn run_again(&mut self, rerun: &Rerun) -> anyhow::Result<()>;
}
