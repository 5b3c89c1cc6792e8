use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project, counting};

/// A pipeline that looks for a sign of a swap beside the text, and answers `other` where it finds one.
fn looking(sign: &str) -> String {
    format!("d=go; {{ {sign}; }} && d=other\nprintf '{{\"decision\": \"%s\"}}' \"$d\" > \"$2\"\n")
}

fn is_constant(project: &Project, what: &str) {
    let figures = ["sensitivity", "invariance"].map(|id| project.figure(id));
    assert_eq!(figures, [json!(0.0), json!(1.0)], "{what}");
}

#[test]
fn nothing_beside_the_text_tells_a_swap_from_an_original() {
    for sign in [
        "case \"$1$2\" in *swap*) true;; *) false;; esac",
        "case \"$1$2\" in *perturbation*|*baseline*|*repeat*) true;; *) false;; esac",
        "env | grep -qiE 'swap|perturb|baseline|repeat'",
        "tr '\\0' ' ' < /proc/$$/cmdline | grep -qE 'swap|perturb|baseline'",
        "tr '\\0' ' ' < /proc/$PPID/cmdline | grep -qE 'swap|perturb|baseline'",
        "readlink /proc/$$/fd/* | grep -qE 'swap|perturb|baseline'",
        "[ $(($(date +%s) - $(stat -c %Y \"$1\"))) -gt 3 ]",
        "[ \"$(stat -c %h \"$1\")\" -ne 1 ] || [ -L \"$1\" ]",
        "[ \"$(ls -A \"$(dirname \"$1\")\")\" != input.md ]",
        "find \"$(dirname \"$1\")/..\" | grep -qE 'swap|perturb|baseline'",
        // The records of this run and of the one before, compared with the text.
        "find kelvin -name input.md | grep swap | while read -r f; do cmp -s \"$1\" $f && echo same; done | grep -q same",
    ] {
        let project = Project::new(&looking(sign));
        project.check();
        is_constant(&project, sign);
        // Folders of the run before are used again.
        project.check();
        is_constant(&project, sign);
    }
}

#[test]
fn a_repeat_is_told_no_number() {
    let project = Project::new(&looking("[ \"${KELVIN_REPEAT-1}\" != 1 ]"));
    project.config("repeats: 2\nnoise_floor: {enabled: true, replications: 3}\n");
    project.check();
    is_constant(&project, "repeats");
    assert_eq!(project.figure("noise_floor"), json!(0.0));
}

#[test]
fn a_pipeline_that_counts_its_calls_does_not_know_the_kinds() {
    // After the four originals it takes the last three of each twelve for swaps, which is the order of the report.
    let counts = "echo x >> calls; n=$(wc -l < calls); [ $n -gt 4 ] && [ $(((n - 5) % 12)) -ge 9 ]";
    let project = Project::usual(&looking(counts));
    project.kelvin(&["check", "--jobs", "1"]).expect(0);
    assert_eq!(project.calls(), 52);
    let [sensitivity, invariance] =
        ["sensitivity", "invariance"].map(|id| project.figure(id).as_f64().expect("measured"));
    assert!(sensitivity < 0.7, "{sensitivity}");
    assert!(invariance < 1.0, "{invariance}");
}

/// The names of all files of a run, and the bytes of its inputs.
fn records(project: &Project, out: &str) -> (Vec<String>, Vec<Vec<u8>>) {
    let mut files = project.files(out);
    files.retain(|name, _| name.contains("/input.") || name.contains("/output."));
    let inputs = files.iter().filter(|(name, _)| name.ends_with("input.md"));
    let inputs = inputs.map(|(_, bytes)| bytes.clone()).collect();
    (files.into_keys().collect(), inputs)
}

