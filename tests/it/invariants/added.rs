//! Changes that bring an invariant: the base was never asked about it.

use super::gate::{gate, measured};
use super::*;

/// An invariant that no answer of the agent fulfils.
const POLITE: &str = "  is_polite:
    description: It says please
    gate: true
    check: {type: contains, value: please}
";

/// A branch that adds invariants to those of the base.
fn with_added(rules: &str, added: &str) -> (tempfile::TempDir, Project) {
    let project = project(AGENT, 4, &format!("{rules}{INVARIANTS}"));
    let remote = measured(&project);
    configure(&project, &format!("{rules}{INVARIANTS}{added}"));
    commit(&project, "another invariant");
    (remote, project)
}

#[test]
fn an_invariant_that_never_held_is_told_and_neither_a_loss_nor_a_plain_pass() {
    let mut sentences = Vec::new();
    for rules in ["", "baseline: {compute: true}\n"] {
        let (_remote, project) = with_added(rules, POLITE);
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(0), "{}", said.stdout);
        assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
        let told = judgement["reasons"].as_array().expect("reasons").iter();
        let told = told.filter_map(|reason| reason["text"].as_str());
        let told = told.filter(|text| text.contains("new invariant"));
        sentences.extend(told.map(str::to_owned));
        let composite = &judgement["metrics"]["checks.composite"];
        assert_eq!(
            (&composite["base"], &composite["head"]),
            (&json!(1.0), &json!(1.0))
        );
        assert_eq!(
            judgement["metrics"]["checks.is_polite"]["verdict"],
            "no_baseline"
        );
        // The report has what the change declares.
        assert_eq!(figure(&project.report(), "composite"), json!(0.0));
        assert!(!said.stdout.contains("broke"), "{}", said.stdout);
        assert!(!said.stdout.contains("fell"), "{}", said.stdout);
    }
    // With a stored base, and with one that the gate measures.
    assert_eq!(sentences.len(), 2);
    sentences.dedup();
    insta::assert_snapshot!(sentences.join("\n"), @"the new invariant `is_polite` (a gate) does not hold in 4 of 4 scenarios; in `s00`: fails `is_polite` (It says please): the output does not contain `please`; the base was never asked about it, so the other figures are compared without it");
}

#[test]
fn an_invariant_that_holds_from_the_start_leaves_nothing_to_warn_of() {
    let (_remote, project) = with_added(
        "",
        "  names_room: {description: It names the room, check: {type: contains, value: room}}\n",
    );
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert!(
        !said.stdout.contains("the new invariant"),
        "{}",
        said.stdout
    );
}

#[test]
fn beside_a_new_invariant_a_loss_by_those_of_the_base_is_red_and_names_them() {
    let (_remote, project) = with_added("", POLITE);
    project.write("pipeline.sh", &AGENT.replace("done: room", "room"));
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    let says_done = &judgement["metrics"]["checks.says_done"];
    assert_eq!(says_done["verdict"], "regression", "{}", said.stdout);
}

#[test]
fn a_new_name_for_an_invariant_hides_no_loss() {
    let project = project(AGENT, 4, INVARIANTS);
    let _remote = measured(&project);
    let renamed = INVARIANTS
        .replace("says_done:", "says_so:")
        .replace("'done:'", "'never'");
    configure(&project, &renamed);
    project.write("pipeline.sh", &AGENT.replace("done: room", "room"));
    commit(&project, "worse, by another name");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert!(
        !said.stdout.contains("the new invariant"),
        "{}",
        said.stdout
    );
    assert_eq!(judgement["passed"], false);
}

#[test]
fn a_least_value_is_demanded_of_the_report_with_its_new_invariants() {
    let rules = "gate: {metrics: {checks.composite: {min: 0.9}}}\n";
    let (_remote, project) = with_added(rules, POLITE);
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let composite = &judgement["metrics"]["checks.composite"];
    assert_eq!(
        (&composite["verdict"], &composite["head"]),
        (&json!("regression"), &json!(0.0))
    );
    let reasons = judgement["reasons"].as_array().expect("reasons").iter();
    let failing = reasons.filter(|reason| reason["effect"] == "fail");
    let texts: Vec<&str> = failing
        .filter_map(|reason| reason["text"].as_str())
        .collect();
    insta::assert_snapshot!(texts.join("\n"), @"`checks.composite` is 0.0000, below the 0.9000 that the configuration allows");
}
