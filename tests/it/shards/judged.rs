//! The verdict on joined reports, and what the page about shards claims.

use kelvin_fixtures::text::redacted;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{merge, run_shards};
use crate::project::{CONSTANT, GROUNDED, Project, counting};
use crate::repository;

/// A project with a saved baseline, and a change of the pipeline on a branch.
fn changed(remote: &str, script: &str) -> Project {
    let project = repository::pushed(remote, GROUNDED);
    project.write(".gitignore", "/kelvin/\n/shards/\n/calls\n");
    repository::commit(&project, "ignore");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    repository::save(&project);
    repository::branch(&project, "change", script);
    project
}

#[test]
fn a_joined_report_is_judged_like_a_run_of_its_own_and_nothing_is_run() {
    for (script, code) in [(CONSTANT, 3), (GROUNDED, 0)] {
        let (_remote, url) = repository::bare();
        let project = changed(&url, &counting(script));
        let said = project.kelvin(&["gate", "--no-rerun"]).expect(code);
        let whole = repository::verdict(&project, &said);
        run_shards(&project, 3, &[]);
        merge(&project);
        let calls = project.calls();
        let said = project
            .kelvin(&["gate", "--report", "kelvin/report.json"])
            .expect(code);
        assert_eq!(project.calls(), calls, "nothing was run");
        let mut joined = repository::verdict(&project, &said);
        let told = joined["differences"].as_array_mut().expect("a list");
        let sentence = told.pop().expect("it is told");
        insta::allow_duplicates! {
            insta::assert_snapshot!(sentence.as_str().expect("text"), @"the report was finished before the gate saw it: no case was run again");
        }
        let codes = joined["difference_codes"].as_array_mut().expect("a list");
        let code = codes.pop().expect("it is told as a value");
        assert_eq!(code["code"], "finished_before");
        assert_eq!(joined, whole);
    }
}

#[test]
fn a_report_of_another_commit_says_nothing_of_the_one_that_is_checked_out() {
    let (_remote, url) = repository::bare();
    let project = changed(&url, GROUNDED);
    run_shards(&project, 2, &[]);
    merge(&project);
    let judged = || {
        let said = project
            .kelvin(&["gate", "--report", "kelvin/report.json"])
            .expect(0);
        repository::verdict(&project, &said)
    };
    assert_eq!(judged()["verdict"], "pass");
    project.write("pipeline.sh", CONSTANT);
    repository::commit(&project, "worse");
    let open = judged();
    assert_eq!(open["verdict"], "inconclusive", "{open}");
    let first = open["reasons"][0]["text"].as_str().expect("text");
    insta::assert_snapshot!(redacted(first), @"the report was measured at commit [HASH], and [HASH] is checked out: what lies between was not measured");
    assert_eq!(open["reasons"][0]["code"], "not_measured");
}

