use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::Project;

/// Answers `birch` without reasons, which is poor; `cedar` not at all; the others well. What it prints has a key
/// in it, a keyword of Python, and a formula.
const PIPELINE: &str = r#"
name=$(head -n 1 "$1" | tr -d '# ' | tr '[:upper:]' '[:lower:]')
case $name in
  *birch*) printf '{"decision": "go"}' > "$2" ;;
  *cedar*) exit 1 ;;
  *) printf '{"decision": "go", "class": "=1+1", "reasons": ["%s"]}' "$SECRET_TOKEN" > "$2" ;;
esac
"#;

const QUALITY: &str = "quality:\n  contract: {decision: string}\n  required_outputs: [/decision, /reasons]\n  \
                       live_runs: 1\n";

fn project() -> Project {
    let project = Project::new(PIPELINE);
    project.config(&format!("{QUALITY}env: [SECRET_TOKEN]\n"));
    let said = project
        .command(&["check", "--no-history"])
        .env("SECRET_TOKEN", "not-for-anybody-else")
        .output()
        .expect("it starts");
    assert_eq!(
        said.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    project
}

fn export(project: &Project, more: &[&str]) -> Value {
    let said = project
        .command(&[&["export"], more].concat())
        .env("SECRET_TOKEN", "not-for-anybody-else")
        .output()
        .expect("it starts");
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(0), "{stderr}");
    project.json("kelvin-export/manifest.json")
}

