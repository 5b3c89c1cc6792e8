//! Labels of the golden set that a change edits: what is lost is seen by those of before.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use super::{DETERMINISTIC, QUERIES, answers, base, by_chunk, gate, project, ranked, write_golden};
use crate::answers::leaves_nothing_to_do;
use crate::repository::tells;

/// The chunk that a query should find, of which some are edited.
fn edited(at: usize, few: usize, label: &str) -> Value {
    match at < few {
        true => json!({ "expected_chunk_ids": [label] }),
        false => by_chunk(at),
    }
}

/// The first reason of a verdict.
fn first(judgement: &Value) -> (&str, &str) {
    let reason = &judgement["reasons"][0];
    let text = |key: &str| reason[key].as_str().expect("a text");
    (text("code"), text("text"))
}

#[test]
fn a_topic_that_is_lost_is_red_although_its_labels_follow_what_is_found() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    write_golden(&project, QUERIES, &|at| edited(at, 3, "x1#1"));
    answers(&project, QUERIES, &|at| ranked(at, (at >= 3).then_some(1)));
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    let (code, text) = first(&judgement);
    assert_eq!(code, "relabelled", "{}", said.stdout);
    insta::assert_snapshot!(text, @"this change edits the labels of 3 of 13 queries; by the labels of the base the verdict is regression, and by its own it is pass");
    assert_eq!(judgement["retrieval"]["labels"], "base");
    assert_eq!(judgement["retrieval"]["counts"]["regression"], 3);
    let page = project.read("kelvin/gate.md");
    assert!(!leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn labels_that_are_corrected_while_the_search_stays_pass_and_are_told() {
    let project = project(&|at| edited(at, 3, "x4#1"), DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    write_golden(&project, QUERIES, &by_chunk);
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert!(tells(&judgement, "relabelled"), "{judgement}");
    let told = " 3 of 13 queries";
    let page = project.read("kelvin/gate.md");
    assert!(page.contains(told), "{page}");
    // The report of the check has the figures by the new labels, which are other ones.
    let figures = "`retrieval.";
    assert!(page.contains(figures), "{page}");
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         pass, 3 of 13 queries were edited");
    // The others are compared as ever.
    answers(&project, QUERIES, &|at| ranked(at, (at < 9).then_some(1)));
    gate(&project, 3);
}

#[test]
fn queries_in_another_order_and_in_another_file_are_the_same() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    let entries: Value = serde_json::from_str(&project.read("golden.yaml")).expect("a list");
    let mut entries = entries.as_array().expect("a list").clone();
    entries.reverse();
    project.write("golden.yaml", &json!(entries).to_string());
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert!(
        !judgement["difference_codes"]
            .to_string()
            .contains("\"cases\""),
        "{judgement}"
    );
}

#[test]
fn labels_that_are_taken_away_are_told_first_although_nothing_is_worse() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    write_golden(&project, QUERIES, &|at| match at < 3 {
        true => json!({}),
        false => by_chunk(at),
    });
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    let (code, text) = first(&judgement);
    assert_eq!(code, "relabelled", "{}", said.stdout);
    insta::assert_snapshot!(text, @"this change edits the labels of 3 of 13 queries; by the labels of the base the verdict is pass, and by its own it is pass; its own labels judge 10 of the 13 queries that those of the base judge");
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["### "]), @"### ⚠️ Kelvin: passes by the labels of the base, 3 of 13 queries were edited");
    assert!(!leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn what_the_labels_of_the_change_alone_tell_to_be_lost_is_red_too() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    // The base has it at rank 2, and the head has it nowhere.
    write_golden(&project, QUERIES, &|at| edited(at, 4, "x2#1"));
    answers(&project, QUERIES, &|at| {
        let mut answer = ranked(at, Some(1));
        answer["hits"].as_array_mut().expect("a list").truncate(1);
        answer
    });
    let (said, judgement) = gate(&project, 3);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    let (code, text) = first(&judgement);
    assert_eq!(code, "relabelled");
    insta::assert_snapshot!(text, @"this change edits the labels of 4 of 13 queries; by the labels of the base the verdict is pass, and by its own it is regression");
    assert_eq!(judgement["retrieval"]["labels"], "head");
}

#[test]
fn another_question_is_another_item_and_is_compared_with_none() {
    let project = project(&by_chunk, DETERMINISTIC);
    base(&project, &|at| ranked(at, Some(1)));
    let golden: Vec<Value> = (0..QUERIES)
        .map(|at| {
            let mut entry = by_chunk(at);
            entry["id"] = json!(super::name(at));
            let more = if at == 0 { ", put otherwise" } else { "" };
            entry["query"] = json!(format!("question {at}{more}"));
            entry
        })
        .collect();
    project.write("golden.yaml", &json!(golden).to_string());
    let (said, judgement) = gate(&project, 0);
    assert_eq!(
        judgement["retrieval"]["not_compared"],
        json!(["q00"]),
        "{}",
        said.stdout
    );
    assert!(judgement["retrieval"].get("relabelled").is_none());
}

#[test]
fn what_is_asked_of_an_answer_is_edited_openly_where_the_answer_is_another_one() {
    let says = |price: &'static str| {
        move |at: usize| {
            let mut entry = by_chunk(at);
            entry["must_contain"] = json!([price]);
            entry
        }
    };
    let answers_of = |price: &'static str| {
        move |at: usize| {
            let mut answer = ranked(at, Some(1));
            let citations = json!([{ "doc_id": format!("d{at}") }]);
            answer["answer"] = json!({ "text": price, "grounded": true, "citations": citations });
            answer
        }
    };
    let project = project(&says("fifty"), DETERMINISTIC);
    base(&project, &answers_of("fifty cents"));
    write_golden(&project, QUERIES, &says("five"));
    answers(&project, QUERIES, &answers_of("five cents"));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let reasons = judgement["reasons"].as_array().expect("a list");
    let unjudged = reasons
        .iter()
        .find(|reason| reason["text"].to_string().contains("`must_contain`"));
    insta::assert_snapshot!(unjudged.expect("it is told")["text"].as_str().expect("a text"), @"the change edits `must_contain` or `forbidden` of 13 queries (q00, q01, q02 and 10 more), whose answers are others too: whether these held what was asked of them before is not known");

    // The same answers, of which something else is asked, have lost nothing.
    answers(&project, QUERIES, &answers_of("fifty cents"));
    write_golden(&project, QUERIES, &says("cents"));
    let (said, judgement) = gate(&project, 0);
    assert_ne!(judgement["verdict"], "inconclusive", "{}", said.stdout);
}
