//! A run that was made elsewhere, against judgements: no pipeline, the same report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::baseline;
use crate::digest::{Digest, Fields};
use crate::probe::retrieval::trec::{self, Judgements, Qrels, Ranked};
use crate::probe::retrieval::{
    Hit, Labels, QueryRecord, Ranking, RetrievalBasis, RetrievalKind, RetrievalSection, Retrieved,
    StoredBasis,
};
use crate::probe::{Ending, Kind as _, SectionFingerprint, Sections};
use crate::report::{Fingerprints, Report, Run, Session};
use crate::run::{Clock, Cost};

/// What a person asks of an evaluation.
#[derive(Clone, Debug)]
pub(crate) struct EvalRequest {
    /// The judgements.
    pub(crate) qrels: PathBuf,
    /// The run.
    pub(crate) run: PathBuf,
    /// How the figures are made.
    pub(crate) basis: RetrievalBasis,
}

/// Evaluates a run.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) with file and line where one of the files is wrong.
pub(crate) fn eval(request: &EvalRequest) -> anyhow::Result<Report> {
    let clock = Clock::start();
    let mut qrels = Qrels::load(&request.qrels)?;
    let basis = &request.basis;
    let judge = |query: &str, ranked: &Ranked<'_>| {
        let judgements = qrels.queries.get(query)?;
        Some(retrieved(basis, judgements, ranked))
    };
    let mut found = trec::scan(&request.run, &judge)?;
    let unknown: Vec<String> = found
        .iter()
        .filter(|(_, retrieved)| retrieved.is_none())
        .map(|(query, _)| query.clone())
        .collect();
    let mut golden = Fields::of("kelvin/qrels/v1");
    let mut queries = BTreeMap::new();
    for (query, judgements) in std::mem::take(&mut qrels.queries) {
        let input = judgements.digest(&query);
        golden = golden.field("query", input.bytes());
        let found = found.remove(&query).flatten();
        let run = found.unwrap_or_else(|| Retrieved {
            missing: true,
            judged: unranked(basis, &judgements),
            docs: unranked(basis, &judgements),
            ..Retrieved::default()
        });
        let relevant = run.judged.relevant() > 0;
        let record = QueryRecord {
            input,
            by_document: None,
            query: String::new(),
            folder: None,
            labels: Labels {
                chunks: relevant,
                docs: relevant,
                judged: true,
                ..Labels::default()
            },
            runs: vec![run],
        };
        queries.insert(query, record);
    }
    let section = RetrievalSection {
        ending: Ending::Complete,
        fingerprint: SectionFingerprint {
            items: Some(golden.digest()),
            command: Some(Digest::of(b"kelvin eval")),
        },
        basis: StoredBasis {
            figures: basis.clone(),
            unknown,
        },
        items: queries,
    };
    Ok(report(section, &clock))
}

fn report(section: RetrievalSection, clock: &Clock) -> Report {
    let name = RetrievalKind.name();
    let config = configuration(&section.basis.figures);
    let found = RetrievalKind.recompute(Box::new(section));
    let run = Run {
        ending: Ending::Complete,
        seed: 0,
        only: Vec::new(),
        shard: None,
        repeats: 1,
        fingerprints: Fingerprints {
            config,
            pipeline: None,
        },
        session: Session {
            started_at: clock.started_at(),
            seconds: clock.seconds(),
            commit: commit(),
            dirty: false,
            cost: Cost::default(),
            item_seconds: BTreeMap::new(),
            decision: None,
        },
    };
    let mut probes = Sections::default();
    probes.put(name, found.section);
    Report::new(run, probes, found.metrics, found.notices)
}

/// The commit of the working directory, where it lies in a repository.
fn commit() -> Option<String> {
    let repo = baseline::open(Path::new(".")).ok()?;
    let head = repo.head().ok()?.peel_to_commit().ok()?;
    Some(head.id().to_string())
}

fn configuration(basis: &RetrievalBasis) -> Digest {
    let fields = Fields::of("kelvin/eval/v1")
        .field("cut-off", (basis.cut_off as u64).to_be_bytes())
        .field("level", basis.relevance_level.to_be_bytes());
    let each = |fields: Fields, k: &usize| fields.field("k", (*k as u64).to_be_bytes());
    basis.k.iter().fold(fields, each).digest()
}

fn retrieved(basis: &RetrievalBasis, judgements: &Judgements, ranked: &Ranked<'_>) -> Retrieved {
    let found = judgements
        .iter()
        .filter(|(_, grade)| *grade > 0)
        .filter_map(|(document, grade)| Some((ranked.rank(document)?, grade)));
    let grades = judgements.iter().map(|(_, grade)| grade);
    let judged = Ranking::new(found, grades, basis.relevance_level);
    let hits = ranked.top(basis.k.iter().copied().max().unwrap_or(0));
    Retrieved {
        count: ranked.len(),
        hits: hits
            .map(|(document, score)| Hit {
                chunk_id: None,
                doc_id: String::from_utf8_lossy(document).into_owned(),
                score: Some(f64::from(score)).filter(|score| score.is_finite()),
                spans: Vec::new(),
            })
            .collect(),
        rank: judged.first(),
        docs: judged.clone(),
        judged,
        ..Retrieved::default()
    }
}

fn unranked(basis: &RetrievalBasis, judgements: &Judgements) -> Ranking {
    let grades = judgements.iter().map(|(_, grade)| grade);
    Ranking::new([], grades, basis.relevance_level)
}
