//! Many small drops in a row, each within the limit, against an older report.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;

use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, commit, git, pushed, rooms, save, verdict};

/// A setting of the section `baseline`, and what is measured: 24 cases, each worth less than the limit.
fn config(project: &Project, baseline: &str) {
    project.config(&format!(
        "variants: {{reorder: 1, pad_length: 0, pad_content: 0, swap: 1}}\n\
         gate: {{deterministic: true, on_broken_case: warn}}\nbaseline: {{{baseline}}}\n"
    ));
}

/// Heeds the rule in so many of the cases.
fn heeding(cases: usize) -> String {
    format!(
        "read -r _ _ case < \"$1\"; number=${{case#case-}}; number=${{number#0}}\n\
         if [ \"$number\" -ge {cases} ]; then {CONSTANT}; exit; fi\n{GROUNDED}"
    )
}

fn project(url: &str) -> Project {
    let project = pushed(url, &heeding(9));
    rooms(&project, 24);
    config(&project, "anchor: tag");
    commit(&project, "cases");
    git(project.root(), &["tag", "v1.0"]);
    git(
        project.root(),
        &["push", "--quiet", "--tags", "origin", "main"],
    );
    save(&project);
    project
}

/// Proposes a pipeline, judges it, and merges it whatever was said.
fn merged(project: &Project, at: usize, script: &str) -> (Value, String) {
    let name = format!("change-{at}");
    git(project.root(), &["checkout", "--quiet", "-b", &name]);
    project.write("pipeline.sh", script);
    commit(project, &name);
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(project, &said);
    git(project.root(), &["checkout", "--quiet", "main"]);
    git(project.root(), &["merge", "--quiet", "--ff-only", &name]);
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    // The commit is the one that was judged, so its report is that of the base from now on.
    project.kelvin(&["baseline", "save"]).expect(0);
    (judgement, said.stdout)
}

fn told(judgement: &Value) -> Option<&str> {
    let mut reasons = judgement["reasons"].as_array().expect("a list").iter();
    reasons.find(|reason| reason["code"] == json!("drift"))?["text"].as_str()
}

#[test]
fn nine_changes_each_within_the_limit_are_told_by_the_anchor() {
    let (_remote, url) = bare();
    let project = project(&url);
    for at in 1..=9 {
        let (judgement, said) = merged(&project, at, &heeding(9 - at));
        // Where little is left of a type, one more swap is more than a third of it: that is told as well.
        let word = judgement["verdict"].as_str();
        assert!(word == Some("pass") || at > 6, "{at}: {said}");
        let drop = at as f64 / 24.0;
        assert_eq!(told(&judgement).is_some(), drop > 0.1, "{at}: {said}");
        let drifted = &judgement["drift"]["metrics"]["evidence.following.rule"];
        let found = drifted["drop"].as_f64().expect("a number");
        assert!((found - drop).abs() < 1e-9, "{at}: {drifted}");
    }
    // The last of them in every other way to name the anchor: merges, days, and a tag that is later.
    git(project.root(), &["checkout", "--quiet", "-b", "named"]);
    let mut texts = Vec::new();
    for anchor in ["anchor: 4", "anchor: 30d", "anchor: tag, on_drift: fail"] {
        config(&project, anchor);
        commit(&project, anchor);
        let fails = anchor.contains("fail");
        let said = project.kelvin(&["gate"]).expect(if fails { 3 } else { 0 });
        let judgement = verdict(&project, &said);
        let text = told(&judgement).expect("it is told");
        texts.push(text.to_string());
        let word = if fails { "regression" } else { "pass" };
        assert_eq!(judgement["verdict"], json!(word), "{anchor}");
        let page = project.read("kelvin/gate.md");
        assert!(page.contains("`evidence.following.rule`"), "{page}");
        if !fails {
            insta::allow_duplicates! {
                insta::assert_snapshot!(lines_with(&page, &["### "]), @"### ⚠️ Kelvin: passes, and has drifted");
            }
        }
    }
    insta::assert_snapshot!(redacted(&texts.join("\n")), @"
    `evidence.following.rule` drifted: it fell from 0.1667 (95 % interval 0.0456 to 0.3794) at the anchor [HASH] (4 merges before the base) to 0.0000 (95 % interval 0.0000 to 0.1425) now, by 0.1667; the limit of drift is 0.1000; the intervals overlap, so a part of it may be noise
    `evidence.following.rule` drifted: it fell from 0.3750 (95 % interval 0.1844 to 0.5990) at the anchor [HASH] (0 days before the base, the oldest report that is kept: `baseline.keep` says how many) to 0.0000 (95 % interval 0.0000 to 0.1425) now, by 0.3750; the limit of drift is 0.1000
    `evidence.following.rule` drifted: it fell from 0.3750 (95 % interval 0.1844 to 0.5990) at the anchor [HASH] (tag `v1.0`, 9 merges before the base) to 0.0000 (95 % interval 0.0000 to 0.1425) now, by 0.3750; the limit of drift is 0.1000
    ");
    git(project.root(), &["tag", "v1.1", "main"]);
    git(project.root(), &["push", "--quiet", "--tags", "origin"]);
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(told(&judgement), None, "{}", said.stdout);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["tag `v1.1`"])), @"    (tag `v1.1`, 0 merges before the base)");
}

