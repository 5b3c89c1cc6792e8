use kelvin_fixtures::text::redacted;
use serde_json::json;

use super::{committed, follow, project, views, worse};
use crate::project::{CONSTANT, GROUNDED, KNOWING, Project};

/// With a scorer of quality, so that scores can be exported and made anew.
const QUALITY: &str = "quality:\n  contract: {decision: string}\n  required_outputs: [/decision, /reasons]\n  \
                       live_runs: 1\n";

/// Answers `birch` without reasons, which is a poor answer.
const REASONED: &str = r#"
case $(head -n 1 "$1") in
  *birch*) printf '{"decision": "go"}' > "$2" ;;
  *) printf '{"decision": "go", "reasons": ["it fits"]}' > "$2" ;;
esac
"#;

fn scored() -> Project {
    let project = project(REASONED);
    project.config(QUALITY);
    project.check();
    project
}

#[test]
fn an_export_shows_its_first_example_or_how_to_get_one() {
    let project = scored();
    for (format, has) in [
        ("jsonl", "\"id\":"),
        ("dspy", "\"trace_id\":"),
        ("csv", "quality_score"),
    ] {
        let out = format!("--out=my {format}");
        let said = project
            .kelvin(&["export", "--format", format, &out])
            .expect(0);
        let first = follow(&project, &said).stdout;
        assert!(first.contains(has) && first.contains("alder"), "{first}");
        assert_eq!(first.lines().count(), if format == "csv" { 2 } else { 1 });
    }
    let said = project
        .kelvin(&["export", "--min-score=1.5", "--format=csv", "--out=the set"])
        .expect(0);
    assert!(
        said.stdout.starts_with("wrote 0 examples"),
        "{}",
        said.stdout
    );
    let said = follow(&project, &said);
    insta::assert_snapshot!(said.stdout, @"
    wrote 4 examples to the set/examples.csv
    left out: 24 invocations of a variant (`--variants` exports them too)
    next: head -n 2 'the set/examples.csv'
    ");
    // Without its inputs a report has no examples, and a new run has them.
    for case in ["alder", "birch", "cedar", "dogwood"] {
        std::fs::remove_dir_all(project.path("kelvin").join(case)).expect("removed");
    }
    let said = project.kelvin(&["export"]).expect(0);
    assert_eq!(said.next(), "kelvin check");
    follow(&project, &said);
    let said = project.kelvin(&["export"]).expect(0);
    assert!(
        said.stdout.starts_with("wrote 4 examples"),
        "{}",
        said.stdout
    );
}

#[test]
fn scores_that_were_made_anew_are_looked_at() {
    let project = scored();
    std::fs::rename(project.path("kelvin"), project.path("the run")).expect("renamed");
    let said = project
        .kelvin(&[
            "rescore",
            "quality",
            "the run/report.json",
            "--weights=0.1,0.8,0.1",
            "--out=my scores",
        ])
        .expect(0);
    views(&project, &said, "my scores");
}

#[test]
fn a_page_of_the_history_and_a_digest_lead_on() {
    let project = worse(CONSTANT, 1);
    let said = project
        .kelvin(&["history", "digest", "--out=my digest.md"])
        .expect(0);
    insta::assert_snapshot!(said.stdout, @"
    wrote my digest.md
    next: kelvin history --format=html --out=history.html
    ");
    insta::assert_snapshot!(said.next(), @"kelvin history --format=html --out=history.html");
    let said = follow(&project, &said);
    assert!(project.read("history.html").contains("evidence.invariance"));
    assert_eq!(said.next(), "kelvin view");
    // A period without runs asks for one.
    let said = project
        .kelvin(&[
            "history",
            "digest",
            "--since=2001-01-01",
            "--until=2001-01-08",
            "--out=old.md",
        ])
        .expect(0);
    assert_eq!(said.next(), "kelvin check");
    // What goes to a pipe is the page and nothing else.
    let said = project.kelvin(&["history", "digest"]).expect(0);
    assert_eq!(said.stdout, project.read("my digest.md"));
    for arguments in [
        ["history", "--format=markdown"],
        ["history", "--format=json"],
    ] {
        let said = project.kelvin(&arguments).expect(0);
        assert!(!said.stdout.contains("next: "), "{}", said.stdout);
    }
}

#[test]
fn an_empty_history_and_an_empty_ledger_ask_for_a_check() {
    let project = project(GROUNDED);
    for arguments in [&["history"][..], &["ledger"], &["ledger", "summary"]] {
        let said = project.kelvin(arguments).expect(0);
        assert_eq!(said.next(), "kelvin check", "{arguments:?}");
    }
    std::fs::rename(project.path("kelvin.yaml"), project.path("my own.yaml")).expect("renamed");
    let said = project.kelvin(&["history", "--config=my own.yaml"]);
    follow(&project, &said);
    let said = project
        .kelvin(&["history", "--config=my own.yaml"])
        .expect(0);
    let said = follow(&project, &said);
    insta::assert_snapshot!(said.next(), @"kelvin view '--config=my own.yaml'");
    let said = project
        .kelvin(&["rescore", "figures", "latest", "--config=my own.yaml"])
        .expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin history '--config=my own.yaml'");
    follow(&project, &said);
}

/// Two versions that were run once: more runs of both are asked for, and then the drop is told.
#[test]
fn a_version_with_too_few_runs_is_measured_again_until_the_drop_is_known() {
    let project = committed(GROUNDED);
    project.check();
    let good = crate::repository::git(project.root(), &["rev-parse", "HEAD"]);
    project.tell_places();
    // Of the worse version every rewrite of one case has another answer.
    project.write(
        "pipeline.sh",
        &format!("{KNOWING}case $place in */reorder*) printf '{{\"decision\": \"%s\"}}' \"$(cksum < \"$1\")\" > \"$2\"; exit;; esac\n{GROUNDED}"),
    );
    let bad = crate::repository::commit(&project, "worse");
    project.check();
    let mut told = project.kelvin(&["history", "regression"]).expect(0);
    let mut steps = 0;
    while told.next().contains("kelvin check") {
        // Nothing is said of the commit where it is the one that is checked out.
        let named = told.stdout.split_once("next, with commit ");
        let commit = named.map_or(&*bad, |(_, rest)| rest.split(' ').next().expect("its name"));
        assert!(
            good.starts_with(commit) || bad.starts_with(commit),
            "{commit}"
        );
        crate::repository::git(project.root(), &["checkout", "--quiet", commit]);
        follow(&project, &told);
        // With the old commit checked out no later one is the version before it, and that is said.
        if good.starts_with(commit) {
            let said = project.kelvin(&["history", "regression"]).expect(1);
            insta::allow_duplicates! {
                insta::assert_snapshot!(redacted(&said.stderr), @"
                error: no version before [HASH] has a run; those that have one come after it or are of other branches
                  help: check the newest commit out to compare it with the one before, or name a version with `--against`
                ");
            }
        }
        crate::repository::git(project.root(), &["checkout", "--quiet", &bad]);
        told = project.kelvin(&["history", "regression"]).expect(0);
        steps += 1;
        assert!(steps < 4, "it goes on for ever: {}", told.stdout);
    }
    assert!(told.stdout.contains("dropped "), "{}", told.stdout);
    let said = follow(&project, &told);
    assert!(
        said.stdout.starts_with("wrote history.html"),
        "{}",
        said.stdout
    );
    let metric = told.next().split("--metric=").nth(1).expect("a metric");
    assert!(project.read("history.html").contains(metric), "{metric}");
}

#[test]
fn traces_of_two_versions_are_compared_and_those_of_one_are_listed() {
    let project = project(GROUNDED);
    let trace = |version: &str, at: u32| {
        format!(
            "trace_id: t-{version}-{at}\nchain_uri: chains/intake@{version}\nversion: {version}\nfingerprint: f{version}\n\
             started_at: 2026-11-{at:02}T08:00:00Z\nduration_ms: 1500\nstatus: completed\nquality_score: 0.8\n\
             token_counts: {{input: 42, output: 18, total: 60}}\n\
             steps:\n- step_id: read\n  unit_uri: units/read\n  status: completed\n  \
             quality_indicators: {{contract_conformance: 1.0, completeness: 1.0, token_efficiency: 0.5}}\n"
        )
    };
    project.write("my traces/a.yaml", &trace("1.0.0", 1));
    let said = project
        .kelvin(&["rescore", "quality", "my traces"])
        .expect(0);
    let listed = follow(&project, &said).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["traces"][0]["trace_id"], json!("t-1.0.0-1"));
    project.write("my traces/b.yaml", &trace("1.1.0", 2));
    let said = project
        .kelvin(&["rescore", "quality", "my traces"])
        .expect(0);
    let said = follow(&project, &said);
    assert!(said.stdout.contains("chains/intake"), "{}", said.stdout);
    assert_eq!(said.next(), "kelvin rescore quality 'my traces'");
    let said = project
        .kelvin(&[
            "history",
            "digest",
            "--traces=my traces",
            "--out=d.md",
            "--since=2026-11-01",
        ])
        .expect(0);
    assert_eq!(said.next(), "kelvin rescore quality 'my traces'");
}

#[test]
fn measured_rankings_are_looked_at_and_then_compared() {
    let project = project(GROUNDED);
    project.write("my qrels", "q1 0 d1 1\nq2 0 d2 1\n");
    project.write("my run", "q1 Q0 d1 1 2.0 r\nq2 Q0 d3 1 2.0 r\n");
    let eval = ["eval", "--qrels=my qrels", "--run=my run", "--out=my out"];
    let said = project.kelvin(&eval).expect(0);
    assert_eq!(said.next(), "kelvin view '--out=my out'");
    let said = project.kelvin(&eval).expect(0);
    assert_eq!(said.next(), "kelvin compare previous latest");
    let said = follow(&project, &said);
    assert!(said.stdout.contains("retrieval."), "{}", said.stdout);
    let said = project
        .kelvin(&[&eval[..], &["--no-history"]].concat())
        .expect(0);
    assert_eq!(said.next(), "kelvin view '--out=my out'");
}