fn lines(project: &Project, file: &str) -> Vec<Value> {
    let text = project.read(&format!("kelvin-export/{file}"));
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

#[test]
fn what_passes_is_exported_whole_and_what_does_not_is_counted() {
    let project = project();
    let manifest = export(&project, &["--min-score", "0.8"]);
    let examples = lines(&project, "examples.jsonl");
    let cases: Vec<&str> = examples
        .iter()
        .filter_map(|one| one["case"].as_str())
        .collect();
    assert_eq!(cases, ["alder", "dogwood"]);
    assert_eq!(manifest["examples"], 2);
    assert_eq!(manifest["input_keys"], json!(["input"]));
    assert_eq!(
        manifest["output_keys"],
        json!(["class", "decision", "reasons"])
    );
    let left_out = &manifest["left_out"];
    // A pipeline that gave no output scores 0, and is below the least score as well.
    assert_eq!(left_out["below_min_score"], 2, "{left_out}");
    assert!(left_out["variant"].as_u64() > Some(0), "{left_out}");
    let alder = &examples[0];
    assert_eq!(alder["id"], "evidence/alder/baseline/1");
    assert_eq!(alder["inputs"]["input"], project.read("cases/alder.md"));
    assert_eq!(alder["outputs"]["decision"], "go");
    assert_eq!(alder["quality_score"], 1.0);
    assert_eq!(
        alder["indicators"],
        json!({"conformance": 1.0, "completeness": 1.0})
    );
    // The secret is in the answer of the pipeline, and nowhere in the data set.
    assert_eq!(alder["outputs"]["reasons"], json!(["***"]));
    assert_eq!(manifest["masked"], 2);

    // `birch` lacks one of two outputs: (.40 + .35 / 2) / .75. It passes at its own score, to the last bit.
    let least = lines_of_score(&project, "birch");
    let manifest = export(&project, &["--min-score", &least.to_string()]);
    assert_eq!(manifest["examples"], 3);
    let manifest = export(&project, &["--min-score", &(least + 1e-6).to_string()]);
    assert_eq!(manifest["examples"], 2);
    // Variants only where they are asked for.
    let manifest = export(&project, &["--variants", "--min-score", "0.8"]);
    assert!(manifest["examples"].as_u64() > Some(10), "{manifest}");
    assert_eq!(manifest["left_out"]["variant"], Value::Null);
}

fn lines_of_score(project: &Project, case: &str) -> f64 {
    export(project, &["--min-score", "0.1"]);
    let examples = lines(project, "examples.jsonl");
    let found = examples
        .iter()
        .find(|one| one["case"] == case)
        .expect("it is there");
    let score = found["quality_score"].as_f64().expect("a score");
    assert!((score - 0.575 / 0.75).abs() < 1e-9, "{score}");
    score
}

#[test]
fn the_same_run_gives_the_same_bytes_and_no_cell_of_a_table_is_a_formula() {
    let project = project();
    for (format, file) in [
        ("jsonl", "examples.jsonl"),
        ("dspy", "examples.dspy.jsonl"),
        ("csv", "examples.csv"),
    ] {
        let first = export(&project, &["--format", format]);
        let text = project.read(&format!("kelvin-export/{file}"));
        assert_eq!(export(&project, &["--format", format]), first);
        assert_eq!(project.read(&format!("kelvin-export/{file}")), text);
        assert!(!text.contains("not-for-anybody-else"), "{text}");
    }
    let table = project.read("kelvin-export/examples.csv");
    assert!(
        table.contains("\"'=1+1\"") && !table.contains(",\"=1+1"),
        "{table}"
    );
    export(&project, &["--format", "dspy"]);
    let flat = &lines(&project, "examples.dspy.jsonl")[0];
    // `class` is no name in Python.
    assert_eq!(flat["output_class"], "=1+1");
    assert_eq!(flat["quality_score"], 1.0);
    assert_eq!(flat["trace_id"], "evidence/alder/baseline/1");
    let manifest = project.json("kelvin-export/manifest.json");
    assert_eq!(
        manifest["renamed"],
        json!({"output_class": "outputs.class"})
    );
}

/// The lines that the documentation shows have the keys of real ones, and the test with DSPy loads as it says.
#[test]
fn the_documentation_shows_examples_of_this_form() {
    let project = project();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/reports.md")).expect("the page");
    let (_, section) = page
        .split_once("\n## Export: a data set of what went well\n")
        .expect("the section");
    let shown: Vec<Value> = section
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let keys = |one: &Value| -> Vec<String> {
        let mut keys: Vec<String> = one
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        keys.retain(|key| key != "output_class");
        keys.sort();
        keys
    };
    for (shown, format, file) in [
        (&shown[0], "jsonl", "examples.jsonl"),
        (&shown[1], "dspy", "examples.dspy.jsonl"),
    ] {
        export(&project, &["--format", format]);
        assert_eq!(keys(shown), keys(&lines(&project, file)[0]), "{format}");
    }
    let script = fs::read_to_string(root.join("tests/dspy/load.py")).expect("the script");
    for line in [
        "dspy.Example(**",
        ").with_inputs(*",
        "json.loads((folder / \"manifest.json\").read_text())",
    ] {
        assert!(page.contains(line) && script.contains(line), "{line}");
    }
}

#[test]
fn nothing_that_is_not_what_was_measured_gets_into_a_data_set() {
    let project = project();
    let folder = "kelvin/alder/baseline";
    let left_out = |why: &str| {
        let manifest = export(&project, &["--min-score", "0.8"]);
        assert_eq!(manifest["examples"], 1, "{manifest}");
        assert_eq!(manifest["left_out"][why], 1, "{manifest}");
    };
    let (input, output) = (
        format!("{folder}/input.md"),
        format!("{folder}/output.json"),
    );
    let (was_input, was_output) = (project.read(&input), project.read(&output));
    project.write(&input, "## Another\n\ncase\n");
    left_out("input_changed");
    project.write(&input, &was_input);
    for nothing in ["", "null", "{}", "  \"\" "] {
        project.write(&output, nothing);
        left_out("no_output");
    }
    // A file that is cut would be half an example.
    project.write(
        &output,
        &format!("{{\"decision\": \"{}\"}}", "x".repeat(9 << 20)),
    );
    left_out("not_whole");
    fs::write(project.path(&output), b"\xff\xfe").expect("written");
    left_out("not_whole");
    // A pipeline may leave a link to a file that is none of its business.
    fs::remove_file(project.path(&output)).expect("removed");
    left_out("no_output");
    symlink("/etc/hostname", project.path(&output)).expect("linked");
    left_out("not_whole");
    fs::remove_file(project.path(&output)).expect("removed");
    project.write(&output, &was_output);
    assert_eq!(export(&project, &["--min-score", "0.8"])["examples"], 2);
}

/// Answers with the fields of an object, in one of three ways by the repeat, and with what names a person in it.
const AGENT: &str = r#"
case $KELVIN_REPEAT in 3) how=slowly ;; *) how=well ;; esac
[ "$KELVIN_SCENARIO" = "quiet" ] && how=silently
cat > "$2" <<END
{"answer": "done $how for ann@example.org by @bob",
 "account": "DE89 3704 0044 0532 0130 00", "number": "DE89 3704 0044 0532 0130 01",
 "link": "https://shop.example/?id=1&token=abcdef"}
