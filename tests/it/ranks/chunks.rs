//! Passages that another chunker cut in other places.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use super::{
    DETERMINISTIC, QUERIES, answers, base, configure, gate, of_head, project, write_golden,
};

/// The expected passage is the first 300 characters of the document of the query.
pub(super) fn by_span(at: usize) -> Value {
    json!({
        "expected_doc_ids": [format!("d{at}")],
        "expected_chunk_ids": [format!("d{at}#1")],
        "expected_spans": [{ "doc_id": format!("d{at}"), "start": 0, "end": 300 }],
    })
}

/// One hit per part of the document of the query, in the order of ranks; the rest are others'.
pub(super) fn parts(at: usize, version: &str, spans: &[(u64, u64)]) -> Value {
    let mut hits: Vec<Value> = spans
        .iter()
        .map(|(start, end)| {
            json!({
                "chunk_id": format!("d{at}-{version}-{start}"), "doc_id": format!("d{at}"),
                "spans": [{ "start": start, "end": end }],
            })
        })
        .collect();
    hits.extend((hits.len()..10).map(|place| {
        json!({
            "chunk_id": format!("x{place}-{version}"), "doc_id": format!("x{place}"),
            "spans": [{ "start": 0, "end": 300 }],
        })
    }));
    if version == "1" {
        hits[0]["chunk_id"] = json!(format!("d{at}#1"));
    }
    json!({ "hits": hits, "chunker_version": version })
}

#[test]
fn smaller_chunks_of_the_same_passage_are_no_regression() {
    let project = project(&by_span, DETERMINISTIC);
    base(&project, &|at| parts(at, "1", &[(0, 300)]));
    answers(&project, QUERIES, &|at| {
        parts(at, "2", &[(0, 100), (100, 200), (200, 300)])
    });
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    let retrieval = &judgement["retrieval"];
    assert_eq!(retrieval["chunker_version_match"], "fallback_doc_span");
    assert_eq!(retrieval["span_rule"], "half_together");
    assert_eq!(retrieval["deltas"]["retrieval.mrr"]["delta"], 0.0);
    let page = project.read("kelvin/gate.md");
    assert!(page.contains("`half_together`"), "{page}");

    // The rule of the seed stays: one hit alone must have half of the passage.
    configure(&project, "  span_rule: half_of_expected\n", DETERMINISTIC);
    let (_, judgement) = gate(&project, 3);
    assert_eq!(judgement["retrieval"]["span_rule"], "half_of_expected");
    assert_eq!(
        judgement["metrics"]["retrieval.mrr"]["verdict"],
        "regression"
    );
}

#[test]
fn chunks_that_repeat_one_part_of_the_passage_do_not_add_up_to_half_of_it() {
    let project = project(&by_span, DETERMINISTIC);
    base(&project, &|at| parts(at, "1", &[(0, 300)]));
    let same: Vec<(u64, u64)> = (0..10).map(|shift| (shift, 100 + shift)).collect();
    answers(&project, QUERIES, &|at| parts(at, "2", &same));
    let (_, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression");
    assert!(of_head(&judgement).abs() < 1e-9, "{judgement}");

    // Nor does one hit that names the same part over and over.
    answers(&project, QUERIES, &|at| {
        let mut answer = parts(at, "2", &[(0, 100)]);
        answer["hits"][0]["spans"] = json!(vec![json!({ "start": 0, "end": 100 }); 5]);
        answer
    });
    let (_, judgement) = gate(&project, 3);
    assert!(of_head(&judgement).abs() < 1e-9, "{judgement}");
}

#[test]
fn a_hit_that_is_many_times_the_passage_counts_and_is_named() {
    let project = project(&by_span, DETERMINISTIC);
    base(&project, &|at| parts(at, "1", &[(0, 300)]));
    answers(&project, QUERIES, &|at| parts(at, "2", &[(0, 30_000)]));
    let (said, judgement) = gate(&project, 0);
    let oversized = judgement["retrieval"]["oversized_hits"]
        .as_array()
        .expect("they are listed");
    assert_eq!(oversized.len(), QUERIES);
    assert_eq!(oversized[0]["query"], "q00");
    assert_eq!(oversized[0]["times"], 100.0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&project.read("kelvin/gate.md"), &["(q00, q01, q02"]), @"**In 13 queries (q00, q01, q02 and 10 more) a hit of the head is more than 10 times as long as the expected passage and counts as found: any hit of that length would**");
    let page = project.read("kelvin/gate.md");
    assert!(page.contains("`q00`"), "{page}");
}

/// The passage of a query as the first hit: the part of its document with this number, named by this separator.
fn numbered(at: usize, separator: char, part: usize) -> Value {
    let version = if separator == '#' { "1" } else { "2" };
    let mut hits =
        vec![json!({ "chunk_id": format!("d{at}{separator}{part}"), "doc_id": format!("d{at}") })];
    hits.extend((1..10).map(|place| {
        json!({ "chunk_id": format!("x{place}{separator}1"), "doc_id": format!("x{place}") })
    }));
    json!({ "hits": hits, "chunker_version": version })
}

fn expects(at: usize, separator: char) -> Value {
    json!({
        "expected_doc_ids": [format!("d{at}")],
        "expected_chunk_ids": [format!("d{at}{separator}1")],
    })
}

#[test]
fn wrong_chunks_by_the_labels_of_each_side_are_no_pass_though_they_are_named_anew() {
    let project = project(&|at| expects(at, '#'), DETERMINISTIC);
    base(&project, &|at| numbered(at, '#', 1));
    write_golden(&project, QUERIES, &|at| expects(at, ':'));
    answers(&project, QUERIES, &|at| numbered(at, ':', 1));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    answers(&project, QUERIES, &|at| numbered(at, ':', 9));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let worse = judgement["retrieval"]["worse_by_own_labels"].as_array();
    assert_eq!(worse.map(Vec::len), Some(QUERIES), "{judgement}");
    insta::assert_snapshot!(lines_with(&project.read("kelvin/gate.md"), &["names its chunks"]), @"**The head names its chunks otherwise than the base: by document nothing was lost, by the chunks that the labels of each side expect 13 queries (q00, q01, q02 and 10 more) got worse; only spans in the hits would tell which is right**");
}
