//! The gate on retrieval pipelines whose right verdict is known.

mod aligned;
mod answered;
mod chunks;
mod dodges;
mod newcomers;
mod rechunked;
mod relabelled;

use serde_json::{Value, json};

use crate::project::{Project, Said};

/// Answers each query with the file that is called like it.
const ASK: &str =
    "read -r query < \"$1\"; id=${query#*'\"id\":\"'}; cp \"answers/${id%%'\"'*}.json\" \"$2\"\n";

/// How many queries a suite has.
const QUERIES: usize = 13;

/// A project with the retrieval probe alone, and with these lines more in its configuration.
fn project(golden: &dyn Fn(usize) -> Value, more: &str) -> Project {
    let project = Project::new("");
    project.write("ask.sh", ASK);
    configure(&project, "", more);
    write_golden(&project, QUERIES, golden);
    project
}

fn configure(project: &Project, retrieval: &str, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "retrieval:\n  run: sh ask.sh {{input}} {{output}}\n  golden: golden.yaml\n{retrieval}{more}"
        ),
    );
}

/// Writes the golden set: the fields of each query beside its id and its question.
fn write_golden(project: &Project, queries: usize, golden: &dyn Fn(usize) -> Value) {
    let entries: Vec<Value> = (0..queries)
        .map(|at| {
            let mut entry = golden(at);
            entry["id"] = json!(name(at));
            entry["query"] = json!(format!("question {at}"));
            entry
        })
        .collect();
    project.write("golden.yaml", &json!(entries).to_string());
}

fn name(at: usize) -> String {
    format!("q{at:02}")
}

/// What each query is answered with.
fn answers(project: &Project, queries: usize, answer: &dyn Fn(usize) -> Value) {
    for at in 0..queries {
        project.write(
            &format!("answers/{}.json", name(at)),
            &answer(at).to_string(),
        );
    }
}

/// Measures the base and keeps its report.
fn base(project: &Project, answer: &dyn Fn(usize) -> Value) {
    answers(project, QUERIES, answer);
    project.check();
    project.write("base.json", &project.read("kelvin/report.json"));
}

/// Judges the head against the kept report.
fn gate(project: &Project, code: i32) -> (Said, Value) {
    let said = project
        .kelvin(&["gate", "--baseline", "base.json", "--rerun"])
        .expect(code);
    let judgement = project.json("kelvin/gate.json");
    (said, judgement)
}

/// Ten hits of other documents, and the expected chunk of the query at a rank.
fn ranked(at: usize, rank: Option<usize>) -> Value {
    let hits: Vec<Value> = (1..=10)
        .map(|place| match rank == Some(place) {
            true => json!({ "chunk_id": format!("d{at}#1"), "doc_id": format!("d{at}") }),
            false => json!({ "chunk_id": format!("x{place}#1"), "doc_id": format!("x{place}") }),
        })
        .collect();
    json!({ "hits": hits })
}

fn by_chunk(at: usize) -> Value {
    json!({ "expected_chunk_ids": [format!("d{at}#1")] })
}

/// The mean reciprocal rank of the head, as the gate compared it.
fn of_head(judgement: &Value) -> f64 {
    let value = judgement["metrics"]["retrieval.mrr"]["head"].as_f64();
    value.expect("a number")
}

const DETERMINISTIC: &str = "gate: {deterministic: true}\n";

