use serde_json::json;

use super::*;
use crate::{Citations, Hit, Labels, Ranking, RetrievalBasis, Retrieved, Span, StoredBasis};
use kelvin_base::digest::Digest;
use kelvin_record::{Ending, ItemComparison as _, SectionFingerprint, Viewpoint};

fn digest() -> Digest {
    Digest::of(b"same")
}

/// A query whose one expected chunk stands at a rank, of a document of its own.
pub(super) fn query(rank: Option<u32>) -> QueryRecord {
    let labels = Labels {
        chunks: true,
        docs: true,
        judged: true,
        expected_docs: vec!["x".to_owned()],
        ..Labels::default()
    };
    let hits = (1..=10).map(|place| Hit {
        chunk_id: None,
        doc_id: if Some(place) == rank { "x" } else { "other" }.to_owned(),
        title: None,
        score: None,
        spans: Vec::new(),
    });
    let found = Ranking::new(rank.map(|rank| (rank, 1)), [1], 1);
    let run = Retrieved {
        count: 10,
        hits: hits.collect(),
        rank,
        judged: found.clone(),
        docs: found,
        ..Retrieved::default()
    };
    QueryRecord {
        input: digest(),
        by_document: None,
        of_answer: None,
        query: String::new(),
        folder: None,
        labels,
        expected_titles: BTreeMap::new(),
        runs: vec![run],
    }
}

pub(super) fn record(version: Option<&str>, queries: Vec<QueryRecord>) -> RetrievalSection {
    let ids = ["a", "b", "c", "d", "e"].map(str::to_owned).into_iter();
    let with_version = |mut query: QueryRecord| {
        for run in &mut query.runs {
            run.chunker_version = version.map(str::to_owned);
        }
        query
    };
    let items = ids.zip(queries.into_iter().map(with_version)).collect();
    RetrievalSection {
        ending: Ending::Complete,
        fingerprint: SectionFingerprint {
            items: Some(digest()),
            command: None,
        },
        basis: StoredBasis {
            figures: RetrievalBasis {
                k: vec![1, 3, 5, 10],
                cut_off: 10,
                relevance_level: 1,
                citations: Citations::Hits,
                span_rule: SpanRule::default(),
            },
            unknown: Vec::new(),
            corpus: None,
        },
        items,
    }
}

/// What became of the queries.
fn change(base: &RetrievalSection, head: &RetrievalSection) -> RetrievalChange {
    align(base, head, Surroundings::default(), Viewpoint::default()).2
}

fn ranks(version: Option<&str>, ranks: &[Option<u32>]) -> RetrievalSection {
    record(version, ranks.iter().map(|rank| query(*rank)).collect())
}

fn outcomes(change: &RetrievalChange) -> Vec<QueryOutcome> {
    change.queries.iter().map(|query| query.outcome).collect()
}

#[test]
fn ret_25_ret_26_every_pair_of_ranks_has_its_outcome_and_both_ranks() {
    use QueryOutcome::{Draw, Loss, Regression, Win};
    let base = ranks(None, &[Some(1), Some(4), None]);
    let head = ranks(None, &[Some(2), Some(1), Some(1)]);
    let known = change(&base, &head);
    assert_eq!(outcomes(&known), [Loss, Win, Win]);
    assert_eq!(known.queries[0].note, "rank 1, now 2");
    let base = ranks(None, &[Some(3), None, Some(2), None, Some(11)]);
    let head = ranks(None, &[None, None, Some(2), Some(10), None]);
    let known = change(&base, &head);
    assert_eq!(outcomes(&known), [Regression, Draw, Draw, Win, Draw]);
    assert_eq!(
        (known.queries[0].base_rank, known.queries[0].head_rank),
        (Some(3), None)
    );
    assert_eq!(known.queries[0].note, "rank 3, now missed");
}

