use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project};
use crate::repository::{
    bare, branch, checkout, commit, git, kelvin_in, pushed, save, server, tells, verdict,
};
use crate::server::Server;

#[test]
fn act_01_each_worse_pipeline_fails_for_its_own_reason_and_a_reformatted_one_passes() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    for (name, script, metric) in [
        ("biased", FIRST_UNIT, Some("evidence.invariance")),
        ("constant", CONSTANT, Some("evidence.following.rule")),
        (
            "reformatted",
            &format!("# the same, said again\n{GROUNDED}"),
            None,
        ),
    ] {
        git(project.root(), &["checkout", "--quiet", "main"]);
        branch(&project, name, script);
        let said = project.kelvin(&["gate", "--rerun"]);
        let judgement = verdict(&project, &said);
        match metric {
            Some(metric) => {
                assert_eq!(judgement["verdict"], json!("regression"), "{name}");
                assert_eq!(
                    judgement["metrics"][metric]["verdict"],
                    json!("regression"),
                    "{name}"
                );
                assert!(said.stdout.contains(metric.trim_start_matches("evidence.")));
                first_words_are_true(&project);
            }
            None => assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout),
        }
    }
}

/// What is said first of a change is so: the base gave one answer to the input that is named, and the head
/// gives the other.
fn first_words_are_true(project: &Project) {
    let gate = project.json("kelvin/gate.json");
    let flip = &gate["flips"][0];
    let text = |key: &str| flip[key].as_str().unwrap_or_default().to_owned();
    let (item, part) = (text("item"), text("part"));
    let folder = format!("kelvin/{item}/perturbations/{part}");
    let now = project.json(&format!("{folder}/output.json"));
    assert_eq!(now["decision"].to_string(), text("head"), "{flip}");
    let input = project.path(&format!("{folder}/input.md"));
    let output = project.path("before.json");
    let base = git(project.root(), &["show", "main:pipeline.sh"]);
    let ran = std::process::Command::new("sh")
        .args(["-c", &base, "pipeline"])
        .args([&input, &output])
        .status();
    assert!(ran.expect("it starts").success());
    let before = project.json("before.json");
    fs::remove_file(&output).expect("removed");
    assert_eq!(before["decision"].to_string(), text("base"), "{flip}");
    let words = match text("ought").as_str() {
        "hold" => "rewrites that should not matter",
        _ => "rewrites with other facts, where it moved before",
    };
    let page = project.read("kelvin/gate.md");
    let lead = page.lines().nth(2).expect("a line");
    assert!(lead.contains(&item) && lead.contains(words), "{lead}");
    // The report opens with the same, in the same words and with both answers; also where a finished report is
    // judged once more.
    let opens = |page: &str| {
        let (_, opening) = page
            .split_once("<h1 id=\"gate\">Regression</h1>")
            .expect("it opens so");
        let (opening, _) = opening
            .split_once("This run: ")
            .expect("then comes the run");
        for side in ["base", "head"] {
            let shown: serde_json::Value = serde_json::from_str(&text(side)).expect("JSON");
            let shown = format!("<dd>{}</dd>", shown.as_str().unwrap_or_default());
            assert!(opening.contains(&shown), "{shown} {opening}");
        }
        let said = words.split(',').next().unwrap_or_default();
        assert!(opening.contains(&format!("<code>{item}</code> now ")) && opening.contains(said));
        assert!(opening.contains("what was changed in the input</summary><div class=\"diff\">"));
    };
    opens(&project.read("kelvin/report.html"));
    fs::remove_file(project.path("kelvin/report.html")).expect("removed");
    project.kelvin(&["gate", "--report", "kelvin/report.json"]);
    opens(&project.read("kelvin/report.html"));
}

