//! By which rules the scores of what is stored are made anew.

use crate::config::Config;

/// By which rules scores are made anew. What is not given stays, or is that of the configuration.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rescoring<'a> {
    /// The configuration whose rules hold.
    pub(crate) config: Option<&'a Config>,
    /// What each factor weighs, as a command line says it.
    pub(crate) weights: Option<&'a str>,
    /// The name of the scorer.
    pub(crate) scorer: Option<&'a str>,
}
