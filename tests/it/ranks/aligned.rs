//! Golden sets that name chunks only, and a head whose chunker is another.

use serde_json::{Value, json};

use super::{
    ASK, DETERMINISTIC, QUERIES, answers, base, by_chunk, configure, gate, of_head, project,
    ranked, write_golden,
};

/// Nothing at all was found, by another chunker.
pub(super) fn nothing(_: usize) -> Value {
    json!({ "hits": [], "chunker_version": "2" })
}

pub(super) fn with_version(mut answer: Value, version: &str) -> Value {
    answer["chunker_version"] = json!(version);
    answer
}

#[test]
fn a_head_that_finds_nothing_and_names_another_chunker_is_red() {
    let corpus: String = (0..QUERIES)
        .map(|at| format!("{{\"doc_id\":\"d{at}\",\"chunk_id\":\"d{at}#1\"}}\n"))
        .collect();
    for retrieval in ["", "  corpus: corpus.jsonl\n"] {
        for more in [DETERMINISTIC, ""] {
            let project = project(&by_chunk, more);
            project.write("corpus.jsonl", &corpus);
            configure(&project, retrieval, more);
            base(&project, &|at| with_version(ranked(at, Some(1)), "1"));
            answers(&project, QUERIES, &nothing);
            let (said, judgement) = gate(&project, 3);
            assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
            assert_eq!(judgement["metrics"]["retrieval.mrr"]["base"], 1.0);
            assert!(of_head(&judgement).abs() < 1e-9, "{judgement}");
        }
    }
}

#[test]
fn a_slow_first_call_of_one_query_makes_no_drop_uncertain() {
    let project = project(&by_chunk, "");
    base(&project, &|at| ranked(at, Some(1)));
    answers(&project, QUERIES, &nothing);
    // As on a machine that has other work for a moment: the repeats of this query are equal and come
    // back in under a tenth of the time of the first call.
    let busy = "[ $id != q00 ] || { mkdir busy 2> /dev/null && sleep 1; }\ntrue\n";
    project.write("ask.sh", &format!("{ASK}{busy}"));
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    assert!(
        !judgement["difference_codes"]
            .to_string()
            .contains("counted_once"),
        "{judgement}"
    );
}

#[test]
fn a_new_chunker_that_finds_the_same_documents_stays_comparable() {
    // The head's chunks have other names, in the golden set too.
    let rechunked = |at: usize, rank: usize| {
        let mut answer = with_version(ranked(at, Some(rank)), "2");
        answer["hits"][rank - 1]["chunk_id"] = json!(format!("d{at}/new"));
        answer
    };
    let by_new_chunk = |at: usize| json!({ "expected_chunk_ids": [format!("d{at}/new")] });
    for golden in [&by_chunk as &dyn Fn(usize) -> Value, &by_new_chunk] {
        let project = project(&by_chunk, DETERMINISTIC);
        base(&project, &|at| with_version(ranked(at, Some(1)), "1"));
        write_golden(&project, QUERIES, golden);
        answers(&project, QUERIES, &|at| rechunked(at, 1));
        let (said, judgement) = gate(&project, 0);
        assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
        assert_eq!(
            judgement["metrics"]["retrieval.mrr"]["verdict"], "pass",
            "{judgement}"
        );
        assert!(judgement["retrieval"].get("not_aligned").is_none());

        answers(&project, QUERIES, &|at| rechunked(at, 3));
        let (_, judgement) = gate(&project, 3);
        assert_eq!(
            judgement["metrics"]["retrieval.mrr"]["verdict"],
            "regression"
        );
    }
}

#[test]
fn what_cannot_be_aligned_is_counted_named_and_unmeasured() {
    // The base found the expected chunk of ten of thirteen, and nothing tells the documents of the
    // other three.
    let project = project(&by_chunk, DETERMINISTIC);
    let found = |at: usize| (at >= 3).then_some(1);
    base(&project, &|at| with_version(ranked(at, found(at)), "1"));
    answers(&project, QUERIES, &|at| {
        with_version(ranked(at, found(at)), "2")
    });
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "unmeasured", "{}", said.stdout);
    assert_eq!(
        judgement["retrieval"]["not_aligned"],
        json!(["q00", "q01", "q02"])
    );
    assert_eq!(
        judgement["metrics"]["retrieval.mrr"]["lost"],
        json!(["q00", "q01", "q02"])
    );
    assert!(said.stdout.contains("expected_doc_ids"), "{}", said.stdout);
    let page = project.read("kelvin/gate.md");
    assert!(page.contains("q00, q01, q02"), "{page}");

    // With the documents in a corpus there is nothing to miss.
    let corpus: String = (0..QUERIES)
        .map(|at| format!("{{\"doc_id\":\"d{at}\",\"chunk_id\":\"d{at}#1\"}}\n"))
        .collect();
    project.write("corpus.jsonl", &corpus);
    configure(&project, "  corpus: corpus.jsonl\n", DETERMINISTIC);
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
}

#[test]
fn a_base_that_found_nothing_cannot_pass_another_chunker() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|_| json!({ "hits": [], "chunker_version": "1" }));
    answers(&project, QUERIES, &nothing);
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "unmeasured", "{}", said.stdout);
}
