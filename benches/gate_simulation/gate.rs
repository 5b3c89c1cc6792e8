//! The engine, as the gate has it.

pub(crate) use kelvin_gate::governing::rule as types;
pub(crate) use kelvin_gate::{broken, look, looks};
