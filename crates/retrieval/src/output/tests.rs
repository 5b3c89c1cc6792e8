use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::SpanRule;
use crate::fields::OutputFields;
use crate::{
    Citations, QueryRecord, RetrievalBasis, RetrievalSection, StoredBasis, figures, notices,
};
use kelvin_base::digest::Fields;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_record::{Ending, Item as _, KeptTexts, Metric, SectionFingerprint};

/// An output as the reader takes it, without names of its own.
fn read(output: &Value) -> Result<Output, String> {
    Output::read(&OutputFields::default().renamed(output.clone())?)
}

#[test]
fn the_output_of_a_common_rag_is_read_by_the_names_of_its_fields() {
    let fields: OutputFields = serde_json::from_value(json!({
        "hits": "context.documents", "doc_id": "metadata.source", "text": "page_content", "answer": "result"
    }))
    .expect("names");
    let output = json!({
        "result": "Fifty cents.",
        "context": { "documents": [
            { "page_content": "Late returns cost", "metadata": { "source": "late.md" } },
            { "page_content": "Rooms", "metadata": { "source": "rooms.md" } },
        ] },
    });
    let renamed = fields.renamed(output).expect("hits");
    let read = Output::read(&renamed).expect("an output");
    let ids: Vec<&str> = read.hits.iter().map(|hit| &*hit.doc_id).collect();
    assert_eq!(ids, ["late.md", "rooms.md"]);
    insta::assert_snapshot!(read.hits[0].title().as_deref().expect("it is told"), @"Late returns cost");
    let answer = read.answer.expect("an answer");
    assert_eq!((&*answer.text, answer.grounded), ("Fifty cents.", true));
    // What the cache holds has been renamed already.
    assert_eq!(fields.renamed(renamed.clone()), Ok(renamed));
    // The names are part of what is read from an output; without names the digest stays that of older reports.
    let digest = |fields: &OutputFields| fields.add_to(Fields::of("reader")).digest();
    assert_ne!(digest(&fields), digest(&OutputFields::default()));
    assert_eq!(
        digest(&OutputFields::default()),
        Fields::of("reader").digest()
    );
}

#[test]
fn an_output_without_its_hits_is_told_what_it_has_and_how_to_name_them() {
    let output = json!({ "answer": "Fifty cents.", "sources": ["late.md"] });
    let said = |fields: &OutputFields, output: &Value| {
        let renamed = fields.renamed(output.clone());
        renamed.expect_err("refused")
    };
    insta::assert_snapshot!(said(&OutputFields::default(), &output), @"has no `hits` and has `answer`, `sources`; it seems to have other names: write `retrieval: {output_fields: {hits: sources}}` if these are right");
    insta::assert_snapshot!(said(&OutputFields::default(), &json!({ "answer": "x" })), @"has no `hits` and has `answer`; give the name that your pipeline has for it with `retrieval: {output_fields: {hits: …}}`");
    let nameless = json!({ "hits": [{ "id": "late.md", "score": 1 }] });
    insta::assert_snapshot!(said(&OutputFields::default(), &nameless), @"is not usable: hit 1 has no `doc_id` and has `id`, `score`; it seems to have other names: write `retrieval: {output_fields: {doc_id: id}}` if these are right");
    let misspelt = OutputFields {
        hits: Some("source".to_owned()),
        ..OutputFields::default()
    };
    insta::assert_snapshot!(said(&misspelt, &output), @"has no `source` and has `answer`, `sources`; give the name that your pipeline has for it with `retrieval: {output_fields: {hits: …}}`");
    let unnamed = json!({ "hits": ["late.md", { "id": "rooms.md", "score": 1 }] });
    insta::assert_snapshot!(said(&OutputFields::default(), &unnamed), @"is not usable: hit 2 has no `doc_id` and has `id`, `score`; give the name that your pipeline has for it with `retrieval: {output_fields: {doc_id: …}}`");
    // Nothing here is an object, and nothing panics.
    for output in [
        json!(7),
        json!(null),
        json!("late.md"),
        json!({ "hits": 3 }),
        json!([1, null]),
    ] {
        assert!(read(&output).is_err(), "{output}");
    }
}

