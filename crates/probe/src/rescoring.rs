//! The rules by which stored results get new scores.

use kelvin_run::config::Config;

/// The rules by which scores are computed again. A missing rule is that of the configuration, or stays as stored.
#[derive(Clone, Copy, Default)]
pub struct Rescoring<'a> {
    /// The configuration whose rules are used.
    pub config: Option<&'a Config>,
    /// The weights of the factors, as written on the command line.
    pub weights: Option<&'a str>,
    /// The name of the scorer.
    pub scorer: Option<&'a str>,
}
