//! A check run that always ends.

use serde_json::Value;

use super::super::{Conclusion, OpenCheckRun, ShownCheckRun};
use super::*;
use crate::fake::{Fault, TOKEN};
use crate::publish::{Annotation, Level};
use crate::tests::client;
use kelvin_gate::Judgement;
use kelvin_gate::policy::Effect;
use kelvin_gate::verdict::{Verdict, Word};

fn shown(annotations: usize) -> ShownCheckRun {
    ShownCheckRun {
        title: "regression".to_owned(),
        summary: "summary".to_owned(),
        text: None,
        annotations: (0..annotations)
            .map(|at| Annotation {
                level: Level::Warning,
                path: format!("cases/{at}.md"),
                line: at,
                title: "moved".to_owned(),
                message: "the decision moved".to_owned(),
            })
            .collect(),
        request: None,
    }
}

fn only(server: &Server) -> Value {
    let state = server.state();
    assert_eq!(state.check_runs.len(), 1);
    state.check_runs.values().next().expect("one").clone()
}

#[test]
fn a_check_run_is_in_progress_until_it_is_finished() {
    for (conclusion, name) in [
        (Conclusion::Success, "success"),
        (Conclusion::Failure, "failure"),
        (Conclusion::Neutral, "neutral"),
    ] {
        let server = Server::start();
        let (client, _) = client(&server, TOKEN);
        let check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened");
        assert_eq!(only(&server)["status"], "in_progress");
        assert_eq!(only(&server)["head_sha"], HEAD);
        assert!(check.url().is_some());
        check.finish(conclusion, &shown(0)).expect("finished");
        assert_eq!(only(&server)["status"], "completed");
        assert_eq!(only(&server)["conclusion"], name);
        assert_eq!(only(&server)["output"]["title"], "regression");
    }
}

#[test]
fn the_conclusion_is_that_of_the_verdict() {
    let verdict = Verdict::without_base(Word::NoBaseline, Effect::Fail, "none");
    let mut judgement = Judgement::without_base(verdict, Vec::new());
    assert_eq!(Conclusion::of(&judgement), Conclusion::Failure);
    judgement.verdict.let_pass();
    assert_eq!(Conclusion::of(&judgement), Conclusion::Neutral);
    judgement.verdict.verdict = Word::Pass;
    assert_eq!(Conclusion::of(&judgement), Conclusion::Success);
    judgement.verdict.verdict = Word::Regression;
    assert_eq!(Conclusion::of(&judgement), Conclusion::Neutral);
}

#[test]
fn annotations_go_in_batches_of_fifty_and_in_their_order() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened");
    check
        .finish(Conclusion::Failure, &shown(120))
        .expect("finished");
    let state = server.state();
    let annotations = state.annotations.values().next().expect("some");
    assert_eq!(annotations.len(), 120);
    assert_eq!(annotations[119]["path"], "cases/119.md");
    assert_eq!(annotations[0]["start_line"], 1, "there is no line 0");
    assert_eq!(state.count("PATCH", "/check-runs"), 4);
}

#[test]
fn texts_over_githubs_limit_are_cut_and_the_check_is_closed() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened");
    let mut shown = shown(1);
    shown.summary = "ä line\n".repeat(30_000);
    shown.text = Some(shown.summary.clone());
    shown.title = "t".repeat(1_000);
    shown.annotations[0].message = "é".repeat(100_000);
    check.finish(Conclusion::Success, &shown).expect("finished");
    assert_eq!(only(&server)["conclusion"], "success");
}

#[test]
fn a_check_run_that_is_dropped_is_closed_as_failed() {
    let server = Server::start();
    let (client, waits) = client(&server, TOKEN);
    drop(OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened"));
    assert_eq!(only(&server)["conclusion"], "failure");
    assert_eq!(only(&server)["output"]["title"], "Ended without a verdict");
    // In a panic too, and without waiting for anything.
    server.state().check_runs.clear();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/2").expect("opened");
        panic!("on purpose");
    }));
    assert!(result.is_err());
    assert_eq!(only(&server)["conclusion"], "failure");
    assert!(waits.lock().expect("no panic").is_empty());
}

#[test]
fn annotations_that_are_refused_do_not_keep_the_check_open() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened");
    server
        .state()
        .faults
        .push_back(Fault::status("PATCH", "/check-runs", 1, 422));
    let error = check
        .finish(Conclusion::Success, &shown(3))
        .expect_err("they are missing");
    assert_eq!(error.status(), Some(422));
    assert_eq!(only(&server)["conclusion"], "success");
}

#[test]
fn a_check_run_whose_answer_was_lost_is_found_and_not_opened_twice() {
    for effective in [true, false] {
        let server = Server::start();
        let fault = Fault::status("POST", "/check-runs", 1, 502);
        server
            .state()
            .faults
            .push_back(Fault { effective, ..fault });
        let (client, _) = client(&server, TOKEN);
        let check = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1").expect("opened");
        check
            .finish(Conclusion::Success, &shown(0))
            .expect("finished");
        assert_eq!(only(&server)["conclusion"], "success");
    }
}

#[test]
fn a_token_that_may_not_write_checks_is_told_what_to_add() {
    let server = Server::start();
    server.state().denied.insert("checks");
    let (client, _) = client(&server, TOKEN);
    let error = OpenCheckRun::open(&client, "Kelvin", HEAD, "7/1")
        .map(drop)
        .expect_err("refused");
    assert!(error.to_string().contains("checks: write"), "{error}");
}
