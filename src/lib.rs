//! `kelvin` tells a team on every pull request whether a change made its AI pipeline worse, and
//! where.
//!
//! Values flow to the right; imports point to the left:
//!
//! ```text
//! confine exit digest draw file git notice proxy signal stats threads │ target → config → judge → run → trace → page → probe → report → github → baseline → gate → history → trend → publish │ check │ cli │ fuzz
//! ```
//!
//! A module may import the leaves and any stage to its left, never one to its right. Pure stages
//! (`judge`, `stats`, the perturbations and `page` with its renderers) touch neither disk, clock,
//! network nor environment.

mod confine;
mod digest;
mod draw;
mod exit;
mod file;
mod git;
mod notice;
mod proxy;
mod signal;
mod stats;
mod threads;

mod judge;

mod target;

mod config;

mod run;

mod trace;

mod page;

mod probe;

mod report;

mod github;

mod baseline;

mod gate;

mod history;

mod trend;

mod publish;

mod check;

pub mod cli;

#[cfg(any(test, fuzzing))]
pub mod fuzz;
