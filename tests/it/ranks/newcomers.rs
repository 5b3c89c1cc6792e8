//! Documents that a change adds: nobody has judged them, and they push down what the labels name.

use serde_json::{Value, json};

use super::{DETERMINISTIC, QUERIES, answers, base, configure, gate, project as project_of};
use crate::project::Project;

fn hits(docs: impl IntoIterator<Item = String>) -> Value {
    let hit = |doc: String| json!({ "doc_id": doc });
    let hits: Vec<Value> = docs.into_iter().map(hit).take(10).collect();
    json!({ "hits": hits })
}

fn right(at: usize) -> String {
    format!("d{at}")
}

/// Documents that the base has, and those that the change adds.
fn others() -> impl Iterator<Item = String> {
    (1..=20).map(|place| format!("x{place}"))
}

fn copies(at: usize) -> impl Iterator<Item = String> {
    (1..=10).map(move |copy| format!("d{at}-copy-{copy}"))
}

fn corpus(with_copies: bool) -> String {
    let copies = (0..QUERIES).flat_map(copies).filter(|_| with_copies);
    let docs = (0..QUERIES).map(right).chain(others()).chain(copies);
    docs.map(|doc| format!("{{\"doc_id\":\"{doc}\"}}\n"))
        .collect()
}

/// A project whose base finds the document of each query first; the change adds ten copies of each.
fn project() -> Project {
    let golden = |at: usize| json!({ "expected_doc_ids": [right(at)] });
    let project = project_of(&golden, DETERMINISTIC);
    project.write("corpus.jsonl", &corpus(false));
    configure(&project, "  corpus: corpus.jsonl\n", DETERMINISTIC);
    base(&project, &|at| {
        hits(std::iter::once(right(at)).chain(others()))
    });
    project.write("corpus.jsonl", &corpus(true));
    project
}

#[test]
fn copies_that_nobody_has_judged_leave_a_drop_open_and_are_named_to_be_judged() {
    let project = project();
    // Seven copies stand before the right document, and ten have pushed it out.
    for before in [7, 10] {
        answers(&project, QUERIES, &|at| {
            hits(copies(at).take(before).chain([right(at)]).chain(others()))
        });
        let (said, judgement) = gate(&project, 0);
        assert_eq!(
            judgement["verdict"], "inconclusive",
            "{before}: {}",
            said.stdout
        );
        let reason = &judgement["reasons"][0];
        assert_eq!(reason["code"], "unjudged", "{}", said.stdout);
        let text = reason["text"].as_str().expect("a text");
        for part in [" 12", "d0-copy-1"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let retrieval = &judgement["retrieval"];
        let unjudged = retrieval["unjudged"].as_array().expect("they are listed");
        assert_eq!(unjudged.len(), before * QUERIES);
        let judged = retrieval["judged"].as_f64().expect("a number");
        assert!(
            (judged - (1.0 - before as f64 / 10.0)).abs() < 1e-9,
            "{judged}"
        );
    }
}

#[test]
fn new_documents_that_change_no_rank_are_no_matter() {
    let project = project();
    answers(&project, QUERIES, &|at| {
        hits(
            std::iter::once(right(at))
                .chain(copies(at).take(3))
                .chain(others()),
        )
    });
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
}

#[test]
fn what_old_documents_have_beaten_is_lost_however_many_new_ones_there_are() {
    let project = project();
    let heads: [&dyn Fn(usize) -> Value; 3] = [
        // Six documents that the base has, and four new ones.
        &|at| hits(others().take(6).chain(copies(at).take(4))),
        &|at| {
            hits(
                others()
                    .take(6)
                    .chain([right(at)])
                    .chain(copies(at).take(3)),
            )
        },
        // Documents that are in no corpus at all.
        &|_| hits((1..=10).map(|place| format!("nowhere-{place}"))),
    ];
    for head in heads {
        answers(&project, QUERIES, head);
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    }
    // One topic is lost, and all the others have a new document somewhere.
    answers(&project, QUERIES, &|at| match at {
        0 => hits(others().take(9).chain(copies(at).take(1))),
        _ => hits(
            std::iter::once(right(at))
                .chain(copies(at).take(1))
                .chain(others()),
        ),
    });
    let (said, judgement) = gate(&project, 3);
    assert_eq!(
        judgement["broken_cases"][0]["case"], "q00",
        "{}",
        said.stdout
    );
}
