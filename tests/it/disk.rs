use kelvin_fixtures::text::redacted;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project, counting, is_calm};

#[test]
fn the_output_folder_has_the_documented_files() {
    let project = Project::usual(CONSTANT);
    project.check();
    let files = project.files("kelvin");
    for name in [
        "report.json",
        "report.html",
        "report.md",
        "alder/report.json",
        "alder/report.md",
        "alder/baseline/input.md",
        "alder/baseline/output.json",
        "alder/perturbations/reorder-01/input.md",
        "alder/perturbations/pad_content-03/output.json",
        "alder/perturbations/swap-rule-02/input.md",
    ] {
        assert!(
            files.contains_key(name),
            "{name} is missing from {:?}",
            files.keys()
        );
    }
}

#[test]
fn kel_10_the_baseline_input_is_the_case_byte_for_byte() {
    let project = Project::new(CONSTANT);
    let text =
        "\u{feff}---\r\ntitle: a\r\n---\r\n# A\r\n\r\n## Rule\r\none  \r\n\r\n## Note\r\ntwo";
    project.write("cases/crlf.md", text);
    project.check();
    let input = fs::read(project.path("kelvin/crlf/baseline/input.md")).expect("written");
    assert_eq!(input, text.as_bytes());
}

#[test]
fn p1_kel_38_an_output_left_from_an_earlier_run_never_counts() {
    let project = Project::new(CONSTANT);
    project.check();
    project.write("pipeline.sh", "true");
    let said = project.kelvin(&["check"]).expect(2);
    assert!(said.stdout.contains("no output"), "{}", said.stdout);
    // KEL-27, 4b: the reports are written all the same.
    assert_eq!(
        project.json("kelvin/report.json")["run"]["ending"],
        json!("failed")
    );
    assert!(project.read("kelvin/report.html").contains("<html"));
}

#[test]
fn p8_old_variants_and_removed_cases_are_gone_after_the_next_run() {
    let project = Project::new(CONSTANT);
    project.check();
    fs::remove_file(project.path("cases/birch.md")).expect("removed");
    project.config("variants: {reorder: 1}\n");
    project.check();
    assert!(!project.path("kelvin/birch").exists());
    assert!(
        !project
            .path("kelvin/alder/perturbations/reorder-02")
            .exists()
    );
}

#[test]
fn a_folder_that_is_not_ours_is_never_emptied() {
    let project = Project::new(CONSTANT);
    project.write("kelvin/thesis.md", "ten years of work");
    let said = project.kelvin(&["check"]).expect(1);
    assert!(
        said.stderr.contains("kelvin") && said.stderr.contains("--out"),
        "{}",
        said.stderr
    );
    assert_eq!(project.read("kelvin/thesis.md"), "ten years of work");
    project
        .kelvin(&["check", "--out", "elsewhere/report"])
        .expect(0);
    assert!(project.path("elsewhere/report/report.json").exists());
}

#[test]
fn p14_links_planted_in_the_output_folder_are_not_followed() {
    let project = Project::new(CONSTANT);
    project.check();
    project.write("precious", "keep me");
    let input = project.path("kelvin/alder/baseline/input.md");
    fs::remove_file(&input).expect("removed");
    symlink(project.path("precious"), &input).expect("linked");
    fs::remove_dir_all(project.path("kelvin/cedar")).expect("removed");
    fs::create_dir(project.path("garden")).expect("made");
    symlink(project.path("garden"), project.path("kelvin/cedar")).expect("linked");
    project.check();
    assert_eq!(project.read("precious"), "keep me");
    assert_eq!(
        fs::read_dir(project.path("garden"))
            .expect("listed")
            .count(),
        0
    );
}

