//! `--resume` keeps what was paid for: what the pipeline itself leaves in the repository voids nothing, and what
//! somebody edits does.

use kelvin_fixtures::text::lines_with;
use std::fs;
use std::time::{Duration, Instant};

use crate::project::{Project, Said};
use crate::repository::{commit, git};

/// A committed pipeline that leaves something at each call, cut off after some calls. How many had finished.
fn cut_off(leaves: &str) -> (Project, usize) {
    let project = Project::new(&format!(
        "sleep 0.1\n{leaves}\nprintf '{{\"decision\": \"go\"}}' > \"$2\"\n"
    ));
    project.write(".gitignore", "/kelvin/\n");
    project.write("extra.toml", "a = 1\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project.write("helper.py", "print(1)\n");
    let mut run = project.start(&["check"]);
    let began = Instant::now();
    let path = project.path("kelvin/.journal.jsonl");
    let journal = || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.matches("\"key\"").count()
    };
    while journal() < 6 {
        let ended = run.try_wait().expect("asked").is_some();
        let late = began.elapsed() > Duration::from_secs(60);
        assert!(!ended && !late, "{leaves}: nothing was kept");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().expect("killed");
    run.wait().expect("it has ended");
    std::thread::sleep(Duration::from_millis(300));
    (project, journal())
}

/// Goes on, and says how many calls were not made again.
fn resumed(project: &Project, code: i32) -> (Said, u64) {
    let said = project.kelvin(&["check", "--resume"]).expect(code);
    let report = fs::read_to_string(project.path("kelvin/report.json")).unwrap_or_default();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_default();
    let resumed = report["run"]["session"]["cost"]["resumed"].as_u64();
    (said, resumed.unwrap_or_default())
}

#[test]
fn what_the_pipeline_leaves_voids_nothing() {
    for leaves in [
        "mkdir -p __pycache__; date >> __pycache__/x.pyc; date >> run.log",
        "date >> out.csv",
        "date +%N > state.json",
        "mkdir -p data; [ -e data/index.bin ] || date > data/index.bin",
        "date >> memory.store",
        "mkdir -p out; n=$(echo \"$1\" | cksum | cut -d' ' -f1); date > out/$n.csv",
    ] {
        let (project, finished) = cut_off(leaves);
        let (_, kept) = resumed(&project, 0);
        assert!(kept >= finished as u64, "{leaves}: {kept} of {finished}");
        let report = project.json("kelvin/report.json");
        assert_eq!(report["run"]["ending"], "complete", "{leaves}");
        let is_told = project
            .notices("cache")
            .iter()
            .any(|text| text.contains("`.gitignore`"));
        assert_eq!(is_told, !leaves.contains(".log"), "{leaves}");
    }
}

#[test]
fn what_somebody_edits_voids_everything_and_is_named_and_nothing_is_thrown_away() {
    type Act = fn(&Project);
    let edits: [(&str, Act); 6] = [
        ("`helper.py`", |project| {
            project.write("helper.py", "print(2)\n")
        }),
        ("`new.py`", |project| project.write("new.py", "1\n")),
        ("`other.json`", |project| {
            project.write("other.json", "{}\n")
        }),
        ("`.env`", |project| project.write(".env", "A=1\n")),
        ("`extra.toml`", |project| {
            project.write("extra.toml", "a = 2\n")
        }),
        ("`helper.py`", |project| {
            fs::remove_file(project.path("helper.py")).expect("removed");
        }),
    ];
    let (project, finished) = cut_off("mkdir -p data; date > data/state.json");
    let journal = project.read("kelvin/.journal.jsonl");
    for (told, edit) in edits {
        edit(&project);
        let (said, _) = resumed(&project, 1);
        for word in [told, &format!(" {finished} ")] {
            assert!(said.stderr.contains(word), "{told}: {}", said.stderr);
        }
        assert_eq!(project.read("kelvin/.journal.jsonl"), journal, "{told}");
        for name in ["new.py", "other.json", ".env"] {
            let _ = fs::remove_file(project.path(name));
        }
        project.write("helper.py", "print(1)\n");
        project.write("extra.toml", "a = 1\n");
    }
    let (_, kept) = resumed(&project, 0);
    assert!(kept >= finished as u64, "{kept} of {finished}");
}

#[test]
fn data_that_is_new_later_than_the_first_call_is_no_file_of_the_pipeline() {
    let script = "echo x >> ../calls.log\nif [ \"$(wc -l < ../calls.log)\" -ge 10 ] && mkdir ../acted 2> /dev/null; then\n\
                  date > late.json\nfi\nprintf '{\"decision\": \"go\"}' > \"$2\"\n";
    let project = Project::new(script);
    project.write(".gitignore", "/kelvin/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project.kelvin(&["check"]).expect(2);
    assert_eq!(
        project.json("kelvin/report.json")["run"]["ending"],
        "changed"
    );
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    insta::assert_snapshot!(lines_with(&notices, &["`late.json`"]), @r#"[{"code":"changed","text":"the code of the pipeline changed while it ran, so it is not known which code gave which answer, and nothing of this run is kept: `late.json` is new. Run it again and leave the files alone until it ends. Files that the pipeline writes itself do not count as code if `.gitignore` lists them, or if `fingerprint` names the files of the code"},{"code":"unmeasured","text":"evidence.failure_rate was not measured: the code of the pipeline changed while it ran"},{"code":"unmeasured","text":"evidence.following.rule was not measured: the code of the pipeline changed while it ran"},{"code":"unmeasured","text":"evidence.invariance was not measured: the code of the pipeline changed while it ran"}]"#);
}

/// Runs the command after `next: ` in a shell that finds the binary, as a person would paste it.
fn paste(project: &Project, said: &Said) -> std::process::Output {
    let next = said
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("next: "))
        .unwrap_or_else(|| panic!("no next step in {}", said.stdout));
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_kelvin"));
    let folder = binary.parent().expect("it has a folder");
    let path = format!("{}:{}", folder.display(), env!("PATH"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", next]).current_dir(project.root());
    shell.env("PATH", path).env("HOME", project.root());
    shell.output().expect("a shell")
}

#[test]
fn a_line_to_paste_has_git_ignore_what_the_pipeline_leaves_and_every_later_check_has_figures() {
    const LEAVES: &str = "sleep 0.05\necho $$ > 'state of it.json'\n[ -d out ] || mkdir -p out\necho $$ > out/$$.csv\n\
                          printf '{\"decision\": \"go\"}' > \"$2\"\n";
    // Whether the file of the state was there before anybody measured, and what `.gitignore` ends with.
    for (was_there, ignored) in [(false, "/kelvin/\n"), (true, "/kelvin/")] {
        let project = Project::in_folder("my project's folder", LEAVES);
        project.write(".gitignore", ignored);
        git(
            project.root(),
            &["init", "--quiet", "--initial-branch=main"],
        );
        commit(&project, "base");
        if was_there {
            project.write("state of it.json", "1\n");
            // The gate says so too, since to run it again would be as void.
            let said = project.kelvin(&["gate"]).expect(2);
            assert!(said.stdout.contains("\nnext: printf '"), "{}", said.stdout);
        }
        let mut said = project
            .kelvin(&["check"])
            .expect(if was_there { 2 } else { 0 });
        // Where the first line is about the one file, a second one is about the other.
        for _ in 0..2 {
            if !said.stdout.contains("next: printf") {
                break;
            }
            let pasted = paste(&project, &said);
            assert!(pasted.status.code().is_some(), "{pasted:?}");
            said = project.kelvin(&["check"]);
        }
        let rules = project.read(".gitignore");
        for rule in ["/kelvin/", r"/state\ of\ it.json", "/out/*.csv"] {
            assert!(rules.lines().any(|line| line == rule), "{rule}: {rules}");
        }
        for command in ["check", "gate"] {
            let said = project.kelvin(&[command]).expect(0);
            assert!(!said.stdout.contains("printf"), "{}", said.stdout);
            let report = project.json("kelvin/report.json");
            assert_eq!(report["run"]["ending"], "complete");
        }
    }
}

#[test]
fn an_edit_of_code_is_never_proposed_for_gitignore() {
    let script = "[ -e ../edited ] || { touch ../edited; echo 2 > helper.py; echo 2 > tracked.json; }\n\
                  printf '{\"decision\": \"go\"}' > \"$2\"\n";
    let project = Project::new(script);
    project.write(".gitignore", "/kelvin/\n");
    project.write("tracked.json", "1\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project.write("helper.py", "1\n");
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stdout, &["next: "]), @"next: kelvin check");
}

#[test]
fn init_proposes_the_lines_that_the_pipeline_needs() {
    let script = "echo $$ > trace.md\n[ -d __pycache__ ] || mkdir -p data __pycache__\necho $$ > data/state.json\necho $$ >> run.log\n\
                  echo $$ > __pycache__/x.pyc\n\
                  printf '{\"decision\": \"go\"}' > \"$2\"\n";
    for (flags, are_written) in [(vec![], true), (vec!["--no-gitignore"], false)] {
        let project = Project::in_folder("my project's folder", script);
        git(
            project.root(),
            &["init", "--quiet", "--initial-branch=main"],
        );
        fs::remove_file(project.path("kelvin.yaml")).expect("removed");
        let run = "--run=sh pipeline.sh {input} {output}";
        let mut arguments = vec!["init", "--yes", run, "--governing-type=rule"];
        arguments.extend(flags);
        let said = project.kelvin(&arguments).expect(0);
        for name in ["/trace.md", "/data/state.json", "/run.log", "__pycache__/"] {
            assert!(said.stdout.contains(name), "{name}: {}", said.stdout);
        }
        let rules = fs::read_to_string(project.path(".gitignore")).unwrap_or_default();
        let has = |rule: &str| rules.lines().any(|line| line == rule);
        assert_eq!(
            has("/trace.md") && has("/data/state.json") && has("/run.log") && has("__pycache__/"),
            are_written,
            "{rules}"
        );
        if are_written {
            commit(&project, "all");
            let report = || project.json("kelvin/report.json");
            for _ in 0..2 {
                project.kelvin(&["check"]).expect(0);
                assert_eq!(report()["run"]["ending"], "complete");
            }
        }
    }
}

#[test]
fn init_says_where_a_run_changes_what_git_tracks() {
    let script = "date +%N > index.json\nprintf '{\"decision\": \"go\"}' > \"$2\"\n";
    let project = Project::new(script);
    project.write("index.json", "1\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "all");
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    let run = "--run=sh pipeline.sh {input} {output}";
    let said = project
        .kelvin(&["init", "--yes", run, "--governing-type=rule"])
        .expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`index.json`"]), @"Git tracks what the run has changed: `index.json` was written to. A check during which the code changes has no figures; let the pipeline write elsewhere, or name the files of its code under `fingerprint`.");
    assert!(!project.read(".gitignore").contains("index.json"));
}
