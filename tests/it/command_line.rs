use serde_json::{Value, json};

use crate::project::{CONSTANT, Project, Said};

#[test]
fn kel_36_concerning_scores_exit_with_0() {
    let project = Project::new(CONSTANT);
    project.kelvin(&["check"]).expect(0);
}

#[test]
fn act_06_usage_errors_exit_with_1_and_help_with_0() {
    let project = Project::new(CONSTANT);
    project.kelvin(&["check", "--sede", "1"]).expect(1);
    project.kelvin(&["chek"]).expect(1);
    project.kelvin(&["check", "--jobs", "0"]).expect(1);
    project.kelvin(&["--help"]).expect(0);
    let said = project.kelvin(&["--version"]).expect(0);
    assert_eq!(
        said.stdout,
        format!("kelvin {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_project_without_a_configuration_is_told_what_to_do() {
    let project = Project::new(CONSTANT);
    std::fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no file `kelvin.yaml`
      help: `kelvin init` writes one, and `--config FILE` names another
    ");
}

#[test]
fn in_a_folder_of_the_project_its_configuration_is_named() {
    let project = Project::new(CONSTANT);
    let folder = project.path("src/deep");
    std::fs::create_dir_all(&folder).expect("made");
    let started = |arguments: &[&str]| Said::of(project.command(arguments).current_dir(&folder));
    let said = started(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no file `kelvin.yaml`
      help: there is `../../kelvin.yaml`: go to its folder, or use `--config ../../kelvin.yaml`
    ");
    started(&["check", "--config", "../../kelvin.yaml"]).expect(0);

    // What lies above the repository belongs to something else.
    std::fs::create_dir(folder.join(".git")).expect("made");
    let said = started(&["check"]).expect(1);
    assert!(
        said.stderr.contains("`kelvin init` writes one"),
        "{}",
        said.stderr
    );
}

#[test]
fn kel_01_kel_02_kel_03_every_mistake_of_a_configuration_is_shown_at_once() {
    let project = Project::new(CONSTANT);
    project.write(
        "kelvin.yaml",
        "run: sh pipeline.sh {input}\ncases: cases\ngoverning_types: [rule]\nsede: 1\n",
    );
    let said = project.kelvin(&["check"]).expect(1);
    for part in [
        "{output}",
        "decision_field",
        "sede",
        "seed",
        "kelvin.yaml:4",
    ] {
        assert!(said.stderr.contains(part), "`{part}` in:\n{}", said.stderr);
    }
}

#[test]
fn kel_04_kel_18_missing_cases_and_unknown_types_exit_with_1() {
    let project = Project::new(CONSTANT);
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("[rule]", "[ruel]"));
    let said = project.kelvin(&["check"]).expect(1);
    assert!(
        said.stderr.contains("ruel") && said.stderr.contains("rule"),
        "{}",
        said.stderr
    );
    project.write(
        "kelvin.yaml",
        &config.replace("cases: cases", "cases: caess"),
    );
    let said = project.kelvin(&["check"]).expect(1);
    assert!(said.stderr.contains("caess"), "{}", said.stderr);
    std::fs::create_dir(project.path("caess")).expect("made");
    project.kelvin(&["check"]).expect(1);
}

#[test]
fn kel_41_only_runs_one_case_and_draws_peers_from_all() {
    let project = Project::new(CONSTANT);
    project.kelvin(&["check", "--only", "cedar"]).expect(0);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["only"], json!(["cedar"]));
    assert_eq!(
        report["probes"]["evidence"]["items"]
            .as_object()
            .expect("an object")
            .len(),
        1
    );
    // 4e: sensitivity is measured, since the peers are there.
    assert_eq!(report["metrics"]["evidence.sensitivity"]["n"], json!(3));
    let said = project.kelvin(&["check", "--only", "ceder"]).expect(1);
    assert!(
        said.stderr.contains("ceder") && said.stderr.contains("cedar"),
        "{}",
        said.stderr
    );
}

#[test]
fn format_json_prints_the_report_and_nothing_else() {
    let project = Project::new(CONSTANT);
    let said = project.kelvin(&["check", "--format", "json"]).expect(0);
    let printed: Value = serde_json::from_str(&said.stdout).expect("one JSON document");
    assert_eq!(printed, project.json("kelvin/report.json"));
    let said = project.kelvin(&["check", "--format", "markdown"]).expect(0);
    assert_eq!(said.stdout, project.read("kelvin/report.md"));
}

#[test]
fn kel_49_no_color_and_a_pipe_give_no_escape_codes() {
    let project = Project::new(CONSTANT);
    let said = project.check();
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'));
    let forced = project
        .command(&["check"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("it starts");
    assert!(String::from_utf8_lossy(&forced.stdout).contains('\u{1b}'));
    let quiet = project
        .command(&["check"])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let _ = quiet;
}

#[test]
fn the_terminal_report_fits_a_screen_and_says_what_it_is() {
    let project = Project::usual(CONSTANT);
    let said = project.check();
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines.len() <= 24, "{} lines:\n{}", lines.len(), said.stdout);
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in ["4 cases", "n=36", "n=12", "truth", "kelvin/report.html"] {
        assert!(said.stdout.contains(part), "`{part}` in:\n{}", said.stdout);
    }
}

#[test]
fn kel_46_no_report_calls_a_signal_accuracy_or_correctness() {
    let project = Project::new(CONSTANT);
    let said = project.check();
    let mut texts = vec![said.stdout];
    texts.extend(
        ["report.json", "report.md", "report.html"]
            .map(|name| project.read(&format!("kelvin/{name}"))),
    );
    for text in texts {
        let text = text.to_lowercase();
        assert!(!text.contains("accuracy") && !text.contains("correctness"));
    }
}
