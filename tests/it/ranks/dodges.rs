//! Ways round the gate: a head that names another chunker to hide what it lost.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use super::aligned::{nothing, with_version};
use super::chunks::{by_span, parts};
use super::{
    DETERMINISTIC, QUERIES, answers, base, by_chunk, configure, gate, of_head, project, ranked,
    write_golden,
};

/// The expected document at the top, and of it the wrong chunk where `chunk` is not 1. Both chunks
/// are of the same length.
fn chunk(at: usize, chunk: u64, version: &str) -> Value {
    let mut answer = with_version(ranked(at, Some(1)), version);
    for (place, hit) in answer["hits"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .enumerate()
    {
        let start = if place == 0 { 300 * (chunk - 1) } else { 0 };
        hit["spans"] = json!([{ "start": start, "end": start + 300 }]);
    }
    answer["hits"][0]["chunk_id"] = json!(format!("d{at}#{chunk}"));
    answer
}

fn without_spans(mut answer: Value) -> Value {
    for hit in answer["hits"].as_array_mut().expect("a list") {
        hit.as_object_mut().expect("a hit").remove("spans");
    }
    answer
}

#[test]
fn another_version_of_the_same_chunks_changes_nothing() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| chunk(at, 1, "1"));
    // Another one, one a query and none: the hits are the same.
    let no_version = |at: usize| {
        let mut answer = chunk(at, 1, "");
        answer
            .as_object_mut()
            .expect("an answer")
            .remove("chunker_version");
        answer
    };
    let each = |at: usize| chunk(at, 1, &format!("at {at}"));
    let other = |at: usize| chunk(at, 1, "2");
    for head in [&other as &dyn Fn(usize) -> Value, &each, &no_version] {
        answers(&project, QUERIES, head);
        let (said, judgement) = gate(&project, 0);
        assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
        answers(&project, QUERIES, &|at| without_spans(head(at)));
        let (_, judgement) = gate(&project, 0);
        assert_ne!(judgement["verdict"], "regression", "{judgement}");
    }
    answers(&project, QUERIES, &each);
    let (said, _) = gate(&project, 0);
    assert!(said.stdout.contains("13 versions"), "{}", said.stdout);
}

#[test]
fn a_loss_is_red_whatever_the_head_calls_its_chunker() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| with_version(ranked(at, Some(1)), "1"));
    let without = |mut answer: Value| {
        answer
            .as_object_mut()
            .expect("an answer")
            .remove("chunker_version");
        answer
    };
    let heads: [&dyn Fn(usize) -> Value; 5] = [
        &nothing,
        &|at| without(nothing(at)),
        &|at| with_version(nothing(at), &format!("at {at}")),
        // Ten hits, and none of the expected document.
        &|at| with_version(ranked(at, None), "2"),
        &|at| with_version(ranked(at, Some(4)), "2"),
    ];
    for head in heads {
        answers(&project, QUERIES, head);
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
        assert!(of_head(&judgement) < 0.3, "{judgement}");
    }
}

#[test]
fn the_wrong_part_of_the_right_document_is_red_where_spans_tell() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| chunk(at, 1, "1"));
    answers(&project, QUERIES, &|at| chunk(at, 2, "2"));
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);

    // Who hides the spans of the head is compared by document, and that is never a quiet pass.
    answers(&project, QUERIES, &|at| without_spans(chunk(at, 2, "2")));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["retrieval"]["spans_gone"], true);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);

    // On one hit of all they are not enough to be compared by document.
    answers(&project, QUERIES, &|at| match at {
        0 => chunk(at, 2, "2"),
        _ => without_spans(chunk(at, 2, "2")),
    });
    gate(&project, 3);
}

#[test]
fn the_wrong_part_of_the_right_document_is_told_where_only_names_of_chunks_tell() {
    let project = project(&by_chunk, DETERMINISTIC);
    // The right part and then its neighbour; the head has lost the right one.
    let two = |at: usize, first: usize, version: &str| {
        let mut answer = without_spans(chunk(at, 1, version));
        answer["hits"][0]["chunk_id"] = json!(format!("d{at}#{first}"));
        answer["hits"][1] = json!({ "chunk_id": format!("d{at}#2"), "doc_id": format!("d{at}") });
        answer
    };
    base(&project, &|at| two(at, 1, "1"));
    answers(&project, QUERIES, &|at| two(at, 2, "2"));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let worse = judgement["retrieval"]["worse_by_chunk"].as_array();
    assert_eq!(worse.map(Vec::len), Some(QUERIES));
    insta::assert_snapshot!(lines_with(&said.stdout, &["`q00`"]), @"! 13 of 13 queries did not do as they should: `q00`, `q01`, `q02` and 10 more;");
}

#[test]
fn a_golden_set_that_moves_to_other_documents_with_the_chunker_is_judged_by_the_labels_of_before() {
    // The head expects chunks of documents that it finds everywhere.
    let corpus: String = (0..QUERIES)
        .map(|at| {
            format!(
                "{{\"doc_id\":\"d{at}\",\"chunk_id\":\"d{at}#1\"}}\n\
                 {{\"doc_id\":\"x{at}\",\"chunk_id\":\"x{at}#1\"}}\n"
            )
        })
        .collect();
    for retrieval in ["", "  corpus: corpus.jsonl\n"] {
        let project = project(&by_chunk, DETERMINISTIC);
        project.write("corpus.jsonl", &corpus);
        configure(&project, retrieval, DETERMINISTIC);
        base(&project, &|at| with_version(ranked(at, Some(1)), "1"));
        write_golden(
            &project,
            QUERIES,
            &|_| json!({ "expected_chunk_ids": ["x1#1"] }),
        );
        answers(&project, QUERIES, &|at| with_version(ranked(at, None), "2"));
        // By the labels of the base nothing is found any more, whoever tells their documents.
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
        let is_edited = judgement["reasons"][0]["code"] == "relabelled";
        assert_eq!(is_edited, !retrieval.is_empty(), "{}", said.stdout);
    }
}

#[test]
fn a_suite_that_is_too_small_to_be_gated_cannot_lose_everything() {
    let project = project(&by_chunk, "");
    write_golden(&project, 6, &by_chunk);
    base(&project, &|at| with_version(ranked(at, Some(1)), "1"));
    let (said, judgement) = gate(&project, 0);
    assert_ne!(judgement["verdict"], "regression", "{}", said.stdout);
    for version in ["1", "2"] {
        answers(&project, QUERIES, &|at| with_version(nothing(at), version));
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    }
}

#[test]
fn pieces_of_the_passage_further_down_are_a_worse_rank() {
    let project = project(&by_span, DETERMINISTIC);
    base(&project, &|at| parts(at, "1", &[(0, 300)]));
    // The edge of the passage at the top, and the rest far below.
    let far = [
        (280, 580),
        (600, 900),
        (900, 1_200),
        (1_200, 1_500),
        (1_500, 1_800),
        (0, 150),
    ];
    answers(&project, QUERIES, &|at| parts(at, "2", &far));
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    assert!(
        (of_head(&judgement) - 1.0 / 6.0).abs() < 1e-9,
        "{judgement}"
    );
}
