//! What is refused, in which words, and at which place.

use serde_json::{Value, json};

use super::tests_only::{opened, try_open};
use super::*;
use crate::config::yaml;

fn refused(settings: &Value) -> String {
    try_open(settings).expect_err("it is refused")
}

#[test]
fn every_type_is_opened() {
    let id = |settings: &Value| opened(settings).grader_id();
    assert_eq!(id(&json!({ "type": "exact_match" })), "exact-match/ws-v1");
    let vectors = id(&json!({ "type": "embedding_similarity", "model": "vectors" }));
    assert!(
        vectors.starts_with("embedding-similarity/cosine-v1/the-vectors-"),
        "{vectors}"
    );
    let llm = id(&json!({ "type": "llm", "model": "chat", "mode": "pairwise" }));
    assert!(llm.starts_with("llm/pairwise-v1-"), "{llm}");
}

#[test]
fn a_key_that_the_judge_does_not_read_is_refused() {
    let mut told = Vec::new();
    for settings in [
        json!({ "type": "exact_match", "votes": 3 }),
        json!({ "type": "exact_match", "model": "chat" }),
        json!({ "type": "llm", "model": "chat", "normalize": "none" }),
        json!({ "type": "embedding_similarity", "model": "vectors", "swap_order": true }),
        json!({ "type": "panel", "temperature": 0, "panel": [
                { "type": "exact_match" }, { "type": "exact_match", "normalize": "none" }] }),
        json!({ "type": "exact_match", "panel": [{ "type": "exact_match" }] }),
    ] {
        let found = refused(&settings);
        told.push(found.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `type: exact_match` has no `votes` (it is a key of `llm`: take it away, or choose another `type`)
    `type: exact_match` has no `model` (it is a key of `llm` and `embedding_similarity`: take it away, or choose another `type`)
    `type: llm` has no `normalize` (it is a key of `exact_match`: take it away, or choose another `type`)
    `type: embedding_similarity` has no `swap_order` (it is a key of `llm`: take it away, or choose another `type`)
    `type: panel` has no `temperature` (it is a key of `llm`: take it away, or choose another `type`)
    only `type: panel` has a `panel` (write `type: panel`, or take the list away)
    ");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let mut told = Vec::new();
    for more in [
        json!({ "choices": { "A": 1 } }),
        json!({ "choices": { "A": 1, "B": 1 } }),
        json!({ "choices": { "A": 1.5, "B": 0 } }),
        json!({ "choices": { " A": 1, "B": 0 } }),
        json!({ "choices": { "A": 1, "B": 0 }, "mode": "pairwise" }),
        json!({ "mode": "criteria", "swap_order": true }),
        json!({ "criteria": "  " }),
        json!({ "reducer": "median" }),
        json!({ "votes": 3, "reducer": "majority" }),
    ] {
        let mut settings = json!({ "type": "llm", "model": "chat" });
        let entries = settings.as_object_mut().expect("an object");
        entries.extend(more.as_object().expect("an object").clone());
        let found = refused(&settings);
        told.push(found.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    a single choice is none (add another one)
    all choices have the same score, so that every response gets it (give them different scores)
    the score of `A` is 1.5, not a number from 0 to 1 (write a number from 0 to 1)
    the choice ` A` has white space around it, or is empty (write a plain word)
    in the mode `pairwise` the choices are given: one of the two, or a tie (take `choices` away, or choose another `mode`)
    in the mode `criteria` there are no two texts to swap (take `swap_order` away, or choose another `mode`)
    the criteria are blank (write them, or take the key away)
    there is one vote only (add `votes`, or take `reducer` away)
    a majority needs scores that can agree, and numbers from 0 to 1 rarely do (write `median`, or use judges with `choices`, `mode: pairwise` or `exact_match`)
    ");
    insta::assert_snapshot!(refused(&json!({ "type": "llm" })), @"`type: llm` needs a `model` (name one that is declared under `models`)");
    insta::assert_snapshot!(refused(&json!({ "type": "embedding_similarity" })), @"`type: embedding_similarity` needs a `model` (name one that is declared under `models`)");
    let unknown = refused(&json!({ "type": "llm", "model": "nobody" }));
    insta::assert_snapshot!(unknown, @"`models` declares no model `nobody`");
    assert!(try_open(&json!({ "type": "oracle" })).is_err());
    assert!(try_open(&json!({ "type": "llm", "model": "chat", "votes": 0 })).is_err());
}

#[test]
fn a_panel_has_several_different_judges() {
    let panel = |members: Value, reducer: &str| json!({ "type": "panel", "panel": members, "reducer": reducer });
    let exact = json!({ "type": "exact_match" });
    let llm = json!({ "type": "llm", "model": "chat" });
    insta::assert_snapshot!(refused(&panel(json!([exact]), "mean")), @"a panel needs at least 2 judges (list them under `panel`, each with its `type`)");
    assert!(refused(&panel(json!([exact, exact]), "mean")).contains("use `votes`"));
    let nested = json!([exact, { "type": "panel" }]);
    insta::assert_snapshot!(refused(&panel(nested, "mean")), @"judge 2 of the panel: a panel is no member of a panel (list the judges themselves)");
    insta::assert_snapshot!(refused(&panel(json!([exact, llm]), "majority")), @"a majority needs scores that can agree, and numbers from 0 to 1 rarely do (write `median`, or use judges with `choices`, `mode: pairwise` or `exact_match`)");
    let pairwise = json!({ "type": "llm", "model": "chat", "mode": "pairwise" });
    assert!(try_open(&panel(json!([exact, pairwise]), "majority")).is_ok());
    let broken = json!([exact, { "type": "llm", "model": "chat", "choices": { "A": 1 } }]);
    insta::assert_snapshot!(refused(&panel(broken, "mean")), @"judge 2 of the panel: a single choice is none (add another one)");
}

#[test]
fn a_problem_stands_at_the_key_that_it_is_about() {
    let problems = |text: &str| {
        let node = yaml::parse(text).expect("it is YAML");
        let found = JudgeSettings::problems(&node);
        let shown = found.into_iter();
        shown
            .map(|problem| (text[problem.at].to_owned(), problem.message))
            .collect::<Vec<_>>()
    };
    let found = problems("type: exact_match\nvotes: 3\nswap_order: true\n");
    let places: Vec<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(places, ["3", "true"]);
    let found = problems(
        "type: panel\npanel:\n- type: exact_match\n- type: llm\n  model: m\n  reducer: median\n",
    );
    assert_eq!((found.len(), &*found[0].0), (1, "median"));
    insta::assert_snapshot!(found[0].1, @"there is one vote only");
    assert!(problems("type: llm\nmodel: m\n").is_empty());
    // A value of a wrong type is told by the schema.
    assert!(problems("type: 3\n").is_empty());
}

#[test]
fn criteria_that_nobody_has_written_are_known_before_the_run() {
    let lacks = |settings: Value| {
        let settings: JudgeSettings = serde_json::from_value(settings).expect("it fits");
        settings.lacks_criteria()
    };
    let llm = json!({ "type": "llm", "model": "m", "mode": "criteria" });
    assert!(lacks(llm.clone()));
    assert!(lacks(
        json!({ "type": "panel", "panel": [llm, { "type": "exact_match" }] })
    ));
    assert!(!lacks(
        json!({ "type": "llm", "model": "m", "mode": "criteria", "criteria": "c" })
    ));
    assert!(!lacks(json!({ "type": "llm", "model": "m" })));
}

#[test]
fn settings_are_written_as_they_were_read() {
    for settings in [
        json!({ "type": "exact_match", "normalize": "casefold" }),
        json!({ "type": "llm", "model": "m", "choices": { "A": 1.0, "B": 0.5 }, "votes": 3 }),
        json!({ "type": "panel", "reducer": "median", "panel": [
            { "type": "exact_match" }, { "type": "embedding_similarity", "model": "m" }] }),
    ] {
        let read: JudgeSettings = serde_json::from_value(settings.clone()).expect("it fits");
        assert_eq!(json!(read), settings);
    }
}