#[test]
fn what_decides_is_neither_the_time_nor_the_score_of_a_hit() {
    let deciding = |output: Value| read(&output).expect("an output").deciding();
    let output = json!({
        "hits": [{ "doc_id": "late.md", "chunk_id": "late#1", "score": 0.5, "text": "Late" }, { "doc_id": "rooms.md" }],
        "answer": { "text": "Fifty cents.", "grounded": true, "citations": [{ "doc_id": "late.md" }] },
        "timings": { "search": 0.012 },
    });
    let changed = |path: &str, value: Value| {
        let mut output = output.clone();
        *output.pointer_mut(path).expect("it is there") = value;
        deciding(output)
    };
    let first = deciding(output.clone());
    for (path, value) in [
        ("/timings/search", json!(0.5)),
        ("/hits/0/score", json!(0.500_001)),
        ("/hits/0/text", json!("Late returns")),
    ] {
        assert_eq!(changed(path, value), first, "{path}");
    }
    for (path, value) in [
        ("/hits/0/doc_id", json!("rooms.md")),
        ("/hits/0/chunk_id", json!("late#2")),
        ("/hits", json!([{ "doc_id": "late.md" }])),
        ("/answer", json!(null)),
        ("/answer/text", json!("One euro.")),
        ("/answer/grounded", json!(false)),
        ("/answer/citations", json!([])),
    ] {
        assert_ne!(changed(path, value), first, "{path}");
    }
}

#[test]
fn an_empty_answer_is_none_that_was_given() {
    let output = read(&json!({ "hits": [], "answer": " " })).expect("an output");
    assert!(!output.answer.expect("an answer").grounded);
}

fn golden(value: Value) -> GoldenQuery {
    let mut query = json!({ "id": "q", "query": "what?" });
    for (key, value) in value.as_object().expect("an object") {
        query[key] = value.clone();
    }
    serde_json::from_value(query).expect("a golden query")
}

fn judged(known: &GoldenQuery, output: Value, corpus: Option<&Documents>) -> Retrieved {
    let output = read(&output).expect("an output");
    output.judged(known, corpus, (10, SpanRule::default()))
}

