use kelvin_fixtures::text::lines_with;
use std::process::Command;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, branch, commit, git, pushed, save};

/// What follows a mark on a line of its own.
fn line<'a>(said: &'a Said, mark: &str) -> &'a str {
    let line = said.stdout.lines().find_map(|line| line.strip_prefix(mark));
    line.unwrap_or_else(|| panic!("no `{mark}` in {}", said.stdout))
}

#[test]
fn the_first_failure_is_shown_whole_and_the_call_can_be_made_by_hand() {
    const CRASHING: &str = "case $(head -n 1 \"$1\") in *cedar*) for n in 1 2 3 4 5; do echo \"line $n of the reason\" >&2; done; exit 7;; esac\n";
    for folder in ["project", "my project's folder"] {
        let project = Project::in_folder(folder, &format!("{CRASHING}{GROUNDED}"));
        let said = project.kelvin(&["check"]).expect(0);
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&said.stdout, &["cedar, baseline"]), @"The first failure, cedar, baseline: it ended with exit code 7");
        }
        for number in 1..=5 {
            assert!(
                said.stdout
                    .contains(&format!("\n  line {number} of the reason\n")),
                "{}",
                said.stdout
            );
        }
        let by_hand = line(&said, "by hand: ");
        let made = Command::new("sh")
            .args(["-c", by_hand])
            .current_dir(project.root())
            .output();
        let made = made.expect("a shell");
        assert_eq!(made.status.code(), Some(7), "{by_hand}");
        let printed = String::from_utf8_lossy(&made.stderr);
        assert!(printed.contains("line 5 of the reason"), "{printed}");
        // From elsewhere it begins with the way there.
        let config = project.path("kelvin.yaml").display().to_string();
        let mut elsewhere = project.command(&["check", "--config", &config]);
        let said = elsewhere.current_dir("/").output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let by_hand = said.lines().find_map(|line| line.strip_prefix("by hand: "));
        let made = Command::new("sh")
            .args(["-c", by_hand.expect("a command")])
            .current_dir("/")
            .output();
        assert_eq!(made.expect("a shell").status.code(), Some(7), "{said}");
    }
}

#[test]
fn the_cause_of_a_crash_is_the_exception_and_not_what_stands_behind_it() {
    let (_remote, url) = bare();
    let project = pushed(&url, CONSTANT);
    save(&project);
    for (name, printed, cause) in [
        (
            "thrown",
            "/app/agent.js:3\n  throw e;\n  ^\n\nTypeError: tool_calls is undefined\n    at run (/app/agent.js:3:9)\n\nNode.js \
             v20.20.2",
            "TypeError: tool_calls is undefined",
        ),
        (
            "missing",
            "  throw err;\n  ^\n\nError: Cannot find module x\nRequire stack:\n- /app/a.js\n    at load (node:1:2) {\n  code: 1\n\
             }\n\nNode.js v20.20.2",
            "Error: Cannot find module x",
        ),
        (
            "raised",
            "Traceback (most recent call last):\n  File \"a.py\", line 3\n    f()\nshop.Refused: no credit\nask again\nlater",
            "shop.Refused: no credit",
        ),
    ] {
        let crash = format!("echo '{printed}' >&2; exit 1\n");
        branch(
            &project,
            name,
            &format!("case $(cat \"$1\") in *cedar*) {crash};; esac\n{CONSTANT}"),
        );
        let said = project.kelvin(&["gate"]).expect(3);
        let wanted = format!("it ended with exit code 1: {cause}");
        for text in [said.stdout, project.read("kelvin/gate.md")] {
            let words: Vec<&str> = text.split_whitespace().collect();
            let line = words.join(" ").replace("\\_", "_");
            assert!(line.contains(&wanted), "{wanted}: {text}");
        }
    }
}

#[test]
fn a_check_ends_with_a_command_that_fits_and_can_be_pasted() {
    // The words after the name of the program, run as they stand there.
    let paste = |project: &Project, said: &Said| -> Said {
        let next = line(said, "next: ");
        let words: Vec<&str> = next.split(' ').skip(1).collect();
        project.kelvin(&words)
    };
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin baseline save");
    let said = paste(&project, &said).expect(0);
    assert_eq!(
        line(&said, "next, on a branch with a change: "),
        "kelvin gate"
    );
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.kelvin(&["gate"]).expect(0);

    // Without a remote there is nowhere else to keep it.
    let project = Project::new(GROUNDED);
    project.write(".gitignore", "/kelvin/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin baseline save --local");
    paste(&project, &said).expect(0);

    let project = Project::new(GROUNDED);
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin view");
    let said = project.kelvin(&["check", "--dry-run"]).expect(0);
    assert_eq!(line(&said, "next: "), "kelvin check");
    paste(&project, &said).expect(0);
    std::fs::rename(project.path("kelvin.yaml"), project.path("other.yaml")).expect("renamed");
    let said = project
        .kelvin(&["check", "--dry-run", "--config=other.yaml"])
        .expect(0);
    assert_eq!(line(&said, "next: "), "kelvin check --config=other.yaml");
    paste(&project, &said).expect(0);

    // A verdict says by itself what to do.
    let project = Project::new(GROUNDED);
    project.check();
    std::fs::copy(
        project.path("kelvin/report.json"),
        project.path("base.json"),
    )
    .expect("copied");
    project.write("pipeline.sh", CONSTANT);
    let said = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    assert!(
        !said.stdout.contains("\nnext: kelvin view"),
        "{}",
        said.stdout
    );
}

