//! Invariants that a judge grades.

mod example;
mod gate;
mod hostile;
mod kept;
mod recorded;
mod refused;

use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};

use super::{AGENT, figure, project, ran};
use crate::project::Project;

/// A judge that is a command: the words of the question decide.
const JUDGE: &str = r#"
question=$(cat)
case $question in
  *DEAD*) echo "the judge is dead" >&2; exit 9;;
  *PROSE*) echo "I would say 0.9";;
  *GOOD*) echo '{"notes": "good work", "quality_score": 0.7}';;
  *) echo '{"notes": "poor work", "quality_score": 0.2}';;
esac
"#;

/// Three invariants with the weights of the document, the last of which is judged.
fn invariants(judged: &str) -> String {
    format!(
        "cache: true\nmodels:\n  grader: {{kind: cmd, run: sh judge.sh}}\n\
         retry: {{max_attempts: 1, model_attempts: 1}}\n\
         invariants:\n\
         \x20 made: {{description: made, weight: 0.5, gate: true, check: {{type: file_exists, path: made.txt}}}}\n\
         \x20 says_done: {{description: says so, weight: 0.3, check: {{type: contains, value: 'done:'}}}}\n\
         \x20 tone: {{description: it is good, weight: 0.2, {judged}}}\n"
    )
}

const TONE: &str = "check: {type: llm_as_judge, model: grader, criteria: It is well done.}";

/// A project whose agent says a word about its work.
fn judged(word: &str, scenarios: usize, judged: &str) -> Project {
    let project = project(
        &format!("{AGENT}echo {word}\n"),
        scenarios,
        &invariants(judged),
    );
    project.write("judge.sh", JUDGE);
    project
}

fn tone(project: &Project) -> Value {
    ran(&project.report(), "s00", 0)["checks"]["tone"].clone()
}

#[test]
fn inv_21_the_score_of_a_judge_enters_the_composite_and_passes_from_its_threshold_on() {
    let project = judged("GOOD", 2, TONE);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let composite = figure(&report, "composite").as_f64().expect("measured");
    assert!((composite - 0.94).abs() < 1e-12, "{composite}");
    assert_eq!(figure(&report, "tone"), json!(0.7));
    let tone = tone(&project);
    assert_eq!(
        (&tone["outcome"], &tone["score"]),
        (&json!("passed"), &json!(0.7))
    );
    insta::assert_snapshot!(tone["reason"], @r#""the judge gave 0.7000, and 0.5000 is needed: good work""#);
    let id = tone["judged"]["grade"]["grader_id"]
        .as_str()
        .expect("an id");
    assert!(id.starts_with("llm/criteria-v1-"), "{id}");
    // What the judge cost is no cost of the pipeline.
    let session = &project.json("kelvin/report.json")["run"]["session"];
    assert_eq!(session["cost"]["invocations"], json!(2));
    assert_eq!(session["judge_cost"]["invocations"], json!(2));
    assert!(session["cost"].get("usage").is_none(), "{session}");
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["judges: 2"])), @"kelvin check: 2 scenarios, 3 invariants, 2 invocations, judges: 2 calls, [SECONDS] s");

    for (threshold, outcome, passes) in [(0.7, "passed", 1.0), (0.700_1, "failed", 0.0)] {
        let more = TONE.replace('}', &format!(", pass_threshold: {threshold}}}"));
        let project = judged_again(&project, &more);
        assert_eq!(self::tone(project)["outcome"], outcome, "{threshold}");
        assert_eq!(self::tone(project)["score"], json!(0.7), "{threshold}");
        assert_eq!(figure(&project.report(), "pass_rate"), json!(passes));
    }
}

/// Checks the same project with other words about the judged invariant.
fn judged_again<'p>(project: &'p Project, judged: &str) -> &'p Project {
    super::configure(project, &invariants(judged));
    project.kelvin(&["check"]).expect(0);
    project
}

#[test]
fn inv_22_inv_23_a_judged_gate_passes_at_its_threshold_unless_gates_are_strict() {
    let gate = format!("gate: true, {TONE}");
    let project = judged("GOOD", 1, &gate);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(ran(&project.report(), "s00", 0)["outcome"], "passed");
    let strict = format!("{}scoring: {{gate_strict: true}}\n", invariants(&gate));
    super::configure(&project, &strict);
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(
        (&run["outcome"], &run["composite"]),
        (&json!("failed"), &json!(0.0))
    );
    // A poor grade makes the gate fail without it.
    let project = judged("poor", 1, &gate);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(ran(&project.report(), "s00", 0)["composite"], json!(0.0));
}

#[test]
fn a_judged_check_that_is_turned_round_has_what_is_missing_to_1_as_its_score() {
    let not = TONE.replace('}', ", not: true}");
    let project = judged("poor", 1, &not);
    project.kelvin(&["check"]).expect(0);
    let tone = tone(&project);
    assert_eq!(
        (&tone["outcome"], &tone["score"]),
        (&json!("passed"), &json!(0.8))
    );
    assert_eq!(tone["judged"]["grade"]["score"], json!(0.2));
}

#[test]
fn inv_24_a_judge_that_fails_leaves_an_error_and_no_score() {
    let mut told = Vec::new();
    for (word, code) in [("DEAD", "call_failed"), ("PROSE", "unreadable")] {
        let project = judged(word, 1, TONE);
        project.kelvin(&["check"]).expect(0);
        let run = ran(&project.report(), "s00", 0);
        let tone = &run["checks"]["tone"];
        assert_eq!(
            (&tone["outcome"], &tone["score"], &run["composite"]),
            (&json!("error"), &Value::Null, &Value::Null)
        );
        assert_eq!(tone["judged"]["unscored"]["code"], code, "{tone}");
        let reason = tone["reason"].as_str().expect("a text");
        told.push(reason.to_string());
        // The opposite of what nobody knows is not known either.
        let not = TONE.replace('}', ", not: true}");
        assert_eq!(self::tone(judged_again(&project, &not))["outcome"], "error");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the judge gave no score: it ended with exit code 9
    the judge gave no score: the answer of the judge has no JSON object: `I would say 0.9`
    ");
}

#[test]
fn where_the_judge_could_not_grade_too_many_runs_the_figures_are_unmeasured() {
    let script =
        format!("{AGENT}case $KELVIN_SCENARIO in s00|s01) echo DEAD;; *) echo GOOD;; esac\n");
    let project = project(&script, 10, &invariants(TONE));
    project.write("judge.sh", JUDGE);
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    for name in ["tone", "composite", "pass_rate"] {
        let metric = &report["metrics"][format!("checks.{name}")];
        assert_eq!(metric["value"], Value::Null, "{name}");
        let reason = metric["reason"].as_str().expect("a reason");
        insta::allow_duplicates! {
            insta::assert_snapshot!(reason, @"the judge of `tone`: 2 of 10 samples are unscored, more than `max_errors` (10 %) allows; the first: it ended with exit code 9");
        }
    }
    assert_eq!(figure(&report, "made"), json!(1.0));
    let more = TONE.replace('}', ", max_errors: 0.2}");
    let report = judged_again(&project, &more).report();
    let tone = figure(&report, "tone").as_f64().expect("measured");
    assert!((tone - 0.7).abs() < 1e-12, "{tone}");
    assert_eq!(figure(&report, "failure_rate"), json!(0.2));
}