/// No figure of the range from 0 to 1 can fall by more than 1, so that no re-run has to show it.
#[test]
fn a_change_passes_where_every_drop_is_allowed() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", FIRST_UNIT);
    let said = project.kelvin(&["gate", "--max-drop", "1"]).expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("pass"));
    let said = project.kelvin(&["gate", "--max-drop", "0.1"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn act_03_without_a_baseline_the_gate_passes_visibly_and_fails_where_one_is_required() {
    let (_remote, url) = bare();
    let project = pushed(&url, CONSTANT);
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("no_baseline"));
    insta::assert_snapshot!(lines_with(&said.stdout, &["`kelvin baseline save`"]), @"  ! there is no baseline to compare with; `kelvin baseline save` on the base");
    let tried: Vec<&str> = judgement["tried"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tried| tried["source"].as_str())
        .collect();
    assert_eq!(tried, ["tree", "branch", "compute"]);
    project.config("baseline: {require: true}\n");
    let said = project.kelvin(&["gate"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
}

#[test]
fn act_07_a_committed_report_is_read_from_the_base_and_never_from_the_change_itself() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.check();
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    commit(&project, "report");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "worse", CONSTANT);
    // The change brings a report of its own, in which it is no worse.
    project.check();
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    commit(&project, "forged");
    let said = project.kelvin(&["gate", "--rerun"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base"]["source"], json!("tree"));
    assert_eq!(judgement["verdict"], json!("regression"));
}

#[test]
fn the_nearest_ancestor_with_a_report_is_used_and_named_as_such() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    for n in 0..3 {
        project.write("notes.txt", &format!("{n}"));
        commit(&project, "more");
    }
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "same", GROUNDED);
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base"]["behind"], json!(3));
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["3 commits"])), @"    base [HASH], from branch kelvin-reports, 3 commits behind");
    project.config("baseline: {max_age_commits: 2}\n");
    let said = project.kelvin(&["gate"]).expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
}

#[test]
fn two_configurations_keep_their_reports_apart_and_a_renamed_one_finds_its_own() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    fs::rename(project.path("kelvin.yaml"), project.path("triage.yaml")).expect("renamed");
    commit(&project, "renamed");
    let said = project
        .kelvin(&["gate", "--config", "triage.yaml"])
        .expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("pass"));
    project
        .kelvin(&["check", "--config", "triage.yaml"])
        .expect(0);
    project
        .kelvin(&["baseline", "save", "--config", "triage.yaml"])
        .expect(0);
    let folders = git(
        project.root(),
        &["ls-tree", "--name-only", "origin/kelvin-reports"],
    );
    assert_eq!(folders.lines().collect::<Vec<_>>(), ["kelvin", "triage"]);
    // Another one with settings of its own has no report.
    let text = project.read("triage.yaml");
    project.write("other.yaml", &format!("{text}seed: 7\n"));
    let said = project
        .kelvin(&["gate", "--config", "other.yaml"])
        .expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
}

#[test]
fn a_base_commit_is_measured_where_no_report_serves_and_that_is_allowed() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {compute: true}\n");
    commit(&project, "compute");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "worse", CONSTANT);
    let before = git(project.root(), &["status", "--porcelain"]);
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base"]["source"], json!("compute"));
    assert_eq!(before, git(project.root(), &["status", "--porcelain"]));
}

