//! `kelvin eval`: the report of a run that was made elsewhere.

use std::path::Path;

use crate::baseline;
use crate::registry::Registry;
use kelvin_base::clock::Clock;
use kelvin_base::digest::Digest;
use kelvin_gate::report::{Fingerprints, Report, Run, Session};
use kelvin_record::{Ending, Sections};
use kelvin_retrieval::EvalRequest;

/// Evaluates a run. Fails with a [`Misuse`](kelvin_base::exit::Misuse) with file and line if one of the files is wrong.
pub(crate) fn eval(registry: Registry, request: &EvalRequest) -> anyhow::Result<Report> {
    let clock = Clock::start();
    let evaluation = kelvin_retrieval::evaluate(request)?;
    let run = made_elsewhere(&clock, evaluation.configuration, commit());
    let found = evaluation.findings;
    let mut probes = Sections::new(registry.of_sections());
    probes.put(evaluation.probe, found.section);
    Ok(Report::new(run, probes, found.metrics, found.notices))
}

/// The settings in the report of a run that another program has made: no pipeline was called, and no random choice was
/// made.
pub(super) fn made_elsewhere(clock: &Clock, configuration: Digest, commit: Option<String>) -> Run {
    Run {
        ending: Ending::Complete,
        seed: 0,
        only: Vec::new(),
        shard: None,
        repeats: 1,
        fingerprints: Fingerprints {
            config: configuration,
            pipeline: None,
        },
        session: Session {
            started_at: clock.started_at(),
            seconds: clock.seconds(),
            commit,
            ..Session::default()
        },
    }
}

/// The commit of the working directory, if it is in a repository.
fn commit() -> Option<String> {
    let repo = baseline::open(Path::new(".")).ok()?;
    let head = repo.head().ok()?.peel_to_commit().ok()?;
    Some(head.id().to_string())
}
