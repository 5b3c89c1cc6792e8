use serde_json::{Value, json};

use super::{configure, project};
use crate::project::Project;

fn exported(project: &Project) -> Vec<Value> {
    let said = project.kelvin(&["ledger", "export"]).expect(0);
    let lines = said.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

#[test]
fn jdg_19_every_graded_answer_is_one_entry_of_one_line() {
    let project = project(2);
    project.write("answer.sh", "printf 'word-0\\nsecond line' > \"$2\"\n");
    configure(&project, "repeats: 2\n");
    project.check();
    let entries = exported(&project);
    assert_eq!(entries.len(), 4);
    let first = &entries[0];
    assert_eq!(first["candidate"], json!("sh answer.sh {input} {output}"));
    assert_eq!(
        (&first["judge_score"], &first["grader_id"]),
        (&json!(0.0), &json!("exact-match/ws-v1"))
    );
    assert_eq!(first["tags"], json!(["easy"]));
    assert!(
        first["latency_ms"].as_f64().is_some_and(|time| time > 0.0),
        "{first}"
    );
    let time = first["recorded_at"].as_str().expect("a time");
    assert!(time.ends_with('Z'), "{time}");
    let said = project.kelvin(&["ledger", "--last", "1"]).expect(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let [entry, next] = *lines else {
        panic!("{}", said.stdout);
    };
    assert!(entry.contains("p01"), "{entry}");
    assert_eq!(next, "next: kelvin ledger summary");
    // A check that is not recorded adds none.
    project.kelvin(&["check", "--no-history"]).expect(0);
    assert_eq!(exported(&project).len(), 4);
}

#[test]
fn jdg_19_malformed_lines_of_an_import_are_skipped_and_counted() {
    let project = project(1);
    let good = r#"{"recorded_at": "2026-01-02T03:04:05Z", "prompt": "p", "prompt_digest": "d", "candidate": "c", "judge_score": 0.5, "grader_id": "g", "tokens_in": 3}"#;
    let wrong = [
        "{\"half\":".to_owned(),
        good.replace("0.5", "1.5"),
        good.replace("0.5", "\"0.5\""),
        good.replace("\"g\"", "\" \""),
        good.replace("3}", "-3}"),
        good.replace("2026-01-02T03:04:05Z", "yesterday"),
    ];
    let lines = [
        &[good.to_owned()][..],
        &wrong,
        &[String::new(), good.to_owned()],
    ]
    .concat();
    project.write("more.jsonl", &(lines.join("\n") + "\n"));
    let said = project
        .kelvin(&["ledger", "import", "more.jsonl"])
        .expect(0);
    assert!(
        said.stdout
            .contains("2 entries added, 6 malformed lines skipped"),
        "{}",
        said.stdout
    );
    for line in 2..=7 {
        assert!(
            said.stdout.contains(&format!("line {line}: ")),
            "{line}: {}",
            said.stdout
        );
    }
    let entries = exported(&project);
    assert_eq!(entries.len(), 2);
    // What is exported can be imported, and is the same then.
    let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    project.write("again.jsonl", &text);
    project
        .kelvin(&["ledger", "import", "again.jsonl"])
        .expect(0);
    assert_eq!(exported(&project), entries, "nothing is there twice");
    project
        .kelvin(&["ledger", "import", "absent.jsonl"])
        .expect(1);
}

#[test]
fn jdg_20_the_mean_of_an_empty_selection_is_null_and_of_nothing_there_is_no_summary() {
    let project = project(1);
    let summary = |project: &Project, more: &[&str]| -> Value {
        let said = project
            .kelvin(&[&["ledger", "summary", "--format", "json"], more].concat())
            .expect(0);
        serde_json::from_str(&said.stdout).expect("JSON")
    };
    assert_eq!(summary(&project, &[]), json!([]));
    project.check();
    let all = summary(&project, &[]);
    assert_eq!(
        (&all[0]["count"], &all[0]["mean_score"]),
        (&json!(1), &json!(1.0))
    );
    // The cost of a command is not known, which is not nothing.
    assert_eq!(
        (&all[0]["cost_usd"], &all[0]["with_cost"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(all[0]["tokens"], Value::Null);
    assert_eq!(summary(&project, &["--candidate", "another"]), json!([]));
}

#[test]
fn jdg_21_a_time_without_a_zone_is_one_of_utc() {
    let project = project(1);
    let line = |time: &str| {
        json!({"recorded_at": time, "prompt": "p", "prompt_digest": "d", "candidate": "c", "judge_score": 1, "grader_id": "g"})
            .to_string()
    };
    let times = [
        "2026-01-02T03:04:05",
        "2026-01-02T05:04:05+02:00",
        "2026-01-03",
    ];
    project.write("more.jsonl", &times.map(line).join("\n"));
    project
        .kelvin(&["ledger", "import", "more.jsonl"])
        .expect(0);
    let stored: Vec<Value> = exported(&project)
        .iter()
        .map(|entry| entry["recorded_at"].clone())
        .collect();
    assert_eq!(
        stored,
        [
            json!("2026-01-02T03:04:05Z"),
            json!("2026-01-02T03:04:05Z"),
            json!("2026-01-03T00:00:00Z")
        ]
    );
    let said = project
        .kelvin(&["ledger", "prune", "--before", "2026-01-02T03:04:06"])
        .expect(0);
    assert!(said.stdout.starts_with("2 entries"), "{}", said.stdout);
    assert_eq!(exported(&project).len(), 1);
    project
        .kelvin(&["ledger", "prune", "--before", "soon"])
        .expect(1);
}

#[test]
fn two_processes_that_append_at_once_lose_nothing() {
    let project = project(1);
    let line = |file: usize, at: usize| {
        json!({"recorded_at": "2026-01-02T03:04:05Z", "prompt": format!("p{file}-{at}"), "prompt_digest": "d",
               "candidate": "c", "judge_score": 1, "grader_id": "g"})
        .to_string()
    };
    for file in 0..4 {
        let lines: Vec<String> = (0..300).map(|at| line(file, at)).collect();
        project.write(&format!("more-{file}.jsonl"), &lines.join("\n"));
    }
    let mut children: Vec<_> = (0..4)
        .map(|file| project.start(&["ledger", "import", &format!("more-{file}.jsonl")]))
        .collect();
    for child in &mut children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(exported(&project).len(), 1200);
}

#[test]
fn a_csv_export_is_no_way_into_a_spreadsheet() {
    let project = project(1);
    let line = json!({"recorded_at": "2026-01-02T03:04:05Z", "prompt": "=cmd|' /C calc'!A0", "prompt_digest": "d",
                      "candidate": "a \"b\", c", "baseline": "@x", "judge_score": 0.25, "grader_id": "+g",
                      "tags": ["-1", "ok"]});
    project.write("more.jsonl", &line.to_string());
    project
        .kelvin(&["ledger", "import", "more.jsonl"])
        .expect(0);
    let said = project
        .kelvin(&["ledger", "export", "--format", "csv"])
        .expect(0);
    let row = said.stdout.lines().nth(1).expect("a row");
    assert_eq!(
        row.trim_end(),
        "\"2026-01-02T03:04:05Z\",\"'=cmd|' /C calc'!A0\",\"d\",\"a \"\"b\"\", c\",\"'@x\",0.25,\"'+g\",,,,,,,\"'-1 ok\""
    );
}