#[test]
fn ret_24_ret_29_deltas_are_of_unrounded_values_and_equal_runs_give_equal_bytes() {
    let base = ranks(None, &[Some(1), None, None]);
    let head = ranks(None, &[Some(1), Some(1), None]);
    let twice = [0, 1].map(|_| change(&base, &head));
    let delta = twice[0].deltas["retrieval.success@1"]
        .delta
        .expect("a number");
    assert_eq!(delta, 2.0 / 3.0 - 1.0 / 3.0);
    assert_eq!(kelvin_page::display(delta), "0.3333");
    let texts = twice.map(|change| serde_json::to_string(&change).expect("JSON"));
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn ret_27_another_chunker_falls_back_to_documents_for_the_aggregates_too() {
    // The same documents at the same ranks, and not one chunk in common.
    let base = ranks(Some("1"), &[Some(1), Some(2)]);
    let mut head = ranks(Some("2"), &[Some(1), Some(2)]);
    for query in head.items.values_mut() {
        query.runs[0].rank = None;
        query.runs[0].judged = Ranking::new([], [1], 1);
    }
    assert_eq!(figures(&head)["retrieval.mrr"].value, Some(0.0));
    let known = change(&base, &head);
    assert_eq!(
        known.chunker_version_match,
        ChunkerVersionMatch::FallbackDoc
    );
    assert_eq!(known.deltas["retrieval.mrr"].delta, Some(0.0));
    assert_eq!(known.deltas["retrieval.mrr"].base, Some(0.75));
    assert!(
        !known.deltas.contains_key("retrieval.map"),
        "it needs chunks"
    );
    assert!(
        known
            .queries
            .iter()
            .all(|query| query.outcome == QueryOutcome::Draw)
    );
    let same = change(&base, &base);
    assert_eq!(same.chunker_version_match, ChunkerVersionMatch::Exact);
}

#[test]
fn with_spans_on_both_sides_a_hit_counts_from_half_of_an_expected_span_on() {
    let with = |version, start: u64, end: u64| {
        let mut query = query(Some(1));
        let span = |doc: &str, start, end| Span {
            doc_id: doc.to_owned(),
            start,
            end,
        };
        query.labels.expected_spans = vec![span("x", 100, 200)];
        for hit in &mut query.runs[0].hits {
            hit.spans = vec![span("", start, end)];
        }
        record(Some(version), vec![query])
    };
    for (start, end, rank) in [(150, 400, Some(1)), (151, 400, None), (0, 50, None)] {
        let known = change(&with("1", 100, 200), &with("2", start, end));
        assert_eq!(
            known.chunker_version_match,
            ChunkerVersionMatch::FallbackDocSpan
        );
        assert_eq!(known.queries[0].head_rank, rank, "{start} to {end}");
        assert_eq!(known.queries[0].base_rank, Some(1));
    }
}

#[test]
fn ret_28_strict_refuses_versions_that_differ_or_are_not_known_and_names_both() {
    let side = |version| ranks(version, &[Some(1)]);
    for (base, head, is_fine) in [
        (Some("1"), Some("1"), true),
        (Some("1"), Some("2"), false),
        (Some("1"), None, false),
        (None, None, false),
    ] {
        let known = change(&side(base), &side(head));
        let said = known.strict();
        assert_eq!(said.is_ok(), is_fine, "{base:?} {head:?}");
        if let Err(what) = said {
            for version in [base, head] {
                assert!(what.contains(version.unwrap_or("unknown")), "{what}");
            }
        }
    }
}

#[test]
fn ret_34_another_golden_set_is_told_and_edited_queries_are_not_compared() {
    let base = ranks(None, &[Some(1), Some(1)]);
    let mut head = ranks(None, &[Some(1), Some(3)]);
    head.fingerprint.items = Some(Digest::of(b"another"));
    head.items.get_mut("a").expect("there").input = Digest::of(b"edited");
    let known = change(&base, &head);
    assert_eq!(known.not_compared, ["a"]);
    insta::assert_snapshot!(known.queries[0].note, @"rank 1, now 3; the golden set differs");
}

#[test]
fn the_comparison_is_as_it_is_pinned() {
    let base = ranks(Some("1"), &[Some(1), Some(2), Some(5), None]);
    let head = ranks(Some("1"), &[None, Some(4), Some(1), None]);
    let known = change(&base, &head);
    let order: Vec<&str> = known
        .worst_first()
        .iter()
        .map(|query| query.id.as_str())
        .collect();
    assert_eq!(order, ["a", "b", "c"], "longest hurt first");
    let value = serde_json::to_value(&known).expect("JSON");
    assert_eq!(
        value["queries"],
        json!([
            { "id": "a", "outcome": "regression", "base_rank": 1, "head_rank": null,
              "note": "rank 1, now missed" },
            { "id": "b", "outcome": "loss", "base_rank": 2, "head_rank": 4,
              "note": "rank 2, now 4" },
            { "id": "c", "outcome": "win", "base_rank": 5, "head_rank": 1,
              "note": "rank 5, now 1" },
            { "id": "d", "outcome": "draw", "base_rank": null, "head_rank": null, "note": "" },
        ])
    );
    assert_eq!(
        value["counts"],
        json!({ "regression": 1, "loss": 1, "win": 1, "draw": 1 })
    );
    assert_eq!(value["chunker_version_match"], json!("exact"));
}

/// A hit: its chunk, its document and its span.
type Short<'a> = (&'a str, &'a str, Option<(u64, u64)>);

/// A query that expects one chunk, and its hits.
fn by_chunk(home: Option<&str>, hits: &[Short<'_>]) -> QueryRecord {
    let mut record = query(None);
    record.labels = Labels {
        chunks: true,
        judged: true,
        expected_chunks: BTreeMap::from([("x#1".to_owned(), home.map(str::to_owned))]),
        ..Labels::default()
    };
    record.by_document = Some(digest());
    let run = &mut record.runs[0];
    run.hits = hits
        .iter()
        .map(|(chunk, doc, span)| Hit {
            chunk_id: Some((*chunk).to_owned()),
            doc_id: (*doc).to_owned(),
            title: None,
            score: None,
            spans: span
                .iter()
                .map(|(start, end)| Span {
                    doc_id: String::new(),
                    start: *start,
                    end: *end,
                })
                .collect(),
        })
        .collect();
    let place = run
        .hits
        .iter()
        .position(|hit| hit.chunk_id.as_deref() == Some("x#1"));
    run.rank = place.and_then(|place| u32::try_from(place + 1).ok());
    record
}

#[test]
fn what_chunks_alone_expect_is_known_from_the_corpus_the_hits_of_the_base_or_not_at_all() {
    let head = || by_chunk(None, &[("y/1", "y", None), ("x/1", "x", None)]);
    let missed = by_chunk(None, &[("y#1", "y", None)]);
    let cases = [
        // The corpus of the base knows the document, and the base missed it.
        (
            by_chunk(Some("x"), &[("y#1", "y", None)]),
            head(),
            Some((None, Some(2))),
        ),
        // The base found the chunk, and so its document.
        (
            by_chunk(None, &[("x#1", "x", None)]),
            head(),
            Some((Some(1), Some(2))),
        ),
        // Only the corpus of the head knows it.
        (
            missed.clone(),
            by_chunk(Some("x"), &[("x/1", "x", None)]),
            Some((None, Some(1))),
        ),
        // Nothing does.
        (missed, head(), None),
    ];
    for (base, head, expected) in cases {
        let sides = (record(Some("1"), vec![base]), record(Some("2"), vec![head]));
        let known = change(&sides.0, &sides.1);
        let ranks = known
            .queries
            .first()
            .map(|query| (query.base_rank, query.head_rank));
        assert_eq!(ranks, expected);
        assert_eq!(known.not_aligned.len(), usize::from(expected.is_none()));
        let (base, head, _) = align(
            &sides.0,
            &sides.1,
            Surroundings::default(),
            Viewpoint::default(),
        );
        let mrr = |side: &Aligned| side.metrics["retrieval.mrr"].value;
        assert!(mrr(&base).is_some(), "what the base measured stays");
        assert_eq!(mrr(&head).is_some(), expected.is_some());
        assert!(base.metrics["retrieval.mrr"].gated);
    }
}

#[test]
fn the_passage_of_an_expected_chunk_is_what_it_covered_on_the_base() {
    let base = by_chunk(None, &[("x#1", "x", Some((0, 300)))]);
    let of_head = |hits: &[Short<'_>]| {
        let sides = (
            record(Some("1"), vec![base.clone()]),
            record(Some("2"), vec![by_chunk(None, hits)]),
        );
        let known = change(&sides.0, &sides.1);
        assert_eq!(known.span_rule, Some(SpanRule::HalfTogether));
        known.queries[0].head_rank
    };
    let tiles = [("a", "x", Some((0, 100))), ("b", "x", Some((100, 200)))];
    assert_eq!(of_head(&tiles), Some(1));
    assert_eq!(
        of_head(&[("x#1", "x", Some((300, 600)))]),
        None,
        "the wrong part"
    );
    assert_eq!(of_head(&[]), None);
}

#[test]
fn a_chunk_that_moved_to_another_document_is_an_edit_of_its_query() {
    let base = by_chunk(Some("x"), &[("x#1", "x", None)]);
    let mut head = by_chunk(Some("easy"), &[("e/1", "easy", None)]);
    head.input = Digest::of(b"edited");
    let known = change(
        &record(Some("1"), vec![base]),
        &record(Some("2"), vec![head]),
    );
    assert_eq!(known.not_compared, ["a"]);
}
