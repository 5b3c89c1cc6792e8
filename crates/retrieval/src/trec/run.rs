//! Runs: what a system has retrieved for each query, in the order in which trec_eval has it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use kelvin_base::exit::Misuse;
use serde::Deserialize;

use super::{LineLayout, Row, load, quoted, wrong};

/// A document that was retrieved.
struct RetrievedDocument<'t> {
    document: Cow<'t, str>,
    /// The score in single precision, in which trec_eval compares scores.
    score: f32,
    /// The line of the hit in the file.
    line: usize,
}

impl RetrievedDocument<'_> {
    /// Compares by score, highest first, then by document, last first: the order of trec_eval.
    fn order(&self, other: &Self) -> Ordering {
        let score = other.score.partial_cmp(&self.score);
        score
            .unwrap_or(Ordering::Equal)
            .then_with(|| other.document.cmp(&self.document))
    }
}

/// The hits of one query in the order of trec_eval.
pub struct RankedQuery<'a> {
    hits: &'a [RetrievedDocument<'a>],
    ranks: HashMap<&'a str, u32>,
}

impl<'a> RankedQuery<'a> {
    /// Puts hits in order.
    ///
    /// # Errors
    ///
    /// The second hit of a document.
    fn new(hits: &'a mut [RetrievedDocument<'_>]) -> Result<Self, (usize, String)> {
        // The line decides as well, so that of two hits with one document the later one is reported.
        hits.sort_unstable_by(|one, other| one.order(other).then(one.line.cmp(&other.line)));
        let mut ranks = HashMap::with_capacity(hits.len());
        for (rank, hit) in (1..).zip(&*hits) {
            if ranks.insert(&*hit.document, rank).is_some() {
                let both = hits.iter().filter(|other| other.document == hit.document);
                let line = both.map(|hit| hit.line).max().unwrap_or(hit.line);
                let document = quoted(&hit.document);
                return Err((
                    line,
                    format!("the document {document} is there twice for one query"),
                ));
            }
        }
        Ok(Self { hits, ranks })
    }

    /// The rank of a document, from 1.
    pub fn rank(&self, document: &str) -> Option<u32> {
        self.ranks.get(document).copied()
    }

    /// The first `most` documents in order, each with its score.
    pub fn top(&self, most: usize) -> impl Iterator<Item = (&str, f32)> {
        let hits = self.hits.iter().take(most);
        hits.map(|hit| (&*hit.document, hit.score))
    }

    /// How many hits there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.hits.len()
    }
}

/// A hit in a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HitRow {
    query_id: String,
    doc_id: String,
    score: f64,
}

/// As in trec_eval, the rank is ignored.
const LAYOUT: LineLayout<f64> = LineLayout {
    columns: &["query", "Q0", "document", "rank", "score", "run"],
    number: 4,
    parse: |score| match score.parse::<f64>() {
        Ok(score) if !score.is_nan() => Ok(score),
        _ => Err("the score must be a number"),
    },
    json: |line| {
        let row: HitRow = serde_json::from_str(line)?;
        Ok((row.query_id.into(), row.doc_id.into(), row.score))
    },
};

/// Reads a run and lets every query of it be judged. The results are by query.
///
/// # Errors
///
/// A [`Misuse`] with the file and the line where it is not a run, or retrieves a document twice
/// for one query.
pub fn scan<T>(
    path: &Path,
    judge: &dyn Fn(&str, &RankedQuery<'_>) -> T,
) -> Result<BTreeMap<String, T>, Misuse> {
    let text = load(path)?;
    let mut queries: BTreeMap<Cow<'_, str>, Vec<RetrievedDocument<'_>>> = BTreeMap::new();
    LAYOUT.read(path, &text, &mut |line,
                                    (query, document, score): Row<
        '_,
        f64,
    >| {
        queries.entry(query).or_default().push(RetrievedDocument {
            document,
            score: score as f32,
            line,
        });
        Ok(())
    })?;
    if queries.is_empty() {
        return Err(wrong(path, 1, "there is no hit in the file"));
    }
    let judged = queries.into_iter().map(|(query, mut hits)| {
        let ranked = RankedQuery::new(&mut hits).map_err(|(line, what)| wrong(path, line, what))?;
        Ok((query.to_string(), judge(&query, &ranked)))
    });
    judged.collect()
}
