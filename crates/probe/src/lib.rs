//! The measuring part of a kind of probe: its configuration, its items, and how they are run. The use of the figures
//! afterwards belongs to `kelvin_record` and the crates that depend on it.

pub mod answer;
pub mod case_files;
mod kind;
mod plain;
mod repeated;
pub mod rows;
mod several;

pub use answer::DecisionField;
pub use kind::{
    Items, Kind, Planned, Probe, Rejudging, Rescoring, configured, configured_by, owners, schema,
};
pub use plain::{ChosenItems, PlainItems};
pub use repeated::RepeatedItems;
