//! The first hits of both sides for one query, for people who examine the changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::documents::named;
use crate::{Hit, QueryRecord, RetrievalSection, Retrieved, answered};
use kelvin_page::safe;
use kelvin_record::{Answer, ExpectedHit, RankedHit, RankedHits};

/// How many hits of a side are shown: few people read further.
const SHOWN: usize = 10;

/// The maximum width of a hit's name, in columns.
const NAME: usize = 80;

/// The hits of a query on both sides; none if a side has no run with hits to show, or if neither has any.
pub(crate) fn ranked(
    (base, head): (&RetrievalSection, &RetrievalSection),
    id: &str,
) -> Option<RankedHits> {
    let (before, after) = (base.items.get(id)?, head.items.get(id)?);
    let (old, new) = (usual(before)?, usual(after)?);
    if old.hits.is_empty() && new.hits.is_empty() {
        return None;
    }
    // Another chunker gives the same passage another name, so hits are compared by their documents.
    let by_chunk = versions(before) == versions(after);
    let places = |run: &Retrieved| -> BTreeMap<String, u32> {
        let mut places = BTreeMap::new();
        for (rank, hit) in (1..).zip(&run.hits) {
            places.entry(key(hit, by_chunk)).or_insert(rank);
        }
        places
    };
    let side = |run: &Retrieved, others: &BTreeMap<String, u32>| -> Vec<RankedHit> {
        let hits = (1..).zip(&run.hits).take(SHOWN);
        hits.map(|(rank, hit)| RankedHit {
            rank,
            name: safe::cut_middle(&hit.name(), NAME),
            title: hit.title.clone(),
            expected: after.labels.expects(hit),
            other_rank: others.get(&key(hit, by_chunk)).copied(),
        })
        .collect()
    };
    let left = |run: &Retrieved| run.count.max(run.hits.len()).saturating_sub(SHOWN);
    Some(RankedHits {
        expected: expected(after, [old, new]),
        base: side(old, &places(new)),
        base_left: left(old),
        head: side(new, &places(old)),
        head_left: left(new),
    })
}

/// The first run with the usual answer.
fn usual(query: &QueryRecord) -> Option<&Retrieved> {
    let answers: Vec<(&Retrieved, Answer)> = query
        .runs
        .iter()
        .filter_map(|run| Some((run, answered::answer(run)?)))
        .collect();
    let usual = Answer::usual(answers.iter().map(|(_, answer)| answer))?;
    let mut runs = answers.iter();
    let (run, _) = runs.find(|(_, answer)| answer == usual)?;
    Some(run)
}

/// The versions of the chunker that the runs of a query name.
fn versions(query: &QueryRecord) -> BTreeSet<&str> {
    let runs = query.runs.iter();
    runs.filter_map(|run| run.chunker_version.as_deref())
        .collect()
}

/// A key that is equal for two hits exactly if they are the same.
fn key(hit: &Hit, by_chunk: bool) -> String {
    match by_chunk {
        true => hit.name(),
        false => hit.doc_id.clone(),
    }
}

