//! The system around the program: git and its repositories, the way to a server, signals, and what keeps the
//! pipeline away from this process.

pub mod confine;
pub mod git;
pub mod pipeline;
pub mod proxy;
pub mod signal;
