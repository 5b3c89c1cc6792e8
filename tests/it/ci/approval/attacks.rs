//! Ways in which somebody may want a green check without an approval.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

/// What one of these ways is called, and what it does after the request.
type Way<'a> = (&'a str, &'a dyn Fn(&mut Rig));

#[test]
fn nobody_else_approves_and_nothing_but_an_unchanged_comment_or_label_does() {
    let ways: &[Way<'_>] = &[
        ("an outsider comments", &|rig| {
            rig.says("eve", "/kelvin approve x");
        }),
        ("an outsider labels", &|rig| rig.labels("eve", "labeled")),
        ("one who may push and is not named", &|rig| {
            rig.says("carol", "/kelvin approve x");
        }),
        ("the author comments", &|rig| {
            rig.says("somebody", "/kelvin approve x");
        }),
        ("the author labels", &|rig| {
            rig.labels("Somebody", "labeled")
        }),
        ("an account that wrote a commit", &|rig| {
            let mut state = rig.server.state();
            let pull = state.pulls.get_mut(&PULL).expect("there");
            pull.commit_authors = vec!["Alice".to_owned()];
            drop(state);
            rig.says("alice", "/kelvin approve x");
        }),
        ("a second account that nobody named", &|rig| {
            rig.server
                .state()
                .rights
                .insert("somebody2".to_owned(), "write");
            rig.says("somebody2", "/kelvin approve x");
        }),
        ("a bot comments", &|rig| {
            rig.server
                .state()
                .rights
                .insert("alice[bot]".to_owned(), "write");
            rig.says("alice[bot]", "/kelvin approve x");
            rig.says("github-actions[bot]", "/kelvin approve x");
        }),
        ("a bot labels", &|rig| {
            rig.labels("github-actions[bot]", "labeled")
        }),
        ("a comment that was changed", &|rig| {
            let id = rig.says("alice", "looks odd");
            rig.wait(60);
            let mut state = rig.server.state();
            let now = state.now;
            let comment = state.comments.get_mut(&id).expect("there");
            comment.body = "/kelvin approve x".to_owned();
            comment.updated = now;
        }),
        ("a comment that was deleted", &|rig| {
            let id = rig.says("alice", "/kelvin approve x");
            rig.server.state().comments.remove(&id);
        }),
        ("a comment without a reason", &|rig| {
            rig.says("alice", "/kelvin approve");
        }),
        ("a command that is quoted", &|rig| {
            rig.says("alice", "> /kelvin approve x\n\nNo!");
        }),
        ("a command below a sentence", &|rig| {
            rig.says("alice", "I would never say\n/kelvin approve x");
        }),
        ("a label that was taken off again", &|rig| {
            rig.labels("alice", "labeled");
            rig.labels("alice", "unlabeled");
        }),
        ("another label", &|rig| {
            rig.wait(60);
            rig.server.state().set_label("alice", "labeled", "approved");
        }),
        ("a right that was lost since", &|rig| {
            rig.says("alice", "/kelvin approve x");
            rig.server.state().rights.insert("alice".to_owned(), "read");
        }),
        ("a comment on another pull request", &|rig| {
            let id = rig.says("alice", "/kelvin approve x");
            rig.server
                .state()
                .comments
                .get_mut(&id)
                .expect("there")
                .pull = 8;
        }),
    ];
    let mut rig = rig();
    rig.waits();
    for (what, act) in ways {
        let before = {
            let state = rig.server.state();
            let people = (state.comments.clone(), state.labels.clone());
            (people, state.rights.clone(), state.pulls.clone())
        };
        act(&mut rig);
        let gate = rig.waits();
        assert!(gate["approval"]["decision"].is_null(), "{what}: {gate}");
        let mut state = rig.server.state();
        ((state.comments, state.labels), state.rights, state.pulls) = before;
    }
    assert_eq!(rig.requests().len(), 1, "it was asked once");
    // The real thing passes, so that it was these ways which did not count.
    rig.says("bob", "/kelvin approve this one counts");
    rig.passes();
}