#[test]
fn a_report_is_saved_for_the_commit_it_is_of_and_for_no_other() {
    let (_remote, url) = bare();
    let project = pushed(&url, CONSTANT);
    let said = project.kelvin(&["baseline", "save"]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: failed to read `[TEMP]/project/kelvin/report.json`: No such file or directory (os error 2)
      help: run `kelvin check` first
    ");
    project.check();
    commit(&project, "another");
    project.kelvin(&["baseline", "save"]).expect(1);
    project.write("notes.txt", "dirty");
    project.check();
    let said = project.kelvin(&["baseline", "save"]).expect(1);
    assert!(said.stderr.contains("--allow-dirty"), "{}", said.stderr);
    project.kelvin(&["check", "--only", "alder"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(1);
}

#[test]
fn a_damaged_or_newer_report_is_a_baseline_that_cannot_be_read_and_says_why() {
    let (_remote, url) = bare();
    let project = pushed(&url, CONSTANT);
    project.check();
    let good = project.read("kelvin/report.json");
    let newer = good.replacen("\"schema_version\": 2", "\"schema_version\": 99", 1);
    for (text, reason) in [
        (good[..good.len() / 2].to_owned(), "tree"),
        (newer, " 99, "),
        ("[".repeat(100_000), "tree"),
        ("{}".to_owned(), "schema_version"),
        ("\u{0}\u{0}".to_owned(), "tree"),
    ] {
        project.write(".kelvin/baseline.json", &text);
        commit(&project, "report");
        let said = project.kelvin(&["gate", "--base", "HEAD"]).expect(3);
        let judgement = verdict(&project, &said);
        assert_eq!(judgement["verdict"], json!("baseline_unreachable"));
        assert!(
            judgement["tried"].to_string().contains(reason),
            "{}",
            judgement["tried"]
        );
    }
}

#[test]
fn compare_exits_with_0_whatever_it_finds_unless_it_is_strict() {
    let project = Project::new(GROUNDED);
    project.kelvin(&["check", "--out", "a"]).expect(0);
    project.write("pipeline.sh", CONSTANT);
    project.kelvin(&["check", "--out", "b"]).expect(0);
    let said = project
        .kelvin(&["compare", "a/report.json", "b/report.json"])
        .expect(0);
    // Four cases, run once a side: too few to be sure, and by the simple rule beyond the limit.
    assert!(
        said.stdout.contains("Gate         inconclusive"),
        "{}",
        said.stdout
    );
    let compared = [
        "compare",
        "a/report.json",
        "b/report.json",
        "--format",
        "json",
    ];
    let judgement: Value =
        serde_json::from_str(&project.kelvin(&compared).expect(0).stdout).expect("JSON");
    assert_eq!(judgement["verdict"], json!("inconclusive"));
    assert_eq!(
        judgement["metrics"]["evidence.following.rule"]["swaps"]["moved_head"],
        json!(0)
    );
    project
        .kelvin(&["check", "--seed", "5", "--out", "c"])
        .expect(0);
    project
        .kelvin(&["compare", "a/report.json", "c/report.json", "--strict"])
        .expect(1);
    project
        .kelvin(&["compare", "a/report.json", "nowhere.json"])
        .expect(1);
}

#[test]
fn a_change_that_edits_what_is_measured_is_told_so_first_and_another_layout_is_no_edit() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "fewer", GROUNDED);
    let text = project.read("kelvin.yaml");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    let turned = format!(
        "# The same in another order.\n{}\nrepeats: 1\n",
        lines.join("\n")
    );
    project.write("kelvin.yaml", &turned);
    commit(&project, "another layout");
    let said = project.kelvin(&["gate", "--no-rerun"]).expect(0);
    assert!(
        !tells(&verdict(&project, &said), "edits_measure"),
        "{}",
        said.stdout
    );
    project.config(
        "timeout_s: 20\nvariants: {reorder: 2, pad_length: 1, pad_content: 1, swap: 2}\n\
         fingerprint: [pipeline.sh]\n",
    );
    commit(&project, "other variants");
    let said = project
        .kelvin(&["gate", "--no-rerun", "--fail-on", "never"])
        .expect(0);
    let first = &verdict(&project, &said)["reasons"][0];
    assert_eq!(
        first,
        &json!({
            "code": "edits_measure",
            "effect": "warn",
            "text": "this change edits what is measured: fingerprint [] → [\"pipeline.sh\"], \
                     variants.reorder 1 → 2, variants.swap 3 → 2",
        })
    );
}

#[test]
fn a_strict_comparison_refuses_another_governing_type_whatever_it_is_called() {
    let project = Project::new(GROUNDED);
    for name in ["d", "e"] {
        let case = format!("# {name}\n\n## Rule\n\n{name}\n\n## Pipeline rule\n\nof {name}\n");
        project.write(&format!("cases/{name}.md"), &case);
    }
    project.kelvin(&["check", "--out", "a"]).expect(0);
    let config = project.read("kelvin.yaml");
    let renamed = config.replacen("governing_types: [", "governing_types: [pipeline_rule, ", 1);
    assert_ne!(renamed, config, "{config}");
    project.write("kelvin.yaml", &renamed);
    project.kelvin(&["check", "--out", "b"]).expect(0);
    let compared = ["compare", "a/report.json", "b/report.json"];
    let said = project
        .kelvin(&[&compared[..], &["--strict"]].concat())
        .expect(1);
    assert!(said.stderr.contains("`pipeline_rule`"), "{}", said.stderr);
    let said = project
        .kelvin(&[&compared[..], &["--format", "json"]].concat())
        .expect(0);
    let judgement: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let codes = judgement["difference_codes"].as_array().expect("a list");
    let types = codes
        .iter()
        .find(|told| told["code"] == "setting" && told["name"] == "governing types")
        .expect("it is told as a value");
    assert!(
        types["head"].to_string().contains("\"pipeline_rule\""),
        "{types}"
    );
    assert_eq!(
        codes.len(),
        judgement["differences"].as_array().map_or(0, Vec::len)
    );
    // The code of the pipeline alone may differ.
    project.write("kelvin.yaml", &config);
    project.write("pipeline.sh", CONSTANT);
    project.kelvin(&["check", "--out", "c"]).expect(0);
    project
        .kelvin(&["compare", "a/report.json", "c/report.json", "--strict"])
        .expect(0);
}

#[test]
fn a_pull_request_checked_out_at_depth_1_is_compared_with_the_other_parent_of_its_merge() {
    let Some(server) = server() else { return };
    let upstream = server.create("widgets.git");
    let project = pushed(&server.url("widgets.git"), GROUNDED);
    save(&project);
    let base = git(project.root(), &["rev-parse", "HEAD"]);
    branch(&project, "feat", CONSTANT);
    let tip = git(project.root(), &["rev-parse", "HEAD"]);
    // The base has moved on since: the merge is onto the newer one, which has a report too.
    git(project.root(), &["checkout", "--quiet", "main"]);
    project.write("notes.txt", "moved on");
    let moved = commit(&project, "moved on");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(
        project.root(),
        &["merge", "--quiet", "--no-ff", "-m", "merge", "feat"],
    );
    git(
        project.root(),
        &["push", "--quiet", "origin", "HEAD:refs/pull/7/merge"],
    );
    git(&upstream, &["update-ref", "refs/pull/7/head", &tip]);

    let runner = tempfile::tempdir().expect("a temporary folder");
    let workspace = checkout(&server, "widgets.git", "refs/pull/7/merge", runner.path());
    let event = json!({
        "number": 7,
        // GitHub freezes this one when the event is made: it is stale, and must not be used.
        "pull_request": { "head": { "sha": tip }, "base": { "ref": "main", "sha": base } },
        "repository": { "default_branch": "main" },
    });
    let path = runner.path().join("event.json");
    fs::write(&path, event.to_string()).expect("written");
    let path = path.display().to_string();
    let arguments = ["gate", "--event", &path, "--event-name", "pull_request"];
    let said = kelvin_in(&project, &workspace, &arguments);
    assert_eq!(said.code, Some(3), "{}\n{}", said.stdout, said.stderr);
    let judgement: Value =
        serde_json::from_slice(&fs::read(workspace.join("kelvin/gate.json")).expect("read"))
            .expect("JSON");
    assert_eq!(judgement["base"]["commit"], json!(moved));
    assert_eq!(judgement["base"]["behind"], json!(0));
}

#[test]
fn a_merge_queue_and_a_push_name_their_base_and_only_that_is_fetched() {
    let Some(server) = server() else { return };
    server.create("widgets.git");
    let project = pushed(&server.url("widgets.git"), GROUNDED);
    save(&project);
    let base = git(project.root(), &["rev-parse", "HEAD"]);
    project.write("pipeline.sh", CONSTANT);
    let head = commit(&project, "worse");
    git(
        project.root(),
        &["push", "--quiet", "origin", "HEAD:refs/heads/queue"],
    );
    for (name, event) in [
        (
            "merge_group",
            json!({ "merge_group": { "base_sha": base, "head_sha": head } }),
        ),
        ("push", json!({ "before": base })),
    ] {
        let runner = tempfile::tempdir().expect("a temporary folder");
        let workspace = checkout(&server, "widgets.git", "refs/heads/queue", runner.path());
        let path = runner.path().join("event.json");
        fs::write(&path, event.to_string()).expect("written");
        let path = path.display().to_string();
        let said = kelvin_in(
            &project,
            &workspace,
            &["gate", "--event", &path, "--event-name", name],
        );
        assert_eq!(
            said.code,
            Some(3),
            "{name}: {}\n{}",
            said.stdout,
            said.stderr
        );
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let Some(server) = server() else { return };
    server.create("widgets.git");
    let first = pushed(&server.url("widgets.git"), CONSTANT);
    let few = "variants: {reorder: 1, pad_length: 0, pad_content: 0, swap: 1}\n";
    first.config(&format!("{few}name: one\n"));
    commit(&first, "one");
    git(first.root(), &["push", "--quiet", "origin", "main"]);
    let second = Project::new(CONSTANT);
    fs::remove_dir_all(second.root()).expect("removed");
    let url = server.url("widgets.git");
    let header = format!("http.extraheader={}", Server::header());
    let target = second.root().display().to_string();
    git(
        Path::new("."),
        &["-c", &header, "clone", "--quiet", &url, &target],
    );
    let key = format!("http.{url}.extraheader");
    git(second.root(), &["config", &key, &Server::header()]);
    second.config(&format!("{few}name: two\n"));
    for round in 0..20 {
        for project in [&first, &second] {
            commit(project, &format!("round {round}"));
            project.check();
        }
        let mut writers: Vec<_> = [&first, &second]
            .map(|project| project.start(&["baseline", "save"]))
            .into();
        for writer in &mut writers {
            assert_eq!(
                writer.wait().expect("it ends").code(),
                Some(0),
                "round {round}"
            );
        }
    }
    git(
        first.root(),
        &["fetch", "--quiet", "origin", "+kelvin-reports:refs/kept"],
    );
    for name in ["one", "two"] {
        let listed = git(
            first.root(),
            &["ls-tree", "--name-only", &format!("refs/kept:{name}")],
        );
        assert_eq!(listed.lines().count(), 20, "{name}");
    }
    let commits = git(first.root(), &["rev-list", "--count", "refs/kept"]);
    assert_eq!(commits, "1", "the branch does not grow");
}

#[test]
fn a_project_without_a_repository_has_no_baseline() {
    let project = Project::new(CONSTANT);
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("no_baseline"));
    insta::assert_snapshot!(judgement["tried"].to_string(), @r#"[{"source":"tree","why":"there is no git repository here"}]"#);
}

#[test]
fn a_change_that_edits_its_own_gate_is_told_so_first_and_judged_by_its_own_rules() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    let said = project.kelvin(&["gate"]).expect(0);
    assert!(
        !tells(&verdict(&project, &said), "edits_rules"),
        "{}",
        said.stdout
    );
    branch(&project, "lenient", CONSTANT);
    project.config("gate: {max_drop: 1.5}\nbaseline: {max_age_days: 30}\n");
    commit(&project, "lenient");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    let reasons: Vec<&str> = judgement["reasons"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|reason| reason["text"].as_str())
        .collect();
    assert_eq!(
        reasons[1..3],
        [
            "this change edits the baseline: max_age_days 90 → 30",
            "this change edits the gate: max_drop 0.05 → 1.5"
        ]
    );
    insta::assert_snapshot!(redacted(reasons[0]), @"passes under rules that this change made; by the rules of the base [HASH] the verdict is regression: `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now");
    let page = project.read("kelvin/gate.md");
    let second = page.lines().nth(2).expect("the line below the headline");
    insta::assert_snapshot!(redacted(second), @"**Passes under rules that this change made; by the rules of the base [HASH] the verdict is regression: `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now**");
    // Options of the command line are no edits of the change.
    project.config("");
    let said = project.kelvin(&["gate", "--max-drop", "1.5"]).expect(0);
    assert!(
        !tells(&verdict(&project, &said), "edits_rules"),
        "{}",
        said.stdout
    );
    // Turning the baseline off is an edit like any other.
    project.config("baseline: {from: 'off'}\n");
    let said = project.kelvin(&["gate"]).expect(0);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["! "])), @"
      ! passes under rules that this change made; by the rules of the base [HASH]
      ! this change edits the baseline: from auto → off
      ! the baseline is turned off (`baseline.from`), so nothing was compared
    ");
}

