//! The toy is looked at by the kind that observes, with no file changed for it.

use serde_json::{Value, json};

use super::course::{GOOD, Project, SILENT, gated};
use kelvin_base::exit::Exit;

/// A project whose words must be of some loudness.
fn project(pipeline: &str, more: &str) -> Project {
    let project = Project::new(pipeline);
    project.write(
        "schema.json",
        r#"{"type": "number", "exclusiveMinimum": 0.1}"#,
    );
    let config = project.path("kelvin.yaml");
    let config = std::fs::read_to_string(config).expect("it is there");
    project.write(
        "kelvin.yaml",
        &format!("{config}repeats: 3\nquality: {{output_schema: schema.json}}\n{more}"),
    );
    project
}

fn check(project: &Project, out: &str, more: &str) -> Value {
    let line = format!("check --config @kelvin.yaml --no-history --out @{out}{more}");
    assert_eq!(project.kelvin(&line), Exit::Passed);
    project.json(&format!("{out}/report.json"))
}

fn score(report: &Value) -> Value {
    report["metrics"]["quality.quality_score"]["value"].clone()
}

#[test]
fn qlt_17_every_run_of_a_word_is_looked_at() {
    let project = project(GOOD, "");
    let report = check(&project, "first", "");
    assert_eq!(score(&report), json!(1.0));
    let items = &report["probes"]["quality"]["items"];
    assert_eq!(items.as_object().map(serde_json::Map::len), Some(12));
    let runs = &items["moo"]["probes"]["toy"]["runs"];
    assert_eq!(runs.as_array().map(Vec::len), Some(3));
    assert_eq!(runs[2], json!({ "conformance": 1.0, "quality_score": 1.0 }));
    // What cannot be read, and a crash, count with 0.
    project.pipeline(
        "case $(cat $1) in *moo*) exit 4;; *oink*) echo loud > $2;; *) printf 0.5 > $2;; esac\n",
    );
    let report = check(&project, "second", "");
    assert_eq!(score(&report), json!(10.0 / 12.0));
    let items = &report["probes"]["quality"]["items"];
    assert_eq!(
        items["moo"]["probes"]["toy"]["runs"][0]["failed"],
        json!(true)
    );
    let lacks = items["oink"]["probes"]["toy"]["runs"][0]["lacks"][0].as_str();
    assert!(lacks.expect("told").contains("no JSON"), "{lacks:?}");
}

#[test]
fn qlt_17_its_shards_and_its_chosen_words_agree_with_the_whole() {
    let project = project(GOOD, "");
    let whole = check(&project, "whole", "");
    for share in 1..=2 {
        check(
            &project,
            &format!("shards/{share}"),
            &format!(" --shard {share}/2"),
        );
    }
    assert_eq!(project.kelvin("merge @shards --out @joined"), Exit::Passed);
    let joined = project.json("joined/report.json");
    assert_eq!(whole["probes"], joined["probes"]);
    assert_eq!(whole["metrics"], joined["metrics"]);
    assert_eq!(whole["notices"], joined["notices"]);
    let chosen = check(&project, "chosen", " --only baa");
    let items = chosen["probes"]["quality"]["items"]
        .as_object()
        .expect("items")
        .clone();
    assert_eq!(items.keys().collect::<Vec<_>>(), ["baa"]);
    let rehearsed = check(&project, "rehearsed", " --dry-run");
    assert_eq!(rehearsed["probes"]["quality"]["ending"], json!("dry_run"));
    assert_eq!(score(&rehearsed), Value::Null);
}

#[test]
fn qlt_18_fewer_live_runs_than_are_needed_are_insufficient_and_the_gate_fails_closed() {
    let project = project(GOOD, "");
    let config = std::fs::read_to_string(project.path("kelvin.yaml")).expect("it is there");
    project.write("kelvin.yaml", &config.replace("repeats: 3", "repeats: 2"));
    let report = check(&project, "base", "");
    assert_eq!(score(&report), Value::Null);
    let metric = &report["metrics"]["quality.quality_score"];
    assert!(
        metric["reason"]
            .as_str()
            .expect("a reason")
            .starts_with("insufficient"),
        "{metric}"
    );
    let notices = report["notices"].to_string();
    assert!(notices.contains("set `repeats: 3`"), "{notices}");
    let (exit, judgement) = gated(&project, " --no-rerun");
    let quality = &judgement["metrics"]["quality.quality_score"];
    assert_eq!(
        (exit, &quality["verdict"]),
        (Exit::GateFailed, &json!("unmeasured")),
        "{judgement:#}"
    );
}

#[test]
fn qlt_19_a_worse_output_is_found_by_the_gate_which_runs_the_words_again() {
    let project = project(GOOD, "");
    check(&project, "base", "");
    let (exit, judgement) = gated(&project, "");
    assert_eq!(
        (exit, &judgement["verdict"]),
        (Exit::Passed, &json!("pass")),
        "{judgement:#}"
    );
    project.pipeline(SILENT);
    let (exit, judgement) = gated(&project, " --rerun");
    assert_eq!(exit, Exit::GateFailed);
    let quality = &judgement["metrics"]["quality.quality_score"];
    assert_eq!(quality["verdict"], json!("regression"), "{judgement:#}");
    // What the words themselves are is told by their own probe, once.
    let turnover = judgement["turnover"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    assert_eq!(turnover.keys().collect::<Vec<_>>(), ["toy"]);
    let text = judgement["reasons"].to_string();
    assert!(
        text.contains("0.1 is less than or equal to the minimum of 0.1"),
        "{text}"
    );
}

#[test]
fn quality_alone_has_nothing_to_look_at() {
    let project = project(GOOD, "");
    let line = "check --config @kelvin.yaml --no-history --probe quality";
    assert_eq!(project.kelvin(line), Exit::Misused);
    project.write("kelvin.yaml", "quality: {output_schema: schema.json}\n");
    assert_eq!(
        project.kelvin("check --config @kelvin.yaml --no-history"),
        Exit::Misused
    );
}
