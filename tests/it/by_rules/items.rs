//! One case of many that no longer answers, or not as was declared.

use super::*;
use crate::repository::tells;

/// A score that is .875 for an answer as declared, and .475 for one that breaks its contract.
const QUALITY: &str = "quality: {contract: {decision: string, reasons: array}, required_outputs: [/decision], \
                       live_runs: 1, usage: {input: /usage/input, output: /usage/output}}\n";

fn broken(rule: &str, case: usize, how: &str) -> String {
    format!("{rule}broken {case} {how}\n")
}

#[test]
fn one_case_of_twenty_that_fails_in_every_run_is_red_and_named_first() {
    let right = rule("and", 2);
    let crashes = broken(&right, 7, "crash");
    let suite = Suite::of(20, 2).known();
    // What failed on the base as well is not the fault of the change, and what was mended is none at all.
    suite.base(&crashes, 1);
    suite.gate(&crashes, &[]).not_red("failed before");
    suite.gate(&right, &[]).passes("mended");
    suite.base(&right, 1);
    suite.gate(&crashes, &[]).red("crash").says_first(&name(7));
}

#[test]
fn one_case_of_forty_that_breaks_its_contract_in_every_run_is_named_first_and_leaves_something_to_do()
 {
    let right = rule("and", 1);
    let suite = Suite::of(40, 1).with(QUALITY).known();
    let breaks = broken(&right, 7, "contract");
    suite.base(&breaks, 1);
    suite.gate(&breaks, &[]).passes("broken before");
    suite.gate(&right, &[]).passes("mended");
    for repeats in [1, 3] {
        suite.base(&right, repeats);
        let gated = suite.gate(&breaks, &[]);
        let what = format!("{repeats} runs of the base");
        gated.leaves_something_to_do(&what).says_first(&name(7));
        assert!(!gated.is("pass"), "{what}: {}", gated.shown());
    }
}

#[test]
fn one_case_of_twenty_that_loses_its_score_in_every_run_is_red_and_named_first() {
    let right = rule("and", 1);
    let suite = Suite::of(20, 1).with(QUALITY).known();
    let loses = broken(&right, 7, "lose");
    suite.base(&loses, 1);
    suite.gate(&loses, &[]).not_red("lost before");
    suite.gate(&right, &[]).passes("mended");
    suite.base(&right, 1);
    let gated = suite.gate(&loses, &[]);
    gated.red("no score").says_first(&name(7));
}

#[test]
fn two_of_five_runs_that_lose_their_score_everywhere_are_no_pass() {
    let right = rule("and", 1);
    let settings = format!("{QUALITY}repeats: 5\n");
    let suite = Suite::of(6, 1).with(&settings).with_luck().known();
    suite.base(&right, 5);
    suite.gate(&right, &[]).passes("unchanged");
    let gated = suite.gate(&format!("{right}lose .4\n"), &[]);
    gated.leaves_something_to_do("two of five");
    assert!(!gated.is("pass"), "{}", gated.shown());
}

/// An edit of the input, or another name, hides nothing that is demanded of every item.
#[test]
fn an_item_that_breaks_is_told_though_the_change_edits_renames_or_removes_its_case() {
    let right = rule("and", 2);
    let path = format!("cases/{}.md", name(5));
    let edit = |project: &Project| {
        let text = project.read(&path);
        project.write(&path, &format!("{text}\n## Remark\n\nNothing more.\n"));
    };
    let remove = |project: &Project| fs::remove_file(project.path(&path)).expect("removed");
    let rename = |project: &Project| {
        let text = project.read(&path);
        remove(project);
        project.write("cases/renamed.md", &text);
    };
    let (asked, scenarios) = (Suite::of(20, 2).known(), Suite::of(20, 2).scenarios());
    for (suite, broken) in [
        (&asked, "crash"),
        (&scenarios, "crash"),
        (&scenarios, "check"),
    ] {
        suite.base(&right, 1);
        let head = format!("{right}broken 5 {broken}\n");
        let edited = suite.gate_beside(&head, &[], edit);
        edited.red(broken);
        assert!(
            edited.first_lines().contains(&name(5)),
            "{}",
            edited.shown()
        );
        let renamed = suite.gate_beside(&head, &[], rename);
        renamed.passes(broken);
        let lines = renamed.first_lines();
        assert!(
            lines.contains("### ⚠️") && tells(&renamed.judgement, "added_broken"),
            "{lines}"
        );
        assert!(renamed.page.contains("`renamed`"), "{}", renamed.shown());
        let removed = suite.gate_beside(&head, &[], remove);
        let lines = removed.first_lines();
        assert!(lines.contains("### ⚠️"), "{lines}");
        // Whoever edits a case, and breaks nothing, is not accused.
        let same = suite.gate_beside(&right, &[], edit);
        same.passes("an edit");
        assert!(same.first_lines().contains("### ✅"), "{}", same.shown());
    }
}
