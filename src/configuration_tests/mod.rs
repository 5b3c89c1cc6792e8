//! The configuration as a whole, with the keys of every kind of probe.

mod bad;
mod bad_values;
mod configuration;
mod edits;
mod pins;
mod reference;
