//! The gate: tells a drop from noise, and by its policy says whether the head may pass.

pub(crate) mod broken;
pub(crate) mod look;
pub(crate) mod looks;
