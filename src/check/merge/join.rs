//! From the reports of all shards to the report of the run.

use std::collections::BTreeMap;

use super::super::stage;
use super::gather::Found;
use crate::exit::Misuse;
use crate::judge;
use crate::notice::{Code, Notice};
use crate::probe::evidence::{self, Settings};
use crate::probe::retrieval::{RetrievalRecord, Retrieved};
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
    let was_run = |found: &Found| !found.report.run.scorer.is_empty();
    // Where a swap leads is known when its donor's answers are, which another shard may have.
    let scorer = judge::stored(&run.scorer, &run.basis.levels);
    let evidence = found.iter().any(was_run).then(|| {
        evidence::recompute(
            cases,
            &Settings {
                governing_types: &run.governing_types,
                basis: &run.basis,
                ending: run.ending,
                scorer: scorer.as_deref(),
            },
        )
    });
    let record = retrieval(found);
    let report = stage::assemble(run, evidence, record, notices(found));
    for shard in found {
        let strange = |id: &&String| !report.metrics.contains_key(*id);
        if let Some(id) = shard.report.metrics.keys().find(strange) {
            return Err(Misuse::new(format!(
                "{shard} has the figure `{id}`, which cannot be joined from shards"
            ))
            .help("measure it in a run of its own, without `--shard`"));
        }
    }
    Ok(report)
}

/// The queries of all shards in one record.
fn retrieval(found: &[Found]) -> Option<RetrievalRecord> {
    let mut records = found
        .iter()
        .filter_map(|found| found.report.retrieval.as_ref());
    let first = records.next()?.clone();
    Some(records.fold(first, |mut all, record| {
        let queries = record.queries.iter();
        all.queries
            .extend(queries.map(|(id, query)| (id.clone(), query.clone())));
        all.chunker_versions
            .extend(record.chunker_versions.iter().cloned());
        all.chunker_versions.sort();
        all.chunker_versions.dedup();
        all
    }))
}

/// How the run as a whole ended: a shard of which nothing could be measured is no failure of all.
fn ending(found: &[Found], cases: &BTreeMap<String, CaseRecord>) -> Ending {
    let any = |ending| found.iter().any(|found| found.report.run.ending == ending);
    let answered = |case: &CaseRecord| {
        let first = case.baseline.first();
        first.is_some_and(|sample| sample.decision.is_some())
    };
    let asked = found
        .iter()
        .filter_map(|found| found.report.retrieval.as_ref());
    let came_back = asked
        .flat_map(|record| record.queries.values().flat_map(|query| &query.runs))
        .any(Retrieved::ran);
    if any(Ending::Changed) {
        Ending::Changed
    } else if any(Ending::DryRun) {
        Ending::DryRun
    } else if any(Ending::Interrupted) {
        Ending::Interrupted
    } else if came_back || cases.values().any(answered) {
        Ending::Complete
    } else {
        Ending::Failed
    }
}

/// The costs of all; the time is that of the longest, since they run beside each other.
fn session(found: &[Found]) -> Session {
    let sessions = || found.iter().map(|found| &found.report.run.session);
    let costs = sessions().map(|session| session.cost);
    let cost = costs.fold(Cost::default(), Cost::plus);
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
            Code::BaselineFailed | Code::Interrupted | Code::Unmeasured | Code::QueriesFailed
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
