//! Ways to a green check that go by what GitHub shows late, shows in part, or shows of something else.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

/// Runs `kelvin approve --then check` as the workflow of the default branch does.
fn decided_by_check(rig: &Rig) {
    super::taken_over::approve(rig, &["--then", "check"]);
}

#[test]
fn a_label_that_was_deleted_in_the_repository_approves_nothing() {
    let mut rig = rig();
    rig.waits();
    rig.labels("alice", "labeled");
    // GitHub takes it off everything then, and tells no event.
    rig.server.state().deleted_labels.insert(LABEL.to_owned());
    let gate = rig.waits();
    insta::assert_snapshot!(gate["approval"]["ignored"].to_string(), @r#"["the label of `alice` does not count: the label is not on the pull request any more"]"#);
    rig.server.state().deleted_labels.clear();
    rig.passes();
}

#[test]
fn who_hides_behind_more_commits_than_github_lists_approves_nothing() {
    let mut rig = rig();
    rig.waits();
    let authors = |rig: &Rig, count: usize, last: &str| {
        let mut authors = vec!["somebody".to_owned(); count];
        authors.push(last.to_owned());
        rig.server
            .state()
            .pulls
            .get_mut(&PULL)
            .expect("there")
            .commit_authors = authors;
    };
    rig.says("alice", "/kelvin approve what I wrote myself");
    authors(&rig, 250, "alice");
    let gate = rig.waits();
    let unknown = gate["approval"]["unknown"].to_string();
    assert!(unknown.contains("251 commits"), "{gate}");
    authors(&rig, 249, "alice");
    rig.waits();
    authors(&rig, 249, "somebody");
    rig.passes();
}

#[test]
fn a_pull_request_that_points_at_another_branch_by_now_needs_a_run_of_its_own() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .base_branch = "release".to_owned();
    let gate = rig.waits();
    assert!(
        gate["approval"]["unknown"]
            .to_string()
            .contains("`release`"),
        "{gate}"
    );
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .base_branch = "main".to_owned();
    rig.passes();
}

#[test]
fn a_check_run_of_another_finding_is_not_closed_by_an_older_approval() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    // The same commit again, and now something was not measured: nobody can approve that.
    let open = {
        let mut state = rig.server.state();
        let id = state.next_id();
        let mut newest = state.check_runs.values().next().expect("one").clone();
        newest["id"] = id.into();
        newest["external_id"] = "102-1-kelvin".into();
        newest["conclusion"] = "failure".into();
        newest["output"]["summary"] = "Something was not measured.".into();
        state.check_runs.insert(id, newest);
        id
    };
    for (status, conclusion) in [
        ("completed", Value::from("failure")),
        ("in_progress", Value::Null),
        ("completed", Value::from("neutral")),
        ("completed", Value::from("success")),
    ] {
        {
            let mut state = rig.server.state();
            let run = state.check_runs.get_mut(&open).expect("there");
            run["status"] = status.into();
            run["conclusion"] = conclusion.clone();
        }
        decided_by_check(&rig);
        let checks = rig.checks();
        let last = checks.last().expect("one");
        assert_eq!((&last.0, &last.1), (&Value::from(status), &conclusion));
    }
}

#[test]
fn a_run_that_found_the_same_again_is_closed_by_the_decision_about_it() {
    let mut rig = rig();
    rig.waits();
    rig.wait(60);
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    decided_by_check(&rig);
    let concluded: Vec<Value> = rig.checks().into_iter().map(|check| check.1).collect();
    assert_eq!(concluded, ["failure", "success"]);
    // And again, where the approval is taken back.
    let mut state = rig.server.state();
    state.comments.retain(|_, one| one.author.login != "alice");
    drop(state);
    decided_by_check(&rig);
    assert_eq!(rig.checks().last().expect("one").1, "failure");
}

#[test]
fn a_flood_of_comments_and_of_labels_makes_nothing_green_and_hides_no_decision() {
    let mut rig = rig();
    rig.waits();
    {
        let mut state = rig.server.state();
        state.now += 1;
        // As many as GitHub lets a pull request have.
        for number in 0..2_400 {
            state.add_comment("eve", &format!("/kelvin approve {number}"));
        }
        for _ in 0..150 {
            state.set_label("eve", "labeled", LABEL);
            state.set_label("eve", "unlabeled", LABEL);
        }
    }
    rig.waits();
    assert_eq!(rig.requests().len(), 1);
    rig.says("alice", "/kelvin approve in the middle of the noise");
    rig.passes();
    assert!(rig.checks().iter().all(|check| check.0 == "completed"));
    insta::assert_snapshot!(redacted(&lines_with(&rig.sticky(), &["`alice`"])), @r#"`evidence.following.rule` 1.0000 → 0.0000: approved by `alice` with a comment on `[TIME]`: "in the middle of the noise""#);
}

#[test]
fn a_reason_that_nobody_can_read_is_none() {
    let mut rig = rig();
    rig.waits();
    for reason in [
        "\u{200b}",
        "\u{3164}\u{2800}",
        "REASON",
        "…",
        "\u{00a0}.",
        "<!-- -->",
    ] {
        let id = rig.says("alice", &format!("/kelvin approve {reason}"));
        rig.waits();
        rig.server.state().comments.remove(&id);
    }
    for command in [
        "\u{feff}/kelvin approve x",
        "/kelvin аpprove x",
        "/kelvin approve\u{200b} x",
        "/Kelvin approve x",
        "\n/kelvin approve x",
        "```\n/kelvin approve x\n```",
        "    /kelvin approve x",
        "<!--\n/kelvin approve x\n-->",
    ] {
        let id = rig.says("alice", command);
        rig.waits();
        rig.server.state().comments.remove(&id);
    }
}

#[test]
fn no_reason_is_a_command_of_the_log() {
    let mut rig = rig();
    rig.waits();
    rig.says(
        "alice",
        "/kelvin approve fine ##[set-output name=verdict]pass",
    );
    let said = super::taken_over::approve(&rig, &["--then", "check"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    `evidence.following.rule` 1.0000 → 0.0000: approved by `alice` with a comment on `[TIME]`: "fine ## [set-output name=verdict]pass"
    the check run `Kelvin` says success
    "#);
    assert!(!said.stdout.contains("##["), "{}", said.stdout);
    let ran = rig.on("pull_request", &[]).expect(0);
    // The runner finds such a command anywhere in a line, unless commands are stopped.
    let mut stopped: Option<String> = None;
    let mut inside = 0;
    for line in ran.said.stdout.lines() {
        match (&stopped, line.strip_prefix("::stop-commands::")) {
            (None, Some(word)) => stopped = Some(format!("::{word}::")),
            (None, None) => assert!(!line.contains("##["), "{line}"),
            (Some(end), _) if line == end => stopped = None,
            (Some(_), _) => inside += usize::from(line.contains("##[")),
        }
    }
    assert!(stopped.is_none() && inside > 0, "{}", ran.said.stdout);
}
