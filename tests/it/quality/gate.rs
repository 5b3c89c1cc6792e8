//! The quality score at the gate, in real repositories, with changes whose right verdict is known.

use super::*;
use crate::project::{SUMMED, beside, rules};

const GATED: &str =
    "gate: {metrics: {quality.quality_score: {policy: gate}}, budget: {calls: 0}}\n";

/// A repository on a branch whose base has been measured and saved, with its remote.
fn repository(script: &str, cases: usize, more: &str) -> (tempfile::TempDir, Project) {
    let project = project(script, cases, more);
    let (remote, url) = bare();
    project.write(".gitignore", "/kelvin/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    git(root, &["checkout", "--quiet", "-b", "change"]);
    (remote, project)
}

fn gate(project: &Project) -> (Said, Value) {
    commit(project, "change");
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(project, &said);
    (said, judgement)
}

fn of_score(judgement: &Value) -> &Value {
    &judgement["metrics"]["quality.quality_score"]
}

#[test]
fn qlt_29_a_mean_of_0_84_that_falls_to_0_7733_is_flagged_and_one_that_falls_to_0_7967_is_not() {
    let threshold = format!(
        "{QUALITY}gate: {{rule: threshold, metrics: {{quality.quality_score: {{policy: gate}}}}}}\n"
    );
    let (_remote, project) = repository(&pipeline([36, 36, 36]), 1, &threshold);
    project.write("pipeline.sh", &pipeline([12, 0, 16]));
    let (said, judgement) = gate(&project);
    let found = of_score(&judgement);
    assert_eq!(
        (said.code, &found["verdict"]),
        (Some(3), &json!("regression")),
        "{judgement:#}"
    );
    assert!(near(&found["base"], 0.84) && near(&found["head"], (0.78 + 0.75 + 0.79) / 3.0));
    assert!(near(&found["drop"], 0.84 - (0.78 + 0.75 + 0.79) / 3.0));
    assert!(said.stdout.contains("0.7733"), "{}", said.stdout);

    project.write("pipeline.sh", &pipeline([20, 16, 20]));
    let (said, judgement) = gate(&project);
    let found = of_score(&judgement);
    assert_eq!(
        (said.code, &found["verdict"]),
        (Some(0), &json!("pass")),
        "{judgement:#}"
    );
    assert!(near(&found["head"], (0.80 + 0.79 + 0.80) / 3.0));

    // A drop of exactly 0.05 in decimals passes: 0.84 to 0.79.
    project.write("pipeline.sh", &pipeline([16, 16, 16]));
    assert_eq!(gate(&project).0.code, Some(0));
}

#[test]
fn qlt_30_an_output_that_loses_what_it_must_have_is_flagged_with_its_case_and_what_was_lost() {
    let (_remote, project) = repository(&pipeline([36, 36, 36]), 16, QUALITY);
    // Other words of an equal shape are no matter of quality.
    let other = pipeline([36, 36, 36])
        .replace("it fits", "there is room")
        .replace("go", "do it");
    project.write("pipeline.sh", &other);
    let (said, judgement) = gate(&project);
    assert_eq!(
        (said.code, &of_score(&judgement)["verdict"]),
        (Some(0), &json!("pass")),
        "{judgement:#}"
    );

    let lost = "case $KELVIN_SCENARIO in s03|s07|s11|s12|s13|s14|s15) printf '{\"decision\": \"go\", \"usage\": {\"input\": 64, \
                \"output\": 36}}'; exit;; esac\n";
    project.write("pipeline.sh", &format!("{lost}{}", pipeline([36, 36, 36])));
    let (said, judgement) = gate(&project);
    assert_eq!(
        (said.code, &of_score(&judgement)["verdict"]),
        (Some(3), &json!("regression")),
        "{judgement:#}"
    );
    let reasons = judgement["reasons"].to_string();
    for part in [
        "quality.quality_score",
        "s03",
        "`/reasons` is missing",
        "is poor",
    ] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    let comment = project.read("kelvin/gate.md");
    assert!(
        comment.contains("/reasons") && comment.contains("s03"),
        "{comment}"
    );
}

#[test]
fn qlt_14_a_crash_is_worse_and_not_better() {
    // On the base one case is poor; on the head it crashes.
    let poor = |script: &str| {
        format!(
            "case $KELVIN_SCENARIO in s00) {script};; esac\n{}",
            pipeline([36, 36, 36])
        )
    };
    let base =
        poor("printf '{\"decision\": \"go\", \"usage\": {\"input\": 64, \"output\": 36}}'; exit");
    let (_remote, project) = repository(&base, 16, QUALITY);
    project.write("pipeline.sh", &poor("exit 9"));
    let (_, judgement) = gate(&project);
    let found = of_score(&judgement);
    assert!(found["drop"].as_f64() > Some(0.0), "{found:#}");
    assert!(found["head"].as_f64() < found["base"].as_f64());
}

#[test]
fn qlt_12_a_change_that_hides_what_it_uses_is_unmeasured_and_does_not_pass() {
    let (_remote, project) = repository(&pipeline([36, 36, 36]), 4, &format!("{QUALITY}{GATED}"));
    // The usage of all runs is hidden, and then of one run of three.
    let hidden = "printf '{\"decision\": \"go\", \"reasons\": [1]}'\n".to_owned();
    let sometimes = format!(
        "[ $KELVIN_REPEAT = 2 ] && {{ {hidden}exit; }}\n{}",
        pipeline([0, 0, 0])
    );
    for script in [hidden.clone(), sometimes] {
        project.write("pipeline.sh", &script);
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(3), "{judgement:#}");
        assert_eq!(
            of_score(&judgement)["verdict"],
            json!("unmeasured"),
            "{judgement:#}"
        );
    }
}