#[test]
fn whoever_takes_the_anchor_away_passes_under_rules_of_their_own() {
    let (_remote, url) = bare();
    let project = project(&url);
    config(&project, "anchor: tag, on_drift: fail");
    commit(&project, "a drift fails");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    for at in 1..=2 {
        merged(&project, at, &heeding(9 - at));
    }
    let (judgement, said) = merged(&project, 3, &heeding(6));
    assert_eq!(judgement["verdict"], json!("regression"), "{said}");
    for (at, rules) in [
        "keep: 50",
        "anchor: tag, on_drift: warn",
        "anchor: tag, max_drift: 1, on_drift: fail",
        "anchor: 1, on_drift: fail",
    ]
    .into_iter()
    .enumerate()
    {
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        let name = format!("trick-{at}");
        git(project.root(), &["checkout", "--quiet", "-b", &name]);
        config(&project, rules);
        commit(&project, rules);
        let said = project.kelvin(&["gate"]).expect(0);
        let first = verdict(&project, &said)["reasons"][0].clone();
        assert_eq!(first["code"], json!("own_rules"), "{rules}: {first}");
        let text = first["text"].as_str().expect("a text");
        assert!(
            text.contains("`evidence.following.rule`"),
            "{rules}: {text}"
        );
    }
}

#[test]
fn a_shallow_clone_is_deepened_as_far_as_the_anchor() {
    let (remote, url) = bare();
    let project = project(&url);
    for at in 1..=3 {
        merged(&project, at, &heeding(9 - at));
    }
    let clone = remote.path().join("shallow");
    let folder = clone.display().to_string();
    git(
        remote.path(),
        &["clone", "--quiet", "--depth=1", &url, &folder],
    );
    // The search for the base then needs no history, and deepens nothing.
    let settings = project.read("kelvin.yaml");
    let settings = settings.replace("anchor: tag", "anchor: tag, max_age_commits: 0");
    fs::write(clone.join("kelvin.yaml"), settings).expect("written");
    let said = project
        .command(&["gate", "--baseline", "branch"])
        .current_dir(&clone)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    insta::assert_snapshot!(redacted(&lines_with(&said, &["`evidence.following.rule`", "`v1.0`"])), @"
      ! `evidence.following.rule` drifted: it fell from 0.3750 (95 % interval 0.1844
        to 0.5990) at the anchor [HASH] (tag `v1.0`, 3 merges before the base) to
        [HASH] (tag `v1.0`, 3 merges before the base)
    ");
}

#[test]
fn an_anchor_that_is_not_there_is_told_and_one_that_cannot_be_meant_is_an_error() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {anchor: tag}\n");
    commit(&project, "anchor");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"));
    assert_eq!(judgement["drift"]["commit"], Value::Null);
    insta::assert_snapshot!(redacted(&judgement["drift"].to_string()), @r#"{"anchor":"no report was found at or before any tag that is before the base","commit":null,"metrics":{}}"#);
    // Whoever wants a drift to fail is warned that nothing is known of it.
    let unknown = |judgement: &Value| {
        let reasons = judgement["reasons"].as_array().expect("a list");
        reasons
            .iter()
            .any(|reason| reason["code"] == json!("drift_unknown"))
    };
    assert!(!unknown(&judgement), "{judgement}");
    project.config("baseline: {anchor: tag, on_drift: fail}\n");
    let said = project.kelvin(&["gate"]).expect(0);
    assert!(unknown(&verdict(&project, &said)), "{}", said.stdout);
    for wrong in ["0", "month", "0d", "-3", "30h"] {
        project.config(&format!("baseline: {{anchor: {wrong}}}\n"));
        let said = project.kelvin(&["gate"]);
        assert_eq!(said.code, Some(1), "{wrong}: {}", said.stdout);
        assert!(said.stderr.contains("anchor"), "{wrong}: {}", said.stderr);
    }
}