#[test]
fn a_report_that_cannot_be_judged_as_it_is_is_refused() {
    let (_remote, url) = repository::bare();
    let project = changed(&url, CONSTANT);
    run_shards(&project, 2, &[]);
    let judged = |report: &str, more: &[&str]| {
        let all = [&["gate", "--report", report], more].concat();
        project.kelvin(&all).expect(1).stderr
    };
    let said = judged("shards/2/report.json", &[]);
    insta::assert_snapshot!(said, @"
    error: the report `shards/2/report.json` is that of shard 2/2, not of a whole run
      help: join all shards with `kelvin merge`, and judge what it writes
    ");
    assert!(judged("nowhere.json", &[]).contains("nowhere.json"));
    insta::assert_snapshot!(judged("kelvin.yaml", &[]), @"error: the report `kelvin.yaml` is unusable: it is not JSON: expected value at line 1 column 1");
    let options = [&["--rerun"][..], &["--seed", "1"], &["--shard", "1/2"]];
    let refused: Vec<String> = options
        .iter()
        .map(|more| judged("shards/2/report.json", more))
        .collect();
    for (said, more) in refused.iter().zip(options) {
        assert!(
            said.contains("'--report <FILE>'") && said.contains(more[0]),
            "{said}"
        );
    }
    let said = project
        .kelvin(&["baseline", "save", "--report", "shards/2/report.json"])
        .expect(1)
        .stderr;
    insta::assert_snapshot!(said, @"
    error: the report is that of shard 2/2
      help: join all shards with `kelvin merge`, and save what it writes
    ");
}

#[test]
fn a_gate_on_a_shard_compares_its_share_alone() {
    let (_remote, url) = repository::bare();
    // Worse in one case, which falls into the third of eight shards.
    let worse = format!(
        "grep -q 'Request birch\\|team asks for room 1' \"$1\" && {{ {CONSTANT}\nexit; }}\n{GROUNDED}"
    );
    let project = changed(&url, &worse);
    let other = project.kelvin(&["gate", "--shard", "6/8"]);
    let other = repository::verdict(&project, &other);
    let cases = other["cases"].as_array().expect("a list");
    assert!(
        cases.iter().all(|case| case["case"] == "cedar"),
        "only its own: {cases:?}"
    );
    let said = project.kelvin(&["gate", "--shard", "3/8"]);
    let judgement = repository::verdict(&project, &said);
    let cases = judgement["cases"].as_array().expect("a list");
    assert!(!cases.is_empty());
    assert!(
        cases.iter().all(|case| case["case"] == "birch"),
        "{cases:?}"
    );
}

/// The fenced blocks of the page about shards that are marked with a language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/action.md");
    let page = fs::read_to_string(page).expect("read");
    let (_, section) = page
        .split_once("\n## Shards: one run on several machines\n")
        .expect("the section");
    let section = section.split("\n## ").next().expect("it ends");
    section
        .split("\n```")
        .filter_map(|block| block.strip_prefix(&format!("{language}\n")))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_commands_of_the_page_lead_to_a_verdict() {
    let (_remote, url) = repository::bare();
    let project = changed(&url, CONSTANT);
    let commands = blocks("sh");
    let lines: Vec<&str> = commands.iter().flat_map(|block| block.lines()).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    for line in lines {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("kelvin"));
        let arguments: Vec<&str> = words.collect();
        let is_gate = arguments[0] == "gate";
        let said = project.kelvin(&arguments);
        assert_eq!(
            said.code,
            Some(if is_gate { 3 } else { 0 }),
            "{line}: {}",
            said.stderr
        );
    }
    // Nothing can be run again, and four cases are too few to be sure.
    let judgement = project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], "inconclusive");
    assert_eq!(judgement["passed"], false);
}

#[test]
fn the_recipe_for_a_matrix_has_every_shard_and_joins_them_in_a_job_of_its_own() {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/workflows/matrix.yml");
    let recipe = fs::read_to_string(recipe).expect("read");
    let workflow: Value = serde_yaml::from_str(&recipe).expect("it is YAML");
    let job = &workflow["jobs"]["shard"];
    let step = |job: &Value, uses: &str| {
        let steps = job["steps"].as_array().expect("steps").clone();
        steps
            .into_iter()
            .find(|step| {
                step["uses"]
                    .as_str()
                    .is_some_and(|text| text.contains(uses))
            })
            .unwrap_or_else(|| panic!("no step uses {uses}"))
    };
    let shards = job["strategy"]["matrix"]["shard"]
        .as_array()
        .expect("a list");
    let pattern = step(job, "kelvin-action")["with"]["shard"].clone();
    let pattern = pattern.as_str().expect("text");
    let project = Project::new(CONSTANT);
    for shard in shards {
        let shard = pattern.replace("${{ matrix.shard }}", shard.as_str().expect("text"));
        assert!(shard.ends_with(&format!("/{}", shards.len())), "{shard}");
        let out = format!("shards/kelvin-shard-{}", shard.replace('/', "-of-"));
        project
            .kelvin(&["check", "--shard", &shard, "--out", &out])
            .expect(0);
    }
    assert_eq!(job["strategy"]["fail-fast"], false);
    let last = &workflow["jobs"]["kelvin"];
    assert_eq!(last["needs"], "shard");
    // A job that is skipped counts as passed, so this one runs also where a shard broke.
    assert_eq!(last["if"], "${{ !cancelled() }}");
    let folder = step(last, "download-artifact")["with"]["path"].clone();
    assert_eq!(step(last, "kelvin-action")["with"]["merge"], folder);
    // Nothing but the last job may write.
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(
        job["permissions"],
        serde_json::json!({ "contents": "read" })
    );
    let folder = folder.as_str().expect("text");
    project.kelvin(&["merge", folder]).expect(0);
}
