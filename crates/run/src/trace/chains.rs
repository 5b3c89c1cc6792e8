//! Sorts traces by chain and version.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use semver::Version;

use super::ChainTrace;
use kelvin_base::clock;

/// The chains, by name.
#[derive(Clone, Debug, Default)]
pub struct Chains<'t> {
    /// The chains with their versions.
    pub by_name: BTreeMap<&'t str, Chain<'t>>,
    /// Warnings about the order.
    pub warnings: Vec<String>,
}

/// One chain.
#[derive(Clone, Debug, Default)]
pub struct Chain<'t> {
    /// Its versions, the oldest first.
    pub versions: Vec<ChainVersion<'t>>,
}

/// One version of a chain.
#[derive(Clone, Debug)]
pub struct ChainVersion<'t> {
    /// The version in the text of the trace.
    pub name: &'t str,
    /// Its traces, the oldest first.
    pub traces: Vec<&'t ChainTrace>,
}

impl<'t> Chain<'t> {
    /// The version with this name, and the version right before it, if there is one.
    pub fn with_prior(&self, name: &str) -> Option<(&ChainVersion<'t>, Option<&ChainVersion<'t>>)> {
        let at = self.versions.iter().position(|one| one.name == name)?;
        let prior = at.checked_sub(1).map(|before| &self.versions[before]);
        Some((&self.versions[at], prior))
    }
}

impl<'t> ChainVersion<'t> {
    /// The newest traces that count, at most this many. A trace that waits for a person's decision does not count.
    pub fn newest(&self, most: usize) -> Vec<&'t ChainTrace> {
        let counting = self.traces.iter().copied().filter(|trace| !trace.is_open());
        let mut newest: Vec<&ChainTrace> = counting.rev().take(most).collect();
        newest.reverse();
        newest
    }
}

/// Sorts traces. Versions are in the order of semantic versioning. If a version of a chain is not semantic, the
/// versions of that chain are in the order in which they were first run.
pub fn chains(traces: &[ChainTrace]) -> Chains<'_> {
    let mut found = Chains::default();
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<&ChainTrace>>> = BTreeMap::new();
    for trace in traces {
        let versions = all.entry(trace.chain()).or_default();
        versions.entry(trace.version()).or_default().push(trace);
    }
    for (name, versions) in all {
        let unread: Vec<&str> = versions
            .keys()
            .copied()
            .filter(|version| semantic(version).is_none())
            .collect();
        let mut versions: Vec<ChainVersion<'_>> = versions
            .into_iter()
            .map(|(name, mut traces)| {
                traces.sort_by(|one, other| {
                    by_start(one, other).then_with(|| one.trace_id.cmp(&other.trace_id))
                });
                ChainVersion { name, traces }
            })
            .collect();
        match unread.first() {
            None => versions.sort_by(|one, other| {
                let both = (semantic(one.name), semantic(other.name));
                // Build metadata does not affect the order of two versions.
                let by_version = both
                    .0
                    .zip(both.1)
                    .map(|(one, other)| one.cmp_precedence(&other));
                by_version
                    .unwrap_or(Ordering::Equal)
                    .then_with(|| first(one, other))
            }),
            Some(version) => {
                versions.sort_by(first);
                if versions.len() > 1 {
                    found.warnings.push(format!(
                        "`{version}` of the chain `{name}` is no semantic version: its versions are in the \
                         order in which they were first run"
                    ));
                }
            }
        }
        found.by_name.insert(name, Chain { versions });
    }
    found
}

/// A semantic version, which may have a `v` before it.
fn semantic(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

fn first(one: &ChainVersion<'_>, other: &ChainVersion<'_>) -> Ordering {
    let by_start = match (one.traces.first(), other.traces.first()) {
        (Some(one), Some(other)) => by_start(one, other),
        _ => Ordering::Equal,
    };
    by_start.then_with(|| one.name.cmp(other.name))
}

/// The order of two traces by their start; traces without a start time come first.
fn by_start(one: &ChainTrace, other: &ChainTrace) -> Ordering {
    match (&one.started_at, &other.started_at) {
        (Some(one), Some(other)) => {
            // Both times are valid, because the reader has checked them.
            let is_before = |one, other| clock::is_before(one, other).unwrap_or(false);
            match (is_before(one, other), is_before(other, one)) {
                (true, _) => Ordering::Less,
                (_, true) => Ordering::Greater,
                _ => Ordering::Equal,
            }
        }
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}