#[test]
fn what_was_there_before_the_request_does_not_approve_it() {
    let mut rig = rig();
    rig.says("alice", "/kelvin approve everything, always");
    rig.labels("alice", "labeled");
    rig.wait(60);
    let gate = rig.waits();
    let gate_again = rig.waits();
    assert_eq!(gate["approval"]["id"], gate_again["approval"]["id"]);
    let ignored = gate_again["approval"]["ignored"]
        .as_array()
        .expect("a list")
        .len();
    assert_eq!(ignored, 2, "{gate_again}");
}

#[test]
fn text_of_the_pull_request_approves_nothing() {
    let mut rig = rig();
    rig.waits();
    let mut payload = rig.payload("pull_request");
    for key in ["title", "body"] {
        payload["pull_request"][key] = "/kelvin approve x".into();
    }
    payload["comment"] =
        serde_json::json!({ "body": "/kelvin approve x", "user": { "login": "bob" } });
    payload["label"] = serde_json::json!({ "name": LABEL });
    rig.ci("pull_request", &payload, &[]).expect(3);
    assert_eq!(
        rig.project.json("kelvin/gate.json")["approval"]["state"],
        "pending"
    );
}

#[test]
fn a_request_that_somebody_else_wrote_or_changed_is_none() {
    let mut rig = rig();
    rig.waits();
    let (id, real) = rig.requests().remove(0);
    // A copy by an outsider, earlier than the real one.
    rig.server.state().comments.remove(&id);
    let forged = rig.says("eve", &real);
    rig.says("alice", "/kelvin approve the copy");
    rig.wait(60);
    rig.waits();
    assert_eq!(rig.requests().len(), 1, "the real one is asked again");
    rig.waits();
    rig.server.state().comments.remove(&forged);
    // Whoever may push may change the comment of the bot.
    rig.says("alice", "/kelvin approve x");
    let (id, _) = rig.requests().remove(0);
    {
        let mut state = rig.server.state();
        let now = state.now;
        state.comments.get_mut(&id).expect("there").updated = now;
    }
    rig.wait(60);
    rig.waits();
    assert_eq!(rig.requests().len(), 2, "what was changed is asked anew");
    rig.waits();
}

#[test]
fn a_new_commit_needs_a_new_decision() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    rig.passes();
    push(&mut rig, "more");
    rig.wait(60);
    let gate = rig.waits();
    assert_eq!(gate["approval"]["request"]["head"], rig.head.as_str());
    assert_eq!(rig.requests().len(), 2);
    rig.waits();
    rig.says("alice", "/kelvin approve this too");
    rig.passes();
}

/// A further commit on the branch of the pull request, merged as GitHub does.
fn push(rig: &mut Rig, text: &str) {
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "feature"]);
    rig.project.write("README.md", text);
    rig.head = commit(&rig.project, text);
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        &root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "feature"],
    );
    let mut state = rig.server.state();
    state
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha
        .clone_from(&rig.head);
}

#[test]
fn a_commit_that_comes_while_the_job_runs_voids_the_decision() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha = "d".repeat(40);
    let ran = rig.on("pull_request", &[]).expect(3);
    let gate = rig.project.json("kelvin/gate.json");
    assert_eq!(gate["approval"]["state"], "pending", "{}", ran.log());
    insta::assert_snapshot!(gate["approval"]["unknown"].to_string(), @r#"["the pull request has a newer commit, which needs a request of its own"]"#);
}

#[test]
fn a_further_regression_on_the_same_commit_voids_the_approval() {
    let script = format!(
        "if [ -e ../worse ]; then\n{}\nelse\n{CONSTANT}\nfi\n",
        crate::project::FIRST_UNIT
    );
    let mut rig = with(RULES, &script);
    let judged = |rig: &mut Rig, code| {
        rig.on("pull_request", &["--no-cache"]).expect(code);
        rig.project.json("kelvin/gate.json")
    };
    let first = judged(&mut rig, 3);
    rig.says("alice", "/kelvin approve x");
    assert_eq!(judged(&mut rig, 0)["approval"]["state"], "approved");
    // What the pipeline asks has changed, and with it another metric falls.
    rig.project.write("../worse", "");
    rig.wait(60);
    let worse = judged(&mut rig, 3);
    assert_eq!(worse["verdict"], "pending_approval");
    assert_ne!(worse["approval"]["id"], first["approval"]["id"]);
    assert_eq!(rig.requests().len(), 2);
    // The approval of less is void, also where the further regression is gone again.
    fs::remove_file(rig.project.path("../worse")).expect("removed");
    assert_ne!(judged(&mut rig, 3)["approval"]["state"], "approved");
    rig.says("bob", "/kelvin approve all of it");
    assert_eq!(judged(&mut rig, 0)["approval"]["state"], "approved");
}

