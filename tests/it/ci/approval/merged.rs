//! After an approval: the merge queue, the push, and the next pull request.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

/// The commit that the pull request became, on `main`.
fn merge(rig: &mut Rig) -> String {
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "-B", "main", "HEAD"]);
    git(&root, &["push", "--quiet", "origin", "main"]);
    let merged = git(&root, &["rev-parse", "HEAD"]);
    let place = |reference: &str| (reference.to_owned(), "kelvin.yaml".to_owned());
    let mut state = rig.server.state();
    // What stood on the branch before is there under its commit; the branch has what was merged.
    let before = state.files[&place("main")].clone();
    state.files.insert(place(&rig.base), before);
    let after = git(&root, &["show", "HEAD:kelvin.yaml"]);
    state.files.insert(place("main"), after);
    let pull = state.pulls.get_mut(&PULL).expect("there");
    pull.merged = Some(merged.clone());
    pull.state = "closed";
    merged
}

fn pushed_to_main(rig: &mut Rig, merged: &str) -> (String, Value) {
    let mut payload = rig.payload("push");
    payload["after"] = merged.into();
    let ran = rig.ci("push", &payload, &[]);
    let log = format!("{:?} {}", ran.said.code, ran.log());
    (log, rig.project.json("kelvin/gate.json"))
}

#[test]
fn what_was_approved_passes_on_the_base_and_is_what_the_next_change_is_compared_with() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    rig.passes();
    let merged = merge(&mut rig);
    let (log, gate) = pushed_to_main(&mut rig, &merged);
    assert_eq!(gate["passed"], true, "{log}");
    assert_eq!(gate["approval"]["decision"]["by"], "alice");
    let report = rig.project.json("kelvin/report.json");
    assert_eq!(report["run"]["session"]["decision"]["by"], "alice");
    // Whoever reads later what fell finds who wanted it.
    let digest = rig
        .project
        .kelvin(&["history", "digest", "--since", "7d", "--format", "json"])
        .expect(0);
    let digest: Value = serde_json::from_str(&digest.stdout).expect("JSON");
    let decided = &digest["configurations"][0]["decisions"];
    assert_eq!(decided.as_array().map(Vec::len), Some(1), "{decided}");
    assert_eq!(
        (&decided[0]["by"], &decided[0]["reason"]),
        (&"alice".into(), &"x".into())
    );
    assert_eq!(decided[0]["commit"], merged.as_str());
    let page = rig
        .project
        .kelvin(&["history", "digest", "--since", "7d", "--format", "markdown"])
        .expect(0);
    insta::assert_snapshot!(redacted(&lines_with(&page.stdout, &["`alice`"])), @r"| [TIME] | #7 | \`evidence.following.rule\` 1.0000 → 0.0000 | approved by `alice` | x |");
    // The next change leaves the pipeline as it is: compared with the lower figures it passes.
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "-b", "next"]);
    rig.project.write("README.md", "Words.\n");
    rig.head = commit(&rig.project, "next");
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        &root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "next"],
    );
    {
        let mut state = rig.server.state();
        let pull = state.pulls.get_mut(&PULL).expect("there");
        pull.head_sha.clone_from(&rig.head);
        (pull.state, pull.merged) = ("open", None);
    }
    rig.on("pull_request", &[]).expect(0);
    let gate = rig.project.json("kelvin/gate.json");
    assert_eq!(gate["verdict"], "pass", "{gate}");
    assert_eq!(gate["base"]["commit"], merged.as_str());
}

#[test]
fn what_nobody_approved_stays_red_after_the_merge() {
    let mut rig = rig();
    rig.waits();
    rig.says("eve", "/kelvin approve x");
    let merged = merge(&mut rig);
    let (log, gate) = pushed_to_main(&mut rig, &merged);
    assert_eq!(gate["passed"], false, "{log}");
    assert_eq!(
        gate["verdict"], "regression",
        "nobody can be asked any more"
    );
    insta::assert_snapshot!(gate["reasons"].to_string(), @r#"[{"code":"metric","effect":"fail","metric":"evidence.following.rule","text":"`rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now"},{"code":"approval","effect":"warn","text":"nobody can approve this: nobody has approved it on its pull request"},{"code":"metric","effect":null,"metric":"evidence.failure_rate","text":"`evidence.failure_rate` stayed at 0.0000 over 4 cases; its mean can show a rise of more than 0.0500"},{"code":"metric","effect":null,"metric":"evidence.invariance","text":"`evidence.invariance` stayed at 1.0000 over 4 cases; its mean can show a drop of more than 0.0500"}]"#);
}

#[test]
fn a_change_that_names_its_approver_is_not_approved_by_being_merged() {
    let mut rig = rig();
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "feature"]);
    rig.project
        .config("gate:\n  approval: { by: [carol], how: [comment, label] }\n");
    rig.head = commit(&rig.project, "carol may");
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        &root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "feature"],
    );
    let tip = rig.head.clone();
    let set_tip = |rig: &Rig| {
        let mut state = rig.server.state();
        state
            .pulls
            .get_mut(&PULL)
            .expect("there")
            .head_sha
            .clone_from(&tip);
    };
    set_tip(&rig);
    rig.waits();
    rig.says("carol", "/kelvin approve I may, as this change says");
    rig.waits();
    let merged = merge(&mut rig);
    let (log, gate) = pushed_to_main(&mut rig, &merged);
    assert_eq!(gate["passed"], false, "{log}");
}

#[test]
fn an_approval_for_another_branch_is_none_for_the_push_to_this_one() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve for the other branch");
    let merged = merge(&mut rig);
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .base_branch = "other".to_owned();
    let place = |reference: &str| (reference.to_owned(), "kelvin.yaml".to_owned());
    {
        let mut state = rig.server.state();
        let rules = state.files[&place("main")].clone();
        state.files.insert(place("other"), rules);
    }
    let (log, gate) = pushed_to_main(&mut rig, &merged);
    assert_eq!(gate["passed"], false, "{log}");
}

#[test]
fn a_merge_queue_takes_the_approval_of_its_pull_request_over() {
    let mut rig = rig();
    rig.waits();
    let group = |rig: &mut Rig, number: u64, code: i32| {
        let mut payload = rig.payload("merge_group");
        let branch = format!("refs/heads/gh-readonly-queue/main/pr-{number}-{}", rig.base);
        payload["merge_group"]["head_ref"] = branch.into();
        rig.ci("merge_group", &payload, &[]).expect(code);
        rig.project.json("kelvin/gate.json")
    };
    group(&mut rig, PULL, 3);
    rig.says("alice", "/kelvin approve x");
    let gate = group(&mut rig, PULL, 0);
    assert_eq!(gate["approval"]["decision"]["by"], "alice");
    group(&mut rig, 8, 3);
}
