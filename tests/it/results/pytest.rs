//! The plugin for pytest under the real pytest, which pip installs once below the target folder. Where it cannot be had, each
//! test says so.

use kelvin_fixtures::text::lines_with;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::project::{Project, Said};

/// The Python that has pytest; none where it cannot be had, which is said.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evaluators/install");
        let run = Command::new(script).arg("pytest").output();
        let run = run.map_err(|error| error.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match run.status.success() {
            true => Ok(PathBuf::from(said(&run.stdout))),
            false => Err(said(&run.stderr)),
        }
    });
    match found {
        Ok(python) => Some(python),
        Err(why) => {
            eprintln!("SKIPPED: the plugin for pytest: {why}");
            None
        }
    }
}

/// Twelve tests of an answer, whose mistakes stand in `../broken`: a case on each line. `../slip` says which share of the
/// hundred answers is wrong by chance. The tests that were run are counted in `../ran`.
const TESTS: &str = r#"
import os, zlib
import pytest

CASES = [{"question": f"what is {n} + {n}?", "expected": 2 * n} for n in range(1, 13)]
RUN = sum(1 for _ in open("../runs")) if os.path.exists("../runs") else 0
open("../runs", "a").write("x\n")

def lines(name):
    return open(name).read().split() if os.path.exists(name) else []

def answer(case):
    key = str(case["expected"])
    slip = int((lines("../slip") or ["0"])[0])
    if key in lines("../errors"):
        raise ConnectionError("the model does not answer")
    if key in lines("../broken") or zlib.crc32(f"{key} {RUN}".encode()) % 100 < slip:
        return -1
    return case["expected"]

@pytest.mark.parametrize("case", CASES)
def test_answer(case, record_property):
    open("../ran", "a").write("x\n")
    record_property("words", 3)
    assert answer(case) == case["expected"]
"#;

/// A project whose base is measured.
fn measured(repeats: usize) -> Option<Project> {
    let python = python()?;
    let project = Project::new("");
    project.write("evals/test_answers.py", TESTS);
    let run = format!(
        "{} -m pytest -q -p no:cacheprovider evals -p kelvin_action.pytest",
        python.display()
    );
    let config = format!("results: [{{name: tests, run: \"{run}\"}}]\nrepeats: {repeats}\n");
    project.write("kelvin.yaml", &config);
    kelvin(&project, &["check", "--no-history", "--out", "../base"]).expect(0);
    Some(project)
}

/// Runs the binary with the folder of the plugin where Python finds it, as an installed wheel would be found.
fn kelvin(project: &Project, arguments: &[&str]) -> Said {
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    let mut command = project.command(arguments);
    command
        .env("PYTHONPATH", plugin)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Said::of(&mut command)
}

fn gate(project: &Project, more: &[&str]) -> (Said, Value) {
    let mut arguments = vec!["gate", "--no-history", "--baseline", "../base/report.json"];
    arguments.extend(more);
    let said = kelvin(project, &arguments);
    let judgement = project.json("kelvin/gate.json");
    (said, judgement)
}

fn count(project: &Project, file: &str) -> usize {
    project.read(file).lines().count()
}

#[test]
fn tests_become_cases_and_an_unchanged_suite_passes() {
    let Some(project) = measured(1) else { return };
    let report = project.json("../base/report.json");
    let figure = |name: &str| report["metrics"][format!("results.tests.{name}")]["value"].clone();
    assert_eq!((figure("pass"), figure("words")), (json!(1.0), json!(3.0)));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("pass"));
    // A case that is put in at the top renames no other one, although the tests have no names of their own.
    let more = TESTS.replace("range(1, 13)", "range(0, 13)");
    project.write("evals/test_answers.py", &more);
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         pass, 1 test was added");
}

#[test]
fn a_planted_change_is_red_noise_is_not_and_only_doubtful_cases_are_run_again() {
    let Some(project) = measured(3) else { return };
    project.write("../broken", "8\n18\n");
    project.write("../ran", "");
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert!(said.stdout.contains("test_answer[case-"), "{}", said.stdout);
    // One test that fails once in many runs.
    project.write("../broken", "");
    project.write("../slip", "4");
    project.write("../ran", "");
    let (said, judgement) = gate(&project, &[]);
    assert_ne!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert_ne!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
}

#[test]
fn a_run_of_some_cases_runs_those_alone() {
    let Some(project) = measured(1) else { return };
    project.write("../broken", "8\n");
    project.write("../ran", "");
    let report = project.json("../base/report.json");
    let cases = report["probes"]["results"]["items"]
        .as_object()
        .expect("items");
    let name = cases.keys().next().expect("a case").clone();
    kelvin(&project, &["check", "--no-history", "--only", &name]).expect(0);
    assert_eq!(count(&project, "../ran"), 1);
    // The gate asks for the case in doubt and no other one: twelve tests once, and then that one.
    project.write("../ran", "");
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    let reruns = judgement["reruns"].as_u64().expect("a number");
    assert!(reruns > 0, "{}", said.stdout);
    let codes = judgement["difference_codes"].to_string();
    assert!(
        !codes.contains("whole_suite") && project.notices("whole_suite_again").is_empty(),
        "{codes}"
    );
}

#[test]
fn an_error_is_no_failure_and_a_run_that_stops_has_no_results() {
    let Some(project) = measured(1) else { return };
    project.write("../errors", "8\n");
    let (said, judgement) = gate(&project, &["--no-rerun"]);
    assert_ne!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["results.tests.pass"]["value"], json!(1.0));
    assert_eq!(
        report["metrics"]["results.tests.pass"]["n_failed"],
        json!(1)
    );
    // `-x` stops at the first failure.
    let config = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &config.replace("-p kelvin_action", "-x -p kelvin_action"),
    );
    project.write("../errors", "");
    project.write("../broken", "8\n");
    let (said, _) = gate(&project, &["--no-rerun"]);
    assert_ne!(said.code, Some(0));
    let all = format!("{}{}", said.stdout, said.stderr);
    let words: Vec<&str> = all.split_whitespace().collect();
    assert!(words.join(" ").contains("`results.xml`"), "{all}");
}
