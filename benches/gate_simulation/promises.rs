//! What `docs/statistics.md` promises, kept or broken.

use std::process::ExitCode;

/// How far a row may fall short of a promise and be listed with its figure.
const SHORT: f64 = 0.05;

/// The same of what must not be exceeded: a share of false alarms, or a cost in runs of the suite.
const OVER: f64 = 0.03;

#[derive(Default)]
pub(crate) struct Promises {
    kept: usize,
    short: Vec<String>,
    broken: Vec<String>,
}

impl Promises {
    /// Something that must hold.
    pub(crate) fn hold(&mut self, is: bool, what: impl FnOnce() -> String) {
        if is {
            self.kept += 1;
        } else {
            self.broken.push(what());
        }
    }

    /// At least so much; a row that is short by a little is listed.
    pub(crate) fn at_least(&mut self, value: f64, least: f64, what: &str) {
        self.at_least_about(value, (least, SHORT), what);
    }

    /// The same, where it is known to be short by more.
    pub(crate) fn at_least_about(&mut self, value: f64, (least, short): (f64, f64), what: &str) {
        if value + 1e-9 >= least {
            self.kept += 1;
        } else {
            let line = format!("{what}: {value:.3}, promised {least:.3}");
            match least - value <= short {
                true => self.short.push(line),
                false => self.broken.push(line),
            }
        }
    }

    /// At most so much.
    pub(crate) fn at_most(&mut self, value: f64, most: f64, what: &str) {
        if value <= most + 1e-9 {
            self.kept += 1;
        } else {
            let line = format!("{what}: {value:.3}, promised at most {most}");
            match value - most <= OVER {
                true => self.short.push(line),
                false => self.broken.push(line),
            }
        }
    }

    pub(crate) fn tell(&self) -> ExitCode {
        for promise in &self.short {
            println!("short: {promise}");
        }
        for promise in &self.broken {
            println!("broken: {promise}");
        }
        println!(
            "{} promises kept, {} short by a little, {} broken",
            self.kept,
            self.short.len(),
            self.broken.len()
        );
        if self.broken.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
