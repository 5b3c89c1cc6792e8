//! The side that a gate judges.

use std::path::Path;

use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// Other settings by which the same code is measured.
pub(super) struct OtherSettings<'a> {
    /// The text of the configuration.
    pub(super) text: &'a str,
    /// The folder that everything a check reads or runs is taken from.
    pub(super) rules: &'a Path,
    /// Whether the cache is bypassed, because its results were found by other checks.
    pub(super) no_cache: bool,
}

/// The side that is judged: a running measurement, or a finished report.
pub(super) trait JudgedSide {
    /// The measurement so far.
    fn report(&self) -> Report;

    /// How many calls of the pipeline were made so far.
    fn invocations(&self) -> usize;

    /// Whether the cases of this side, and those of the base beside it, can be run again.
    fn can_be_run(&self) -> bool;

    /// Measures again relative to the stored answers of the base, where a probe needs both sides.
    fn against(&mut self, base: &Report) -> anyhow::Result<()>;

    /// Measures the same code by other settings, and passes the result to `judge`; none where nothing can be run.
    fn measured_by(
        &self,
        settings: &OtherSettings<'_>,
        observer: &dyn Observer,
        judge: &mut dyn FnMut(&mut dyn JudgedSide, &Config) -> anyhow::Result<Judgement>,
    ) -> anyhow::Result<Option<Judgement>>;

    /// What a reader of the verdict must know of a measurement that was not made for this verdict.
    fn differences(&self, config: &Config) -> Vec<Difference> {
        let _ = config;
        Vec::new()
    }

    /// Runs cases again.
    fn run_again(&mut self, rerun: &Rerun) -> anyhow::Result<()>;
}
