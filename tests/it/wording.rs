use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::project::{CONSTANT, Project};

/// A project of cases with this governing unit and this one that does not govern.
fn of_units(script: &str, kinds: &str, rule: &str, remarks: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for case in ["ash", "beech", "elm"] {
        let text = format!(
            "# {case}\n\n## Rule\n\n{rule}\n\n## Remarks\n\nAbout {case}. {remarks}\n\n## Place\n\nAt \
             {case} hill.\n"
        );
        project.write(&format!("cases/{case}.md"), &text);
    }
    project.config(&format!("perturbations: {{enable: [{kinds}]}}\n"));
    project
}

/// The edits of a kind, as its variants tell them.
fn details(project: &Project, kind: &str) -> Vec<Value> {
    let report = project.report();
    let cases = report["probes"]["evidence"]["items"]
        .as_object()
        .expect("an object")
        .values();
    cases
        .flat_map(|case| case["variants"].as_array().expect("a list"))
        .filter(|variant| variant["kind"] == kind)
        .map(|variant| variant["notes"]["detail"].clone())
        .collect()
}

#[test]
fn opposites_do_not_cancel() {
    // What becomes of valid claims, and what of invalid ones.
    let script = r#"
rule=$(grep -i 'valid claims' "$1" | tr 'A-Z' 'a-z')
valid=$(echo "$rule" | grep -oE '(approve|deny) valid' | cut -d' ' -f1)
invalid=$(echo "$rule" | grep -oE '(approve|deny) invalid' | cut -d' ' -f1)
printf '{"decision": "%s, %s"}' "$valid" "$invalid" > "$2""#;
    let rule = "Approve valid claims and deny invalid claims.";
    let project = of_units(script, "polarity_flip", rule, "");
    project.check();
    assert_eq!(project.figure("mechanical_sensitivity.polarity_flip"), 1.0);
    assert_eq!(details(&project, "polarity_flip").len(), 6);
}

#[test]
fn a_fact_does_not_grow_with_its_threshold() {
    let script = r#"
needed=$(grep -oE 'at least [0-9]+' "$1" | grep -oE '[0-9]+')
there=$(grep -oE 'completed [0-9]+' "$1" | grep -oE '[0-9]+')
if [ "$there" -ge "$needed" ]; then decision=go; else decision=stop; fi
printf '{"decision": "%s"}' "$decision" > "$2""#;
    let rule = "Release requires at least 48 hours of tests. The candidate completed 60 hours.";
    let project = of_units(script, "numeric_magnitude", rule, "");
    project.check();
    // 48 becomes greater or 60 smaller in half of the variants.
    let moved = project.figure("mechanical_sensitivity.numeric_magnitude");
    assert_eq!(moved, 0.5);
    for detail in details(&project, "numeric_magnitude") {
        let amount = detail["amount"].as_str().expect("a text");
        assert!(["48", "60"].contains(&amount), "{detail}");
    }
}

#[test]
fn percentages_and_shares_stay_in_range_and_codes_stay() {
    let rule = "Seat 14C of row 12, see section 4.2 of version 2.1.3: at least 95 percent of alarms, \
                and 3 out of 4 reviewers. Call +47 22 33 44 55 or write to 10115 Berlin.";
    let project = of_units(CONSTANT, "numeric_magnitude", rule, "");
    project.check();
    let edits: BTreeSet<(String, String)> = details(&project, "numeric_magnitude")
        .iter()
        .map(|detail| (detail["amount"].to_string(), detail["becomes"].to_string()))
        .collect();
    let allowed = [("95", "47"), ("95", "19"), ("95", "9"), ("3", "1")];
    let allowed: BTreeSet<(String, String)> = allowed
        .iter()
        .map(|(from, to)| (format!("\"{from}\""), format!("\"{to}\"")))
        .collect();
    assert!(edits.is_subset(&allowed), "{edits:?}");
    assert!(edits.len() >= 3, "{edits:?}");
}

/// Decides otherwise as soon as somebody is not sure.
const UNSURE: &str = r#"
if grep -qE 'perhaps|possibly|presumably|apparently' "$1"; then decision=ask; else decision=go; fi
printf '{"decision": "%s"}' "$decision" > "$2""#;

const OPINION: &str = "We prefer the old tone. The card is helpful.";

#[test]
fn hedges_are_shown_apart_and_in_no_gated_figure() {
    let project = of_units(UNSURE, "hedge_injection", "Go on.", OPINION);
    project.check();
    assert_eq!(project.figure("invariance"), 1.0);
    assert_eq!(project.figure("hedge_invariance"), 0.0);
    assert_eq!(project.figure("invariance.hedge_injection"), Value::Null);
    let report = project.report();
    assert_eq!(
        report["metrics"]["evidence.hedge_invariance"]["gated"],
        false
    );
    for case in report["probes"]["evidence"]["items"]
        .as_object()
        .expect("an object")
        .values()
    {
        assert_eq!(case["invariance"], 1.0);
    }
    // Facts, questions and counts take no hedge, and the skip says so.
    let facts = "The parcel was lost. Who thinks the card is good? One scanner a week is sent in.";
    let project = of_units(UNSURE, "hedge_injection", "Go on.", facts);
    project.check();
    assert_eq!(project.figure("hedge_invariance"), Value::Null);
    let notices = project.report()["probes"]["evidence"]["items"]["ash"]["notices"].to_string();
    insta::assert_snapshot!(notices, @r#"[{"case":"ash","code":"skip","got":0,"kind":"swap","text":"no other case has a unit of type `rule` that says something else","wanted":3},{"case":"ash","code":"skip","got":0,"kind":"hedge_injection","text":"no opinion or judgement that takes a hedge in a unit that does not govern","wanted":3}]"#);
}
