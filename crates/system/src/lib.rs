//! The system around the program: git and its repositories, the connection to a server, signals, and the isolation of
//! this process from the pipeline.

pub mod confine;
pub mod git;
pub mod pipeline;
pub mod proxy;
pub mod signal;
