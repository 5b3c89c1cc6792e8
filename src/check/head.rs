//! The side that a gate judges: the head.

use std::path::Path;

use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::looks::Rerun;
use kelvin_gate::report::Report;
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// Other settings with which the same code is measured.
pub(super) struct OtherSettings<'a> {
    /// The text of the configuration.
    pub(super) text: &'a str,
    /// The folder from which a check reads and runs everything.
    pub(super) rules: &'a Path,
    /// Whether the cache is bypassed, because its results come from other checks than the new ones.
    pub(super) no_cache: bool,
    /// The names of the items to measure; none for those that were asked for.
    pub(super) only: Option<&'a [String]>,
}

/// The side that is judged: a running measurement, or a finished report.
pub(super) trait JudgedSide {
    /// The measurement so far.
    fn report(&self) -> Report;

    /// How many calls of the pipeline were made so far.
    fn invocations(&self) -> usize;

    /// Whether the cases of this side, and the cases of the base together with them, can be run again.
    fn can_be_run(&self) -> bool;

    /// Measures again, compared with the stored answers of the base, if a probe needs both sides.
    fn against(&mut self, base: &Report) -> anyhow::Result<()>;

    /// Measures the same code with other settings, and passes the result to `judge`; none if no pipeline can be run.
    fn measured_by(
        &self,
        settings: &OtherSettings<'_>,
        observer: &dyn Observer,
        judge: &mut dyn FnMut(&mut dyn JudgedSide, &Config) -> anyhow::Result<Judgement>,
    ) -> anyhow::Result<Option<Judgement>>;

    /// Differences for the reader of the verdict if the measurement was not made for this verdict.
    fn differences(&self, config: &Config) -> Vec<Difference> {
        let _ = config;
        Vec::new()
    }

    /// Runs cases again.
    fn run_again(&mut self, rerun: &Rerun) -> anyhow::Result<()>;
}