fn record(queries: Vec<(GoldenQuery, Retrieved)>) -> RetrievalSection {
    let queries = queries.into_iter().enumerate().map(|(at, (known, run))| {
        let query = QueryRecord {
            input: known.digest(),
            by_document: None,
            of_answer: None,
            query: known.query.clone(),
            folder: None,
            labels: labels(&known, None),
            expected_titles: BTreeMap::new(),
            runs: vec![run],
        };
        (format!("q{at}"), query)
    });
    RetrievalSection {
        ending: Ending::Complete,
        fingerprint: SectionFingerprint {
            items: None,
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
        items: queries.collect(),
    }
}

fn metrics(queries: Vec<(GoldenQuery, Retrieved)>) -> BTreeMap<String, Metric> {
    figures(&record(queries))
}

fn value(metrics: &BTreeMap<String, Metric>, name: &str) -> (Option<f64>, usize) {
    let metric = &metrics[&format!("retrieval.{name}")];
    (metric.value, metric.n)
}

fn hits(ids: &[&str]) -> Value {
    let hit = |id: &&str| json!({ "chunk_id": id, "doc_id": id.split('#').next() });
    json!({ "hits": ids.iter().map(hit).collect::<Vec<_>>() })
}

fn failed(known: &GoldenQuery) -> Retrieved {
    Retrieved {
        failure: Some(Box::new(Failure {
            kind: FailureKind::Timeout,
            message: "it took too long".to_owned(),
            stderr: String::new(),
            stdout: String::new(),
        })),
        ..unranked(known, None)
    }
}

fn missing_from_run(known: &GoldenQuery) -> Retrieved {
    Retrieved {
        missing: true,
        ..unranked(known, None)
    }
}

fn chunk(id: &str) -> GoldenQuery {
    golden(json!({ "expected_chunk_ids": [id] }))
}

fn answer(grounded: bool, more: Value) -> Value {
    let mut output = hits(&["a#1", "b#1"]);
    output["answer"] = json!({ "text": "the sky is blue", "grounded": grounded });
    for (key, value) in more.as_object().expect("an object") {
        output["answer"][key] = value.clone();
    }
    output
}

fn of_answers(pairs: Vec<(Value, Value)>) -> BTreeMap<String, Metric> {
    let pairs = pairs.into_iter().map(|(known, output)| {
        let known = golden(known);
        let run = judged(&known, output, None);
        (known, run)
    });
    metrics(pairs.collect())
}

#[test]
fn ret_02_ret_23_the_means_are_unrounded_and_shown_with_four_decimals() {
    let known = chunk("x#1");
    let runs = [
        hits(&["x#1"]),
        hits(&["a#1", "b#1", "c#1", "x#1"]),
        hits(&["a#1"]),
    ];
    let queries = runs.map(|run| (known.clone(), judged(&known, run, None)));
    let metrics = metrics(queries.to_vec());
    assert_eq!(value(&metrics, "success@3"), (Some(1.0 / 3.0), 3));
    assert_eq!(value(&metrics, "success@5"), (Some(2.0 / 3.0), 3));
    assert_eq!(value(&metrics, "mrr"), (Some(1.25 / 3.0), 3));
    assert_eq!(metrics["retrieval.mrr"].display, "0.4167");
    assert_eq!(metrics["retrieval.mrr"].per_case["q1"].value, Some(0.25));
    assert!(metrics["retrieval.mrr"].gated);
}

#[test]
fn ret_04_documents_are_covered_by_the_hits_of_any_of_their_chunks() {
    let known = golden(json!({ "expected_doc_ids": ["x", "y", "x"] }));
    let run = judged(&known, hits(&["a#1", "x#1", "x#2", "y#1"]), None);
    let metrics = metrics(vec![(known, run)]);
    assert_eq!(value(&metrics, "recall_doc@3"), (Some(0.5), 1));
    assert_eq!(value(&metrics, "recall_doc@5"), (Some(1.0), 1));
    assert_eq!(value(&metrics, "success@1"), (None, 0));
}

#[test]
fn ret_05_a_duplicate_chunk_is_counted_once_in_precision_and_keeps_its_rank_in_success() {
    let known = chunk("x#1");
    let run = judged(&known, hits(&["a#1", "a#1", "a#1", "x#1", "x#1"]), None);
    let metrics = metrics(vec![(known, run)]);
    assert_eq!(value(&metrics, "precision@5").0, Some(0.2));
    assert_eq!(value(&metrics, "success@3").0, Some(0.0));
    assert_eq!(value(&metrics, "mrr").0, Some(0.25));
}

#[test]
fn ret_07_queries_without_expected_chunks_leave_the_n_of_chunk_measures_unchanged() {
    let (known, other) = (chunk("x#1"), golden(json!({})));
    let run = judged(&known, hits(&["x#1"]), None);
    let unjudged = judged(&other, hits(&["x#1"]), None);
    let metrics = metrics(vec![(known, run), (other, unjudged)]);
    for name in ["success@1", "mrr", "precision@1", "ndcg@1", "map"] {
        assert_eq!(value(&metrics, name), (Some(1.0), 1), "{name}");
    }
    assert_eq!(value(&metrics, "empty_result_rate"), (Some(0.0), 2));
}

#[test]
fn ret_08_no_applicable_query_is_null_with_a_reason_and_n_zero_for_every_measure() {
    let known = golden(json!({}));
    let metrics = metrics(vec![(known.clone(), failed(&known))]);
    assert_eq!(value(&metrics, "failure_rate"), (Some(1.0), 1));
    let measures = metrics
        .iter()
        .filter(|(id, _)| !id.ends_with("_queries") && !id.ends_with("failure_rate"));
    let mut count = 0;
    for (id, metric) in measures {
        assert_eq!((metric.value, metric.n), (None, 0), "{id}");
        assert!(
            metric.reason.as_ref().is_some_and(|why| why.len() > 8),
            "{id}"
        );
        count += 1;
    }
    assert_eq!(count, 25);
    assert!(
        metrics["retrieval.mrr"].gated,
        "it must not pass unmeasured"
    );
}

#[test]
fn ret_09_ret_10_failed_and_missing_queries_count_zero_are_listed_and_counted() {
    let known = golden(json!({ "expected_chunk_ids": ["x#1"], "expected_doc_ids": ["x"] }));
    let run = judged(&known, hits(&["x#1"]), None);
    let queries = vec![
        (known.clone(), run),
        (known.clone(), failed(&known)),
        (known.clone(), missing_from_run(&known)),
    ];
    let metrics = metrics(queries.clone());
    for name in [
        "success@1",
        "mrr",
        "recall_doc@1",
        "precision@1",
        "ndcg@1",
        "map",
    ] {
        assert_eq!(value(&metrics, name), (Some(1.0 / 3.0), 3), "{name}");
        assert_eq!(metrics[&format!("retrieval.{name}")].n_failed, 2, "{name}");
    }
    assert_eq!(value(&metrics, "failed_queries").0, Some(2.0));
    assert_eq!(value(&metrics, "total_queries").0, Some(3.0));
    assert_eq!(value(&metrics, "empty_result_rate"), (Some(0.0), 1));
    let told: Vec<String> = notices(&record(queries))
        .into_iter()
        .map(|n| n.text)
        .collect();
    insta::assert_snapshot!(told[0], @"1 of 3 queries failed, and counts 0 in the ranking measures: q1");
    insta::assert_snapshot!(told[1], @"1 of 3 queries is not in the run, and counts 0: q2");
}

#[test]
fn a_query_that_failed_in_some_runs_only_is_told_as_that() {
    let known = golden(json!({ "expected_chunk_ids": ["x#1"] }));
    let run = |fails: &u8| match fails {
        0 => judged(&known, hits(&["x#1"]), None),
        _ => failed(&known),
    };
    let told = |queries: &[&[u8]]| -> Vec<String> {
        let asked = queries.iter().map(|_| (known.clone(), failed(&known)));
        let mut record = record(asked.collect());
        for (query, fails) in record.items.values_mut().zip(queries) {
            query.runs = fails.iter().map(run).collect();
        }
        notices(&record).into_iter().map(|one| one.text).collect()
    };
    let in_one_run =
        "1 of 2 queries failed in 1 of 3 runs, which count 0 in the ranking measures: q1";
    assert_eq!(told(&[&[0, 0, 0], &[0, 1, 0]]), [in_one_run]);
    insta::assert_snapshot!(told(&[&[1, 1, 1], &[0, 1, 0], &[1, 1, 0]]).join("\n"), @"
    1 of 3 queries failed, and counts 0 in the ranking measures: q0
    2 of 3 queries failed in some of their runs, which count 0 in the ranking measures: q1, q2
    ");
}

#[test]
fn ret_11_queries_of_the_run_that_are_not_judged_are_listed() {
    let mut record = record(Vec::new());
    record.basis.unknown = vec!["stranger".to_owned()];
    let told = notices(&record);
    assert_eq!(told.len(), 1);
    insta::assert_snapshot!(told[0].text, @"1 query of the run is not judged and in no figure: stranger");
}

#[test]
fn ret_12_empty_results_leave_out_what_failed() {
    let known = golden(json!({}));
    let empty = judged(&known, hits(&[]), None);
    let metrics = metrics(vec![
        (known.clone(), empty),
        (known.clone(), failed(&known)),
    ]);
    assert_eq!(value(&metrics, "empty_result_rate"), (Some(1.0), 1));
    let metric = &metrics["retrieval.empty_result_rate"];
    assert_eq!(metric.direction, kelvin_record::Direction::Lower);
}

#[test]
fn ret_13_ret_14_ret_15_a_grounded_answer_is_covered_where_every_citation_resolves() {
    let cases = [
        (json!([]), Some(0.0)),
        (json!([{ "doc_id": "a" }]), Some(1.0)),
        (json!([{ "path": "a", "chunk_id": "a#1" }]), Some(1.0)),
        (json!([{ "doc_id": "a" }, { "doc_id": "zebra" }]), Some(0.0)),
        (json!([{ "doc_id": "a", "chunk_id": "a#9" }]), Some(0.0)),
    ];
    for (citations, expected) in cases {
        let output = answer(true, json!({ "citations": citations }));
        let metrics = of_answers(vec![(json!({}), output)]);
        assert_eq!(
            value(&metrics, "citation_coverage").0,
            expected,
            "{citations}"
        );
    }
    let refused = of_answers(vec![(json!({}), answer(false, json!({})))]);
    assert_eq!(value(&refused, "citation_coverage"), (None, 0));
    let corpus = Documents {
        documents: ["a".to_owned()].into(),
        ..Documents::default()
    };
    let known = golden(json!({}));
    let output = answer(true, json!({ "citations": [{ "doc_id": "b" }] }));
    let run = judged(&known, output, Some(&corpus));
    let metrics = metrics(vec![(known, run)]);
    assert_eq!(
        value(&metrics, "citation_coverage").0,
        Some(0.0),
        "a hit, and not in the corpus"
    );
}

#[test]
fn ret_16_a_forbidden_text_fails_even_where_all_that_must_be_there_is() {
    let both = |must: &str, forbidden: &str| json!({ "expected_doc_ids": ["a"], "must_contain": [must], "forbidden": [forbidden] });
    for (known, expected) in [
        (both("sky", "green"), 1.0),
        (both("sky", "blue"), 0.0),
        (both("sea", "green"), 0.0),
    ] {
        let metrics = of_answers(vec![(known.clone(), answer(true, json!({})))]);
        assert_eq!(
            value(&metrics, "groundedness"),
            (Some(expected), 1),
            "{known}"
        );
    }
}

#[test]
fn ret_17_ret_18_groundedness_leaves_out_what_is_not_configured_or_should_be_refused() {
    for known in [
        json!({ "expected_doc_ids": ["a"] }),
        json!({ "expected_doc_ids": [], "forbidden": ["blue"] }),
    ] {
        let metrics = of_answers(vec![(known.clone(), answer(true, json!({})))]);
        assert_eq!(value(&metrics, "groundedness"), (None, 0), "{known}");
    }
    // Whoever writes no more than what an answer must contain wants that to be looked at.
    let known = json!({ "must_contain": ["green"] });
    let metrics = of_answers(vec![(known, answer(true, json!({})))]);
    assert_eq!(value(&metrics, "groundedness"), (Some(0.0), 1));
}

#[test]
fn ret_19_ret_20_an_empty_list_asks_for_a_refusal_and_no_list_asks_for_nothing() {
    let refusal = || answer(false, json!({ "refusal_reason": "score_gate" }));
    let empty = json!({ "expected_doc_ids": [] });
    let metrics = of_answers(vec![(empty.clone(), refusal()), (json!({}), refusal())]);
    assert_eq!(value(&metrics, "refusal_correctness"), (Some(1.0), 1));
    let wrong = of_answers(vec![(empty.clone(), answer(true, json!({})))]);
    assert_eq!(value(&wrong, "refusal_correctness"), (Some(0.0), 1));
    let none = of_answers(vec![(empty, hits(&[]))]);
    assert_eq!(value(&none, "refusal_correctness"), (None, 0));
    let chunks = json!({ "expected_doc_ids": [], "expected_chunk_ids": ["a#1"] });
    let metrics = of_answers(vec![(chunks, refusal())]);
    assert_eq!(value(&metrics, "refusal_correctness"), (None, 0));
}

#[test]
fn a_refusal_of_what_should_be_answered_is_wrong_and_of_nothing_else() {
    let refusal = || answer(false, json!({ "refusal_reason": "score_gate" }));
    let wanted = json!({ "expected_doc_ids": ["a"] });
    let metrics = of_answers(vec![
        (wanted.clone(), refusal()),
        (wanted, answer(true, json!({}))),
        (json!({ "expected_doc_ids": [] }), refusal()),
        (json!({}), refusal()),
    ]);
    assert_eq!(value(&metrics, "answered_rate"), (Some(0.5), 2));
    assert!(metrics["retrieval.answered_rate"].gated);
}

#[test]
fn citations_are_gated_where_an_answer_cites() {
    let cited = answer(true, json!({ "citations": [{ "doc_id": "a" }] }));
    let bare = || answer(true, json!({}));
    let metrics = of_answers(vec![(json!({}), bare()), (json!({}), bare())]);
    assert!(!metrics["retrieval.citation_coverage"].gated);
    let metrics = of_answers(vec![(json!({}), bare()), (json!({}), cited)]);
    assert!(metrics["retrieval.citation_coverage"].gated);
    assert_eq!(value(&metrics, "citation_coverage"), (Some(0.5), 2));
}

#[test]
fn who_leaves_the_answer_out_has_not_answered_unless_nothing_is_ever_answered() {
    let wanted = json!({ "expected_doc_ids": ["a"] });
    let metrics = of_answers(vec![
        (wanted.clone(), answer(true, json!({}))),
        (wanted.clone(), hits(&["a#1"])),
        (json!({}), hits(&["a#1"])),
    ]);
    assert_eq!(value(&metrics, "answered_rate"), (Some(0.5), 2));
    let metrics = of_answers(vec![(wanted, hits(&["a#1"]))]);
    assert_eq!(value(&metrics, "answered_rate"), (None, 0));
}

/// The hits `a#1` and `b#1`, and an answer with these citations.
fn citing(citations: Value) -> Value {
    answer(true, json!({ "citations": citations }))
}

#[test]
fn a_citation_is_right_where_it_names_a_hit_of_an_expected_document() {
    let doc = json!({ "expected_doc_ids": ["a"] });
    let by_chunk = json!({ "expected_chunk_ids": ["a#1"] });
    let of_nothing = json!({ "expected_chunk_ids": ["z#1"] });
    let cases = [
        (&doc, json!([{ "doc_id": "a" }]), 1.0),
        (&doc, json!([{ "doc_id": "a", "chunk_id": "a#1" }]), 1.0),
        // The other hit, a chunk that was never retrieved, and a document that was not.
        (&doc, json!([{ "doc_id": "b" }]), 0.0),
        (&doc, json!([{ "doc_id": "a", "chunk_id": "a#9" }]), 0.0),
        (&doc, json!([{ "doc_id": "c" }]), 0.0),
        (&doc, json!([]), 0.0),
        (&doc, json!([{ "doc_id": "a" }, { "doc_id": "b" }]), 0.5),
        // Who says the right one many times has cited one.
        (
            &doc,
            json!([{ "doc_id": "a" }, { "doc_id": "a" }, { "doc_id": "a" }, { "doc_id": "b" }]),
            0.5,
        ),
        // The hit tells the document of the expected chunk.
        (&by_chunk, json!([{ "doc_id": "a" }]), 1.0),
        (
            &by_chunk,
            json!([{ "doc_id": "b", "chunk_id": "b#1" }]),
            0.0,
        ),
        // Nobody knows where the expected chunk is.
        (&of_nothing, json!([{ "doc_id": "b" }]), 1.0),
        // Nothing is expected.
        (&json!({}), json!([{ "doc_id": "b" }]), 1.0),
        (&json!({}), json!([{ "doc_id": "c" }]), 0.0),
    ];
    for (known, citations, expected) in cases {
        let metrics = of_answers(vec![(known.clone(), citing(citations.clone()))]);
        let found = value(&metrics, "citation_precision");
        assert_eq!(found, (Some(expected), 1), "{known} {citations}");
    }
    let refusal = answer(false, json!({ "citations": [{ "doc_id": "b" }] }));
    let metrics = of_answers(vec![(doc, refusal)]);
    assert_eq!(value(&metrics, "citation_precision"), (None, 0));
}

#[test]
fn a_citation_may_call_its_document_by_the_path_that_the_corpus_knows() {
    let known = golden(json!({ "expected_doc_ids": ["a"] }));
    let corpus = Documents {
        documents: ["a".to_owned(), "b".to_owned()].into(),
        paths: [("a.md".to_owned(), ["a".to_owned()].into())].into(),
        ..Documents::default()
    };
    let run = judged(&known, citing(json!([{ "path": "a.md" }])), Some(&corpus));
    let metrics = metrics(vec![(known, run)]);
    assert_eq!(value(&metrics, "citation_coverage"), (Some(1.0), 1));
    assert_eq!(value(&metrics, "citation_precision"), (Some(1.0), 1));
}

#[test]
fn queries_with_stray_citations_are_told_and_a_right_one_among_others_is_enough() {
    let known = golden(json!({ "expected_doc_ids": ["a"] }));
    let cited = [
        json!(["a", "b"]),
        json!(["b"]),
        json!(["a", "c"]),
        json!([]),
    ];
    let queries = cited.map(|names| {
        let names = names.as_array().expect("a list").iter();
        let citations: Vec<Value> = names.map(|name| json!({ "doc_id": name })).collect();
        (
            known.clone(),
            judged(&known, citing(json!(citations)), None),
        )
    });
    let told: Vec<String> = notices(&record(queries.to_vec()))
        .into_iter()
        .map(|notice| notice.text)
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    1 of 4 queries got an answer that cites what was not retrieved: q2
    1 of 4 queries got an answer that cites no expected document, although one was found: q1
    ");
    // Where nothing that is expected was found, the search is wrong, and not the citation.
    let lost = golden(json!({ "expected_doc_ids": ["z"] }));
    let run = judged(&lost, citing(json!([{ "doc_id": "b" }])), None);
    assert_eq!(notices(&record(vec![(lost, run)])), []);
}

#[test]
fn a_hit_is_kept_with_its_title_or_the_beginning_of_its_text() {
    let known = golden(json!({}));
    let output = json!({ "hits": [
        { "doc_id": "a", "title": "Fees", "text": "Late tools cost." },
        { "doc_id": "b", "title": "", "text": "x".repeat(100) },
        { "doc_id": "c", "title": { "de": "Gebühren" }, "text": 7 },
        { "doc_id": "d", "title": "a\u{202e}b\n\u{1b}[2Jc" },
    ] });
    let mut run = judged(&known, output, None);
    let titles = |run: &Retrieved| -> Vec<Option<String>> {
        run.hits.iter().map(|hit| hit.title.clone()).collect()
    };
    let kept = titles(&run);
    assert_eq!(kept[0].as_deref(), Some("Fees"));
    assert_eq!(kept[1], Some(format!("{}…", "x".repeat(79))));
    assert_eq!(kept[2], None);
    assert_eq!(kept[3].as_deref(), Some("ab [2Jc"));
    let mut section = record(vec![(known, run.clone())]);
    let query = section.items.get_mut("q0").expect("it is there");
    query.shorten(KeptTexts::Short);
    assert_eq!(titles(&query.runs[0]), kept);
    query.shorten(KeptTexts::None);
    run = query.runs[0].clone();
    assert_eq!(titles(&run), vec![None; 4]);
}

#[test]
fn without_texts_no_word_of_an_answer_is_left_and_the_figures_stay() {
    let known = golden(json!({ "expected_doc_ids": ["a"], "must_contain": ["sea"] }));
    let output = answer(
        true,
        json!({
            "text": "the moon is made of cheese",
            "citations": [{ "doc_id": "a" }, { "doc_id": "cheese", "chunk_id": "moon" }],
        }),
    );
    let mut section = record(vec![
        (known.clone(), judged(&known, output, None)),
        (
            known.clone(),
            Retrieved {
                failure: Some(Box::new(Failure {
                    kind: FailureKind::DecisionRefused,
                    message: "its output cannot be used: found cheese".to_owned(),
                    stderr: "cheese".to_owned(),
                    stdout: "moon".to_owned(),
                })),
                ..unranked(&known, None)
            },
        ),
    ]);
    let before = figures(&section);
    for query in section.items.values_mut() {
        query.shorten(KeptTexts::None);
    }
    assert_eq!(figures(&section), before);
    let text = format!("{:?}", section.items);
    assert!(!text.contains("cheese") && !text.contains("moon"), "{text}");
    assert!(text.contains("sea"), "the golden set is the user's: {text}");
}

#[test]
fn ret_21_a_refusal_for_a_reason_of_the_infrastructure_is_an_error() {
    for reason in INFRASTRUCTURE {
        let output = answer(false, json!({ "refusal_reason": reason }));
        let error = read(&output).expect_err("an error");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn failures_are_in_no_measure_of_answers() {
    let known = golden(json!({
        "expected_doc_ids": ["a"], "must_contain": ["sky"],
    }));
    let refuse = golden(json!({ "expected_doc_ids": [] }));
    let metrics = metrics(vec![
        (known.clone(), failed(&known)),
        (refuse.clone(), missing_from_run(&refuse)),
    ]);
    for name in ["groundedness", "citation_coverage", "refusal_correctness"] {
        assert_eq!(value(&metrics, name), (None, 0), "{name}");
    }
}

#[test]
fn ret_31_ranks_that_cannot_be_and_hits_that_are_none_are_errors() {
    let ranked = |ranks: &[Value]| {
        let hit = |rank: &Value| json!({ "doc_id": "d", "chunk_id": "c", "rank": rank });
        json!({ "hits": ranks.iter().map(hit).collect::<Vec<_>>() })
    };
    let mut told = Vec::new();
    for output in [
        ranked(&[json!(0)]),
        ranked(&[json!(2), json!(2)]),
        ranked(&[json!(1), json!(null)]),
        ranked(&[json!(-1)]),
        json!({ "hits": [{ "doc_id": "d", "score": "NaN" }] }),
        json!({ "hits": [{ "chunk_id": "c" }] }),
        json!({}),
        json!([5]),
        json!("d"),
        json!({ "hits": [], "answer": { "text": "x" } }),
    ] {
        let error = read(&output).expect_err("refused");
        told.push(error.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    has a hit of rank 0; the first rank is 1
    has two hits of rank 2
    has hits with a `rank` and hits without
    cannot be used: `hits[0].rank`: invalid value: integer `-1`, expected u32
    cannot be used: `hits[0].score`: invalid type: string "NaN", expected f64
    is not usable: hit 1 has no `doc_id` and has `chunk_id`; give the name that your pipeline has for it with `retrieval: {output_fields: {doc_id: …}}`
    has no `hits` and is empty; give the name that your pipeline has for it with `retrieval: {output_fields: {hits: …}}`
    cannot be used: `hits[0]`: invalid type: integer `5`, expected an object
    cannot be used: invalid type: string "d", expected an object
    cannot be used: `answer`: missing field `grounded`
    "#);
    // A list is the hits, by their ids or as objects.
    let listed = json!(["d", { "doc_id": "e", "chunk_id": "e#1" }]);
    let hits = read(&listed).expect("hits").hits;
    let ids: Vec<&str> = hits.iter().map(|hit| &*hit.doc_id).collect();
    assert_eq!(ids, ["d", "e"]);
}

#[test]
fn ret_32_shuffled_hits_with_ranks_give_the_same_record() {
    let known = chunk("x#1");
    let hit = |id: &str, rank: u32| json!({ "doc_id": id, "chunk_id": id, "rank": rank });
    let shuffled = json!({ "hits": [hit("x#1", 3), hit("a", 1), hit("b", 2)] });
    let sorted = json!({ "hits": [hit("a", 1), hit("b", 2), hit("x#1", 3)] });
    let records = [shuffled, sorted].map(|output| judged(&known, output, None));
    assert_eq!(records[0], records[1]);
    assert_eq!(records[0].rank, Some(3));
}