/// The expected documents and chunks, with titles if the corpus or a hit of either side contains them.
fn expected(query: &QueryRecord, runs: [&Retrieved; 2]) -> Vec<ExpectedHit> {
    let hits = || runs.into_iter().flat_map(|run| &run.hits);
    let with_title = |name: String, is_it: &dyn Fn(&Hit) -> bool| ExpectedHit {
        title: query.expected_titles.get(&name).cloned().or_else(|| {
            let mut titles = hits().filter(|hit| is_it(hit));
            titles.find_map(|hit| hit.title.clone())
        }),
        name: safe::cut_middle(&name, NAME),
    };
    let labels = &query.labels;
    let chunks = labels.expected_chunks.iter().map(|(chunk, doc)| {
        let name = match doc {
            Some(doc) => named(doc, Some(chunk)),
            None => chunk.clone(),
        };
        with_title(name, &|hit| hit.chunk_id.as_ref() == Some(chunk))
    });
    let docs = labels.expected_docs.iter();
    // If a chunk of a document is expected, the document is not named again.
    let is_told = |doc: &String| {
        let mut homes = labels.expected_chunks.values().flatten();
        homes.any(|home| home == doc)
    };
    let docs = docs
        .filter(|doc| !is_told(doc))
        .map(|doc| with_title(doc.clone(), &|hit| hit.doc_id == *doc));
    chunks.chain(docs).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{query, record};
    use super::*;

    /// A query that expects the first chunk of the document `x`, with hits of these names.
    fn with_hits(names: &[&str]) -> QueryRecord {
        let mut with = query(None);
        with.labels.expected_docs = vec!["x".to_owned()];
        with.labels.expected_chunks = BTreeMap::from([("x#1".to_owned(), Some("x".to_owned()))]);
        let run = &mut with.runs[0];
        run.count = names.len();
        run.hits = names
            .iter()
            .map(|name| Hit {
                chunk_id: Some((*name).to_owned()),
                doc_id: name.split('#').next().unwrap_or_default().to_owned(),
                title: Some(format!("About {name}")),
                score: None,
                spans: Vec::new(),
            })
            .collect();
        with
    }

    fn sections(base: &[&str], head: &[&str]) -> (RetrievalSection, RetrievalSection) {
        let side = |names| record(Some("1"), vec![with_hits(names)]);
        (side(base), side(head))
    }

    fn fields_of(hits: &[RankedHit]) -> Vec<(u32, &str, Option<u32>, bool)> {
        let each = hits.iter();
        each.map(|hit| (hit.rank, hit.name.as_str(), hit.other_rank, hit.expected))
            .collect()
    }

    #[test]
    fn each_hit_says_where_the_other_side_has_it_and_whether_it_is_expected() {
        let (base, head) = sections(&["x#1", "y#1", "z#1"], &["y#1", "w#1", "x#1"]);
        let hits = ranked((&base, &head), "a").expect("both have hits");
        assert_eq!(
            fields_of(&hits.base),
            [
                (1, "x#1", Some(3), true),
                (2, "y#1", Some(1), false),
                (3, "z#1", None, false)
            ]
        );
        assert_eq!(
            fields_of(&hits.head),
            [
                (1, "y#1", Some(2), false),
                (2, "w#1", None, false),
                (3, "x#1", Some(1), true)
            ]
        );
        assert_eq!(hits.head[0].title.as_deref(), Some("About y#1"));
        // The chunk tells its document, which is not named again.
        assert_eq!(
            hits.expected,
            [ExpectedHit {
                name: "x#1".to_owned(),
                title: Some("About x#1".to_owned()),
            }]
        );
        assert_eq!(ranked((&base, &head), "of no side"), None);
    }

    #[test]
    fn the_title_of_what_nobody_has_found_comes_from_the_corpus() {
        let (base, mut head) = sections(&["y#1"], &["z#1"]);
        let hits = ranked((&base, &head), "a").expect("both have hits");
        assert_eq!(hits.expected[0].title, None);
        let query = head.items.get_mut("a").expect("there is one");
        let title = ("x#1".to_owned(), "Fees".to_owned());
        query.expected_titles.extend([title]);
        let hits = ranked((&base, &head), "a").expect("both have hits");
        assert_eq!(hits.expected[0].title.as_deref(), Some("Fees"));
    }

    #[test]
    fn another_chunker_has_the_same_documents() {
        let (base, _) = sections(&["x#1", "y#1"], &[]);
        let head = record(Some("2"), vec![with_hits(&["y#9", "x#7"])]);
        let hits = ranked((&base, &head), "a").expect("both have hits");
        assert_eq!(
            fields_of(&hits.head),
            [(1, "y#9", Some(2), false), (2, "x#7", Some(1), true)]
        );
    }

    #[test]
    fn ten_hits_of_a_side_are_shown_and_the_others_counted() {
        let names: Vec<String> = (1..=12).map(|number| format!("d{number}#1")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut turned = names.clone();
        turned.reverse();
        let (base, head) = sections(&names, &turned);
        let hits = ranked((&base, &head), "a").expect("both have hits");
        assert_eq!(
            (hits.base.len(), hits.base_left, hits.head_left),
            (10, 2, 2)
        );
        // The rank on the other side may be one that is not shown.
        assert_eq!(hits.base[0].other_rank, Some(12));
        let (base, head) = sections(&names, &[]);
        let hits = ranked((&base, &head), "a").expect("one side has hits");
        assert_eq!((hits.head.len(), hits.head_left), (0, 0));
        let (base, head) = sections(&[], &[]);
        assert_eq!(ranked((&base, &head), "a"), None);
    }

    #[test]
    fn of_several_runs_the_one_with_the_usual_answer_is_shown() {
        let mut several = with_hits(&["z#1"]);
        let others = [with_hits(&["y#1"]), with_hits(&["y#1"])];
        several
            .runs
            .extend(others.into_iter().flat_map(|one| one.runs));
        let side = record(Some("1"), vec![several]);
        let hits = ranked((&side, &side), "a").expect("it has hits");
        assert_eq!(fields_of(&hits.head), [(1, "y#1", Some(1), false)]);
    }
}
