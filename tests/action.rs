//! The actions say the same in every place that names their inputs and outputs, and hold no logic.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names below a key, in their order.
fn names(action: &str, key: &str) -> Vec<String> {
    let text = read(action);
    text.lines()
        .skip_while(|line| *line != format!("{key}:"))
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'))
        .filter(|name| !name.starts_with(' '))
        .map(str::to_owned)
        .collect()
}

/// A table of the documentation: what an action says of its inputs or outputs.
fn table(action: &str, key: &str) -> String {
    let document = yaml(action);
    let rows = names(action, key).into_iter().map(|name| {
        let said = document[key][&name]["description"]
            .as_str()
            .unwrap_or_else(|| panic!("{action}: `{name}` has no description"));
        format!("| `{name}` | {said} |\n")
    });
    let head = key.trim_end_matches('s');
    format!("| {head} | |\n|---|---|\n{}", rows.collect::<String>())
}

/// The workflows that are run here, and those of the documentation.
fn workflows(folder: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .expect("listed")
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yml"))
        .collect();
    found.sort();
    assert!(found.len() > 2, "{folder} has no workflows");
    found
}

/// Every value of a key, however deep.
fn values<'a>(document: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match document {
        Value::Object(map) => {
            for (name, value) in map {
                match value.as_str() {
                    Some(text) if name == key => found.push(text),
                    _ => values(value, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| values(item, key, found)),
        _ => {}
    }
}

fn variable(input: &str) -> String {
    format!("INPUT_{}", input.to_uppercase().replace('-', "_"))
}

#[test]
fn the_actions_have_the_same_inputs_and_outputs() {
    let container = yaml("action.yml");
    let host = yaml("host/action.yml");
    assert_eq!(
        names("action.yml", "inputs"),
        names("host/action.yml", "inputs")
    );
    assert_eq!(container["inputs"], host["inputs"]);
    let slim = yaml("slim/action.yml");
    assert_eq!(container["inputs"], slim["inputs"]);
    assert_eq!(container["outputs"], slim["outputs"]);
    assert_eq!(
        names("action.yml", "outputs"),
        names("host/action.yml", "outputs")
    );
    for name in names("action.yml", "outputs") {
        let (ours, theirs) = (&container["outputs"][&name], &host["outputs"][&name]);
        assert_eq!(ours["description"], theirs["description"], "{name}");
        let value = format!("${{{{ steps.kelvin.outputs.{name} }}}}");
        assert_eq!(theirs["value"], value.as_str(), "{name}");
    }
    let post = yaml("post/action.yml");
    for name in names("post/action.yml", "inputs") {
        if !["run-id", "configuration", "config"].contains(&name.as_str()) {
            let mut theirs = container["inputs"][&name].clone();
            let text = theirs["description"].as_str().expect("a text");
            // What publishes cannot leave it to somebody else.
            let later = " `later` leaves it, and the report of a push, to `post/`, so that the token of this job only \
                         has to read,";
            theirs["description"] = text.replace(later, "").into();
            assert_eq!(post["inputs"][&name], theirs, "{name}");
        }
    }
}

#[test]
fn the_actions_hold_no_logic() {
    let container = yaml("action.yml");
    let runs = |image| serde_json::json!({ "using": "docker", "image": image, "args": ["ci"] });
    assert_eq!(container["runs"], runs("Dockerfile"));
    assert_eq!(yaml("slim/action.yml")["runs"], runs("../Dockerfile"));
    for action in ["host/action.yml", "post/action.yml", "approve/action.yml"] {
        let document = yaml(action);
        let step = &document["runs"]["steps"][0];
        let wanted: BTreeMap<String, String> = names(action, "inputs")
            .iter()
            .map(|name| (variable(name), format!("${{{{ inputs.{name} }}}}")))
            .collect();
        let given: BTreeMap<String, String> =
            serde_json::from_value(step["env"].clone()).expect("names and texts");
        assert_eq!(given, wanted, "{action}");
        assert_eq!(step["run"].as_str().expect("a script").lines().count(), 2);
    }
}

#[test]
fn no_input_has_a_default_but_the_token() {
    let container = yaml("action.yml");
    for name in names("action.yml", "inputs") {
        let input = &container["inputs"][&name];
        assert_eq!(input["required"], false, "{name}");
        let default = (name == "token").then_some("${{ github.token }}");
        assert_eq!(input["default"].as_str(), default, "{name}");
    }
}

#[test]
fn the_documentation_has_every_input_and_output() {
    for (path, mark, action, key) in [
        ("docs/action.md", "inputs", "action.yml", "inputs"),
        ("docs/action.md", "outputs", "action.yml", "outputs"),
        ("docs/action.md", "post", "post/action.yml", "inputs"),
        ("docs/action.md", "approve", "approve/action.yml", "inputs"),
    ] {
        let mut page = read(path);
        let (begin, end) = (
            format!("<!-- {mark}: begin -->\n"),
            format!("<!-- {mark}: end -->"),
        );
        let from = page.find(&begin).expect("the mark") + begin.len();
        let to = page.find(&end).expect("the mark");
        page.replace_range(from..to, &table(action, key));
        if std::env::var_os("KELVIN_UPDATE").is_some() {
            fs::write(root().join(path), &page).expect("written");
        }
        assert_eq!(
            read(path),
            page,
            "run `KELVIN_UPDATE=1 cargo test --test action`"
        );
    }
}

#[test]
fn the_documentation_shows_or_links_the_workflows_that_are_linted_and_run() {
    let page = ["action", "reports", "troubleshooting"]
        .map(|page| read(&format!("docs/{page}.md")))
        .concat();
    for workflow in workflows("docs/workflows") {
        let text = fs::read_to_string(&workflow).expect("read");
        let shown = format!("```yaml\n{text}```");
        let name = workflow.file_name().expect("a name").to_string_lossy();
        let link =
            format!("(https://github.com/org/kelvin-action/blob/main/docs/workflows/{name})");
        assert!(
            page.contains(&shown) != page.contains(&link),
            "{name} is neither shown nor linked, or both"
        );
    }
    let first = read("docs/workflows/kelvin.yml");
    assert!(
        read("README.md").contains(&format!("```yaml\n{first}```")),
        "the README shows another"
    );
}

#[test]
fn a_job_that_waits_for_others_runs_also_where_they_broke() {
    // GitHub skips it otherwise, and a check that is skipped counts as passed.
    let mut waiting = 0;
    for folder in ["docs/workflows", ".github/workflows"] {
        for file in workflows(folder) {
            let text = fs::read_to_string(&file).expect("read");
            let document: Value = serde_yaml::from_str(&text).expect("YAML");
            let jobs = document["jobs"].as_object().expect("jobs");
            for (name, job) in jobs {
                let merges = job["steps"].to_string().contains("\"merge\"");
                if job["needs"].is_null() || !merges {
                    continue;
                }
                waiting += 1;
                let file = file.display();
                assert_eq!(job["if"], "${{ !cancelled() }}", "{file}: {name}");
            }
        }
    }
    assert_eq!(waiting, 1, "there is one recipe");
}

#[test]
fn a_cache_brings_back_no_answer_of_other_packages() {
    let mut seen = 0;
    let mut files = workflows("docs/workflows");
    files.extend(workflows(".github/workflows"));
    for file in files {
        let text = fs::read_to_string(&file).expect("read");
        if !text.contains(".kelvin-cache") {
            continue;
        }
        seen += 1;
        let value = |name: &str| {
            let found = text.lines().find_map(|line| line.trim().strip_prefix(name));
            found.unwrap_or_else(|| panic!("{name} {}", file.display()))
        };
        let (key, restored) = (value("key: "), value("restore-keys: "));
        let digest = "${{ hashFiles('requirements.lock') }}-";
        for part in ["${{ runner.os }}", "${{ runner.arch }}", digest] {
            assert!(restored.contains(part), "{part}: {restored}");
        }
        assert!(
            key.starts_with(restored) && restored.ends_with(digest),
            "{key}"
        );
        assert!(text.contains("pip install --require-hashes -r requirements.lock"));
    }
    assert_eq!(seen, 1);
    let page = read("docs/action.md");
    let keys = page
        .lines()
        .filter(|line| line.trim().starts_with("restore-keys:"));
    assert_eq!(keys.count(), 1, "the page shows another recipe");
}

#[test]
fn every_foreign_action_is_pinned_by_one_commit() {
    let mut files = workflows(".github/workflows");
    files.extend(
        ["host/action.yml", "post/action.yml", "approve/action.yml"].map(|path| root().join(path)),
    );
    let mut pins: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("read");
        for line in text
            .lines()
            .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "))
        {
            if line.starts_with("./") {
                continue;
            }
            let (action, pin) = line.split_once('@').expect("a version");
            let (commit, version) = pin.split_once(" # v").expect("a commit and its version");
            let is_commit =
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit, "{}: {line}", file.display());
            pins.entry(action.to_owned())
                .or_default()
                .insert(format!("{commit} {version}"));
        }
    }
    assert!(pins.len() > 3, "{pins:?}");
    assert!(pins.values().all(|pins| pins.len() == 1), "{pins:?}");
}

