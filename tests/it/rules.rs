//! Changes that edit the rules they are judged by, and pass by their own alone.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, pushed, save, tells, verdict};

/// What a change writes into its configuration to pass, and with which word it then does.
const TRICKS: [(&str, &str, &str); 12] = [
    ("a larger limit", "gate: {max_drop: 2}", "pass"),
    (
        "a larger limit of one metric",
        "gate: {metrics: {evidence.following.rule: {max_drop: 2}}, on_broken_case: warn}",
        "pass",
    ),
    (
        "the metrics are shown only",
        "gate: {metrics: {evidence.following.rule: {policy: info}, evidence.invariance: {policy: info}}}",
        "unmeasured",
    ),
    (
        "the metric warns",
        "gate: {metrics: {evidence.following.rule: {policy: warn}}, on_broken_case: warn}",
        "pass",
    ),
    ("no baseline", "baseline: {from: \"off\"}", "no_baseline"),
    (
        "another branch",
        "baseline: {branch: nowhere}",
        "no_baseline",
    ),
    ("another source", "baseline: {from: tree}", "no_baseline"),
    (
        "another place",
        "baseline: {from: tree, path: nowhere.json}",
        "no_baseline",
    ),
    (
        "no re-runs, and doubt warns",
        "gate: {on_suspected: warn, budget: {head_repeats: 1}, on_broken_case: warn}",
        "inconclusive",
    ),
    (
        "another name, and no regard for what other names have",
        "name: other\nbaseline: {branch: nowhere}",
        "no_baseline",
    ),
    (
        "what cannot be reached warns",
        "baseline: {from: artifact, unreachable: warn}",
        "no_baseline",
    ),
    (
        "nothing fails",
        "gate: {max_drop: 2, on_unmeasured: warn, on_broken_case: warn}",
        "pass",
    ),
];

#[test]
fn a_drop_that_passes_by_rules_that_the_change_made_says_so_in_the_first_line() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    for (at, (name, rules, word)) in TRICKS.iter().enumerate() {
        git(project.root(), &["checkout", "--quiet", "main"]);
        branch(&project, &format!("trick-{at}"), CONSTANT);
        project.config(&format!("{rules}\n"));
        commit(&project, name);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(&project, &said);
        assert_eq!(judgement["verdict"], json!(word), "{name}: {}", said.stdout);
        assert_eq!(judgement["passed"], json!(true), "{name}");
        let first = &judgement["reasons"][0];
        assert_eq!(first["code"], json!("own_rules"), "{name}: {first}");
        let text = first["text"].as_str().expect("a text");
        insta::allow_duplicates! {
            insta::assert_snapshot!(redacted(text), @"passes under rules that this change made; by the rules of the base [HASH] the verdict is regression: `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now");
        }
        let page = project.read("kelvin/gate.md");
        insta::allow_duplicates! {
            insta::assert_snapshot!(page.lines().next().and_then(|line| line.split(',').next()).unwrap_or_default(), @"### ⚠️ Kelvin: passes under rules that this change made");
        }
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]).split(',').next().unwrap_or_default(), @"Gate         passes under rules that this change made");
        }
    }
}

#[test]
fn a_drop_that_passes_since_everything_moves_to_another_folder_says_whose_rules_it_passes() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "moved", CONSTANT);
    project.config("gate: {max_drop: 2}\n");
    fs::create_dir(project.path("sub")).expect("a folder");
    for name in ["kelvin.yaml", "pipeline.sh", "cases"] {
        fs::rename(project.path(name), project.path(&format!("sub/{name}"))).expect("moved");
    }
    commit(&project, "a folder of its own");
    let said = project
        .kelvin(&["gate", "--config", "sub/kelvin.yaml"])
        .expect(0);
    let judgement = project.json("sub/kelvin/gate.json");
    assert!(judgement["base"].is_object(), "{}", said.stdout);
    let first = &judgement["reasons"][0];
    assert_eq!(first["code"], json!("own_rules"), "{first}");
    let text = first["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(text), @"the base [HASH] has no `kelvin.yaml`: the gate is the one that this change brings");
    let page = project.read("sub/kelvin/gate.md");
    let head = page.lines().next().expect("a line");
    insta::assert_snapshot!(head, @"### ⚠️ Kelvin: passes under rules that this change made, 4 of 4 cases are answered otherwise");
}

