//! What the engine needs of the probes: how often an item is run.

#[path = "../../src/probe/repeats.rs"]
mod repeats;

pub(crate) use repeats::{Repeats, Wanted, WantedRepeats};
