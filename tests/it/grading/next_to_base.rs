use serde_json::{Value, json};

use super::gated::{branch, saved};
use crate::project::{Project, mixed};
use crate::repository::{bare, verdict};

/// Answers with a quality that varies from call to call. The first number is how good it is on average.
const ANSWER: &str = concat!(
    mixed!(),
    "echo x >> calls\n\
     read -r prompt < \"$1\"\n\
     mixed \"$(wc -l < calls) $prompt\"\n\
     echo \"quality $((MEAN + mixed % 30 - 15)) of this kind\" > \"$2\"\n"
);

/// Says which of two answers has the higher quality, and errs by up to ten, one way or the other. An answer that
/// is not whole has none.
const JUDGE: &str = concat!(
    mixed!(),
    r#"text=$(cat)
mixed "$text"
by=$(printf '%s' "$text" | awk '
  sub(/^BEGIN /, "") { sub(/ [^ ]*$/, ""); of = $0 }
  /^END / { of = "" }
  /^quality [0-9]+ of this kind$/ { quality[of] = $2 }
  END { print quality["ANSWER ONE"] - quality["ANSWER TWO"] }
')
margin=$((by + mixed % 20 - 10))
echo x >> asked
choice=tie
[ $margin -le 2 ] || choice=one
[ $margin -ge -2 ] || choice=two
printf '{"notes": "by %s", "choice": "%s"}' "$margin" "$choice"
"#
);

fn project() -> Project {
    let project = Project::new("exit 9\n");
    let line = |at: usize| format!("{{\"id\": \"p{at:02}\", \"prompt\": \"Do thing {at}.\"}}\n");
    project.write("prompts.jsonl", &(0..16).map(line).collect::<String>());
    project.write("answer.sh", &ANSWER.replace("MEAN", "60"));
    project.write("judge.sh", JUDGE);
    project.write(
        "kelvin.yaml",
        "jobs: 1\nmodels:\n  judge: {kind: cmd, run: \"sh judge.sh\"}\ngrading:\n  prompts: prompts.jsonl\n  candidate: \
         {run: \"sh answer.sh {input} {output}\"}\n  judge: {type: llm, mode: pairwise, model: judge, swap_order: true}\n",
    );
    project
}

#[test]
fn the_answers_of_the_base_are_the_baseline_and_only_a_worse_candidate_is_a_regression() {
    let (_remote, url) = bare();
    let project = project();
    saved(&url, &project);
    // A check alone has nothing to grade next to, asks nobody, and says so.
    let report = project.json("kelvin/report.json");
    let reason = report["metrics"]["grading.judge_score"]["reason"].to_string();
    insta::assert_snapshot!(reason, @r#""there is no answer of a base to grade next to: `kelvin gate` compares with the answers of the base branch, and `baseline` names a pipeline to compare with""#);
    assert_eq!(report["metrics"]["grading.unscored"]["value"], json!(0.0));
    assert!(!project.path("asked").exists());
    let score = |judgement: &Value| judgement["metrics"]["grading.judge_score"].clone();

    branch(
        &project,
        "same",
        &format!("# the same\n{}", ANSWER.replace("MEAN", "60")),
    );
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["passed"], json!(true), "{}", said.stdout);
    assert_ne!(
        score(&judgement)["verdict"],
        json!("regression"),
        "{}",
        said.stdout
    );
    assert_eq!(score(&judgement)["base"], json!(0.5));

    branch(&project, "worse", &ANSWER.replace("MEAN", "40"));
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(
        score(&judgement)["verdict"],
        json!("regression"),
        "{}",
        said.stdout
    );
    assert!(
        score(&judgement)["head"]
            .as_f64()
            .is_some_and(|head| head < 0.25),
        "{judgement}"
    );
    // The judge and not a rule saw it, and the candidate answers as before.
    assert_eq!(
        judgement["metrics"]["grading.failure_rate"]["verdict"],
        json!("pass")
    );
    let comment = project.read("kelvin/gate.md");
    for part in [
        "grading.judge_score",
        "What both sides answered",
        "quality 4",
        "quality 6",
        "by ",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    let report = project.json("kelvin/report.json");
    let sample = &report["probes"]["grading"]["items"]["p00"]["samples"][1];
    assert_eq!(sample["base_repeat"], json!(1), "{sample}");
    assert_eq!(
        sample["grade"]["parts"].as_array().map(Vec::len),
        Some(2),
        "{sample}"
    );
    assert!(report["metrics"]["grading.flip_rate"]["value"].is_number());

    branch(&project, "better", &ANSWER.replace("MEAN", "80"));
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(
        score(&judgement)["verdict"],
        json!("pass"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_base_that_is_run_again_beside_the_head_is_what_the_head_is_graded_next_to() {
    let (_remote, url) = bare();
    let project = project();
    let config = project.read("kelvin.yaml") + "baseline: {compute: true}\n";
    project.write("kelvin.yaml", &config);
    saved(&url, &project);
    branch(&project, "worse", &ANSWER.replace("MEAN", "40"));
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    let score = &judgement["metrics"]["grading.judge_score"];
    assert_eq!(score["verdict"], json!("regression"), "{}", said.stdout);
    let report = project.json("kelvin/report.json");
    let items = report["probes"]["grading"]["items"]
        .as_object()
        .expect("a map");
    let samples = items
        .values()
        .filter_map(|item| item["samples"].as_array())
        .flatten();
    let repeats: Vec<u64> = samples
        .filter_map(|sample| sample["base_repeat"].as_u64())
        .collect();
    assert!(repeats.iter().any(|repeat| *repeat > 1), "{repeats:?}");
}

#[test]
fn a_judge_that_gives_no_grade_leaves_the_score_unmeasured_and_does_not_pass_by_silence() {
    let (_remote, url) = bare();
    let project = project();
    saved(&url, &project);
    branch(&project, "other", &ANSWER.replace("MEAN", "61"));
    project.write("judge.sh", "echo 'The first one, I think. Score: 1.0'\n");
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(
        judgement["metrics"]["grading.judge_score"]["verdict"],
        json!("unmeasured"),
        "{}",
        said.stdout
    );
    let report = project.json("kelvin/report.json");
    let unscored = &report["probes"]["grading"]["items"]["p00"]["samples"][0]["unscored"];
    assert_eq!(
        (&unscored["code"], &unscored["judge"]),
        (&json!("judge_failed"), &json!("unreadable")),
        "{unscored}"
    );
    let page = project.read("kelvin/report.html");
    assert!(page.contains("without a score"), "{page}");
    let config = project.read("kelvin.yaml") + "gate: {on_unmeasured: fail}\n";
    project.write("kelvin.yaml", &config);
    project.kelvin(&["gate"]).expect(3);
}

#[test]
fn both_directions_of_a_judge_that_compares_with_a_reference_make_one_score() {
    let (_remote, url) = bare();
    let project = project();
    let judge = JUDGE
        .replace("ANSWER ONE", "RESPONSE")
        .replace("ANSWER TWO", "REFERENCE")
        .lines()
        .filter(|line| !line.starts_with("choice=") && !line.starts_with('['))
        .map(|line| match line.starts_with("printf '{") {
            true => "score=$((50 + margin)); [ $score -ge 0 ] || score=0\nprintf '{\"notes\": \"by %s\", \"quality_score\": 0.%02d}' \"$margin\" $score\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect::<String>();
    project.write("judge.sh", &judge);
    let config = project
        .read("kelvin.yaml")
        .replace("mode: pairwise", "mode: reference")
        .replace(", swap_order: true", "");
    project.write("kelvin.yaml", &config);
    saved(&url, &project);
    branch(&project, "worse", &ANSWER.replace("MEAN", "35"));
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(
        judgement["metrics"]["grading.judge_score"]["verdict"],
        json!("regression"),
        "{}",
        said.stdout
    );
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["probes"]["grading"]["basis"]["scoring"],
        json!("exchange")
    );
    let items = report["probes"]["grading"]["items"]
        .as_object()
        .expect("a map");
    let sum = |which: &str| -> f64 {
        let grades = items
            .values()
            .map(|item| &item["samples"][0][which]["score"]);
        grades.map(|score| score.as_f64().expect("graded")).sum()
    };
    let (own, others) = (sum("grade") / 16.0, sum("baseline_grade") / 16.0);
    assert!(own < 0.5 && others > 0.5, "{own} and {others}");
}

#[test]
fn a_gate_on_a_judge_that_was_never_on_trial_warns_and_fails_where_a_calibration_is_required() {
    let (_remote, url) = bare();
    let project = project();
    saved(&url, &project);
    branch(
        &project,
        "same",
        &format!("# the same\n{}", ANSWER.replace("MEAN", "60")),
    );
    let said = project.kelvin(&["gate"]).expect(0);
    assert!(said.stdout.contains("grading.judge"), "{}", said.stdout);
    let config = project.read("kelvin.yaml") + "gate: {require_calibration: true}\n";
    project.write("kelvin.yaml", &config);
    project.kelvin(&["gate"]).expect(3);
}