END
"#;

const CHECKS: &str = "\
repeats: 3
invariants:
  done: {description: It is done, check: {type: contains, value: done}}
  well: {description: It is done well, weight: 0.3, check: {type: contains, value: well}}
";

fn scenarios(ids: &[&str]) -> String {
    let line = |id: &&str| {
        let prompt = format!("Order {id}, asked by eve@example.org.");
        json!({"id": id, "prompt": prompt, "expected": "done well"}).to_string() + "\n"
    };
    ids.iter().map(line).collect()
}

/// A project with scenarios that has been measured.
fn with_scenarios(ids: &[&str], more: &str) -> Project {
    let project = Project::new(AGENT);
    project.write("scenarios.jsonl", &scenarios(ids));
    project.write(
        "kelvin.yaml",
        &format!("run: sh {{root}}/pipeline.sh {{input}} {{output}}\nscenarios: scenarios.jsonl\n{CHECKS}{more}"),
    );
    project.kelvin(&["check", "--no-history"]).expect(0);
    project
}

#[test]
fn a_scenario_is_exported_with_the_fields_of_its_answer_and_what_each_check_said() {
    let project = with_scenarios(&["plain", "quiet"], "");
    // Without a quality score the composite of the checks is the score.
    let manifest = export(&project, &["--min-score", "0"]);
    assert_eq!(manifest["score"], "checks.composite");
    assert_eq!(manifest["input_keys"], json!(["prompt"]), "{manifest}");
    assert_eq!(
        manifest["output_keys"],
        json!(["account", "answer", "link", "number"])
    );
    let rows = lines(&project, "examples.jsonl");
    let row = |id: &str| {
        let found = rows.iter().find(|row| row["id"] == id);
        found.unwrap_or_else(|| panic!("{id}: {rows:?}")).clone()
    };
    // Repeats that say the same are one row, and one that says something else is a row of its own.
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(
        ids,
        [
            "checks/plain/baseline/1",
            "checks/plain/baseline/3",
            "checks/quiet/baseline/1"
        ]
    );
    assert_eq!(manifest["left_out"]["repeated"], 3);
    let passed = json!({"outcome": "passed", "score": 1.0});
    let failed = json!({"outcome": "failed", "score": 0.0});
    let one = row("checks/plain/baseline/1");
    assert_eq!(one["verdicts"], json!({"done": passed, "well": passed}));
    assert_eq!(one["score"], 1.0);
    let third = row("checks/plain/baseline/3");
    assert_eq!(third["verdicts"], json!({"done": passed, "well": failed}));
    assert_eq!(third["score"], 1.0 / 1.3);
    // What names a person or lets somebody in is gone, and what only looks like it is there.
    assert_eq!(
        one["inputs"],
        json!({"prompt": "Order plain, asked by ***."})
    );
    assert_eq!(
        one["outputs"],
        json!({
            "answer": "done well for *** by @bob",
            "account": "***",
            "number": "DE89 3704 0044 0532 0130 01",
            "link": "https://shop.example/?id=1&token=***",
        })
    );
    assert_eq!(manifest["masked"], 3);
    export(&project, &["--min-score", "0", "--format", "csv"]);
    let table = project.read("kelvin-export/examples.csv");
    let header = table.lines().next().expect("a header");
    for column in ["split", "verdicts.well.outcome", "verdicts.well.score"] {
        assert!(header.contains(column), "{header}");
    }
    export(&project, &["--min-score", "0", "--format", "dspy"]);
    let flat = &lines(&project, "examples.dspy.jsonl")[1];
    assert_eq!(flat["verdicts"]["well"], failed);
    // Only those that are good enough, as ever.
    let manifest = export(&project, &["--min-score", "0.9"]);
    assert_eq!(manifest["examples"], 1, "{manifest}");
}

