//! What the engine needs of the probes: how often an item is run.

pub(crate) use kelvin_record::{Repeats, Wanted, WantedRepeats};
