//! What becomes of a request that somebody answers, or nobody.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

#[test]
fn a_regression_waits_for_approval_and_says_so_everywhere() {
    let mut rig = rig();
    let ran = rig.on("pull_request", &["--check-run"]).expect(3);
    assert!(ran.outputs.contains("pending_approval"), "{}", ran.outputs);
    insta::assert_snapshot!(lines_with(&ran.said.stdout, &["Gate  "]), @"Gate         waiting for approval, 4 of 4 cases are answered otherwise");
    insta::assert_snapshot!(lines_with(&ran.summary, &["### "]), @"### ⏸️ Kelvin: waiting for approval, `rule` is lost, 4 of 4 cases are answered otherwise");
    let sticky = rig.sticky();
    let first = sticky.lines().nth(1).expect("a headline");
    insta::assert_snapshot!(first, @"### ⏸️ Kelvin: waiting for approval, `rule` is lost, 4 of 4 cases are answered otherwise");
    for word in [
        "`alice`",
        "/kelvin approve ",
        " REASON",
        LABEL,
        "until `2026-11-23T12:00:00Z`",
    ] {
        assert!(sticky.contains(word), "{word}: {sticky}");
    }
    assert_eq!(rig.checks()[0].1, "failure");
    let title = {
        let state = rig.server.state();
        let check = state.check_runs.values().next().expect("one");
        check["output"]["title"].to_string()
    };
    insta::assert_snapshot!(redacted(&title), @r#""waiting for approval of `evidence.following.rule` 1.0000 → 0.0000: `alice` or `bob` or `somebody` comments `/kelvin approve [HASH] REASON` or adds the label `kelvin-approved`, until `[TIME]…""#);
    let asked = rig.requests();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].1.contains("evidence."), "{}", asked[0].1);
    // The same again asks nobody again, and moves no deadline.
    rig.wait(HOUR);
    let gate = rig.waits();
    assert_eq!(rig.requests(), asked);
    assert_eq!(gate["approval"]["asked_at"], "2026-11-20T12:00:00Z");
    assert_eq!(gate["approval"]["request"]["head"], rig.head.as_str());
    assert_eq!(gate["approval"]["request"]["base"], rig.base.as_str());
}

