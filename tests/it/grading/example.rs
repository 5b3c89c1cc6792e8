use std::fs;
use std::path::Path;

use serde_json::json;

use crate::project::Project;

#[test]
fn the_example_tells_the_reworded_answers_from_the_worse_ones_without_a_network() {
    let project = Project::new("exit 9\n");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grading");
    for entry in fs::read_dir(from).expect("listed") {
        let path = entry.expect("listed").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        project.write(name, &fs::read_to_string(&path).expect("it is text"));
    }
    let readme = project.read("README.md");
    for (config, score, shown) in [
        ("kelvin.yaml", 0.5, "0.5"),
        ("worse.yaml", 3.0 / 14.0, "0.2143"),
    ] {
        project.kelvin(&["check", "--config", config]).expect(0);
        let report = project.report();
        let value = report["metrics"]["grading.judge_score"]["value"]
            .as_f64()
            .expect("measured");
        assert!((value - score).abs() < 1e-9, "{config}: {value}");
        assert_eq!(report["metrics"]["grading.unscored"]["value"], json!(0.0));
        assert!(readme.contains(shown), "{shown}");
    }
    let page = project.read("kelvin/report.md");
    for part in [" (8)", "2 and 0 of 2 facts", "Very fast!"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn the_page_begins_with_how_many_prompts_are_better_as_well_and_worse_and_calls_no_loss_fine() {
    let project = Project::new("exit 9\n");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grading");
    for name in [
        "before.jsonl",
        "worse.jsonl",
        "facts.json",
        "judge.py",
        "prompts.jsonl",
    ] {
        let text = fs::read_to_string(from.join(name)).expect("it is text");
        project.write(name, &text);
    }
    let config = fs::read_to_string(from.join("kelvin.yaml")).expect("it is text");
    project.write(
        "kelvin.yaml",
        &config.replace("reworded.jsonl", "now.jsonl"),
    );
    let good = project.read("before.jsonl");
    let good: Vec<&str> = good.lines().collect();
    let worse = project.read("worse.jsonl");
    let worse: Vec<&str> = worse.lines().collect();
    // Which prompts the recording of before and that of now answer as `worse` does, and what is said of them.
    let mut texts = Vec::new();
    for (before, now) in [
        (vec![], vec![]),
        (vec![0, 1, 2], vec![3]),
        (vec![3], vec![0, 1, 2]),
        (vec![], (0..14).collect()),
    ] {
        for (name, lost) in [("before.jsonl", before), ("now.jsonl", now)] {
            let line = |at: usize| {
                if lost.contains(&at) {
                    worse[at]
                } else {
                    good[at]
                }
            };
            let lines: Vec<&str> = (0..good.len()).map(line).collect();
            project.write(name, &(lines.join("\n") + "\n"));
        }
        let said = project.check();
        let mut lines = said.stdout.lines();
        let first = lines.find(|line| line.starts_with(['=', '~', '!']));
        texts.push(first.unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    = Of 14 prompts 0 are answered better than by the baseline, 14 as well, 0 worse
    = Of 14 prompts 3 are answered better than by the baseline, 10 as well, 1 worse
    ~ Of 14 prompts 1 is answered better than by the baseline, 10 as well, 3 worse
    ! Of 14 prompts 0 are answered better than by the baseline, 6 as well, 8 worse
    ");
}
