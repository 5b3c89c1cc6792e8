//! What is said of a budget that buys no re-run.

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED};
use crate::repository::{bare, branch, pushed, save, verdict};

#[test]
fn a_budget_that_buys_nothing_says_so_and_nothing_ran_out_that_was_never_begun() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    // One more answer to each of the four cases takes four calls.
    let said = project.kelvin(&["gate", "--budget", "3"]);
    let judgement = verdict(&project, &said);
    let codes = judgement["difference_codes"].to_string();
    assert!(
        codes.contains("budget_too_small") && codes.contains("\"calls\":3"),
        "{codes}"
    );
    assert!(
        said.stdout.contains("the budget of 3 calls bought nothing"),
        "{}",
        said.stdout
    );
    assert_eq!(judgement["reruns"], json!(0));
    assert!(!said.stdout.contains("ran out"), "{}", said.stdout);
    // One that is large enough says nothing of the kind.
    let said = project.kelvin(&["gate", "--budget", "500"]);
    let judgement = verdict(&project, &said);
    let codes = judgement["difference_codes"].to_string();
    assert!(!codes.contains("budget_too_small"), "{codes}");
}