#[test]
fn p14_names_of_cases_and_units_never_leave_the_output_folder() {
    let project = Project::new(CONSTANT);
    project.config("variants: {swap: 1}\n");
    for (at, name) in ["one", "two"].iter().enumerate() {
        project.write(
            &format!("cases/{name}.md"),
            &format!("## ../../../../pwn\n\nx{at}\n\n## Rule\n\ny{at}\n"),
        );
    }
    let text = project
        .read("kelvin.yaml")
        .replace("[rule]", "[rule, ../../../../pwn]");
    project.write("kelvin.yaml", &text);
    project.check();
    let names: Vec<_> = fs::read_dir(project.root())
        .expect("listed")
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    for name in names {
        assert!(
            ["kelvin", ".kelvin", "cases", "kelvin.yaml", "pipeline.sh"].contains(&name.as_str()),
            "{name} was made outside"
        );
    }
    project.write("cases/...md", "## Rule\n\nz\n");
    let said = project.kelvin(&["check"]).expect(1);
    assert!(said.stderr.contains("...md"), "{}", said.stderr);
}

#[test]
fn kel_39_p12_p13_folders_and_cases_with_odd_names_reach_the_pipeline_intact() {
    for template in [
        "{input} {output}",
        "\"{input}\" \"{output}\"",
        "'{input}' '{output}'",
    ] {
        let project = Project::in_folder("it's a $(touch pwned) \"folder\"; x", CONSTANT);
        project.write("cases/-a b'c $HOME.md", "## Rule\n\nx\n\n## Note\n\ny\n");
        let config = project
            .read("kelvin.yaml")
            .replace("{input} {output}", template);
        project.write("kelvin.yaml", &config);
        let config = project.read("kelvin.yaml").replacen(
            &format!("run: sh pipeline.sh {template}"),
            &format!("run: >-\n  sh pipeline.sh {template} && true"),
            usize::from(template.contains('"')),
        );
        project.write("kelvin.yaml", &config);
        project.check();
        assert_eq!(project.figure("failure_rate"), json!(0.0), "{template}");
        assert!(!project.path("pwned").exists());
    }
}

#[test]
fn kel_43_a_dry_run_writes_every_input_and_starts_nothing() {
    let project = Project::usual(&counting(CONSTANT));
    let said = project.kelvin(&["check", "--dry-run"]).expect(0);
    assert_eq!(project.calls(), 0);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["ending"], json!("dry_run"));
    assert!(!is_calm(&said.stdout), "{}", said.stdout);
    let dry = project.files("kelvin");
    assert!(dry.keys().filter(|name| name.ends_with("input.md")).count() == 4 * 13);
    assert!(!dry.keys().any(|name| name.ends_with("output.json")));
    project.check();
    let wet = project.files("kelvin");
    for (name, bytes) in dry.iter().filter(|(name, _)| name.ends_with("input.md")) {
        assert_eq!(wet.get(name), Some(bytes), "{name}");
    }
}

#[test]
fn kel_40_p9_the_cache_saves_calls_and_never_returns_an_answer_of_other_code() {
    let project = Project::usual(&counting(GROUNDED));
    project.config("variants: {}\ncache: true\nfingerprint: [pipeline.sh]\n");
    project.check();
    assert_eq!(project.calls(), 4 * 13);
    let first = project.report();
    project.check();
    assert_eq!(project.calls(), 4 * 13, "the second run calls nothing");
    assert_eq!(first, project.report());
    assert_eq!(
        project.json("kelvin/report.json")["run"]["session"]["cost"]["cache_hits"],
        json!(52)
    );
    project.kelvin(&["check", "--no-cache"]).expect(0);
    assert_eq!(project.calls(), 2 * 52);
    project.write("pipeline.sh", &counting(CONSTANT));
    project.check();
    assert_eq!(project.calls(), 3 * 52, "other code, no old answer");
    assert_eq!(project.figure("sensitivity"), json!(0.0));
}

#[test]
fn kel_40_without_a_cache_every_input_is_run_exactly_once() {
    let project = Project::usual(&counting(CONSTANT));
    project.check();
    assert_eq!(project.calls(), 52);
    let cost = &project.json("kelvin/report.json")["run"]["session"]["cost"];
    assert_eq!(cost["invocations"], json!(52));
}

