mod judged;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project, SUMMED, counting};

/// Everything that can be told of a run: every kind, repeats, replays.
const EVERYTHING: &str = "repeats: 3\nnoise_floor: {replications: 4}\nperturbations:\n  enable: [swap_condition, \
                          numeric_magnitude, comparator_flip, polarity_flip, whitespace_jitter, \
                          bullet_reformat, punctuation_normalize, hedge_injection, \
                          politeness_injection, discourse_marker_injection, \
                          meta_commentary_injection, non_governing_duplication, drop]\n  \
                          count_drop: true\n";

/// More than one variant of a kind, and few: each run is joined from one, two, three and eight shards.
const FEW: &str = "variants: {reorder: 2, pad_length: 1, pad_content: 1}\n";

/// Answers by its first unit, but not always: some inputs fail, some have no decision.
const FAILING: &str = r###"
case $((sum % 7)) in
  0) echo "no luck with this one" >&2; exit 3;;
  1) printf '{"other": 1}' > "$2"; exit 0;;
esac
printf '{"decision": %s}' "$((sum % 5)).25" > "$2"
"###;

/// The twelve cases that ship with the program, and a pipeline.
fn shipped(script: &str, more: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    for entry in fs::read_dir(cases).expect("listed") {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        project.write(
            &format!("cases/{name}"),
            &fs::read_to_string(&path).expect("read"),
        );
    }
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
             governing_types: [Release Rule, Verification Record]\njobs: 2\n{more}"
        ),
    );
    project
}

/// Runs every shard into `shards/<index>`; how each ended.
fn run_shards(project: &Project, count: usize, arguments: &[&str]) -> Vec<Option<i32>> {
    (1..=count)
        .map(|index| {
            let (shard, out) = (format!("{index}/{count}"), format!("shards/{index}"));
            let mut all = vec!["check", "--shard", &shard, "--out", &out];
            all.extend(arguments);
            project.kelvin(&all).code
        })
        .collect()
}

fn merge(project: &Project) {
    project.kelvin(&["merge", "shards"]).expect(0);
}

/// The files of a run without what may differ between equal runs: the session in the report, and
/// where the pages tell it.
fn comparable(project: &Project, folder: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (name, bytes) in project.files(folder) {
        if name.starts_with('.') {
            continue;
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        match name.as_str() {
            "report.json" => {
                let start = text.find("\"session\": {").expect("it has a session");
                let end = text[start..].find("\n    }").expect("it ends") + start;
                text.replace_range(start..end, "SESSION");
            }
            "report.md" | "report.html" => {
                text = text
                    .lines()
                    .filter(|line| !line.contains(" invocation") && !line.contains("<dt>Started"))
                    .map(|line| format!("{line}\n"))
                    .collect();
            }
            _ => {}
        }
        files.insert(name, text);
    }
    files
}

#[track_caller]
fn assert_same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>, what: &str) {
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(one), names(other), "{what}: other files");
    for (name, text) in one {
        let lines = text.lines().zip(other[name].lines()).enumerate();
        for (at, (left, right)) in lines {
            assert_eq!(left, right, "{what}: {name}, line {}", at + 1);
        }
        assert!(*text == other[name], "{what}: {name}");
    }
}

/// Joins 1, 2, 3 and 8 shards and compares each with the run without shards.
fn joined_is_whole(project: &Project, arguments: &[&str], ends: i32) {
    let whole = [&["check", "--out", "whole"], arguments].concat();
    project.kelvin(&whole).expect(ends);
    let wanted = comparable(project, "whole");
    let invocations = |report: &Value| report["run"]["session"]["cost"]["invocations"].clone();
    for count in [1, 2, 3, 8] {
        run_shards(project, count, arguments);
        project.kelvin(&["merge", "shards"]).expect(ends);
        assert_same(
            &wanted,
            &comparable(project, "kelvin"),
            &format!("{count} shards, {arguments:?}"),
        );
        assert_eq!(
            invocations(&project.json("kelvin/report.json")),
            invocations(&project.json("whole/report.json")),
            "costs are added up"
        );
        fs::remove_dir_all(project.path("shards")).expect("removed");
    }
}

#[test]
fn the_joined_report_of_the_shipped_cases_is_that_of_a_run_without_shards() {
    let project = shipped(FIRST_UNIT, FEW);
    joined_is_whole(&project, &[], 0);
    joined_is_whole(&project, &["--seed", "11"], 0);
}

