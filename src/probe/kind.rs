//! What every kind of probe brings along.

/// A kind of probe: a way to run the system under test, and what is made of its answers.
pub(crate) trait Kind: Sync {
    /// Its name: its key under `probes` in a report, and the first part of the ids of its metrics.
    fn name(&self) -> &'static str;
}