/// The sides of all examples, by item.
fn sides(project: &Project) -> Vec<(String, String)> {
    export(project, &["--min-score", "0"]);
    let rows = lines(project, "examples.jsonl");
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    rows.iter()
        .map(|row| (text(row, "case"), text(row, "split")))
        .collect()
}

#[test]
fn everything_of_one_scenario_is_on_one_side_of_the_split_and_a_new_one_moves_none() {
    let ids: Vec<String> = (0..24).map(|at| format!("order{at:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let matrix = "matrix: {language: [de, en]}\n";
    let project = with_scenarios(&ids[..20], matrix);
    let before = sides(&project);
    let mut of_items: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    for (case, side) in &before {
        let item = case.split('[').next().expect("a name");
        let known = of_items.entry(item).or_insert(side);
        assert_eq!(known, side, "{case}");
    }
    let tests = of_items.values().filter(|side| **side == "test").count();
    assert!((1..=8).contains(&tests), "{tests} of 20: {of_items:?}");
    let manifest = project.json("kelvin-export/manifest.json");
    let counted = |side: &str| before.iter().filter(|(_, one)| one == side).count();
    assert_eq!(
        manifest["split"],
        json!({"test": counted("test"), "train": counted("train")})
    );
    project.write("scenarios.jsonl", &scenarios(&ids));
    project.kelvin(&["check", "--no-history"]).expect(0);
    let after = sides(&project);
    assert!(after.len() > before.len());
    for one in &before {
        assert!(after.contains(one), "{one:?}");
    }
    // Two names for one question are one item.
    let same: String = (0..12)
        .map(|at| json!({"id": format!("same{at}"), "prompt": "One question."}).to_string() + "\n")
        .collect();
    project.write("scenarios.jsonl", &same);
    project.kelvin(&["check", "--no-history"]).expect(0);
    let found = sides(&project);
    assert!(
        found.iter().all(|(_, side)| *side == found[0].1),
        "{found:?}"
    );
}

#[test]
fn a_score_that_there_is_not_is_refused_in_words() {
    let project = project();
    let refused = |arguments: &[&str], why: &str| {
        let said = project.kelvin(&[&["export"], arguments].concat()).expect(1);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    };
    refused(
        &["--metric", "evidence.nothing"],
        "no metric `evidence.nothing`",
    );
    refused(
        &["--metric", "evidence.kelvin_score"],
        "a smaller value is better",
    );
    refused(&["--min-score", "NaN"], "is no score");
    refused(&["--report", "none.json"], "none.json");
    let manifest = export(
        &project,
        &["--metric", "evidence.invariance", "--min-score", "0.5"],
    );
    assert_eq!(
        (&manifest["score_key"], &manifest["score"]),
        (&json!("score"), &json!("evidence.invariance"))
    );
    project.config("");
    project.kelvin(&["check", "--no-history"]).expect(0);
    refused(&[], "the report has no quality score");
}

#[test]
#[ignore = "installs DSPy from PyPI: `.ci/run` runs it"]
fn dspy_loads_the_data_set_evaluates_with_it_and_optimizes_one_step() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = Command::new(root.join("tests/dspy/install"))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "DSPy cannot be had: {said}");
    let python = String::from_utf8(installed.stdout).expect("a path");
    let project = project();
    export(
        &project,
        &["--format", "dspy", "--variants", "--min-score", "0.8"],
    );
    let loaded = Command::new(python.trim())
        .arg(root.join("tests/dspy/load.py"))
        .arg(project.path("kelvin-export"))
        .env("DSPY_CACHEDIR", project.path("cache"))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&loaded.stderr);
    assert!(loaded.status.success(), "{said}");
    let text = String::from_utf8(loaded.stdout).expect("text");
    let found: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).expect("JSON");
    let manifest = project.json("kelvin-export/manifest.json");
    assert_eq!(found["examples"], manifest["examples"]);
    // The model answers from memory, so every example is right, before and after.
    assert_eq!(
        (&found["evaluate"], &found["optimized"]),
        (&json!(100.0), &json!(100.0))
    );
}