#[test]
fn an_edit_of_the_rules_that_lets_nothing_pass_is_told_as_an_edit_alone() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "same", &format!("# said again\n{GROUNDED}"));
    project.config("gate: {max_drop: 0.2}\n");
    commit(&project, "a larger limit that nothing needs");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"));
    assert_eq!(judgement["reasons"][0]["code"], json!("edits_rules"));
    assert!(!tells(&judgement, "own_rules"), "{}", said.stdout);
    // Stricter rules that fail the change fail it, and nobody asks those of before.
    project.write("pipeline.sh", CONSTANT);
    project.config("gate: {max_drop: 0.01}\n");
    commit(&project, "stricter, and worse");
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"));
    assert_eq!(judgement["reasons"][0]["code"], json!("edits_rules"));
    // What the command line says is no part of the change.
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    branch(&project, "by-hand", CONSTANT);
    let said = project.kelvin(&["gate", "--max-drop", "2"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_ne!(judgement["reasons"][0]["code"], json!("own_rules"));
}

#[test]
fn a_rule_of_the_gate_for_a_metric_that_no_run_can_have_is_refused_before_a_call() {
    let project = Project::new(GROUNDED);
    let config = project.read("kelvin.yaml");
    let lint = |rule: &str| {
        project.write(
            "kelvin.yaml",
            &format!("{config}\ngate: {{metrics: {{{rule}: {{max_drop: 0.1}}}}}}\n"),
        );
        project.kelvin(&["lint"])
    };
    let said = lint("evidence.invarience").expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`evidence.invariance`"]), @"  = help: did you mean `evidence.invariance`?");
    let said = lint("evidence.speed").expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["= "]), @"  = help: its metrics are: agrees_under_rewrites, agrees_with_labels, content_effect, donor_contrast, drop, failure_rate, following, hedge_invariance, invariance, invariance_case_mean, invariance_corrected, invariance_in_turn, kelvin_score, kelvin_score_corrected, mechanical_sensitivity, moved_at, moved_in_turn, noise_floor, position, sensitivity, sensitivity_case_mean, sensitivity_condition, sensitivity_co…");
    // Whether there is a figure of that part shows after a run.
    lint("evidence.following.rule").expect(0);

    // Every metric that a run has may have a rule: with a quality score and further kinds, and in the other probes.
    let more = "noise_floor: {replications: 2}\nperturbations: {enable: [drop, position, swap_condition, numeric_magnitude, \
                hedge_injection]}\nquality: {required_outputs: [/decision], live_runs: 1, groups: {all: ['*']}}\n";
    may_have_rules(&project, &format!("{config}\n{more}"));
    for example in ["retrieval", "grading"] {
        let project = Project::new("");
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples")
            .join(example);
        for file in fs::read_dir(from).expect("listed") {
            let file = file.expect("listed");
            fs::copy(file.path(), project.root().join(file.file_name())).expect("copied");
        }
        let config = project.read("kelvin.yaml");
        let (config, _) = config.split_once("\ngate:").unwrap_or((&config, ""));
        may_have_rules(&project, config);
    }
}

/// That a rule for each metric of a run is none of nothing.
#[track_caller]
fn may_have_rules(project: &Project, config: &str) {
    project.write("kelvin.yaml", config);
    project.kelvin(&["check"]);
    let report = project.json("kelvin/report.json");
    let metrics = report["metrics"].as_object().expect("metrics");
    assert!(metrics.len() > 4, "{metrics:#?}");
    let rules: String = metrics
        .keys()
        .map(|id| format!("    \"{id}\": {{max_drop: 0.1}}\n"))
        .collect();
    project.write(
        "kelvin.yaml",
        &format!("{config}\ngate:\n  metrics:\n{rules}"),
    );
    project.kelvin(&["lint"]).expect(0);
}