#[test]
fn a_base_that_was_asked_for_and_is_nowhere_is_refused_before_anything_is_run() {
    let (_remote, url) = bare();
    let project = pushed(
        &url,
        "echo x >> calls\necho '{\"decision\": \"deny\"}' > \"$2\"\n",
    );
    save(&project);
    let before = project.read("calls");
    let said = project.kelvin(&["gate", "--base", "mian"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the base `mian`, which was asked for, was not found: `git fetch --no-tags --quiet --end-of-options origin mian` failed: fatal: couldn't find remote ref mian
      help: did you mean `main`? name a branch, a tag or a commit of this clone or of its remote; nothing was run
    ");
    assert_eq!(project.read("calls"), before, "something was run");
    // What cannot be asked is not known to be a slip.
    git(
        project.root(),
        &[
            "remote",
            "set-url",
            "origin",
            "http://127.0.0.1:9/acme/widgets",
        ],
    );
    let said = project.kelvin(&["gate", "--base", "mian"]).expect(3);
    assert_eq!(
        verdict(&project, &said)["verdict"],
        json!("baseline_unreachable")
    );
}

#[test]
fn the_page_says_what_the_failing_cases_said_and_an_error_leaves_no_verdict_of_an_earlier_run() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    let broken = format!(
        "if cmp -s \"$1\" cases/birch.md; then echo \"KeyError: '<b>due</b> | @team'\" >&2; exit 7; fi\n{GROUNDED}"
    );
    branch(&project, "broken", &broken);
    let said = project.kelvin(&["gate"]).expect(3);
    assert_eq!(verdict(&project, &said)["passed"], json!(false));
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["failed run said", "KeyError"]), @r#"
    | case | what its first failed run said |
    | `birch` | it ended with exit code 7: KeyError: '&lt;b&gt;due&lt;/b&gt; &#124; @&#8203;team' |
    "#);
    // Whoever shows the verdict after an error of the configuration would show that of the earlier run.
    let report = project.read("kelvin/report.json");
    let configuration = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &format!("{configuration}cased: cases\n"));
    for command in [&["gate"][..], &["check"]] {
        fs::write(project.path("kelvin/gate.md"), "old").expect("written");
        fs::write(project.path("kelvin/gate.json"), "{}").expect("written");
        project.kelvin(command).expect(1);
        assert!(!project.path("kelvin/gate.md").exists(), "{command:?}");
        assert!(!project.path("kelvin/gate.json").exists(), "{command:?}");
    }
    assert_eq!(project.read("kelvin/report.json"), report);
    // A folder that kelvin did not make is left alone.
    project.write("mine/gate.md", "mine");
    project.kelvin(&["gate", "--out", "mine"]).expect(1);
    assert_eq!(project.read("mine/gate.md"), "mine");
}
