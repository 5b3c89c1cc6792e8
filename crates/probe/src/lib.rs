//! The measuring part of a kind of probe: its configuration, its items, and how they are run. The use of the figures
//! afterwards belongs to `kelvin_record` and the crates that depend on it.

pub mod answer;
pub mod case_files;
mod chosen;
mod configured;
mod kind;
mod plain;
mod repeated;
mod rescoring;

pub use answer::DecisionField;
pub use chosen::ChosenItems;
pub use configured::{configured, configured_by, owners, schema};
pub use kind::{Items, Kind, Planned, Probe, Rejudging};
pub use plain::PlainItems;
pub use repeated::RepeatedItems;
pub use rescoring::Rescoring;
