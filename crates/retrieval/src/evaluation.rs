//! Evaluates a run that was made elsewhere against judgements: without a pipeline, but with the figures of the probe.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::record::{Citations, Hit, Labels, QueryRecord, RetrievalBasis, Retrieved};
use super::trec::{self, Judgements, Qrels, RankedQuery};
use super::{Ranking, RetrievalKind, RetrievalSection, SpanRule, StoredBasis};
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{Ending, Findings, SectionFingerprint, SectionKind as _};

/// The request for an evaluation.
#[derive(Clone, Debug)]
pub struct EvalRequest {
    /// The judgements.
    pub qrels: PathBuf,
    /// The run.
    pub run: PathBuf,
    /// The numbers of first hits that the measures use; ascending and distinct.
    pub k: Vec<usize>,
    /// A first relevant hit below this rank has a reciprocal rank of 0.
    pub cut_off: usize,
    /// The lowest grade of a relevant document; at least 1.
    pub relevance_level: i64,
}

/// The result of an evaluation.
#[derive(Debug)]
pub struct Evaluation {
    /// The name of the probe to which the figures belong.
    pub probe: &'static str,
    /// The figures with their records.
    pub findings: Findings,
    /// The digest of the rules for the figures.
    pub configuration: Digest,
}

impl EvalRequest {
    fn basis(&self) -> RetrievalBasis {
        RetrievalBasis {
            k: self.k.clone(),
            cut_off: self.cut_off,
            relevance_level: self.relevance_level,
            citations: Citations::Hits,
            span_rule: SpanRule::default(),
        }
    }
}

/// Evaluates a run.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) with file and line if one of the files is wrong.
pub fn evaluate(request: &EvalRequest) -> anyhow::Result<Evaluation> {
    let mut qrels = Qrels::load(&request.qrels)?;
    let basis = &request.basis();
    let judge = |query: &str, ranked: &RankedQuery<'_>| {
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
            of_answer: None,
            query: String::new(),
            folder: None,
            labels: Labels {
                chunks: relevant,
                docs: relevant,
                judged: true,
                ..Labels::default()
            },
            expected_titles: BTreeMap::new(),
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
            corpus: None,
        },
        items: queries.into(),
    };
    Ok(Evaluation {
        probe: RetrievalKind.name(),
        configuration: configuration(basis),
        findings: RetrievalKind.recompute(Box::new(section)),
    })
}

fn configuration(basis: &RetrievalBasis) -> Digest {
    let fields = Fields::of("kelvin/eval/v1")
        .field("cut-off", (basis.cut_off as u64).to_be_bytes())
        .field("level", basis.relevance_level.to_be_bytes());
    let each = |fields: Fields, k: &usize| fields.field("k", (*k as u64).to_be_bytes());
    basis.k.iter().fold(fields, each).digest()
}

fn retrieved(
    basis: &RetrievalBasis,
    judgements: &Judgements,
    ranked: &RankedQuery<'_>,
) -> Retrieved {
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
                doc_id: document.to_owned(),
                title: None,
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