#[test]
fn qlt_31_a_change_that_edits_what_is_measured_is_told_so_before_the_verdict() {
    let schema = r#"{"type": "object", "required": ["decision", "reasons"]}"#;
    let quality = "quality:\n  output_schema: schema.json\n  required_outputs: [/decision, /reasons]\n  \
                   usage: {input: /usage/input, output: /usage/output}\n";
    let base = |more: &str| format!("{quality}{more}{GATED}");
    let project_of = || {
        let project = project(&pipeline([36, 36, 36]), 1, &base(""));
        project.write("schema.json", schema);
        project
    };
    let (_remote, project) = {
        let project = project_of();
        let (remote, url) = bare();
        project.write(".gitignore", "/kelvin/\n");
        let root = project.root();
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        git(root, &["remote", "add", "origin", &url]);
        commit(&project, "base");
        git(root, &["push", "--quiet", "origin", "main"]);
        project.kelvin(&["check"]).expect(0);
        project.kelvin(&["baseline", "save"]).expect(0);
        git(root, &["checkout", "--quiet", "-b", "change"]);
        (remote, project)
    };
    let worse = "printf '{\"decision\": \"go\", \"usage\": {\"input\": 64, \"output\": 36}}'\n";
    project.write("pipeline.sh", worse);
    // What the settings of the base say of it comes before that.
    let first = |judgement: &Value| {
        let reasons = judgement["reasons"].as_array().expect("a list");
        let mut reasons = reasons.iter();
        let told = reasons.find(|reason| reason["code"] != "measured_as_base");
        told.expect("a reason").clone()
    };
    for (edit, told) in [
        (
            base("").replace("/decision, /reasons", "/decision"),
            "quality.required_outputs",
        ),
        (
            base("  weights: {conformance: 0, completeness: 0, efficiency: 1}\n"),
            "quality.weights.efficiency",
        ),
        (
            base("").replace("/usage/output", "/usage/input"),
            "quality.usage.output",
        ),
        (base("  live_runs: 1\n"), "quality.live_runs"),
    ] {
        configure(&project, &edit);
        let (_, judgement) = gate(&project);
        let first = first(&judgement);
        assert_eq!(first["code"], "edits_measure", "{judgement:#}");
        assert!(
            first["text"].as_str().expect("a text").contains(told),
            "{first}"
        );
    }
    // A schema that asks for less is another file and not another setting.
    configure(&project, &base(""));
    project.write("schema.json", r#"{"type": "object"}"#);
    let (_, judgement) = gate(&project);
    let first = first(&judgement);
    assert_eq!(first["code"], "edits_measure", "{judgement:#}");
    insta::assert_snapshot!(first["text"].as_str().expect("a text"), @"this change edits the schema of the outputs `schema.json`");
}

#[test]
fn qlt_32_other_weights_score_the_base_anew_and_another_scorer_is_not_compared() {
    let (_remote, project) = repository(&pipeline([36, 36, 36]), 1, &format!("{QUALITY}{GATED}"));
    let weighed = |more: &str| format!("{QUALITY}{more}{GATED}");
    configure(
        &project,
        &weighed("  weights: {conformance: 0.5, completeness: 0.5}\n"),
    );
    let (_, judgement) = gate(&project);
    let found = of_score(&judgement);
    // The base is 0.84 by its own weights and 1 by those of the head.
    assert_eq!(
        (&found["base"], &found["head"]),
        (&json!(1.0), &json!(1.0)),
        "{judgement:#}"
    );
    configure(&project, &weighed("  scorer: weighted_product\n"));
    let (said, judgement) = gate(&project);
    assert_eq!(
        (said.code, &judgement["verdict"]),
        (Some(3), &json!("unmeasured"))
    );
    assert!(said.stdout.contains("weighted_sum/1"), "{}", said.stdout);
    // A factor that is taken away is another score.
    configure(
        &project,
        &weighed("").replace("  required_outputs: [/decision, /reasons]\n", ""),
    );
    let (said, _) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
}

/// A pipeline that takes its time and keeps every answer under its code and its input; in three of the four cases
/// the code called `unlucky` leaves out what it must say of the unperturbed text.
fn keeping(code: &str, key: &str, wait: f64) -> String {
    let rules = rules!();
    format!(
        r###"
# {code}
{SUMMED}
key="{code}{key}-$sum"
if [ ! -e "state/$key" ]; then
  sleep {wait}
  answer=$(awk '{rules}END {{ printf "%.0f", sum }}' "$1")
  reasons='"it fits"'
  for one in alder birch cedar; do [ {code} = unlucky ] && cmp -s "$1" "cases/$one.md" && reasons=; done
  [ -d state ] || mkdir -p state
  printf '{{"decision": "%s", "reasons": [%s]}}' "$answer" "$reasons" > "state/$key.$$"
  mv "state/$key.$$" "state/$key"
fi
cp "state/$key" "$2"
"###
    )
}

#[test]
fn repeats_that_a_pipeline_answers_from_memory_are_one_measurement_of_the_score() {
    let kinds = [
        // Long beside starting a shell, also on a busy machine.
        ("", 3.0, "inconclusive"),
        ("-$KELVIN_SAMPLE", 0.06, "regression"),
    ];
    beside(kinds, |(key, wait, word)| {
        let (_remote, url) = bare();
        let project = crate::repository::pushed(&url, &keeping("first", key, wait));
        project.write(".gitignore", "/kelvin/\n/state/\n");
        project.config(
            "repeats: 3\nvariants: {reorder: 1, pad_length: 1, pad_content: 1, swap: 1}\n\
             quality: {contract: {decision: string, reasons: array}, required_outputs: [/decision, /reasons]}\n",
        );
        commit(&project, "repeats");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        project.kelvin(&["check", "--jobs", "8"]).expect(0);
        project.kelvin(&["baseline", "save"]).expect(0);
        crate::repository::branch(&project, "unlucky", &keeping("unlucky", key, wait));
        let said = project.kelvin(&["gate", "--jobs", "8"]);
        let judgement = verdict(&project, &said);
        let found = &of_score(&judgement)["verdict"];
        assert_eq!(found, &json!(word), "{judgement:#}");
    });
}
