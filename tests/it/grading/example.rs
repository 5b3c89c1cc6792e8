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
    for part in [
        "Prompts with the lowest scores (8)",
        "2 and 0 of 2 facts",
        "Very fast!",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
