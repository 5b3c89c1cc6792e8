use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::project::is_calm;
use crate::project::{CONSTANT, Project, text};

/// Approves by the credit score alone.
const LOANS: &str = r#"
score=$(awk '/^## /{on=0} /^## Credit Score/{on=1} on && /score/{print $NF}' "$1")
if [ "${score%.}" -ge 600 ]; then answer=approve; else answer=deny; fi
printf '{"decision": "%s"}' "$answer" > "$2"
"#;

/// Refunds what came back within the days that the policy allows.
const REFUNDS: &str = r#"
allowed=$(awk '/^## /{on=0} /^## Policy/{on=1} on && /days/{print $1}' "$1")
taken=$(awk '/^## /{on=0} /^## Order/{on=1} on && /days/{print $1}' "$1")
if [ "$taken" -le "$allowed" ]; then answer=refund; else answer=refuse; fi
printf '{"decision": "%s"}' "$answer" > "$2"
"#;

/// A project with cases of its own in place of the usual ones.
fn project(script: &str, governing: &str, cases: &[(String, String)], more: &str) -> Project {
    let project = Project::new(script);
    std::fs::remove_dir_all(project.path("cases")).expect("removed");
    for (name, text) in cases {
        project.write(&format!("cases/{name}.md"), text);
    }
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
             governing_types: [{governing}]\njobs: 2\n{more}"
        ),
    );
    project
}

/// Nine loans to approve, three to deny.
fn loans() -> Vec<(String, String)> {
    let case = |at: usize| {
        let score = if at % 4 == 3 { 480 + at } else { 640 + 9 * at };
        let text = format!(
            "# Loan {at}\n\n## Income\n\n{} crowns a month.\n\n## Credit Score\n\nThe score is \
             {score}.\n\n## Employer\n\nCompany {at}.\n\n## Notes\n\nNote {at}.\n",
            2_000 + 100 * at
        );
        (format!("loan-{at:02}"), text)
    };
    (0..12).map(case).collect()
}

fn refunds() -> Vec<(String, String)> {
    let case = |at: usize| {
        let (allowed, taken) = (14 + 10 * (at % 3), 8 + 5 * at);
        let text = format!(
            "# Refund {at}\n\n## Policy\n\n{allowed} days are allowed.\n\n## Order\n\n{taken} days \
             have passed since purchase {at}.\n\n## Letter\n\nLetter {at}.\n\n## Shop\n\nShop {at}.\n"
        );
        (format!("refund-{at:02}"), text)
    };
    (0..8).map(case).collect()
}

fn metric(project: &Project, name: &str) -> Value {
    project.json("kelvin/report.json")["metrics"][format!("evidence.{name}")].clone()
}