#[test]
fn no_script_of_a_workflow_holds_an_expression() {
    let mut files: Vec<PathBuf> = workflows(".github/workflows");
    files.extend(workflows("docs/workflows"));
    files.extend(
        ["host/action.yml", "post/action.yml", "approve/action.yml"].map(|path| root().join(path)),
    );
    for file in files {
        let text = fs::read_to_string(&file).expect("read");
        let document: Value = serde_yaml::from_str(&text).expect("YAML");
        let mut scripts = Vec::new();
        values(&document, "run", &mut scripts);
        assert!(
            scripts.iter().all(|script| !script.contains("${{")),
            "{}",
            file.display()
        );
    }
}

#[test]
fn the_image_is_built_from_what_is_pinned() {
    let dockerfile = read("Dockerfile");
    let bases: Vec<&str> = dockerfile
        .lines()
        .filter(|line| line.starts_with("ARG "))
        .collect();
    assert_eq!(bases.len(), 4);
    // Every stage begins with one of them, or with a stage before it, so that nothing comes in by another way.
    let mut stages = Vec::new();
    for stage in dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("FROM "))
    {
        let (from, name) = stage.split_once(" AS ").expect("a stage has a name");
        assert!(from.starts_with("${") || stages.contains(&from), "{stage}");
        stages.push(name);
    }
    assert_eq!(&stages[stages.len() - 2..], ["slim", "full"]);
    for base in bases {
        let (_, digest) = base
            .split_once("@sha256:")
            .unwrap_or_else(|| panic!("{base}"));
        assert!(
            digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{base}"
        );
    }
    for line in ["USER ", "WORKDIR "] {
        // The builder alone has a folder of its own.
        let (_, published) = dockerfile.split_once(" AS base\n").expect("what both have");
        assert!(
            !published
                .lines()
                .any(|instruction| instruction.starts_with(line)),
            "{line}"
        );
    }
    assert!(dockerfile.contains("ENTRYPOINT [\"/usr/local/bin/kelvin\"]"));
    assert!(dockerfile.contains("KELVIN_IN_CONTAINER=1"));
}