#[test]
fn a_comment_of_one_who_may_approves_with_who_when_and_why() {
    let mut rig = rig();
    rig.waits();
    rig.says(
        "alice",
        "/kelvin approve the old answers were wrong\n\nSee the issue.",
    );
    let gate = rig.passes();
    let decision = &gate["approval"]["decision"];
    assert_eq!(decision["by"], "alice");
    assert_eq!(decision["way"], "comment");
    assert_eq!(decision["at"], "2026-11-20T12:01:00Z");
    assert_eq!(decision["reason"], "the old answers were wrong");
    let sticky = rig.sticky();
    insta::assert_snapshot!(redacted(&lines_with(&sticky, &["`rule`", "`alice`"])), @r#"
    ### ✅ Kelvin: regression, approved, `rule` is lost, 4 of 4 cases are answered otherwise
    `evidence.following.rule` 1.0000 → 0.0000: approved by `alice` with a comment on `[TIME]`: "the old answers were wrong"
    - ⚠️ `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now
    "#);
    let report = rig.project.json("kelvin/report.json");
    let kept = &report["run"]["session"]["decision"];
    assert_eq!(kept["approved"], true);
    assert_eq!(kept["by"], "alice");
    assert_eq!(kept["pull_request"], PULL);
    let page = rig.project.read("kelvin/report.html");
    assert!(page.contains("alice"), "{page}");
}

#[test]
fn a_label_of_one_who_may_approves_until_it_is_taken_off() {
    let mut rig = rig();
    rig.waits();
    rig.labels("bob", "labeled");
    let gate = rig.passes();
    assert_eq!(gate["approval"]["decision"]["way"], "label");
    assert_eq!(gate["approval"]["decision"]["by"], "bob");
    rig.labels("eve", "unlabeled");
    let gate = rig.waits();
    insta::assert_snapshot!(gate["approval"]["ignored"][0].as_str().expect("told"), @"the label of `bob` does not count: the label was taken off again");
    rig.labels("alice", "labeled");
    rig.passes();
}

#[test]
fn a_rejection_fails_and_names_the_last_good_version() {
    let mut rig = rig();
    rig.waits();
    rig.says("bob", "/kelvin reject customers rely on it");
    let gate = rig.judged(3);
    assert_eq!(gate["verdict"], "regression");
    assert_eq!(gate["approval"]["state"], "rejected");
    assert!(
        gate["approval"]["last_good"]
            .as_str()
            .expect("named")
            .contains(&rig.base[..7])
    );
    let sticky = rig.sticky();
    for word in ["`bob`", "customers rely on it", &rig.base[..7]] {
        assert!(sticky.contains(word), "{word}: {sticky}");
    }
    let report = rig.project.json("kelvin/report.json");
    assert_eq!(report["run"]["session"]["decision"]["approved"], false);
}

#[test]
fn of_two_decisions_that_race_the_rejection_counts() {
    for (first, second) in [
        (("alice", "/kelvin approve x"), ("bob", "/kelvin reject y")),
        (("bob", "/kelvin reject y"), ("alice", "/kelvin approve x")),
    ] {
        let mut rig = rig();
        rig.waits();
        rig.says(first.0, first.1);
        rig.says(second.0, second.1);
        assert_eq!(rig.judged(3)["approval"]["state"], "rejected");
        // And where a job had seen the first alone.
        rig.wait(HOUR);
        assert_eq!(rig.judged(3)["approval"]["state"], "rejected");
    }
}

#[test]
fn without_a_decision_in_time_it_fails_and_a_late_one_changes_nothing() {
    let mut rig = rig();
    rig.waits();
    rig.wait(72 * HOUR - 120);
    rig.waits();
    rig.wait(121);
    let gate = rig.judged(3);
    assert_eq!(gate["approval"]["state"], "timed_out");
    insta::assert_snapshot!(redacted(&lines_with(&rig.sticky(), &["`kelvin-reports`"])), @"`evidence.following.rule` 1.0000 → 0.0000: nobody decided until `[TIME]`, so it fails; a new commit asks again, and the last good version is the commit `[HASH]`, whose report is from `kelvin-reports`");
    rig.says("alice", "/kelvin approve late");
    let gate = rig.judged(3);
    assert_eq!(gate["approval"]["state"], "timed_out");
    insta::assert_snapshot!(redacted(gate["approval"]["ignored"][0].as_str().expect("told")), @"the approval of `alice` does not count: it came after the time for a decision was over");
    assert_eq!(
        rig.requests().len(),
        1,
        "nobody is asked again for the same commit"
    );
    // One that came in time counts, however late the job looks.
    let mut rig = self::rig();
    rig.waits();
    rig.says("alice", "/kelvin approve in time");
    rig.wait(100 * HOUR);
    rig.passes();
}

#[test]
fn a_member_of_a_team_approves_where_a_token_sees_the_team() {
    let rules = "gate:\n  approval: { by: [acme/leads] }\n";
    let mut rig = with(rules, CONSTANT);
    rig.waits();
    rig.says("carol", "/kelvin approve x");
    let team = |members: &[&str]| {
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        Some([("acme/leads".to_owned(), members)].into())
    };
    rig.server.state().teams = team(&["Carol"]);
    // The token of the workflow sees no team.
    let gate = rig.waits();
    let told = gate["approval"]["unknown"].to_string();
    assert!(told.contains("KELVIN_TEAMS_TOKEN"), "{told}");
    let seeing = |rig: &mut Rig, code: i32| {
        let payload = rig.payload("pull_request");
        let (mut command, _) = rig.command("pull_request", &payload, &[]);
        command.env("KELVIN_TEAMS_TOKEN", crate::github::APP);
        said(command.output().expect("it starts")).expect(code);
        rig.project.json("kelvin/gate.json")["approval"].clone()
    };
    assert_eq!(seeing(&mut rig, 0)["decision"]["by"], "carol");
    // One who is in it no more; and a team that is not there.
    rig.server.state().teams = team(&["alice"]);
    let approval = seeing(&mut rig, 3);
    assert_eq!(approval["unknown"], serde_json::json!([]));
    insta::assert_snapshot!(approval["ignored"].to_string(), @r#"["the approval of `carol` does not count: `carol` is not one of those who may decide (`gate.approval.by`)"]"#);
    rig.server.state().teams = Some([].into());
    assert_eq!(seeing(&mut rig, 3)["state"], "pending");
}

#[test]
fn an_author_may_approve_where_the_rules_say_so() {
    let rules = "gate:\n  approval: { by: [write], not_author: false }\n";
    let mut rig = with(rules, CONSTANT);
    rig.waits();
    rig.says("somebody", "/kelvin approve I am alone here");
    rig.passes();
}

#[test]
fn on_a_laptop_the_verdict_says_that_it_can_be_approved_and_nothing_passes() {
    let rig = rig();
    let said = rig.project.kelvin(&["gate"]).expect(3);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  ", "`kelvin-approved`"]), @"
    Gate         waiting for approval, 4 of 4 cases are answered otherwise
        `kelvin-approved`, on the pull request; without a decision it fails
    ");
}

/// What else is kept beside the base, of an unmerged branch and with a clock of 2030, changes neither what is asked nor
/// what was approved: the base is the commit that the change began at.
#[test]
fn a_newer_report_of_a_branch_beside_the_base_changes_no_request_and_no_approval() {
    let mut rig = rig();
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--detach", &rig.base]);
    rig.project.write("pipeline.sh", CONSTANT);
    let aside = commit(&rig.project, "never merged");
    save(&rig.project);
    let kept = tempfile::tempdir().expect("a folder");
    let remote = rig.remote.path().display().to_string();
    let clone = [
        "clone",
        "--quiet",
        "--branch",
        "kelvin-reports",
        &remote,
        ".",
    ];
    git(kept.path(), &clone);
    let path = kept.path().join(format!("kelvin/{aside}.json"));
    let mut report: Value = serde_json::from_slice(&fs::read(&path).expect("kept")).expect("JSON");
    report["run"]["session"]["started_at"] = "2030-01-01T12:00:00Z".into();
    fs::write(&path, report.to_string()).expect("written");
    git(kept.path(), &["commit", "--quiet", "--all", "-m", "2030"]);
    git(
        kept.path(),
        &["push", "--quiet", "origin", "kelvin-reports"],
    );
    git(
        &root,
        &["checkout", "--quiet", "--force", "--detach", "main"],
    );
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(&root, &merge);
    let asked = rig.waits();
    let request = &asked["approval"]["request"];
    assert_eq!(request["base"], rig.base.as_str());
    rig.says("alice", "/kelvin approve the old answers were wrong");
    let approved = rig.passes();
    assert_eq!(&approved["approval"]["request"], request);
    assert_eq!(approved["base"]["commit"], rig.base.as_str());
}