#[test]
fn a_run_says_no_more_than_what_was_looked_at() {
    let project = project(&by_chunk, DETERMINISTIC);
    let with_answer = |at: usize| {
        let mut answer = ranked(at, Some(1));
        let citations = json!([{ "doc_id": format!("d{at}") }]);
        answer["answer"] = json!({ "text": "no", "grounded": true, "citations": citations });
        answer
    };
    let told = |golden: &dyn Fn(usize) -> Value, answer: &dyn Fn(usize) -> Value, what: &str| {
        write_golden(&project, QUERIES, golden);
        answers(&project, QUERIES, answer);
        let said = project.kelvin(&["check"]).expect(0);
        // A screen is narrow.
        let words: Vec<&str> = said.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(what), "{what}: {}", said.stdout);
    };
    let bare = |at: usize| ranked(at, Some(1));
    told(
        &by_chunk,
        &bare,
        "All 13 queries found all that they should; nothing of an answer was looked at",
    );
    let refused = |at: usize| match at < 3 {
        true => json!({ "expected_doc_ids": [] }),
        false => by_chunk(at),
    };
    told(
        &refused,
        &bare,
        "All 10 queries found all that they should; the pipeline gives no answers, so that nothing says whether 3 more are \
         refused as they should be",
    );
    told(
        &by_chunk,
        &with_answer,
        "All 13 queries found all that they should; of the answers the citations alone were looked at",
    );
    let with_text = |at: usize| {
        let mut golden = by_chunk(at);
        if at < 3 {
            golden["must_contain"] = json!(["no"]);
        }
        golden
    };
    told(
        &with_text,
        &with_answer,
        "~ The text of 10 of 13 answers is checked by nothing in the golden set: add `must_contain`, or let a judge \
         grade the answers = All 13 queries found all that they should; of the answers the citations and 3 of 13 texts \
         were looked at",
    );
    let few = |at: usize| if at < 3 { by_chunk(at) } else { json!({}) };
    told(
        &few,
        &bare,
        "3 of 13 queries found all that they should, and of the others nothing is expected",
    );
    let documents = |at: usize| {
        let second = match at {
            0..=1 => "missed",
            _ => "x2",
        };
        json!({ "expected_doc_ids": [format!("d{at}"), second] })
    };
    told(
        &documents,
        &bare,
        "= 11 of 13 queries found all expected documents, 2 found some of them; nothing of an answer was looked at",
    );
    told(
        &documents,
        &|at| ranked(at, (at > 0).then_some(1)),
        "~ 11 of 13 queries found all expected documents, 1 found some of them and 1 none",
    );
    told(
        &|at| json!({ "expected_doc_ids": [format!("d{at}"), "missed"] }),
        &bare,
        "= Each of the 13 queries found some of the expected documents, and not all; nothing of an answer was looked at",
    );
    told(
        &|_| json!({}),
        &bare,
        "Nothing is expected of the 13 queries",
    );
}

#[test]
fn a_reranker_that_wins_twelve_queries_and_ranks_one_second_passes() {
    for more in [DETERMINISTIC, ""] {
        let project = project(&by_chunk, more);
        base(&project, &|at| {
            ranked(at, Some(if at == 0 { 1 } else { 2 }))
        });
        answers(&project, QUERIES, &|at| {
            ranked(at, Some(if at == 0 { 2 } else { 1 }))
        });
        let (said, judgement) = gate(&project, 0);
        assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
        assert!(judgement.get("broken_cases").is_none(), "{judgement}");
        assert!(!said.stdout.contains("broke"), "{}", said.stdout);
    }
}

#[test]
fn queries_that_are_lost_are_flagged_however_many_others_gain() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(if at < 2 { 9 } else { 3 })));
    answers(&project, QUERIES, &|at| ranked(at, (at >= 2).then_some(1)));
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression");
    let broken: Vec<&Value> = judgement["broken_cases"]
        .as_array()
        .expect("there are some")
        .iter()
        .map(|broken| &broken["case"])
        .collect();
    assert_eq!(broken, ["q00", "q01"], "{}", said.stdout);
    // The mean reciprocal rank rose, and nothing says otherwise.
    assert_eq!(judgement["metrics"]["retrieval.mrr"]["verdict"], "pass");
    let failing: Vec<&str> = judgement["reasons"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|reason| reason["effect"] == "fail")
        .filter_map(|reason| reason["metric"].as_str())
        .collect();
    assert!(
        !failing.is_empty() && failing.iter().all(|metric| *metric == "retrieval.found"),
        "{failing:?}"
    );
}

#[test]
fn a_reranker_that_puts_every_answer_second_is_red_for_mrr() {
    for more in [DETERMINISTIC, ""] {
        let project = project(&by_chunk, more);
        base(&project, &|at| ranked(at, Some(1)));
        answers(&project, QUERIES, &|at| ranked(at, Some(2)));
        let (_, judgement) = gate(&project, 3);
        assert_eq!(
            judgement["metrics"]["retrieval.mrr"]["verdict"],
            "regression"
        );
        assert_eq!(judgement["metrics"]["retrieval.found"]["verdict"], "pass");
        assert!(judgement.get("broken_cases").is_none(), "{judgement}");
    }
}

#[test]
fn two_queries_that_swap_their_ranks_within_the_limit_pass() {
    for more in [DETERMINISTIC, ""] {
        let project = project(&by_chunk, more);
        base(&project, &|at| ranked(at, Some(1 + at % 2)));
        answers(&project, QUERIES, &|at| {
            ranked(at, Some(if at < 2 { 2 - at } else { 1 + at % 2 }))
        });
        let (said, judgement) = gate(&project, 0);
        assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    }
}
