use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::process::{Command, Stdio};

use super::{committed, follow, project, views, worse};
use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project, Said, counting};

#[test]
fn a_check_of_some_cases_into_a_folder_goes_on_with_these_and_there() {
    let project = project(GROUNDED);
    let chosen = ["check", "--out=the report", "--only=cedar", "--seed=4"];
    let said = project.kelvin(&[&chosen[..], &["--list"]].concat());
    assert!(said.expect(0).stdout.starts_with("cedar\t"));
    for more in ["--dry-run", "--list", "--forecast"] {
        let said = project.kelvin(&[&chosen[..], &[more]].concat()).expect(0);
        let wanted = "kelvin check --only=cedar --seed=4 '--out=the report'";
        assert_eq!(said.next(), wanted, "{more}");
    }
    let said = project.kelvin(&[&chosen[..], &["--dry-run"]].concat());
    let said = follow(&project, &said);
    let report = project.json("the report/report.json");
    assert_eq!(report["run"]["only"], serde_json::json!(["cedar"]));
    assert_eq!(report["run"]["seed"], serde_json::json!(4));
    assert_eq!(report["run"]["ending"], serde_json::json!("complete"));
    assert!(!project.path("kelvin").exists());
    // A part of the cases is no base, so it is looked at.
    views(&project, &said, "the report");
    let said = project.kelvin(&["check", "--forecast"]).expect(0);
    assert_eq!(said.next(), "kelvin check");
    follow(&project, &said);
    for format in ["json", "markdown"] {
        let said = project.kelvin(&["check", "--forecast", "--format", format]);
        assert!(!said.expect(0).stdout.contains("next"), "{format}");
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_was() {
    let slow = counting(&format!("sleep 0.05\n{GROUNDED}"));
    let project = committed(&slow);
    let mut child = project
        .command(&["check", "--out=the report", "--jobs=1", "--no-history"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    while project.calls() < 8 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let stop = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(stop.expect("kill starts").success());
    let mut said = String::new();
    let out = child.stdout.as_mut().expect("it is piped");
    std::io::Read::read_to_string(out, &mut said).expect("read");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let said = Said {
        code: Some(130),
        stdout: said,
        stderr: String::new(),
    };
    let before = project.calls();
    follow(&project, &said);
    let report = project.json("the report/report.json");
    assert_eq!(report["run"]["ending"], serde_json::json!("complete"));
    // Four cases and 48 variants: of all calls only the one that was cut off was made twice.
    assert!(before >= 8 && project.calls() <= 53, "{before}");
    assert!(!project.path(".kelvin").exists(), "`--no-history` is kept");
}

#[test]
fn a_whole_check_is_saved_from_the_folder_where_it_is_and_failures_are_mended_first() {
    let project = committed(GROUNDED);
    let said = project.kelvin(&["check", "--out=the report"]).expect(0);
    let said = follow(&project, &said);
    insta::assert_snapshot!(redacted(&said.stdout), @"
    saving the report of [HASH] as `kelvin` in this clone alone, under `refs/kelvin/kelvin-reports`, which has no report yet
    saved
    next, on a branch with a change: kelvin gate
    ");
    assert_eq!(said.next(), "kelvin gate");
    let said = follow(&project, &said);
    // A gate that passes leaves nothing to do but to look.
    views(&project, &said, "kelvin");

    let project = committed(&format!(
        "case $(head -n 1 \"$1\") in *cedar*) exit 7;; esac\n{GROUNDED}"
    ));
    let said = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["next"]), @"next, when that is fixed: kelvin check");
    project.write("pipeline.sh", GROUNDED);
    let said = follow(&project, &said);
    assert!(!said.stdout.contains("\nnext, "), "{}", said.stdout);
}

#[test]
fn veritas_measures_what_its_dry_run_said() {
    let project = committed(GROUNDED);
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save", "--local"]).expect(0);
    let said = project
        .kelvin(&["gate", "veritas", "--dry-run", "--live-runs=2"])
        .expect(0);
    assert_eq!(said.next(), "kelvin gate veritas --live-runs=2");
    let said = follow(&project, &said);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["repeats"], serde_json::json!(2));
    views(&project, &said, "kelvin");
}

#[test]
fn lint_names_every_file_that_is_to_be_mended_and_no_other() {
    let project = project(CONSTANT);
    project.write("fine one.yaml", &project.read("kelvin.yaml"));
    for name in ["bad one.yaml", "bad'two.yaml"] {
        project.write(name, &format!("{}sede: 1\n", project.read("kelvin.yaml")));
    }
    let said = project
        .kelvin(&["lint", "fine one.yaml", "bad one.yaml", "bad'two.yaml"])
        .expect(1);
    insta::assert_snapshot!(said.next(), @r"kelvin lint 'bad one.yaml' 'bad'\''two.yaml'");
    project.paste(said.next()).expect(1);
    for name in ["bad one.yaml", "bad'two.yaml"] {
        project.write(name, &project.read("kelvin.yaml"));
    }
    let said = follow(&project, &said);
    insta::assert_snapshot!(said.next(), @"kelvin check '--config=bad one.yaml'");
    follow(&project, &said);
}

#[test]
fn an_import_that_was_listed_is_made_as_it_was_shown() {
    let project = project(CONSTANT);
    let trace =
        r#"{"id": "K-1", "input": {"gate_rule": "Nobody smokes, says K-2."}, "output": "go"}"#;
    project.write("my traces.jsonl", &format!("{trace}\n"));
    let said = project
        .kelvin(&[
            "import",
            "--langfuse=my traces.jsonl",
            "--redact=customer=K-[0-9]+",
        ])
        .expect(0);
    assert!(!project.path("cases.jsonl").exists());
    let said = follow(&project, &said);
    let case = "{\"id\":\"[customer 2]\",\"gate_rule\":\"Nobody smokes, says [customer 1].\"}\n";
    assert_eq!(project.read("cases.jsonl"), case);
    // A configuration is there, which says itself which cases it reads.
    assert_eq!(said.next(), "kelvin lint");
    follow(&project, &said);
    std::fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    let said = project
        .kelvin(&[
            "import",
            "--langfuse=my traces.jsonl",
            "--into=new cases.jsonl",
        ])
        .expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin init '--cases=new cases.jsonl'");
    let rest = "--yes --run 'sh pipeline.sh {input} {output}' --decision-field decision";
    project.paste(&format!("{} {rest}", said.next())).expect(0);
    insta::assert_snapshot!(lines_with(&project.read("kelvin.yaml"), &["cases: "]), @"
    # The cases: a file with one record each.
    cases: new cases.jsonl
    ");
}

#[test]
fn a_comparison_names_its_step_by_what_it_found() {
    let project = worse(FIRST_UNIT, 3);
    let base = "the base/report.json";
    let said = project
        .kelvin(&["compare", base, "kelvin/report.json"])
        .expect(0);
    let told = follow(&project, &said).stdout;
    // What a terminal has no room for: the cases, with both answers.
    insta::assert_snapshot!(lines_with(&told, &["| case |"]), @"
    | case | for example in | answer on the base | answer now | wrong in |
    | case | on the base | now |
    | case | metric | what | base | head | variants that changed (1.00 is as it should be; of a failure rate 0.00) |
    ");
    let said = project.kelvin(&["compare", base, base]).expect(0);
    assert_eq!(said.next(), "kelvin history");
    let said = follow(&project, &said);
    assert_eq!(said.next(), "kelvin compare previous latest");
    let said = follow(&project, &said);
    assert!(
        said.stdout.contains("Gate         regression"),
        "{}",
        said.stdout
    );
}

#[test]
fn what_may_be_noise_is_run_again() {
    let project = worse(CONSTANT, 1);
    let said = project
        .kelvin(&["compare", "the base/report.json", "kelvin/report.json"])
        .expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin gate '--baseline=the base/report.json'");
    // It is worse, and after further runs that is known.
    let gate = project.paste(said.next()).expect(3);
    assert!(
        gate.stdout.contains("Gate         regression"),
        "{}",
        gate.stdout
    );
}

#[test]
fn runs_of_the_history_that_may_differ_by_noise_ask_for_more_repeats() {
    let project = worse(CONSTANT, 1);
    let said = project
        .kelvin(&["compare", "run:previous", "run:latest"])
        .expect(0);
    follow(&project, &said);
    assert_eq!(project.report()["run"]["repeats"], serde_json::json!(5));
}

#[test]
fn a_gate_without_anything_to_compare_with_says_how_to_get_it() {
    let project = committed(GROUNDED);
    let said = project.kelvin(&["gate", "--out=the report"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["next"]), @"next, on the branch to compare with: kelvin check '--out=the report' && kelvin baseline save --local '--report=the report/report.json'");
    follow(&project, &said);
    let said = project.kelvin(&["gate", "--out=the report"]).expect(0);
    assert!(said.stdout.contains("Gate         pass"), "{}", said.stdout);
    views(&project, &said, "the report");
}

#[test]
fn a_gate_outside_of_git_asks_for_a_file_and_for_nothing_that_git_would_keep() {
    let project = Project::new(GROUNDED);
    let said = project.kelvin(&["gate"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`--baseline`"]), @"  ! there is no baseline to compare with; `--baseline` names the report of");
    assert!(!said.stdout.contains("baseline save"), "{}", said.stdout);
    assert_eq!(said.next(), "kelvin gate --baseline=base.json");
    fs::copy(
        project.path("kelvin/report.json"),
        project.path("base.json"),
    )
    .expect("copied");
    let said = project.kelvin(&["gate", "--baseline=base.json"]).expect(0);
    assert!(said.stdout.contains("Gate         pass"), "{}", said.stdout);
}
