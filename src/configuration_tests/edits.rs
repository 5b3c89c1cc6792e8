//! The edits that a change makes, between two configurations with the keys of every kind.

use std::collections::BTreeMap;
use std::path::Path;

use crate::registry::Registry;
use kelvin_run::config::{Edited, edits, is_same_data};

const RUN: &str = "run: ./run.sh {input} {output}\ncases: cases\ndecision_field: decision\n\
                   governing_types: [rule]\n";

fn edits_between(base: &str, head: &str) -> BTreeMap<Edited, Vec<String>> {
    let read = |more: &str| {
        let text = format!("{RUN}{more}\n");
        Registry::shipped()
            .configured_by(&text, Path::new("kelvin.yaml"))
            .expect("a configuration")
    };
    let edits = edits(&read(base), &read(head));
    let edits = edits.expect("every setting is JSON").into_iter();
    edits
        .map(|(edited, edits)| (edited, edits.iter().map(ToString::to_string).collect()))
        .collect()
}

#[test]
fn what_is_the_same_said_otherwise_is_no_edit() {
    assert!(edits_between("", "gate: {max_drop: 0.05}").is_empty());
    assert!(edits_between("gate: {max_drop: 0.1}", "jobs: 3\ngate:\n  max_drop: 0.10").is_empty());
}

#[test]
fn every_setting_that_differs_is_told_with_both_values() {
    let edits = edits_between(
        "baseline: {require: true}",
        "gate: {max_drop: 0.5, metrics: {evidence.sensitivity: {policy: info}}}\n\
         baseline: {from: 'off'}",
    );
    assert_eq!(
        edits[&Edited::Gate],
        [
            "max_drop 0.05 → 0.5",
            "metrics.evidence.sensitivity.policy unset → info"
        ]
    );
    assert_eq!(
        edits[&Edited::Baseline],
        ["from auto → off", "require true → false"]
    );
}

#[test]
fn what_is_measured_is_told_and_how_it_is_run_is_not() {
    let edits = edits_between(
        "jobs: 1\ntimeout_s: 9\nscorer: exact",
        "jobs: 2\nretry: {max_attempts: 3}\nrepeats: 5\nvariants: {swap: all}\n\
         scorer: {ordinal: [low, high]}\nfingerprint: ['*.py']",
    );
    assert_eq!(edits.keys().collect::<Vec<_>>(), [&Edited::Measured]);
    assert_eq!(
        edits[&Edited::Measured],
        [
            "fingerprint [] → [\"*.py\"]",
            "repeats 1 → 5",
            "scorer exact → unset",
            "scorer.ordinal unset → [\"low\",\"high\"]",
            "variants.swap 3 → all"
        ]
    );
    let text = |types: &str| RUN.replace("[rule]", types);
    let (base, head) = (text("[release_rule]"), text("['Release  Rule']"));
    let read = |text: &str| {
        Registry::shipped()
            .configured_by(text, Path::new("kelvin.yaml"))
            .expect("a configuration")
    };
    let none =
        kelvin_run::config::edits(&read(&base), &read(&head)).expect("every setting is JSON");
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn a_check_that_is_new_or_gone_is_told_by_its_name() {
    let check = |name: &str, value: &str| {
        format!(
            "  {name}: {{description: It says {value}, check: {{type: contains, value: {value}}}}}\n"
        )
    };
    let begun = "scenarios: tasks.jsonl\ninvariants:\n";
    let one = format!("{begun}{}", check("one", "ok"));
    let two = format!("{one}{}", check("two", "no"));
    let measured = |base: &str, head: &str| edits_between(base, head)[&Edited::Measured].clone();
    assert_eq!(measured(&one, &two), ["invariants.two unset → set"]);
    assert_eq!(measured(&two, &one), ["invariants.two set → unset"]);
    let other = format!("{begun}{}", check("one", "nothing"));
    let ought = [
        "invariants.one.check.value ok → nothing",
        "invariants.one.description It says ok → It says nothing",
    ];
    assert_eq!(measured(&one, &other), ought);
    assert!(measured("", &one).contains(&"invariants unset → set".to_owned()));
}

#[test]
fn the_layout_of_a_file_is_not_its_data() {
    for (base, head, is_same) in [
        (
            "- {id: a, query: q}\n",
            "# ours\n- id: a\n  query: 'q'\n",
            true,
        ),
        ("- {id: a, query: q}\n", "- {id: a, query: other}\n", false),
        ("{\"a\": 1}\n{\"b\": 2}\n", "{\"a\":1}\n\n{\"b\":2}", true),
        ("{\"a\": 1}\n{\"b\": 2}\n", "{\"a\":1}\n{\"b\":3}", false),
        ("{", "}", false),
    ] {
        assert_eq!(
            is_same_data(base.as_bytes(), head.as_bytes()),
            is_same,
            "{head}"
        );
    }
    assert!(!is_same_data(b"\xff", b"\xfe"));
}
