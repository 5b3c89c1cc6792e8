//! The engine as it is in the library, without what needs reports.

#[path = "../../src/gate/broken/mod.rs"]
pub(crate) mod broken;
#[path = "../../src/gate/look/mod.rs"]
pub(crate) mod look;
#[path = "../../src/gate/looks/mod.rs"]
pub(crate) mod looks;
#[path = "../../src/gate/governing/rule/mod.rs"]
pub(crate) mod types;
