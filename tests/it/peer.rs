use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::json;

use crate::project::{CONSTANT, FIRST_UNIT, KNOWING, Project};

#[test]
fn m4_every_headline_figure_has_an_interval_that_holds_it_and_a_sample() {
    let project = Project::new(FIRST_UNIT);
    let said = project.check();
    let report = project.json("kelvin/report.json");
    for id in ["invariance", "sensitivity", "kelvin_score"] {
        let metric = &report["metrics"][format!("evidence.{id}")];
        let of = |key: &str| metric["interval"][key].as_f64().expect("an end");
        let value = metric["value"].as_f64().expect("measured");
        assert!(
            of("low") <= value && value <= of("high") && of("low") < of("high"),
            "{metric}"
        );
        assert!(metric["n"].as_u64().expect("a sample") > 0);
    }
    assert!(said.stdout.contains(" 95 % "), "{}", said.stdout);
}

#[test]
fn m4_swaps_are_as_many_as_asked_for_also_where_a_case_has_one_rule() {
    let project = Project::new(CONSTANT);
    project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["evidence.sensitivity.rule"]["n"],
        json!(12)
    );
    project.config("variants: {swap: all}\n");
    project.check();
    // Every ordered pair of four cases.
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["evidence.sensitivity.rule"]["n"],
        json!(12)
    );
}

#[test]
fn m14_a_declared_scale_says_how_far_apart_two_decisions_are() {
    let project = Project::usual(&format!(
        "{KNOWING}case \"$place\" in */baseline/*) d=low;; *reorder*) d=medium;; *) d=low;; esac\n\
         printf '{{\"decision\": \"%s\"}}' $d > \"$2\"",
    ));
    project.tell_places();
    project.config("variants: {}\nscorer: {ordinal: [low, medium, high]}\n");
    project.check();
    assert_eq!(project.figure("invariance.reorder"), json!(0.5));
    project.config("variants: {}\nscorer: {ordinal: [low, high]}\n");
    project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["evidence.invariance.reorder"]["n_failed"],
        json!(12)
    );
}

#[test]
fn p16_a_failed_baseline_keeps_both_tails_of_what_it_printed() {
    let project = Project::new("echo on stdout; echo on stderr >&2; exit 7");
    let said = project.kelvin(&["check"]).expect(2);
    let failure = &project.json("kelvin/report.json")["probes"]["evidence"]["items"]["alder"]["baseline"]
        [0]["failure"];
    assert_eq!(failure["stdout"], json!("on stdout"));
    assert_eq!(failure["stderr"], json!("on stderr"));
    assert!(said.stdout.contains("on stderr"), "{}", said.stdout);
}

#[test]
fn kel_27_all_baselines_failing_exits_with_2_and_still_writes_every_report() {
    let project = Project::new("exit 1");
    project.kelvin(&["check"]).expect(2);
    assert_eq!(
        project.json("kelvin/report.json")["run"]["ending"],
        json!("failed")
    );
    for name in [
        "report.html",
        "report.md",
        "alder/report.json",
        "dogwood/report.md",
    ] {
        assert!(
            !project.read(&format!("kelvin/{name}")).is_empty(),
            "{name}"
        );
    }
}

#[test]
fn kel_45_every_score_of_every_report_has_its_sample_beside_it() {
    let project = Project::usual(FIRST_UNIT);
    let said = project.check();
    for text in [
        said.stdout,
        project.read("kelvin/report.md"),
        project.read("kelvin/report.html"),
    ] {
        for n in ["n=36", "n=12", "n=48"] {
            assert!(text.contains(n), "{n} in {text}");
        }
    }
    let report = project.json("kelvin/report.json");
    for (id, metric) in report["metrics"].as_object().expect("an object") {
        assert!(metric["n"].is_u64() && metric["n_failed"].is_u64(), "{id}");
    }
}

/// The largest resident set of a finished run, in bytes.
fn peak(project: &Project) -> u64 {
    let mut command = Command::new("python3");
    command
        .args([
            "-c",
            "import os, subprocess, sys\n\
             p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
             _, status, used = os.wait4(p.pid, 0)\n\
             print(status, used.ru_maxrss * 1024)",
            env!("CARGO_BIN_EXE_kelvin"),
            "check",
        ])
        .current_dir(project.root())
        .process_group(0);
    let output = command.output().expect("python3 is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text
        .split_whitespace()
        .map(|word| word.parse::<u64>().expect("a number"));
    assert_eq!(words.next(), Some(0), "{text}");
    words.next().expect("a size")
}

#[test]
fn p10_p11_a_large_case_and_much_output_are_not_held_many_times_over() {
    let project = Project::new(&format!("head -c 2000000 /dev/zero\n{CONSTANT}"));
    let large = format!(
        "## Rule\n\nx\n\n## Note\n\n{}\n\n## More\n\ny\n",
        "A line of a long note.\n".repeat(1_000_000)
    );
    assert!(large.len() > 22_000_000);
    project.write("cases/large.md", &large);
    let most = peak(&project);
    // The peer takes 420 MB for a case of this size, and all that 65 invocations print on top.
    assert!(most < 250_000_000, "{} MB", most / 1_000_000);
}