#[test]
fn where_every_call_failed_the_reason_is_whole_and_the_next_step_is_no_circle() {
    let project = Project::new("echo no such model >&2; exit 3");
    let said = project.kelvin(&["check"]).expect(2);
    assert!(
        said.stdout.contains("\n  no such model\n"),
        "{}",
        said.stdout
    );
    let by_hand = line(&said, "next, by hand: ");
    let made = Command::new("sh")
        .args(["-c", by_hand])
        .current_dir(project.root())
        .output();
    assert_eq!(made.expect("a shell").status.code(), Some(3), "{by_hand}");
    assert!(!said.next().contains("doctor"), "{}", said.stdout);

    // What is missing here is the doctor's to say: he finds something.
    project.config("env: [KELVIN_TEST_NO_SUCH_KEY]\n");
    let said = project.kelvin(&["check"]).expect(2);
    assert_eq!(line(&said, "next: "), "kelvin doctor");
    let said = project.kelvin(&["doctor"]);
    assert!(
        said.stdout.contains("KELVIN_TEST_NO_SUCH_KEY"),
        "{}",
        said.stdout
    );
}

#[test]
fn the_first_failure_is_whole_for_every_probe() {
    const REASON: &str = "the index of the shop could not be opened because its version is 17 and this program reads \
                          versions 4 to 16 only";
    let fails = format!("echo 'starting' >&2; echo '{REASON}' >&2; exit 7");
    let queries: String = (1..=20)
        .map(|number| {
            format!(
                "- {{\"id\": \"q{number}\", \"query\": \"a\", \"expected_doc_ids\": [\"d\"]}}\n"
            )
        })
        .collect();
    for (config, can_be_made_again) in [
        (
            "retrieval: {run: \"sh pipeline.sh {input} {output}\", golden: golden.yaml}\n",
            true,
        ),
        (
            "grading:\n  prompts: prompts.jsonl\n  candidate: {run: \"sh pipeline.sh {input} {output}\"}\n  \
             judge: {type: exact_match}\n",
            true,
        ),
        (
            "run: \"sh {root}/pipeline.sh {input} {output}\"\ninvariants:\n  made: {description: it is made, \
             check: {type: command_exit, command: \"true\"}}\n",
            false,
        ),
    ] {
        let project = Project::new(&fails);
        project.write("kelvin.yaml", config);
        project.write("golden.yaml", &queries);
        project.write(
            "prompts.jsonl",
            "{\"id\": \"p1\", \"prompt\": \"a\", \"reference\": \"b\"}\n",
        );
        let said = project.kelvin(&["check"]).expect(2);
        assert!(
            said.stdout.contains(&format!("\n  {REASON}\n")),
            "{}",
            said.stdout
        );
        if can_be_made_again {
            let by_hand = line(&said, "next, by hand: ");
            let made = Command::new("sh")
                .args(["-c", by_hand])
                .current_dir(project.root())
                .output();
            assert_eq!(made.expect("a shell").status.code(), Some(7), "{by_hand}");
        } else {
            assert_eq!(line(&said, "next, when that is fixed: "), "kelvin check");
        }
    }
}

#[test]
fn a_report_with_fewer_repeats_than_a_base_needs_is_made_again_with_more_and_not_saved() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {repeats: 3}\n");
    commit(&project, "three times");
    let said = project.kelvin(&["check", "--jobs=2"]).expect(0);
    assert_eq!(line(&said, "next: "), "kelvin check --repeats=3 --jobs=2");
    let doctor = project.kelvin(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("`kelvin check --repeats=3 && kelvin baseline save`"),
        "{}",
        doctor.stdout
    );
    let said = project.kelvin(&["gate"]);
    assert_eq!(
        said.next(),
        "kelvin check --repeats=3 && kelvin baseline save"
    );
    let said = project
        .kelvin(&["check", "--repeats=3", "--jobs=2"])
        .expect(0);
    assert_eq!(line(&said, "next: "), "kelvin baseline save");
    project.kelvin(&["baseline", "save"]).expect(0);
}

#[test]
fn on_changes_that_are_in_no_commit_one_line_says_how_a_report_is_kept() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {repeats: 2}\n");
    let said = project.check();
    let kept = "kelvin check --repeats=2 && kelvin baseline save";
    insta::assert_snapshot!(lines_with(&said.stdout, &[kept]), @"A report can be kept to compare with once all changes are committed: kelvin check --repeats=2 && kelvin baseline save");
    assert_eq!(line(&said, "next: "), "kelvin view");
    commit(&project, "twice");
    project.kelvin(&["check", "--repeats=2"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    // There is one, so nobody has to be told.
    project.write("pipeline.sh", CONSTANT);
    assert!(!project.check().stdout.contains("kelvin baseline save"));
    // Where the base is measured, none has to be kept.
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {compute: true}\nname: other\n");
    assert!(!project.check().stdout.contains("kelvin baseline save"));
}

#[test]
fn an_output_with_the_path_of_its_input_is_told_and_a_right_one_is_not() {
    const ECHO: &str = r#"printf '{"decision": "go", "question": "%s"}' "$1" > "$2""#;
    for (script, is_told) in [(ECHO, true), (GROUNDED, false)] {
        let project = Project::new(script);
        let said = project.check();
        assert_eq!(said.stdout.contains("alder: "), is_told, "{}", said.stdout);
        let report = project.report().to_string();
        assert_eq!(report.contains("path_in_output"), is_told, "{report}");
    }
}