/// The flags that `--help` of a command names.
fn flags(command: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .args([command, "--help"])
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            line.trim_start()
                .trim_start_matches("-h, ")
                .trim_start_matches("-V, ")
                .strip_prefix("--")
        })
        .map(|line| {
            line.split([' ', '=', '['])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

#[test]
fn the_inputs_are_the_flags_of_the_command() {
    // What only a person at a terminal needs.
    let of_people = ["dry-run", "event", "event-name", "help", "version"];
    for (action, command) in [
        ("action.yml", "ci"),
        ("post/action.yml", "post"),
        ("approve/action.yml", "approve"),
    ] {
        let inputs: BTreeSet<String> = names(action, "inputs").into_iter().collect();
        let mut flags = flags(command);
        flags.retain(|flag| !of_people.contains(&flag.as_str()));
        assert_eq!(inputs, flags, "{command}");
    }
}

/// Two jobs that differ in nothing but a variable of the matrix would keep their reports under one name.
#[test]
fn every_leg_of_a_documented_matrix_has_a_name_of_its_own_or_measures_a_share() {
    let mut seen = 0;
    for workflow in workflows("docs/workflows") {
        let path = workflow.display().to_string();
        let text = fs::read_to_string(&workflow).expect("read");
        let document: Value = serde_yaml::from_str(&text).expect("it is YAML");
        for (job, body) in document["jobs"].as_object().expect("jobs") {
            let Some(matrix) = body["strategy"]["matrix"].as_object() else {
                continue;
            };
            let steps = body["steps"].as_array().expect("steps");
            let kelvin = steps
                .iter()
                .find(|step| {
                    step["uses"]
                        .as_str()
                        .is_some_and(|uses| uses.contains("kelvin"))
                })
                .expect("a step that runs kelvin");
            seen += 1;
            if kelvin["with"]["shard"].is_string() {
                continue;
            }
            let name = kelvin["with"]["name"].as_str().unwrap_or_default();
            for variable in matrix.keys() {
                let used = format!("${{{{ matrix.{variable} }}}}");
                assert!(
                    name.contains(&used),
                    "{path}: `{job}` has no {used} in its name"
                );
            }
        }
    }
    assert!(seen >= 2, "the workflows with a matrix were not found");
}