#[test]
fn so_it_is_with_every_kind_with_repeats_and_with_a_noise_floor() {
    let script = "while read -r line; do case $line in '## '*) break;; esac; done < \"$1\"\n\
                  printf '{\"decision\": \"%s\"}' \"$line\" > \"$2\"";
    let few =
        format!("{EVERYTHING}variants: {{reorder: 2, pad_length: 1, pad_content: 1, swap: 1}}\n");
    let project = shipped(script, &few);
    // Four of the twelve are enough for this many variants.
    let files = project.files("cases");
    for name in files.keys().skip(4) {
        fs::remove_file(project.path("cases").join(name)).expect("removed");
    }
    joined_is_whole(&project, &["--seed", "3"], 0);
}

#[test]
fn so_it_is_where_invocations_fail() {
    let project = shipped(
        &format!("{SUMMED}{FAILING}"),
        &format!("repeats: 2\nnoise_floor: {{replications: 3}}\n{FEW}"),
    );
    joined_is_whole(&project, &["--seed", "5"], 0);
    let report = project.report();
    let failed = report["metrics"]["evidence.failure_rate"]["value"].as_f64();
    assert!(failed.expect("measured") > 0.1, "{failed:?}");
}

#[test]
fn so_it_is_where_every_baseline_fails_and_where_nothing_is_run() {
    let project = shipped("exit 9", "");
    joined_is_whole(&project, &[], 2);
    let project = shipped(CONSTANT, "");
    joined_is_whole(&project, &["--dry-run"], 0);
}

#[test]
fn an_interrupted_shard_leaves_an_interrupted_run() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    let mut report = project.json("shards/2/report.json");
    report["run"]["ending"] = "interrupted".into();
    report["probes"]["evidence"]["ending"] = "interrupted".into();
    project.write("shards/2/report.json", &report.to_string());
    project.kelvin(&["merge", "shards"]).expect(130);
    let report = project.report();
    assert_eq!(report["run"]["ending"], "interrupted");
    let notices = report["notices"].to_string();
    insta::assert_snapshot!(notices, @r#"[{"code":"interrupted","text":"the run was stopped before its end; the figures cover what had finished, and `--resume` goes on from there"},{"code":"unmeasured","text":"evidence.following.rule was not measured: no swap could show anything: the answers of donor and case are no further apart than two answers of one case"}]"#);
}

#[test]
fn so_it_is_for_a_choice_of_cases() {
    let project = Project::new(GROUNDED);
    joined_is_whole(&project, &["--only", "alder", "--only", "cedar"], 0);
}

#[test]
fn an_empty_shard_is_a_report_that_measured_nothing() {
    let project = Project::new(&counting(GROUNDED));
    // None of the four falls into the first of eight.
    project
        .kelvin(&["check", "--shard", "1/8", "--format", "json"])
        .expect(0);
    let report = project.report();
    assert_eq!(report["run"]["ending"], "complete");
    assert_eq!(report["run"]["shard"]["cases"], 4);
    assert!(
        report["probes"]["evidence"]["items"]
            .as_object()
            .expect("cases")
            .is_empty()
    );
    let invariance = &report["metrics"]["evidence.invariance"];
    assert_eq!(invariance["value"], Value::Null);
    insta::assert_snapshot!(invariance["reason"].as_str().unwrap_or_default(), @"this shard has no cases");
    assert_eq!(project.calls(), 0);
}

#[test]
fn a_shard_measures_its_own_cases_and_draws_from_all() {
    let project = Project::new(GROUNDED);
    project.check();
    let whole = project.report();
    project.kelvin(&["check", "--shard", "3/8"]).expect(0);
    let shard = project.report();
    let names: Vec<&String> = shard["probes"]["evidence"]["items"]
        .as_object()
        .expect("cases")
        .keys()
        .collect();
    assert_eq!(names, ["birch"]);
    // Where its swaps lead is known when the shards with their donors are joined.
    let mut wanted = whole["probes"]["evidence"]["items"]["birch"].clone();
    let variants = wanted["variants"].as_array_mut().expect("variants");
    for variant in variants.iter_mut().filter_map(Value::as_object_mut) {
        let is_swap = variant["kind"] == "swap";
        assert_eq!(variant.remove("swap").is_some(), is_swap);
    }
    assert_eq!(shard["probes"]["evidence"]["items"]["birch"], wanted);
    assert_eq!(
        shard["run"]["fingerprints"], whole["run"]["fingerprints"],
        "those of the whole corpus"
    );
}

#[test]
fn a_first_case_without_a_usable_decision_stops_only_what_a_whole_run_would_stop() {
    // `birch` is the first case of its shard and not of the run.
    let project = Project::new(&format!(
        "grep -q 'Request birch' \"$1\" && {{ echo '{{}}' > \"$2\"; exit 0; }}\n{CONSTANT}"
    ));
    joined_is_whole(&project, &[], 0);
}
