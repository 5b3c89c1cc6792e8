//! The keys of this probe in `kelvin.yaml`, as they are written: the JSON schema is made from these
//! types.

mod check;
mod sections;

pub(super) use check::{
    CheckKeys, CommandExitKeys, ContainsKeys, CustomKeys, EqualsKeys, FileContentKeys, FileKeys,
    JsonPathKeys, JsonSchemaKeys, LatencyKeys, LevenshteinKeys, NumericKeys, RegexKeys, RunsIn,
};
pub(super) use sections::{Aggregation, ChecksKeys, OWN, Parameter, REQUIRED};
