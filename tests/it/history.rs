use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;

use serde_json::Value;

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, kelvin_in, pushed, save};

const FILE: &str = ".kelvin/history.db";

fn runs(project: &Project) -> Vec<Value> {
    let said = project.kelvin(&["history", "--format", "json", "--last", "1000"]);
    let said = said.expect(0);
    serde_json::from_str(&said.stdout).expect("a list")
}

#[test]
fn every_check_is_recorded_and_listed_and_two_runs_need_no_files_to_be_compared() {
    let project = Project::new(GROUNDED);
    let said = project.kelvin(&["history"]).expect(0);
    insta::assert_snapshot!(said.stdout, @"
    no run was recorded yet
    next: kelvin check
    ");
    assert!(!project.path(".kelvin").exists());
    project.check();
    project.write("pipeline.sh", CONSTANT);
    project.check();
    project.kelvin(&["check", "--no-history"]).expect(0);
    project.kelvin(&["check", "--dry-run"]).expect(0);
    let listed = runs(&project);
    assert_eq!(listed.len(), 2);
    let value = |at: usize| listed[at]["metrics"]["evidence.sensitivity"]["value"].as_f64();
    assert_eq!((value(0), value(1)), (Some(1.0), Some(0.0)));
    assert_eq!(listed[0]["probe"], "evidence");
    let said = project.kelvin(&["history"]).expect(0);
    let line = said
        .stdout
        .lines()
        .find(|line| line.contains("evidence.sensitivity"));
    let line = line.expect("the metric has a line");
    assert!(line.contains("█▁") && line.ends_with("0.0000"), "{line}");

    fs::remove_dir_all(project.path("kelvin")).expect("removed");
    let id = |at: usize| listed[at]["id"].as_str().expect("an id").to_owned();
    let (first, second) = (id(0), id(1));
    for (base, head) in [
        (first[..6].to_owned(), second[..6].to_owned()),
        (format!("run:{first}"), "run:latest".to_owned()),
        ("previous".to_owned(), "latest".to_owned()),
    ] {
        let said = project.kelvin(&["compare", &base, &head, "--format", "json"]);
        let judgement: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
        let sensitivity = &judgement["metrics"]["evidence.sensitivity"];
        assert_eq!(sensitivity["base"], 1.0, "{base} {head}");
        assert_eq!(sensitivity["head"], 0.0, "{base} {head}");
        assert_eq!(judgement["base"]["source"], "history");
    }
}

#[test]
fn the_figures_of_a_run_are_made_again_from_its_items() {
    let project = Project::new(FIRST_UNIT);
    project.check();
    let said = project.kelvin(&["rescore", "figures", "latest", "--format", "json"]);
    let again: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    assert_eq!(again["changed"], serde_json::json!({}));
    assert_eq!(again["distances"], true);
    assert!(again["figures"].as_u64().is_some_and(|figures| figures > 8));
    project
        .kelvin(&["rescore", "figures", "latest", "--write", "again.json"])
        .expect(0);
    assert_eq!(
        project.json("again.json"),
        project.json("kelvin/report.json")
    );
    // How a run compared its answers is in its report: the configuration of today does not matter.
    project.write("kelvin.yaml", "scorer: {type: ordinal, scale: [a, b]}\n");
    let said = project.kelvin(&["rescore", "figures", "latest", "--format", "json"]);
    let again: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    assert_eq!(again["changed"], serde_json::json!({}));
    assert_eq!(again["distances"], true);
    let said = project.kelvin(&["rescore", "figures", "ffff"]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: the history `[TEMP]/project/.kelvin/history.db` has no run `ffff`
      help: `kelvin history` lists them
    ");
}

#[test]
fn two_processes_that_record_at_once_lose_nothing() {
    let project = Project::new(CONSTANT);
    project.check();
    for round in 0..20 {
        // Every few rounds the file itself is made by both at once.
        if round % 5 == 0 {
            fs::remove_dir_all(project.path(".kelvin")).expect("removed");
        }
        let before = if round % 5 == 0 {
            0
        } else {
            runs(&project).len()
        };
        let mut writers: Vec<_> = ["one", "two"]
            .iter()
            .map(|out| project.start(&["check", "--only", "alder", "--out", out]))
            .collect();
        for writer in &mut writers {
            assert!(writer.wait().expect("it ends").success());
        }
        assert_eq!(runs(&project).len(), before + 2, "round {round}");
    }
}

#[test]
fn a_history_that_cannot_be_written_fails_no_check() {
    let project = Project::new(GROUNDED);
    project.write(FILE, "something else");
    let said = project.check();
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["notice: "])), @"notice: this run is not in the history: `[TEMP]/project/.kelvin/history.db` is no history of kelvin");
    assert_eq!(project.read(FILE), "something else");
    let said = project.kelvin(&["history"]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: `[TEMP]/project/.kelvin/history.db` is no history of kelvin
      help: move it away; the next check makes a new one
    ");
}

