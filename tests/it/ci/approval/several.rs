//! Several configurations of one pull request, each of which asks for itself.

use super::taken_over::approve;
use super::*;
use kelvin_fixtures::text::redacted;

const OTHER: &str = "other.yaml";

/// The pull request of [`rig`], in a repository with a second configuration of the same pipeline.
fn rig_of_two() -> Rig {
    let mut rig = rig();
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "main"]);
    let text = format!("name: other\n{}", rig.project.read("kelvin.yaml"));
    rig.project.write(OTHER, &text);
    rig.base = commit(&rig.project, "a second configuration");
    git(&root, &["push", "--quiet", "origin", "main"]);
    save(&rig.project);
    rig.project.kelvin(&["check", "--config", OTHER]).expect(0);
    let kept = ["baseline", "save", "--config", OTHER];
    rig.project.kelvin(&kept).expect(0);
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(&root, &merge);
    let place = ("main".to_owned(), OTHER.to_owned());
    rig.server.state().files.insert(place, text);
    rig
}

/// Runs the job of one configuration; what the gate says.
#[track_caller]
fn judged(rig: &mut Rig, config: &str, code: i32) -> Value {
    rig.on("pull_request", &["--check-run", "--config", config])
        .expect(code);
    rig.project.json("kelvin/gate.json")
}

fn id(gate: &Value) -> String {
    gate["approval"]["id"].as_str().expect("an id").to_owned()
}

fn ignored(gate: &Value) -> String {
    gate["approval"]["ignored"].to_string()
}

/// Both ask. Their ids.
fn asked(rig: &mut Rig) -> (String, String) {
    let first = id(&judged(rig, "kelvin.yaml", 3));
    let second = id(&judged(rig, OTHER, 3));
    assert_ne!(first, second, "both regress alike and are two decisions");
    let asking = rig.requests();
    assert_eq!(asking.len(), 2);
    for ((_, text), id) in asking.iter().zip([&first, &second]) {
        let command = format!("`/kelvin approve {id} REASON`");
        assert!(text.contains(&command), "{text}");
    }
    (first, second)
}

