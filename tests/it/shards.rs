use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project, counting};
use crate::repository;

/// Everything that can be told of a run: every kind, repeats, replays.
const EVERYTHING: &str = "repeats: 3\nnoise_floor: {replications: 4}\nperturbations:\n  enable: [swap_condition, \
                          numeric_magnitude, comparator_flip, polarity_flip, whitespace_jitter, \
                          bullet_reformat, punctuation_normalize, hedge_injection, \
                          politeness_injection, discourse_marker_injection, \
                          meta_commentary_injection, non_governing_duplication, drop]\n  \
                          count_drop: true\n";

/// Answers by its first unit, but not always: some inputs fail, some have no decision.
const FAILING: &str = r###"
sum=$(cksum < "$1" | cut -d' ' -f1)
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
    let project = shipped(FIRST_UNIT, "");
    joined_is_whole(&project, &[], 0);
    joined_is_whole(&project, &["--seed", "11"], 0);
}

#[test]
fn so_it_is_with_every_kind_with_repeats_and_with_a_noise_floor() {
    let script = "printf '{\"decision\": \"%s\"}' \"$(grep -m1 '^## ' \"$1\" | cksum | cut -d' ' \
                  -f1)\" > \"$2\"";
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
    let project = shipped(FAILING, "repeats: 2\nnoise_floor: {replications: 3}\n");
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
    assert!(report["cases"].as_object().expect("cases").is_empty());
    let invariance = &report["metrics"]["evidence.invariance"];
    assert_eq!(invariance["value"], Value::Null);
    assert_eq!(invariance["reason"], "this shard has no cases");
    assert_eq!(project.calls(), 0);
}

#[test]
fn a_shard_measures_its_own_cases_and_draws_from_all() {
    let project = Project::new(GROUNDED);
    project.check();
    let whole = project.report();
    project.kelvin(&["check", "--shard", "3/8"]).expect(0);
    let shard = project.report();
    let names: Vec<&String> = shard["cases"].as_object().expect("cases").keys().collect();
    assert_eq!(names, ["birch"]);
    assert_eq!(shard["cases"]["birch"], whole["cases"]["birch"]);
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

#[test]
fn a_missing_shard_is_named_with_what_runs_it_again() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 3, &[]);
    // A job that died has left cases and no report of the run.
    fs::remove_file(project.path("shards/2/report.json")).expect("removed");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(said.contains("shard 2/3 is missing"), "{said}");
    assert!(said.contains("kelvin check --shard 2/3"), "{said}");
    assert!(!project.path("kelvin").exists());
    fs::remove_dir_all(project.path("shards/3")).expect("removed");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(
        said.contains("the shards 2/3 and 3/3 are missing"),
        "{said}"
    );
}

#[test]
fn shards_that_overlap_are_refused_by_name() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    project
        .kelvin(&["check", "--shard", "2/2", "--out", "again"])
        .expect(0);
    let said = project
        .kelvin(&["merge", "shards", "again"])
        .expect(1)
        .stderr;
    assert!(said.contains("shard 2/2 is there twice"), "{said}");
    assert!(said.contains("again/report.json"), "{said}");
    assert!(said.contains("shards/2/report.json"), "{said}");
    // The same file named twice is one file.
    project
        .kelvin(&["merge", "shards", "shards/2/report.json"])
        .expect(0);
}