#[test]
fn a_damaged_history_says_which_file_to_move_away() {
    let project = Project::new(GROUNDED);
    project.check();
    let mut bytes = std::fs::read(project.path(FILE)).expect("there");
    bytes[100..6000].fill(0x5a);
    std::fs::write(project.path(FILE), &bytes).expect("written");
    let said = project.kelvin(&["history"]).expect(1);
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["help: "])), @"  help: the history is damaged: move `.kelvin/history.db` away, with `.kelvin/history.db-wal` and `.kelvin/history.db-shm` where they are there; the next check begins a new one");
    let cure = said.stderr.lines().find(|line| line.contains("help: "));
    let cure = cure.expect("a cure").trim().to_owned();
    let said = project.check();
    assert!(said.stderr.contains(&cure), "{}", said.stderr);
    // What it says is enough.
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(project.path(&format!("{FILE}{end}")));
    }
    let said = project.check();
    assert!(!said.stderr.contains(FILE), "{}", said.stderr);
    assert_eq!(runs(&project).len(), 1);
}

#[test]
fn whoever_waits_for_the_history_says_what_for() {
    let project = Project::new(GROUNDED);
    project.check();
    let script = format!(
        "import sqlite3,sys,time\n\
         held = sqlite3.connect({:?}, isolation_level=None)\n\
         held.execute('begin immediate')\n\
         print('held', flush=True)\n\
         time.sleep(6)\n",
        project.path(FILE)
    );
    let mut holder = std::process::Command::new("python3")
        .args(["-c", &script])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut word = [0; 4];
    let stdout = holder.stdout.as_mut().expect("piped");
    std::io::Read::read_exact(stdout, &mut word).expect("it holds the file");
    let said = project.check();
    holder.wait().expect("it ends");
    insta::assert_snapshot!(lines_with(&said.stderr, &["history"]), @"waiting for another process that writes to the history `.kelvin/history.db`, for at most 30 s");
    assert_eq!(runs(&project).len(), 2);
    assert_eq!(project.check().stderr.matches("history").count(), 0);
}

#[test]
fn a_history_of_a_newer_version_is_refused_and_left_byte_for_byte() {
    let project = Project::new(GROUNDED);
    project.check();
    let mut bytes = fs::read(project.path(FILE)).expect("read");
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(project.path(FILE), &bytes).expect("written");
    let before = project.files(".kelvin");
    let said = project.check();
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["notice: "])), @"notice: this run is not in the history: the history `[TEMP]/project/.kelvin/history.db` was written by a newer kelvin (version 9, this one knows up to 4) and is left as it is");
    for arguments in [
        &["history"][..],
        &["compare", "latest", "previous"],
        &["rescore", "figures", "latest"],
    ] {
        let said = project.kelvin(arguments).expect(1);
        assert!(said.stderr.contains(FILE), "{}", said.stderr);
    }
    assert_eq!(project.files(".kelvin"), before);
}

#[test]
fn the_history_is_neither_code_of_the_pipeline_nor_a_change_of_the_work_tree() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.check();
    let first = project.json("kelvin/report.json");
    project.check();
    let second = project.json("kelvin/report.json");
    assert_eq!(first["run"]["fingerprints"], second["run"]["fingerprints"]);
    assert_eq!(second["run"]["session"]["dirty"], false);
    assert_eq!(git(project.root(), &["status", "--porcelain"]), "");
    assert_eq!(runs(&project)[1]["branch"], "main");
    // Nor where somebody has committed it.
    git(project.root(), &["add", "--force", ".kelvin"]);
    git(project.root(), &["commit", "--quiet", "-m", "history"]);
    project.check();
    let third = project.json("kelvin/report.json");
    assert_eq!(first["run"]["fingerprints"], third["run"]["fingerprints"]);
    assert_eq!(third["run"]["session"]["dirty"], false);
}

#[test]
fn a_gate_is_recorded_and_the_judgement_of_a_file_is_not() {
    let project = Project::new(GROUNDED);
    project.check();
    project.kelvin(&["gate"]).expect(0);
    assert_eq!(runs(&project).len(), 2);
    project
        .kelvin(&["gate", "--report", "kelvin/report.json"])
        .expect(0);
    project.kelvin(&["gate", "--no-history"]).expect(0);
    assert_eq!(runs(&project).len(), 2);
}

