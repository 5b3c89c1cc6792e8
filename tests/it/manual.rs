//! What is said without running anything: `kelvin lint`, completions, man pages.

use kelvin_fixtures::text::lines_with;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{CONSTANT, Project};

#[test]
fn lint_says_that_nothing_is_wrong_and_runs_nothing() {
    let project = Project::new("touch ran; exit 1");
    let said = project.kelvin(&["lint"]).expect(0);
    insta::assert_snapshot!(said.stdout, @"
    kelvin.yaml: nothing is wrong with it; read: 4 cases
    next: kelvin check
    ");
    assert!(!project.path("ran").exists() && !project.path("kelvin").exists());
}

#[test]
fn lint_tells_everything_that_is_wrong_with_its_place() {
    let project = Project::new(CONSTANT);
    let config = project.read("kelvin.yaml");
    project.write(
        "cases/open.md",
        "# A\n\n## Rule\n\nx\n\n```\nnever closed\n",
    );
    project.write("cases/named.md", "# B\n\n##\n\nx\n");
    let said = project.kelvin(&["lint"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["open.md", "named.md"]), @"
    - cases/named.md:3: this level-2 heading has no text, so its unit has no type
    - cases/open.md:7: the code fence that opens here is never closed
    ");
    project.write("kelvin.yaml", &format!("{config}sede: 1\n"));
    project.write("other.yaml", "run: [\n");
    let said = project
        .kelvin(&["lint", "kelvin.yaml", "other.yaml"])
        .expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`sede`", "other.yaml", "kelvin.yaml"]), @"
    error: unknown key `sede`
     --> kelvin.yaml:7:1
    kelvin.yaml: cannot be run
     --> other.yaml:1:6
    other.yaml: cannot be run
    next, when that is fixed: kelvin lint kelvin.yaml other.yaml
    ");
    let said = project.kelvin(&["lint", "nowhere.yaml"]).expect(1);
    assert!(said.stdout.contains("nowhere.yaml"), "{}", said.stdout);
}

/// What a program is told: the place of everything, and what to do.
#[test]
fn lint_tells_a_program_file_line_key_and_cure() {
    let project = Project::in_folder("it's my project", CONSTANT);
    let lint = |arguments: &[&str], code: i32| -> Vec<Value> {
        let line = [&["lint", "--format", "json"], arguments].concat();
        let said = project.kelvin(&line).expect(code);
        serde_json::from_str(&said.stdout).expect("a list")
    };
    assert_eq!(lint(&[], 0), Vec::<Value>::new());
    // A finding that stops nothing.
    project.write("cases/empty.md", "# E\n\nNo unit.\n");
    let found = lint(&[], 0);
    assert_eq!((found.len(), &found[0]["level"]), (1, &json!("note")));
    let what = found[0]["what"].as_str().expect("text");
    assert!(what.contains("cases/empty.md"), "{what}");
    project.write(
        "cases/open.md",
        "# A\n\n## Rule\n\nx\n\n```\nnever closed\n",
    );
    project.write("cases/named.md", "# B\n\n##\n\nx\n");
    fs::write(project.path("cases/bytes.md"), b"# C\n\xff\n").expect("written");
    let found = lint(&[], 1);
    let places: Vec<(&str, u64)> = found
        .iter()
        .map(|one| {
            let line = one["line"].as_u64().expect("a line");
            (one["file"].as_str().expect("a file"), line)
        })
        .collect();
    assert_eq!(
        places,
        [
            ("cases/bytes.md", 2),
            ("cases/named.md", 3),
            ("cases/open.md", 7)
        ]
    );
    for one in &found {
        let what = one["what"].as_str().expect("text");
        assert!(!what.contains(".md"), "the place has fields: {one}");
        let help = one["help"].as_str().expect("a cure");
        assert!(!help.is_empty(), "{one}");
        assert_eq!(one["configuration"], "kelvin.yaml");
    }
    project.write(
        "my own.yaml",
        "run: sh pipeline.sh {input} {output}\ncases: cases\nsede: 1\nvariants:\n  reorder: 1\n  swap: many\n\
         governing_types: [rule, 7]\ngate:\n  mode: fast\n",
    );
    let found = lint(&["my own.yaml", "nowhere.yaml"], 1);
    let keys: Vec<(&Value, &Value)> = found
        .iter()
        .map(|one| (&one["key"], &one["line"]))
        .collect();
    assert_eq!(
        keys,
        [
            (&json!("decision_field"), &Value::Null),
            (&json!("sede"), &json!(3)),
            (&json!("variants.swap"), &json!(6)),
            (&json!("governing_types[1]"), &json!(7)),
            (&json!("gate.mode"), &json!(9)),
            (&Value::Null, &Value::Null),
        ],
        "{found:#?}"
    );
    let what = found[5]["what"].as_str().expect("text");
    assert!(what.contains("nowhere.yaml"), "{what}");
    // The example of the page.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/install.md");
    let page = fs::read_to_string(page).expect("it is there");
    let block = page.split("```json\n").nth(1).expect("an example");
    let block = block.split("```").next().expect("it ends");
    let shown: Value = serde_json::from_str(block).expect("JSON");
    let config = project.read("kelvin.yaml");
    let lines: Vec<&str> = config.lines().take(4).collect();
    project.write("kelvin.yaml", &format!("{}\nsede: 1\n", lines.join("\n")));
    for case in ["empty", "open", "named", "bytes"] {
        fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    assert_eq!(Value::from(lint(&[], 1)), shown);
}

/// The hook runs what it says it runs, and asks for the files whose change it wants to see.
#[test]
fn the_hook_for_pre_commit_is_a_command_that_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hooks = fs::read_to_string(root.join(".pre-commit-hooks.yaml")).expect("it is there");
    let entry = hooks
        .lines()
        .find_map(|line| line.trim().strip_prefix("entry: kelvin "))
        .expect("it runs this program");
    let words: Vec<&str> = entry.split(' ').collect();
    Project::new(CONSTANT).kelvin(&words).expect(0);
    assert!(
        hooks.contains("language: system") && hooks.contains("pass_filenames: false"),
        "{hooks}"
    );
}

#[test]
fn every_shell_has_completions_and_every_command_a_man_page() {
    let project = Project::new(CONSTANT);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = project.kelvin(&["completions", shell]).expect(0);
        assert!(
            said.stdout.contains("kelvin") && said.stdout.contains("lint"),
            "{shell}"
        );
    }
    project.kelvin(&["completions", "tcsh"]).expect(1);
    project.kelvin(&["man", "pages/man1"]).expect(0);
    for page in [
        "kelvin.1",
        "kelvin-check.1",
        "kelvin-import.1",
        "kelvin-lint.1",
    ] {
        let text = project.read(&format!("pages/man1/{page}"));
        assert!(
            text.contains(".SH SYNOPSIS") || text.contains(".SH NAME"),
            "{page}: {text}"
        );
    }
    let said = project.kelvin(&["man", "kelvin.yaml/x"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"error: failed to write man pages to `kelvin.yaml/x`: Not a directory (os error 20)");
}

#[test]
fn lint_takes_the_configuration_as_the_other_commands_do() {
    let project = Project::new(CONSTANT);
    let config = project.read("kelvin.yaml");
    project.write("other.yaml", &config);
    project.write("kelvin.yaml", "run: [\n");
    let said = project
        .kelvin(&["lint", "--config", "other.yaml"])
        .expect(0);
    assert!(said.stdout.starts_with("other.yaml: "), "{}", said.stdout);
    let said = project
        .kelvin(&[
            "lint",
            "other.yaml",
            "--config=other.yaml",
            "--config=kelvin.yaml",
        ])
        .expect(1);
    assert_eq!(said.stdout.matches("other.yaml: ").count(), 1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["kelvin.yaml"]), @"
     --> kelvin.yaml:1:6
    kelvin.yaml: cannot be run
    ");
    project.kelvin(&["lint"]).expect(1);
}

#[test]
fn lint_refuses_nothing_that_only_judges_reports_or_that_veritas_runs_often_enough() {
    let project = Project::new(CONSTANT);
    let config = project.read("kelvin.yaml");
    project.write("judging.yaml", "gate: {max_drop: 0.1}\nbaseline: {}\n");
    let said = project.kelvin(&["lint", "judging.yaml"]).expect(0);
    insta::assert_snapshot!(said.stdout, @"judging.yaml: nothing is wrong with it; read: no probe: it judges finished reports, by `kelvin gate --report`");
    let quality = "quality: {contract: {decision: string}}\n";
    project.write("kelvin.yaml", &format!("{config}{quality}"));
    let said = project.kelvin(&["lint"]).expect(0);
    insta::assert_snapshot!(said.stdout, @"
    note: the quality score wants 3 live runs of each case, and `repeats` is 1: only `kelvin gate veritas`, which makes as many, would score a case; else set `repeats: 3`, or `live_runs: 1` under `quality`
    kelvin.yaml: can be run, but look at the note above; read: 4 cases
    next: kelvin check
    ");
}

#[test]
fn after_a_note_about_a_slip_lint_does_not_say_that_nothing_is_wrong() {
    let project = Project::new(CONSTANT);
    let line = |at: usize| {
        format!("{{\"claim\": \"Case {at}.\", \"rule\": \"Rule {at}.\", \"label\": \"yes\"}}\n")
    };
    project.write("cases.jsonl", &(0..4).map(line).collect::<String>());
    let lint = |expected: &str| {
        project.write(
            "kelvin.yaml",
            &format!(
                "run: \"sh pipeline.sh {{input}} {{output}}\"\ncases: cases.jsonl\nrecords: {{expected: {expected}}}\n\
                 decision_field: decision\ngoverning_types: [rule]\n"
            ),
        );
        let said = project.kelvin(&["lint"]).expect(0);
        lines_with(&said.stdout, &["note: ", "read: "])
    };
    insta::assert_snapshot!(lint("labl"), @"
    note: cases.jsonl: no record has the field `labl` that `records.expected` names, so no case has a label; it is a field at the top of a record, and not one within another: the first record has `claim`, `rule`, `label`
    note: cases.jsonl: 4 record(s); units: `claim` (4), `label` (4), `rule` (4); `records: {units: {...}}` declares others; no record has an `id`, so that a case is named by its text, and an edited one is known by its place alone: `records: {id: FIELD}` names a field
    kelvin.yaml: can be run, but look at the notes above; read: 4 cases
    ");
    // What only says how the records were read is no slip.
    insta::assert_snapshot!(lint("label"), @"
    note: cases.jsonl: 4 record(s); units: `claim` (4), `rule` (4); `records: {units: {...}}` declares others; no record has an `id`, so that a case is named by its text, and an edited one is known by its place alone: `records: {id: FIELD}` names a field
    kelvin.yaml: nothing is wrong with it; read: 4 cases
    ");
}

#[test]
fn a_misspelt_section_is_told_once_and_nothing_is_missing_for_it() {
    let project = Project::new(CONSTANT);
    let section = "{run: \"sh pipeline.sh {input} {output}\", golden: golden.yaml}\n";
    for (text, near) in [
        (format!("retreival: {section}"), "retrieval"),
        (format!("Retrieval: {section}"), "retrieval"),
        (
            format!("jobs: 2\nretrievel: {section}"),
            "retrieval",
        ),
        ("gradign: {prompts: p.jsonl}\n".to_owned(), "grading"),
        (
            "run: sh pipeline.sh {input} {output}\ncases: cases\ndecison_field: decision\ngoverning_types: [rule]\n"
                .to_owned(),
            "decision_field",
        ),
    ] {
        project.write("kelvin.yaml", &text);
        let said = project.kelvin(&["lint"]).expect(1);
        let near = format!("did you mean `{near}`?");
        assert!(said.stdout.contains(&near), "{}", said.stdout);
        assert!(!said.stdout.contains("is missing"), "{text}{}", said.stdout);
    }
    // What is missing beside the slip is still told.
    for (text, key) in [
        ("sede: 1\n", "cases"),
        ("retrieval: {golden: golden.yaml}\nsede: 1\n", "run"),
        ("something: 1\n", "decision_field"),
    ] {
        project.write("kelvin.yaml", text);
        let said = project.kelvin(&["lint"]).expect(1);
        let missing = format!("the key `{key}` is missing");
        assert!(said.stdout.contains(&missing), "{text}{}", said.stdout);
    }
}
