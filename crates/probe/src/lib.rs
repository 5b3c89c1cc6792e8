//! What a kind of probe brings along to measure: how it is configured, what its items are, and how they are run.
//! What is made of the figures afterwards is the business of `kelvin_record` and whoever stands on it.

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