#[test]
fn a_command_that_names_no_request_approves_none_of_two_and_one_that_does_approves_that_one() {
    let mut rig = rig_of_two();
    let (first, second) = asked(&mut rig);
    rig.says("alice", "/kelvin approve the old answers were wrong");
    for config in ["kelvin.yaml", OTHER] {
        let gate = judged(&mut rig, config, 3);
        assert_eq!(gate["verdict"], "pending_approval", "{gate}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(ignored(&gate), @r#"["the approval of `alice` does not count: several requests wait for a decision about this commit, and it names none of them; write the id of one behind the command"]"#);
        }
    }
    // Nor does an id of no request, or the label, which says still less.
    rig.says("alice", "/kelvin approve 000000000000 x");
    rig.labels("alice", "labeled");
    let gate = judged(&mut rig, OTHER, 3);
    insta::assert_snapshot!(ignored(&gate), @r#"["the approval of `alice` does not count: several requests wait for a decision about this commit, and it names none of them; write the id of one behind the command","the approval of `alice` does not count: it names a request that there is not","the label of `alice` does not count: several requests wait for a decision about this commit, and a label names none of them; write a comment with the id of one"]"#);

    rig.says("alice", &format!("/kelvin approve {first} x"));
    let gate = judged(&mut rig, "kelvin.yaml", 0);
    assert_eq!(gate["approval"]["decision"]["reason"], "x");
    let gate = judged(&mut rig, OTHER, 3);
    assert_eq!(gate["verdict"], "pending_approval");
    let said = approve(&rig, &["--config", OTHER, "--then", "check"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"
    waiting for approval of `evidence.following.rule` 1.0000 → 0.0000: `alice` or `bob` or `somebody` comments `/kelvin approve [HASH] REASON` or adds the label `kelvin-approved`, until `[TIME]`; without a decision it fails
    the approval of `alice` does not count: several requests wait for a decision about this commit, and it names none of them; write the id of one behind the command
    the approval of `alice` does not count: it names a request that there is not
    the label of `alice` does not count: several requests wait for a decision about this commit, and a label names none of them; write a comment with the id of one
    the check run `Kelvin (other)` says failure
    ");

    rig.says("bob", &format!("/kelvin approve {second} y"));
    let said = approve(&rig, &["--config", OTHER, "--then", "check"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    `evidence.following.rule` 1.0000 → 0.0000: approved by `bob` with a comment on `[TIME]`: "y"
    the approval of `alice` does not count: several requests wait for a decision about this commit, and it names none of them; write the id of one behind the command
    the approval of `alice` does not count: it names a request that there is not
    the label of `alice` does not count: several requests wait for a decision about this commit, and a label names none of them; write a comment with the id of one
    the check run `Kelvin (other)` says success
    "#);
    let gate = judged(&mut rig, OTHER, 0);
    assert_eq!(gate["approval"]["decision"]["by"], "bob");
    let gate = judged(&mut rig, "kelvin.yaml", 0);
    assert_eq!(gate["approval"]["decision"]["by"], "alice");
}

#[test]
fn a_rejection_that_names_no_request_rejects_all_and_nobody_is_passed_over() {
    let mut rig = rig_of_two();
    let (first, second) = asked(&mut rig);
    rig.says("alice", &format!("/kelvin approve {first} x"));
    rig.says("bob", &format!("/kelvin reject {second} y"));
    judged(&mut rig, "kelvin.yaml", 0);
    let gate = judged(&mut rig, OTHER, 3);
    assert_eq!(gate["approval"]["state"], "rejected");
    rig.says("bob", "/kelvin reject none of this");
    let gate = judged(&mut rig, "kelvin.yaml", 3);
    assert_eq!(gate["approval"]["state"], "rejected", "{gate}");
}

#[test]
fn where_one_request_waits_its_command_needs_no_id_and_a_later_request_takes_nothing_away() {
    let mut rig = rig_of_two();
    judged(&mut rig, "kelvin.yaml", 3);
    rig.says("alice", "/kelvin approve x");
    rig.wait(60);
    judged(&mut rig, OTHER, 3);
    // When she wrote there was one request that she could mean.
    judged(&mut rig, "kelvin.yaml", 0);
    let gate = judged(&mut rig, OTHER, 3);
    insta::assert_snapshot!(ignored(&gate), @r#"["the approval of `alice` does not count: it is older than this request"]"#);
    assert_eq!(gate["verdict"], "pending_approval");
}

/// What a change writes into its configuration, so that it passes by its own rules.
const RULES_OF_ITS_OWN: [&str; 3] = [
    "gate:\n  max_drop: 2\n  on_broken_case: warn\n  approval: { by: [alice, bob, somebody], how: [comment, label], timeout: 72h }\n",
    "gate: { max_drop: 2, on_broken_case: warn }\n",
    "baseline: { from: \"off\" }\n",
];

#[test]
fn a_change_that_would_pass_by_its_own_rules_asks_where_the_base_branch_has_an_approval() {
    beside(RULES_OF_ITS_OWN, |rules| {
        let mut rig = rig();
        let root = rig.project.root().to_path_buf();
        git(&root, &["checkout", "--quiet", "--force", "feature"]);
        rig.project.config(rules);
        merged(&mut rig, "other rules");
        let gate = rig.waits();
        let first = &gate["reasons"][1];
        assert_eq!(first["code"], "judged_by_the_base", "{rules}: {gate}");
        let asked = &gate["approval"]["request"]["regressions"];
        assert_eq!(asked[0]["within"], 0.05, "{rules}: {asked}");
        rig.says("alice", "/kelvin approve the old answers were wrong");
        rig.passes();
    });
}

#[test]
fn a_change_that_only_edits_the_rules_of_a_pipeline_that_is_as_good_asks_nobody() {
    let mut rig = with(RULES, GROUNDED);
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "feature"]);
    rig.project.config(RULES_OF_ITS_OWN[0]);
    merged(&mut rig, "other rules");
    let gate = rig.judged(0);
    assert_eq!(gate["verdict"], "pass", "{gate}");
    assert!(rig.requests().is_empty());
}

/// Commits what stands on the branch of the pull request, and merges it as GitHub does.
fn merged(rig: &mut Rig, message: &str) {
    let root = rig.project.root().to_path_buf();
    rig.head = commit(&rig.project, message);
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(&root, &merge);
    let mut state = rig.server.state();
    let pull = state.pulls.get_mut(&PULL).expect("there");
    pull.head_sha.clone_from(&rig.head);
}