#[test]
fn p7_a_second_run_in_the_same_folder_is_refused() {
    let project = Project::new(&format!("sleep 0.05; {CONSTANT}"));
    let mut first = project.start(&["check"]);
    let started = project.path("kelvin/alder/baseline/input.md");
    while !started.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(redacted(&second.stderr), @"
    error: another run of kelvin is using `[TEMP]/project/kelvin`
      help: wait for its end, or name another folder with `--out`
    ");
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
}

#[test]
fn no_report_holds_the_path_of_the_machine() {
    let project = Project::new(GROUNDED);
    project.check();
    let root = project.root().display().to_string();
    for (name, bytes) in project.files("kelvin") {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(&root), "{name} names the folder");
    }
}

#[test]
fn a_list_names_what_a_dry_run_writes_and_writes_nothing() {
    let project = Project::usual(CONSTANT);
    let said = project.kelvin(&["check", "--list"]).expect(0);
    assert!(!project.path("kelvin").exists());
    let listed: Vec<&str> = said
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    project.kelvin(&["check", "--dry-run"]).expect(0);
    for line in &listed {
        let (case, variant) = line.split_once('\t').expect("a case and its variant");
        let input = format!("kelvin/{case}/perturbations/{variant}/input.md");
        assert!(project.path(&input).exists(), "{input}");
    }
    let written = project.files("kelvin");
    let inputs = written.keys().filter(|path| path.ends_with("input.md"));
    assert_eq!(inputs.count(), listed.len() + 4, "and four baselines");
    let lines: Vec<&str> = said.stdout.lines().collect();
    let [.., told, next] = *lines else {
        panic!("{}", said.stdout);
    };
    assert!(told.starts_with("# 52 invocations: 4 baseline, "), "{told}");
    assert_eq!(next, "# next: kelvin check");
    let json = project.kelvin(&["check", "--list", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.expect(0).stdout).expect("JSON");
    assert_eq!(
        json["variants"].as_array().map(Vec::len),
        Some(listed.len())
    );
}

/// A folder that nobody can list may hold cases, and their absence is said.
#[test]
fn a_folder_that_cannot_be_read_under_a_glob_is_told() {
    let project = Project::new(GROUNDED);
    let text = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &text.replace("cases: cases", "cases: 'cases/**/*.md'"),
    );
    project.write("cases/open/elm.md", &project.read("cases/alder.md"));
    project.write("cases/closed/fir.md", &project.read("cases/alder.md"));
    let mode = |path: &str, mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(project.path(path), mode).expect("set");
    };
    mode("cases/closed", 0o000);
    mode("..", 0o777);
    mode(".", 0o777);
    let mut command = project.command(&["check"]);
    if rustix::process::geteuid().is_root() {
        // For root every folder is open.
        command.uid(65534).gid(65534);
    }
    let output = command.output().expect("it starts");
    mode("cases/closed", 0o755);
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("cases/closed"), "{told}");
    let report = project.read("kelvin/report.json");
    assert!(report.contains("cases/closed"), "{told}");
    assert!(report.contains("\"elm\"") && !report.contains("\"fir\""));
}

#[test]
fn with_few_open_files_fewer_calls_are_made_at_the_same_time() {
    let project = Project::new(GROUNDED);
    let limited = |most: usize| {
        let line = format!(
            "ulimit -n {most}; exec '{}' check --jobs 16 --no-cache",
            env!("CARGO_BIN_EXE_kelvin")
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line]).current_dir(project.root());
        let output = command.output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{most}: {told}");
        assert_eq!(project.figure("failure_rate"), json!(0.0), "{most}");
        project.notices("fewer_jobs")
    };
    for (most, jobs) in [(40, 1), (64, 4), (100, 7)] {
        let told = limited(most).join("");
        let words: Vec<&str> = told.split_whitespace().collect();
        assert!(
            words.contains(&&*jobs.to_string()) && words.contains(&"16"),
            "{most}: {told}"
        );
    }
    assert!(limited(1000).is_empty());
}
