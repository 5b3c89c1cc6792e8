//! From the reports of all shards to the report of the run.

use std::collections::BTreeMap;

use super::super::stage;
use super::gather::Found;
use crate::exit::Misuse;
use crate::notice::{Code, Notice};
use crate::probe::evidence::{self, Settings};
use crate::probe::{CaseRecord, Ending};
use crate::report::{Report, Run, Session};
use crate::run::Cost;

/// Joins reports that agree.
///
/// # Errors
///
/// A [`Misuse`] where a shard has a figure that is not made from records of cases.
pub(super) fn reports(found: &[Found]) -> Result<Report, Misuse> {
    let Some(first) = found.first() else {
        return Err(Misuse::new("no shards were named"));
    };
    let cases: BTreeMap<String, CaseRecord> = found
        .iter()
        .flat_map(|found| &found.report.cases)
        .map(|(name, case)| (name.clone(), case.clone()))
        .collect();
    let run = Run {
        ending: ending(found, &cases),
        shard: None,
        session: session(found),
        ..first.report.run.clone()
    };
    let evidence = evidence::recompute(
        cases,
        &Settings {
            governing_types: &run.governing_types,
            basis: &run.basis,
            ending: run.ending,
            scorer: None,
        },
    );
    for shard in found {
        let strange = |id: &&String| !evidence.metrics.contains_key(*id);
        if let Some(id) = shard.report.metrics.keys().find(strange) {
            return Err(Misuse::new(format!(
                "{shard} has the figure `{id}`, which cannot be joined from shards"
            ))
            .help("measure it in a run of its own, without `--shard`"));
        }
    }
    Ok(stage::assemble(run, evidence, notices(found)))
}

/// How the run as a whole ended: a shard of which nothing could be measured is no failure of all.
fn ending(found: &[Found], cases: &BTreeMap<String, CaseRecord>) -> Ending {
    let any = |ending| found.iter().any(|found| found.report.run.ending == ending);
    let answered = |case: &CaseRecord| {
        let first = case.baseline.first();
        first.is_some_and(|sample| sample.decision.is_some())
    };
    if any(Ending::DryRun) {
        Ending::DryRun
    } else if any(Ending::Interrupted) {
        Ending::Interrupted
    } else if cases.values().any(answered) {
        Ending::Complete
    } else {
        Ending::Failed
    }
}

/// The costs of all; the time is that of the longest, since they run beside each other.
fn session(found: &[Found]) -> Session {
    let sessions = || found.iter().map(|found| &found.report.run.session);
    let cost = sessions().fold(Cost::default(), |sum, session| Cost {
        invocations: sum.invocations + session.cost.invocations,
        cache_hits: sum.cache_hits + session.cost.cache_hits,
        resumed: sum.resumed + session.cost.resumed,
        retries: sum.retries + session.cost.retries,
        pipeline_seconds: sum.pipeline_seconds + session.cost.pipeline_seconds,
    });
    Session {
        started_at: sessions()
            .map(|session| session.started_at.clone())
            .min()
            .unwrap_or_default(),
        seconds: sessions()
            .map(|session| session.seconds)
            .fold(0.0, f64::max),
        commit: sessions().find_map(|session| session.commit.clone()),
        dirty: sessions().any(|session| session.dirty),
        cost,
    }
}

/// What each shard tells of the corpus, once; what the figures tell is told anew.
fn notices(found: &[Found]) -> Vec<Notice> {
    let is_kept = |notice: &&Notice| {
        let told_anew = matches!(
            notice.code,
            Code::BaselineFailed | Code::Interrupted | Code::Unmeasured
        );
        !told_anew
    };
    let mut most: BTreeMap<&Notice, usize> = BTreeMap::new();
    for shard in found {
        let mut here: BTreeMap<&Notice, usize> = BTreeMap::new();
        for notice in shard.report.notices.iter().filter(is_kept) {
            *here.entry(notice).or_default() += 1;
        }
        for (notice, times) in here {
            let so_far = most.entry(notice).or_default();
            *so_far = times.max(*so_far);
        }
    }
    most.into_iter()
        .flat_map(|(notice, times)| std::iter::repeat_n(notice.clone(), times))
        .collect()
}