#[test]
fn a_right_pipeline_whose_swaps_often_lead_to_the_same_decision_is_grounded() {
    let project = project(LOANS, "credit_score", &loans(), "");
    let said = project.check();
    let sensitivity = project.figure("sensitivity").as_f64().expect("measured");
    assert!(sensitivity < 0.6, "{sensitivity}");
    assert_eq!(project.figure("following"), json!(1.0));
    assert_eq!(project.figure("donor_contrast"), json!(sensitivity));
    assert!(is_calm(&said.stdout), "{}", said.stdout);
    for word in ["Grounded", "attentive"] {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    for word in ["flat", "inattentive", "! "] {
        assert!(!said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    let page = project.read("kelvin/report.md");
    insta::assert_snapshot!(lines_with(&page, &["**Sensitivity**"]), @"| **Sensitivity**: moves when other evidence comes in | 0.3889 | 0.21 to 0.60 | n=36 | 14 of 36 swaps moved the decision; the donors' own answers differ in 14 of the 36, and the pipeline followed those |");
    assert!(
        !project
            .read("kelvin/report.html")
            .contains("class=\"against\"")
    );
}

#[test]
fn a_right_rule_engine_of_two_units_ignores_neither() {
    let project = project(REFUNDS, "policy, order", &refunds(), "");
    let said = project.check();
    let calm = said.stdout.lines().find(|line| line.starts_with("= "));
    insta::assert_snapshot!(calm.unwrap_or_default(), @"= Nothing stands out: it holds where it should, and ignores no governing type");
    assert!(
        !project
            .read("kelvin/report.html")
            .contains("class=\"against\"")
    );
}

#[test]
fn a_rule_engine_that_stops_reading_the_policy_is_told_so() {
    let blind = REFUNDS.replace("allowed=$(awk", "allowed=30 unused=$(awk");
    let more = "variants: {swap: 5}\n";
    let cases: Vec<(String, String)> = (0..3)
        .flat_map(|copy| {
            let cases = refunds().into_iter();
            cases.map(move |(name, text)| {
                (format!("{name}-{copy}"), format!("{text}\nCopy {copy}.\n"))
            })
        })
        .collect();
    let project = project(&blind, "policy, order", &cases, more);
    let said = project.check();
    insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"! `policy` is ignored, or another unit decides: 18 of the 18 swaps whose unit");
    assert!(!is_calm(&said.stdout), "{}", said.stdout);
}

#[test]
fn a_constant_pipeline_and_a_suite_of_one_answer_are_never_calm() {
    let constant = project(CONSTANT, "credit_score", &loans(), "");
    let said = constant.check();
    insta::assert_snapshot!(lines_with(&said.stdout, &["~ "]), @r#"~ It always answers `"go"` in all 156 invocations: the pipeline never decides"#);
    assert_eq!(metric(&constant, "following")["value"], json!(null));

    let approved: Vec<_> = loans()
        .into_iter()
        .filter(|(name, _)| !["loan-03", "loan-07", "loan-11"].contains(&name.as_str()))
        .collect();
    let same = project(LOANS, "credit_score", &approved, "");
    let said = same.check();
    insta::assert_snapshot!(lines_with(&said.stdout, &["~ "]), @r#"~ It always answers `"approve"` in all 117 invocations: the pipeline never"#);
    assert!(!is_calm(&said.stdout), "{}", said.stdout);
}

#[test]
fn a_donor_that_was_not_asked_leaves_following_unmeasured() {
    let project = project(LOANS, "credit_score", &loans(), "");
    project.kelvin(&["check", "--only", "loan-00"]).expect(0);
    let following = metric(&project, "following");
    assert_eq!(following["value"], json!(null));
    let reason = following["reason"].as_str().expect("a reason");
    insta::assert_snapshot!(reason, @"3 of 3 swaps took their unit from a case that this run did not ask, so it is not known where that evidence leads; run all cases, or merge all shards");
}

#[test]
fn levels_are_compared_when_shards_are_joined() {
    let graded = LOANS.replace(
        "printf",
        "[ \"${score%.}\" -lt 660 ] || answer=best\nprintf",
    );
    let more = "scorer: {ordinal: [deny, approve, best]}\n";
    let whole = project(&graded, "credit_score", &loans(), more);
    whole.check();
    let wanted = metric(&whole, "following");
    assert!(wanted["value"].is_number(), "{wanted}");
    for shard in 1..=3 {
        let (share, out) = (format!("{shard}/3"), format!("shards/{shard}"));
        project_shard(&whole, &share, &out);
        let report = whole.json(&format!("{out}/report.json"));
        let part = &report["metrics"]["evidence.following"];
        assert_eq!(part["value"], json!(null), "{part}");
    }
    let cases = whole.json("kelvin/report.json")["probes"]["evidence"]["items"].clone();
    whole.kelvin(&["merge", "shards"]).expect(0);
    let joined = whole.json("kelvin/report.json");
    assert_eq!(joined["metrics"]["evidence.following"], wanted);
    assert_eq!(joined["probes"]["evidence"]["items"], cases);
}

fn project_shard(project: &Project, share: &str, out: &str) {
    let shard = ["check", "--shard", share, "--out", out];
    project.kelvin(&shard).expect(0);
}

/// One case of many is no news to a mean, and is news to whoever asked whether everything is well.
#[test]
fn a_single_case_that_is_not_as_it_should_be_is_told_where_the_means_are_fine() {
    let said = |does: &str| {
        let by_order = format!(
            "if grep -q '^# Loan 5' \"$1\" && head -n 4 \"$1\" | grep -q '## Notes'; then {does}; fi"
        );
        let script = format!("{by_order}\n{LOANS}");
        let said = project(&script, "credit_score", &loans(), "").check();
        said.stdout
    };
    let moved = said("printf '{\"decision\": \"none\"}' > \"$2\"; exit");
    let silent = said("exit 3");
    for said in [&moved, &silent] {
        assert!(!is_calm(said), "{said}");
    }
    let told = [moved, silent].map(|said| lines_with(&said, &["~ "]));
    insta::assert_snapshot!(told.join("\n"), @"
    ~ The means are as they should be, and not every case is: `loan-05` went against
    ~ The means are as they should be, and not every case is: `loan-05` got no
    ");
}

/// Sorts tickets by what they say; `$REFUND` is its answer to those about a refund.
const TICKETS: &str = concat!(
    text!(),
    r#"
case $text in
  *crash*) answer=bug;;
  *refund*) answer=REFUND;;
  *) answer=billing;;
esac
printf '{"decision": "%s"}' "$answer" > "$2"
"#
);

#[test]
fn a_change_that_gets_a_class_right_moves_fewer_swaps_and_is_no_regression() {
    let words = ["crash", "invoice", "refund", "charge"];
    let case = |at: usize| {
        let text = format!(
            "# Ticket {at}\n\n## Report\n\nA {} on day {at}.\n",
            words[at % 4]
        );
        (format!("t{at:02}"), text)
    };
    let cases: Vec<(String, String)> = (0..24).map(case).collect();
    let base = TICKETS.replace("REFUND", "other");
    let project = project(&base, "report", &cases, "gate: {deterministic: true}\n");
    let labels = (0..24).map(|at| {
        let label = if at % 4 == 0 { "bug" } else { "billing" };
        format!("t{at:02},{label}\n")
    });
    let labels: String = labels.collect();
    project.write("cases/expected.csv", &format!("case,expected\n{labels}"));
    project.check();
    std::fs::rename(project.path("kelvin"), project.path("base")).expect("moved");
    let gate = |answer: &str, code: i32| {
        project.write("pipeline.sh", &TICKETS.replace("REFUND", answer));
        let gate = ["gate", "--no-history", "--baseline", "base/report.json"];
        project.kelvin(&gate).expect(code);
        let judgement = project.json("kelvin/gate.json");
        let metric = judgement["metrics"]["evidence.following.report"].clone();
        (
            judgement["verdict"].clone(),
            metric["swaps"]["status"].clone(),
        )
    };
    // The six refunds are answered like the other tickets with their label now, and exchanges among these rest.
    assert_eq!(gate("billing", 0), (json!("pass"), json!("followed")));
    let page = project.read("kelvin/gate.md");
    assert!(
        page.contains("\nThe answers that differ are the expected ones now.\n"),
        "{page}"
    );

    // One that no longer looks at the report at all loses the exchanges that ought to move it.
    project.write(
        "pipeline.sh",
        "printf '{\"decision\": \"billing\"}' > \"$2\"\n",
    );
    let gate = ["gate", "--no-history", "--baseline", "base/report.json"];
    project.kelvin(&gate).expect(3);
    let judgement = project.json("kelvin/gate.json");
    let metric = &judgement["metrics"]["evidence.following.report"];
    assert_eq!(metric["swaps"]["status"], json!("lost"), "{metric}");
}
