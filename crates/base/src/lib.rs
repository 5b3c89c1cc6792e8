//! What everything else stands on: digests, seeded draws, exit codes, files, statistics, notices, and what a call
//! took or why it failed. Nothing here knows a probe, a page or a process.

pub mod calendar;
pub mod clock;
pub mod cost;
pub mod digest;
pub mod draw;
pub mod exit;
pub mod failure;
pub mod file;
pub mod notice;
pub mod stats;
pub mod threads;
pub mod usage;
