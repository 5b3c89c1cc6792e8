//! A person labels pairs: blind, in random order, with one line each, and whoever stops goes on later.

use kelvin_fixtures::text::redacted;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{configure, project};
use crate::project::{Project, Said};

/// Twelve prompts. The candidate is right where the number is even, the baseline where it is odd.
fn graded() -> Project {
    let project = project(12);
    let side = |right: usize| {
        format!(
            "n=$(sed 's/.*word-//' \"$1\")\nif [ $((n % 2)) = {right} ]; then sed 's/.*: //' \"$1\" > \"$2\"; else echo \
                 \"no idea of $n\" > \"$2\"; fi\n"
        )
    };
    project.write("answer.sh", &side(0));
    project.write("base.sh", &side(1));
    configure(
        &project,
        "  baseline: {run: \"sh base.sh {input} {output}\"}\n",
    );
    project.kelvin(&["check"]);
    project
}

/// Runs `kelvin label` with lines on its standard input.
fn label(project: &Project, arguments: &[&str], lines: &str) -> Said {
    let mut command = project.command(&[&["label"], arguments].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(lines.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The key for the right answer of the pair that is shown first.
fn right_key(shown: &str) -> &'static str {
    let after = |name: &str| {
        shown
            .split(&format!("\n{name}:\n  "))
            .nth(1)
            .expect("it is shown")
    };
    let left = after("Left").lines().next().expect("a line");
    match left.starts_with("word-") {
        true => "l\n",
        false => "r\n",
    }
}

fn ledger(project: &Project) -> Vec<Value> {
    let said = project.kelvin(&["ledger", "export"]).expect(0);
    let lines = said.stdout.lines();
    let all = lines.map(|line| serde_json::from_str::<Value>(line).expect("an entry"));
    let is_person = |entry: &Value| {
        entry["grader_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("person/"))
    };
    all.filter(is_person).collect()
}

#[test]
fn ten_pairs_are_shown_blind_and_the_choices_make_the_calibration_against_people() {
    let project = graded();
    let mut first_keys = Vec::new();
    let mut prompts = Vec::new();
    for number in 1..=10 {
        // Nothing is typed: the pair is shown, and stays open.
        let said = label(&project, &[], "");
        assert_eq!(said.code, Some(130), "{}", said.stderr);
        assert!(
            said.stderr
                .contains(&format!("Pair {number} of 10; choose by: better")),
            "{}",
            said.stderr
        );
        for word in ["answer.sh", "base.sh", "candidate", "baseline", "score"] {
            assert!(!said.stderr.contains(word), "{word}: {}", said.stderr);
        }
        let key = right_key(&said.stderr);
        first_keys.push(key);
        // One line is a choice; a line that is none is asked again.
        let said = label(&project, &[], &format!("maybe\n{key}"));
        assert!(
            said.stderr.contains("type l, r, t, s or q"),
            "{}",
            said.stderr
        );
        assert!(
            said.stdout
                .contains(&format!("{number} of 10 pairs labelled")),
            "{}",
            said.stdout
        );
        let entries = ledger(&project);
        assert_eq!(entries.len(), number);
        prompts.push(entries[number - 1]["prompt"].clone());
        let is_even = prompts[number - 1]
            .as_str()
            .expect("an id")
            .ends_with(['0', '2', '4', '6', '8']);
        assert_eq!(
            entries[number - 1]["judge_score"],
            json!(if is_even { 1.0 } else { 0.0 })
        );
    }
    assert!(
        first_keys.contains(&"l\n") && first_keys.contains(&"r\n"),
        "both sides have good answers"
    );
    assert!(
        !prompts.is_sorted_by_key(|prompt| prompt.to_string()),
        "{prompts:?}"
    );

    let said = label(&project, &[], "").expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    10 of 10 pairs labelled
    `grading.judge` agrees with people by "better" in 100 % of 10 choices: Cohen's kappa 1.00, with 95 % confidence between 0.36 and 1.00
    kept in [TEMP]/project/calibration.json
    next: kelvin ledger summary
    "#);
    let people = project.json("calibration.json")["people"].clone();
    assert_eq!(people[0]["choices"], json!(10));
    assert_eq!(
        (&people[0]["kappa"], &people[0]["judge"]),
        (&json!(1.0), &json!("grading.judge"))
    );
    let low = people[0]["interval"][0].as_f64().expect("a number");
    assert!(
        low > 0.0 && low < 0.7,
        "ten pairs that agree leave doubt: {low}"
    );

    // Somebody else finds all of them even: nothing agrees, and both count.
    let said = label(
        &project,
        &["--person", "ann", "--criterion", "polite"],
        &"t\n".repeat(10),
    )
    .expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    10 of 10 pairs labelled
    `grading.judge` agrees with people by "better" in 100 % of 10 choices: Cohen's kappa 1.00, with 95 % confidence between 0.36 and 1.00
    `grading.judge` agrees with people by "polite" in 0 % of 10 choices; one of the two says the same of every pair, so that chance explains all agreement
    kept in [TEMP]/project/calibration.json
    next: kelvin ledger summary
    "#);
    let people = project.json("calibration.json")["people"].clone();
    assert_eq!(people.as_array().map(Vec::len), Some(2));
    // What was skipped is shown again.
    let said = label(&project, &["--person", "bob", "--pairs", "3"], "s\nl\nq\n");
    assert_eq!(said.code, Some(130));
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    1 of 3 pairs labelled
    `grading.judge` agrees with people by "better" in 91 % of 11 choices: Cohen's kappa 0.81, with 95 % confidence between 0.11 and 1.00
    `grading.judge` agrees with people by "polite" in 0 % of 10 choices; one of the two says the same of every pair, so that chance explains all agreement
    kept in [TEMP]/project/calibration.json
    next: kelvin label kelvin/report.json --criterion=better --person=bob
    "#);
}

#[test]
fn ones_own_export_adds_nothing_twice() {
    let project = graded();
    label(&project, &[], "l\nr\nt\n");
    let export = project.kelvin(&["ledger", "export"]).expect(0).stdout;
    let entries = export.lines().count();
    assert_eq!(entries, 12 + 3);
    // The export of somebody else has one entry more.
    let other = export
        .lines()
        .last()
        .expect("an entry")
        .replace("person/me/", "person/ann/");
    project.write("export.jsonl", &format!("{export}{other}\n"));
    let said = project
        .kelvin(&["ledger", "import", "export.jsonl"])
        .expect(0);
    insta::assert_snapshot!(said.stdout, @"
    1 entry added, 15 in the ledger already, 0 malformed lines skipped
    next: kelvin ledger summary
    ");
    let said = project
        .kelvin(&["ledger", "import", "export.jsonl"])
        .expect(0);
    insta::assert_snapshot!(said.stdout, @"
    0 entries added, 16 in the ledger already, 0 malformed lines skipped
    next: kelvin ledger summary
    ");
    assert_eq!(
        project
            .kelvin(&["ledger", "export"])
            .expect(0)
            .stdout
            .lines()
            .count(),
        16
    );
}

#[test]
fn a_report_without_two_answers_to_a_prompt_has_nothing_to_label() {
    let project = project(3);
    project.kelvin(&["check"]).expect(0);
    let said = label(&project, &[], "l\n").expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report `kelvin/report.json` has no two different answers to one prompt, each as a whole
      help: name the report of a `kelvin gate` with a section `grading`: it has the answers of the base beside those of the change, unless `baseline.texts` leaves them out
    ");
}