#[test]
fn a_change_cannot_name_who_approves_it() {
    let mut rig = rig();
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "feature"]);
    rig.project
        .config("gate:\n  approval: { by: [write], how: [comment, label], not_author: false }\n");
    rig.head = commit(&rig.project, "more approvers");
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        &root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "feature"],
    );
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha
        .clone_from(&rig.head);
    let gate = rig.waits();
    let told = gate["reasons"].to_string();
    insta::assert_snapshot!(redacted(&lines_with(&told, &["`evidence.following.rule`"])), @r#"[{"code":"approval","effect":"fail","text":"waiting for approval of `evidence.following.rule` 1.0000 → 0.0000: `alice` or `bob` or `somebody` comments `/kelvin approve [HASH] REASON` or adds the label `kelvin-approved`, until `[TIME]`; without a decision it fails"},{"code":"edits_rules","effect":"warn","text":"this change edits the gate: approval.by [\"alice\",\"bob\",\"somebody\"] → [\"write\"], approval.not_author true → false"},{"code":"metric","effect":"fail","metric":"evidence.following.rule","text":"`rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now"},{"code":"metric","effect":null,"metric":"evidence.failure_rate","text":"`evidence.failure_rate` stayed at 0.0000 over 4 cases; its mean can show a rise of more than 0.0500"},{"code":"metric","effect":null,"metric":"evidence.invariance","text":"`evidence.invariance` stayed at 1.0000 over 4 cases; its mean can show a drop of more than 0.0500"}]"#);
    let asked = &rig.requests()[0].1;
    insta::assert_snapshot!(lines_with(asked, &["approval.by"]), @r#"- this change edits the gate: approval.by \["alice","bob","somebody"\] → \["write"\], approval.not\_author true → false"#);
    rig.says("carol", "/kelvin approve x");
    rig.says("somebody", "/kelvin approve x");
    rig.waits();
    // The base without any rules: those that the change brings count once they are merged.
    let mut rig = rig_without_rules(rig);
    rig.says("alice", "/kelvin approve x");
    let gate = rig.judged(3);
    assert_eq!(gate["verdict"], "regression");
    assert!(gate["approval"].is_null());
    let told = gate["reasons"].to_string();
    insta::assert_snapshot!(lines_with(&told, &["`gate.approval`"]), @r#"[{"code":"edits_rules","effect":"warn","text":"this change edits the gate: approval.by [\"alice\",\"bob\",\"somebody\"] → [\"write\"], approval.not_author true → false"},{"code":"approval","effect":"warn","text":"nobody can approve this: this change brings `gate.approval` itself, which counts once it is on the base branch"},{"code":"metric","effect":"fail","metric":"evidence.following.rule","text":"`rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now"},{"code":"metric","effect":null,"metric":"evidence.failure_rate","text":"`evidence.failure_rate` stayed at 0.0000 over 4 cases; its mean can show a rise of more than 0.0500"},{"code":"metric","effect":null,"metric":"evidence.invariance","text":"`evidence.invariance` stayed at 1.0000 over 4 cases; its mean can show a drop of more than 0.0500"}]"#);
}

fn rig_without_rules(rig: Rig) -> Rig {
    let place = ("main".to_owned(), "kelvin.yaml".to_owned());
    {
        let mut state = rig.server.state();
        let text = state.files.get_mut(&place).expect("there");
        *text = text
            .split("gate:")
            .next()
            .expect("the first part")
            .to_owned();
    }
    rig
}