#[test]
fn the_folder_of_the_report_is_laid_out_as_ever_and_equal_runs_are_equal() {
    let project = Project::usual(&format!("{GROUNDED}: > \"$2.sum\"\n"));
    project
        .kelvin(&["check", "--dry-run", "--out", "planned"])
        .expect(0);
    project.check();
    let (names, inputs) = records(&project, "kelvin");
    let folders = [
        "baseline",
        "perturbations/swap-rule-03",
        "perturbations/reorder-01",
    ];
    for folder in folders {
        // The pipeline leaves a file beside its output, which stays with it.
        for file in ["input.md", "output.json", "output.json.sum"] {
            let name = format!("alder/{folder}/{file}");
            assert!(names.contains(&name), "{name}: {names:?}");
        }
    }
    assert_eq!(names.len(), 3 * 52);
    assert_eq!(inputs, records(&project, "planned").1);
    assert!(!project.path("kelvin/calls").exists());
    let report = project.report();
    assert_eq!(project.figure("sensitivity"), json!(1.0));
    project.kelvin(&["check", "--jobs", "4"]).expect(0);
    assert_eq!(
        project.report(),
        report,
        "the number of jobs changes nothing"
    );
    assert_eq!(records(&project, "kelvin").0, names);
}

#[test]
fn a_pipeline_that_answers_with_its_path_does_not_seem_to_vary_and_is_told_of() {
    let project = Project::new(r#"printf '{"decision": "%s"}' "$1" > "$2""#);
    project.config("repeats: 2\n");
    project.check();
    is_constant(&project, "the path");
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    assert!(notices.contains("path_in_output"), "{notices}");
    let record = project.read("kelvin/alder/perturbations/swap-rule-01/output.json");
    assert!(record.contains("/kelvin/calls/{call}/input.md"), "{record}");
}

#[test]
fn runs_at_the_same_time_and_equal_cases_do_not_get_in_each_others_way() {
    let project = Project::in_folder("my project's folder", &format!("sleep 0.02\n{GROUNDED}"));
    project.write("cases/elm.md", &project.read("cases/alder.md"));
    let mut both = ["one", "two"]
        .map(|out| project.start(&["check", "--no-history", "--jobs", "4", "--out", out]));
    for kelvin in &mut both {
        assert_eq!(kelvin.wait().expect("it ends").code(), Some(0));
    }
    let report = |out: &str| -> Value {
        let mut report = project.json(&format!("{out}/report.json"));
        report["run"]["session"].take();
        report
    };
    assert_eq!(report("one"), report("two"));
    assert_eq!(
        report("one")["metrics"]["evidence.failure_rate"]["value"],
        json!(0.0)
    );
}

#[test]
fn answers_are_found_again_in_the_cache_and_the_same_records_with_them() {
    let project = Project::new(&counting(FIRST_UNIT));
    project.config("cache: true\nfingerprint: [pipeline.sh]\n");
    project.check();
    let (report, files) = (project.report(), records(&project, "kelvin"));
    let once = project.calls();
    fs::remove_dir_all(project.path("kelvin")).expect("removed");
    project.check();
    assert_eq!(project.calls(), once, "every answer was known");
    assert_eq!(project.report(), report);
    assert_eq!(records(&project, "kelvin"), files);
}

#[test]
fn a_run_that_was_killed_leaves_whole_records_alone_and_goes_on() {
    let project = Project::new(&counting(&format!("sleep 0.05\n{CONSTANT}")));
    project.config("fingerprint: [pipeline.sh]\n");
    let mut kelvin = project.start(&["check"]);
    let begun = Instant::now();
    while project.calls() < 20 {
        assert!(begun.elapsed() < Duration::from_secs(30));
        sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill")
        .args(["-KILL", &kelvin.id().to_string()])
        .status();
    assert!(killed.expect("kill starts").success());
    kelvin.wait().expect("it ends");
    sleep(Duration::from_millis(300));
    let (names, _) = records(&project, "kelvin");
    let outputs = names.iter().filter(|name| name.ends_with("output.json"));
    for output in outputs.filter(|name| !name.starts_with("calls/")) {
        assert_eq!(
            project.read(&format!("kelvin/{output}")),
            r#"{"decision": "go"}"#
        );
    }
    let before = project.calls();
    project.kelvin(&["check", "--resume"]).expect(0);
    assert!(project.calls() - before < 52, "something was known");
    assert!(!project.path("kelvin/calls").exists());
    let (resumed, files) = (project.report(), records(&project, "kelvin"));
    project.check();
    assert_eq!(
        (project.report(), records(&project, "kelvin")),
        (resumed, files)
    );
}
