//! By which rules the scores of what is stored are made anew.

use kelvin_run::config::Config;

/// By which rules scores are made anew. What is not given stays, or is that of the configuration.
#[derive(Clone, Copy, Default)]
pub struct Rescoring<'a> {
    /// The configuration whose rules hold.
    pub config: Option<&'a Config>,
    /// What each factor weighs, as a command line says it.
    pub weights: Option<&'a str>,
    /// The name of the scorer.
    pub scorer: Option<&'a str>,
}
