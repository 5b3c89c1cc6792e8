//! What went wrong and what was left out: failed invocations one by one, notices counted.

use std::collections::BTreeMap;

use super::label;
use crate::notice::{Code, Notice};
use crate::probe::Sample;
use crate::report::{Report, safe};
use crate::run::Failure;

/// A failed invocation with its place.
#[derive(Debug)]
pub(crate) struct Failed<'a> {
    /// The case.
    pub(crate) case: &'a str,
    /// The variant; none for the unperturbed input.
    pub(crate) variant: Option<&'a str>,
    /// What went wrong.
    pub(crate) failure: &'a Failure,
}

impl Failed<'_> {
    /// The variant, or `baseline`.
    pub(crate) fn place(&self) -> &str {
        self.variant.unwrap_or("baseline")
    }

    /// The last line that it printed on its standard error, where there is one.
    pub(crate) fn last_line(&self) -> Option<String> {
        let mut lines = self.failure.stderr.lines().rev().map(safe::line);
        lines.find(|line| !line.is_empty())
    }
}

/// Every failed invocation, baselines first within a case.
pub(super) fn failed(report: &Report) -> Vec<Failed<'_>> {
    fn of<'a>(case: &'a str, variant: Option<&'a str>, sample: &'a Sample) -> Option<Failed<'a>> {
        let failure = sample.failure.as_ref()?;
        Some(Failed {
            case,
            variant,
            failure,
        })
    }
    let mut failed = Vec::new();
    for (name, case) in &report.cases {
        let baselines = case.baseline.iter().chain(&case.replays);
        failed.extend(baselines.filter_map(|sample| of(name, None, sample)));
        for variant in &case.variants {
            let samples = variant.samples.iter();
            failed.extend(samples.filter_map(|sample| of(name, Some(&variant.id), sample)));
        }
    }
    failed
}

/// The notices of one code.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    /// The code.
    pub(crate) code: Code,
    /// How many there are.
    pub(crate) count: usize,
    /// How many of them are about each kind of perturbation; those about none are not in it.
    pub(crate) kinds: BTreeMap<&'a str, usize>,
    /// All of them, those about the whole run first.
    pub(crate) notices: Vec<&'a Notice>,
}

impl Tally<'_> {
    /// `12 caps`, `1 skip`.
    pub(crate) fn counted(&self) -> String {
        let label = label(self.code);
        match (self.code, self.count) {
            (Code::Cap | Code::Skip | Code::ParseRate | Code::IgnoredFile, 2..) => {
                format!("{} {label}s", self.count)
            }
            _ => format!("{} {label}", self.count),
        }
    }
}

/// Every notice, counted by code: warnings first, then in the order of the codes.
pub(super) fn tallies(report: &Report) -> Vec<Tally<'_>> {
    let of_cases = report.cases.values().flat_map(|case| &case.notices);
    let mut tallies: BTreeMap<(bool, Code), Tally<'_>> = BTreeMap::new();
    for notice in report.notices.iter().chain(of_cases) {
        let code = notice.code;
        let tally = tallies
            .entry((!code.is_warning(), code))
            .or_insert_with(|| Tally {
                code,
                count: 0,
                kinds: BTreeMap::new(),
                notices: Vec::new(),
            });
        tally.count += 1;
        tally.notices.push(notice);
        if let Some(kind) = &notice.kind {
            *tally.kinds.entry(kind).or_default() += 1;
        }
    }
    tallies.into_values().collect()
}