#[test]
fn revisions_are_compared_by_the_report_in_their_tree_or_on_the_branch() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    project.check();
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    let tip = commit(&project, "report");
    for (base, head) in [("main", "worse"), ("rev:main", &*tip), ("main", "HEAD")] {
        let said = project.kelvin(&["compare", base, head, "--format", "json"]);
        let judgement: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
        let sensitivity = &judgement["metrics"]["evidence.sensitivity"];
        assert_eq!(
            (&sensitivity["base"], &sensitivity["head"]),
            (&1.0.into(), &0.0.into())
        );
        assert_eq!(judgement["base"]["source"], "branch");
    }
    let said = project.kelvin(&["compare", "HEAD", "worse", "--format", "json"]);
    let judgement: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    assert_eq!(judgement["base"]["source"], "tree");
    let said = project.kelvin(&["compare", "HEAD~1", "main"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the revision `HEAD~1` has no report: tree: it has no `.kelvin/baseline.json`; branch: the branch `kelvin-reports` has no report of `kelvin` for this commit
      help: `kelvin baseline save` keeps one for each commit that it runs on
    ");
}

#[test]
fn an_argument_of_several_meanings_or_none_says_how_to_name_it() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    project.write("main", &project.read("kelvin/report.json"));
    let said = project.kelvin(&["compare", "main", "latest"]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: `main` has more than one meaning
      help: say which: `file:main` for the file, or `rev:main` for the commit [HASH]
    ");
    project
        .kelvin(&["compare", "file:main", "rev:main"])
        .expect(0);
    git(project.root(), &["branch", "latest"]);
    let said = project.kelvin(&["compare", "latest", "rev:main"]).expect(1);
    assert!(
        said.stderr.contains("`run:latest`") && said.stderr.contains("`rev:latest`"),
        "{}",
        said.stderr
    );
    let said = project
        .kelvin(&["compare", "nowhere", "rev:main"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no report `nowhere`: there is no such file; the history has no such run; it is no revision (revspec 'nowhere' not found)
      help: name a report file, the file of an evaluator, a run of `kelvin history` (or `latest`, `previous`), or a git revision
    ");
}

#[test]
fn what_is_no_report_is_refused_quickly_whatever_it_is() {
    let project = Project::new(GROUNDED);
    project.check();
    let good = "good.json";
    project.write(good, &project.read("kelvin/report.json"));
    let large = fs::File::create(project.path("large.json")).expect("made");
    large.set_len(200 * 1024 * 1024).expect("grown");
    let made = std::process::Command::new("mkfifo")
        .arg(project.path("pipe"))
        .status();
    assert!(made.expect("it starts").success());
    project.write("cut.json", &project.read(good)[..2000]);
    project.write("deep.json", &"[".repeat(1_000_000));
    project.write(
        "types.json",
        &project
            .read(good)
            .replacen("\"seed\": 0", "\"seed\": \"0\"", 1),
    );
    project.write(
        "newer.json",
        &project
            .read(good)
            .replacen("\"schema_version\": 2", "\"schema_version\": 99", 1),
    );
    let mut told = Vec::new();
    for file in [
        "large.json",
        "pipe",
        "cases",
        "cut.json",
        "deep.json",
        "types.json",
        "newer.json",
    ] {
        let refused = [
            &["compare", file, good][..],
            &["compare", good, file],
            &["gate", "--no-history", "--baseline", file],
        ]
        .map(|arguments| {
            let said = project.kelvin(arguments);
            assert_eq!(said.code, Some(1), "{file}");
            assert!(said.stderr.contains(file), "{file}: {}", said.stderr);
            redacted(&lines_with(&said.stderr, &["error: "]))
        });
        told.extend(refused);
    }
    told.dedup();
    insta::assert_snapshot!(told.join("\n"), @r#"
    error: `large.json` cannot be compared: the report has [HASH] bytes, over the limit of [HASH]
    error: the baseline `large.json` is unusable: the report has [HASH] bytes, over the limit of [HASH]
    error: `pipe` cannot be compared: `pipe` is no regular file
    error: the baseline `pipe` is unusable: `[TEMP]/project/pipe` is no regular file
    error: `cases` cannot be compared: `cases` is a folder
    error: the baseline `cases` is unusable: `[TEMP]/project/cases` is a folder
    error: `cut.json` cannot be compared: it is cut off: EOF while parsing a string at line 63 column [COLUMN]
    error: the baseline `cut.json` is unusable: it is cut off: EOF while parsing a string at line 63 column [COLUMN]
    error: `deep.json` cannot be compared: it is not JSON: recursion limit exceeded at line 1 column [COLUMN]
    error: the baseline `deep.json` is unusable: it is not JSON: recursion limit exceeded at line 1 column [COLUMN]
    error: `types.json` cannot be compared: it is no whole report of kelvin: invalid type: string "0", expected u64 at line 9 column 15
    error: the baseline `types.json` is unusable: it is no whole report of kelvin: invalid type: string "0", expected u64 at line 9 column 15
    error: `newer.json` cannot be compared: it was written by a newer kelvin, version [VERSION] (schema 99, this one reads 2): update kelvin, or measure again with this one
    error: the baseline `newer.json` is unusable: it was written by a newer kelvin, version [VERSION] (schema 99, this one reads 2): update kelvin, or measure again with this one
    "#);
}

/// What the anchors of the dots of a page lead to: each has to be a row of its table.
fn rows_of_dots(page: &str) -> Vec<&str> {
    let links = page.split("<a href=\"#run-").skip(1);
    let anchors = links.map(|link| link.split('"').next().expect("it ends"));
    anchors
        .map(|anchor| {
            let row = format!("<tr id=\"run-{anchor}\">");
            let (_, row) = page.split_once(&row).expect("the dot leads to a row");
            row.split("</tr>").next().expect("it ends")
        })
        .collect()
}

#[test]
fn every_run_has_its_value_verdict_cost_and_change_on_a_page_also_from_the_branch_alone() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    git(project.root(), &["tag", "v1.0.0"]);
    branch(&project, "worse", CONSTANT);
    project.kelvin(&["gate", "--base", "main"]).expect(3);
    let said = project.kelvin(&["history"]).expect(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[2].contains("v1.0.0"), "{}", said.stdout);
    assert!(
        lines[3].contains("regression") && lines[3].contains(" calls, "),
        "{}",
        said.stdout
    );

    project
        .kelvin(&["history", "--format", "html", "--out", "site/index.html"])
        .expect(0);
    let page = project.read("site/index.html");
    let rows = rows_of_dots(&page);
    // A dot of each of two runs in each plot: invariance, sensitivity, and so on, and the time.
    assert!(
        rows.len() >= 6 && rows.len().is_multiple_of(2),
        "{}",
        rows.len()
    );
    let worse = rows.iter().find(|row| row.contains("<q>regression</q>"));
    let worse = worse.expect("the newest run was judged");
    insta::assert_snapshot!(redacted(worse), @r#"<th scope="row">[HASH]</th><td>[TIME]</td><td><code>evidence.invariance</code> 1.0000, <code>evidence.sensitivity</code> 0.0000, <code>evidence.failure_rate</code> 0.0000, <code>evidence.kelvin_score</code> 1.0000</td><td><q>regression</q></td><td>56 calls, 0 from the cache, [SECONDS] s</td><td>the code of the pipeline; <code>alder</code> is worse in <code>evidence.sensitivity</code>: 1.0000 → 0.0000, <code>birch</code> is worse in <code>evidence.sensitivity</code>: 1.0000 → 0.0000, <code>cedar</code> is worse in <code>evidence.sensitivity</code>: 1.0000 → 0.0000, and 5 more</td>"#);
    assert!(
        rows.iter()
            .any(|row| row.contains("v1.0.0") && !row.contains("<q>"))
    );
    assert!(
        page.contains("<path class=\"mark\""),
        "the release is not marked"
    );
    assert!(
        page.contains("<circle class=\"c0 bad\""),
        "the regression is not marked"
    );

    // A job in CI has the branch of reports and no history of its own.
    let elsewhere = tempfile::tempdir().expect("a folder");
    git(elsewhere.path(), &["clone", "--quiet", &url, "."]);
    let said = kelvin_in(
        &project,
        elsewhere.path(),
        &["history", "--format", "markdown"],
    )
    .expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`kelvin`"]), @"
    - ⚠️ `kelvin`: 1 run, the newest was not judged
    ## `kelvin`
    ");
    assert!(
        said.stdout.contains("| 2026-") || said.stdout.contains(" | 20"),
        "{}",
        said.stdout
    );
}

#[test]
fn what_has_no_use_in_a_list_or_on_a_page_is_refused() {
    let project = Project::new(GROUNDED);
    let mut told = Vec::new();
    for arguments in [
        &["history", "--name", "kelvin"][..],
        &["history", "--metric", "x"],
        &["history", "--format", "html", "--last", "3"],
        &["history", "--format", "html", "--metric", "x"],
    ] {
        let said = project.kelvin(arguments).expect(1);
        told.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error: `--name` and `--metric` choose what a page shows
      help: add `--format html` or `--format markdown`, or leave them out

    error: `--name` and `--metric` choose what a page shows
      help: add `--format html` or `--format markdown`, or leave them out

    error: a page has no use for `--last` and `--all`
      help: leave them out; `--metric ID` shows a further metric

    error: no run has the metric `x`
      help: no run was found at all
    ");
}
