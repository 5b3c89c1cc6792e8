//! `--resume` keeps what was paid for: what the pipeline itself leaves in the repository voids nothing, and what
//! somebody edits does.

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
        let is_told = report["notices"]
            .to_string()
            .contains("git does not ignore");
        assert_eq!(is_told, !leaves.contains(".log"), "{leaves}");
    }
}

#[test]
fn what_somebody_edits_voids_everything_and_is_named_and_nothing_is_thrown_away() {
    type Act = fn(&Project);
    let edits: [(&str, Act); 6] = [
        ("`helper.py` was edited", |project| {
            project.write("helper.py", "print(2)\n")
        }),
        ("`new.py` is new", |project| project.write("new.py", "1\n")),
        ("`other.json` is new", |project| {
            project.write("other.json", "{}\n")
        }),
        ("`.env` is new", |project| project.write(".env", "A=1\n")),
        ("`extra.toml` was edited", |project| {
            project.write("extra.toml", "a = 2\n")
        }),
        ("`helper.py` was removed", |project| {
            fs::remove_file(project.path("helper.py")).expect("removed");
        }),
    ];
    let (project, finished) = cut_off("mkdir -p data; date > data/state.json");
    let journal = project.read("kelvin/.journal.jsonl");
    for (told, edit) in edits {
        edit(&project);
        let (said, _) = resumed(&project, 1);
        for word in [told, &format!("it has {finished} finished calls")] {
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
    let said = project.kelvin(&["check"]).expect(2);
    assert!(
        said.stdout.contains("changed while it ran")
            || said.stderr.contains("changed while it ran")
    );
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    assert!(notices.contains("`late.json` is new"), "{notices}");
}