/// Runs one of two shards differently, and expects the merge to say what differs.
fn differs(change: impl Fn(&Project), arguments: &[&str], says: &str) {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    change(&project);
    let again = [&["check", "--shard", "2/2", "--out", "shards/2"], arguments].concat();
    project.kelvin(&again).expect(0);
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(said.contains(says), "{says}: {said}");
    for name in ["shards/1/report.json", "shards/2/report.json"] {
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn shards_of_different_runs_are_refused_with_what_differs() {
    differs(
        |_| {},
        &["--seed", "4"],
        "the seed is `0` in the first and `4`",
    );
    differs(|_| {}, &["--only", "alder"], "choice of cases");
    differs(
        |project| project.write("cases/elm.md", "## Rule\n\nOne.\n"),
        &[],
        "digest of the cases",
    );
    differs(
        |project| {
            project.config("perturbations: {enable: [drop]}\n");
        },
        &[],
        "digest of the configuration",
    );
    differs(
        |project| {
            project.config("repeats: 2\n");
        },
        &[],
        "number of repeats",
    );
    differs(
        |project| {
            project.config("fingerprint: [pipeline.sh]\n");
        },
        &[],
        "digest of the pipeline",
    );
    differs(
        |project| {
            project.config("env: [HOME]\n");
        },
        &[],
        "digest of the command",
    );
}

/// Changes the report of the second shard by hand.
fn edited(edit: impl Fn(&mut Value), says: &str) {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    let mut report = project.json("shards/2/report.json");
    edit(&mut report);
    project.write("shards/2/report.json", &report.to_string());
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(said.contains(says), "{says}: {said}");
    assert!(!project.path("kelvin").exists());
}

#[test]
fn reports_that_are_not_what_a_shard_writes_are_refused() {
    edited(
        |report| report["tool"]["version"] = "0.0.1".into(),
        "version of kelvin",
    );
    edited(
        |report| {
            report["run"]["shard"].take();
        },
        "of a whole run",
    );
    edited(
        |report| report["run"]["shard"]["index"] = 5.into(),
        "there is no such shard",
    );
    edited(
        |report| report["run"]["shard"]["count"] = 3.into(),
        "number of shards",
    );
    edited(
        |report| {
            let cases = report["cases"].as_object_mut().expect("cases");
            let (_, case) = cases.iter().next().expect("one");
            let case = case.clone();
            // The other shard has one of these two.
            cases.insert("alder".to_owned(), case.clone());
            cases.insert("birch".to_owned(), case);
        },
        "belongs to shard 1/2",
    );
    edited(
        |report| {
            report["cases"] = serde_json::json!({});
        },
        "and should hold 4",
    );
    edited(
        |report| {
            let cases = report["cases"].as_object_mut().expect("cases");
            let (_, case) = cases.iter_mut().next().expect("one");
            case["folder"] = "../../elsewhere".into();
        },
        "no folder of its own",
    );
    edited(
        |report| {
            let metric = report["metrics"]["evidence.invariance"].clone();
            report["metrics"]["retrieval.mrr"] = metric;
        },
        "`retrieval.mrr`, which cannot be joined",
    );
    let project = Project::new(CONSTANT);
    project.write("shards/1/report.json", "{\"schema_version\": 1, ");
    let said = project.kelvin(&["merge", "shards"]).expect(1).stderr;
    assert!(said.contains("is cut off"), "{said}");
    project.kelvin(&["merge", "nowhere"]).expect(1);
    fs::create_dir_all(project.path("empty")).expect("made");
    let said = project.kelvin(&["merge", "empty"]).expect(1).stderr;
    assert!(said.contains("there is no report in `empty`"), "{said}");
}

#[test]
fn an_output_folder_that_holds_the_shards_or_is_not_ours_is_refused() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    let before = project.files("shards");
    for out in ["shards", "shards/1", "cases", "."] {
        project.kelvin(&["merge", "shards", "--out", out]).expect(1);
    }
    assert_eq!(project.files("shards"), before);
}

#[test]
fn links_in_a_shard_lead_nowhere() {
    let project = Project::new(CONSTANT);
    run_shards(&project, 2, &[]);
    project.write("secret", "secret");
    let case = fs::read_dir(project.path("shards/1"))
        .expect("listed")
        .map(|entry| entry.expect("listed").path())
        .find(|path| path.is_dir())
        .expect("a case");
    let name = case.file_name().expect("a name").to_owned();
    fs::remove_file(case.join("baseline/input.md")).expect("removed");
    std::os::unix::fs::symlink(project.path("secret"), case.join("baseline/input.md"))
        .expect("linked");
    merge(&project);
    let copied = project.path("kelvin").join(name).join("baseline/input.md");
    assert!(fs::symlink_metadata(copied).is_err());
}

#[test]
fn the_number_of_a_shard_is_checked() {
    let project = Project::new(CONSTANT);
    for wrong in ["0/8", "9/8", "three", "1/1000"] {
        let said = project
            .kelvin(&["check", "--shard", wrong])
            .expect(1)
            .stderr;
        assert!(said.contains("such as `3/8`"), "{said}");
    }
}

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
        let said = project.kelvin(&["gate"]).expect(code);
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
        assert!(
            sentence
                .as_str()
                .expect("text")
                .contains("no case was run again"),
            "{sentence}"
        );
        assert_eq!(joined, whole);
    }
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
    assert!(said.contains("shard 2/2, not of a whole run"), "{said}");
    assert!(said.contains("kelvin merge"), "{said}");
    assert!(judged("nowhere.json", &[]).contains("nowhere.json"));
    assert!(judged("kelvin.yaml", &[]).contains("unusable"));
    for more in [&["--rerun"][..], &["--seed", "1"], &["--shard", "1/2"]] {
        assert!(judged("shards/2/report.json", more).contains("cannot be used with"));
    }
    let said = project
        .kelvin(&["baseline", "save", "--report", "shards/2/report.json"])
        .expect(1)
        .stderr;
    assert!(said.contains("that of shard 2/2"), "{said}");
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
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/shards.md");
    let page = fs::read_to_string(page).expect("read");
    page.split("\n```")
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
fn the_workflow_of_the_page_has_every_shard_and_joins_them_in_a_job_of_its_own() {
    let blocks = blocks("yaml");
    let [workflow] = blocks.as_slice() else {
        panic!("one workflow is expected: {blocks:?}");
    };
    let workflow: Value = serde_yaml::from_str(workflow).expect("it is YAML");
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
        let shard = pattern.replace("${{ matrix.shard }}", &shard.to_string());
        assert!(shard.ends_with(&format!("/{}", shards.len())), "{shard}");
        let out = format!("shards/kelvin-shard-{}", shard.replace('/', "-of-"));
        project
            .kelvin(&["check", "--shard", &shard, "--out", &out])
            .expect(0);
    }
    assert_eq!(job["strategy"]["fail-fast"], false);
    let last = &workflow["jobs"]["kelvin"];
    assert_eq!(last["needs"], "shard");
    let folder = step(last, "download-artifact")["with"]["path"].clone();
    assert_eq!(step(last, "kelvin-action")["with"]["merge"], folder);
    // Nothing but the last job may write.
    assert_eq!(
        workflow["permissions"],
        serde_json::json!({ "contents": "read" })
    );
    let folder = folder.as_str().expect("text");
    project.kelvin(&["merge", folder]).expect(0);
}
