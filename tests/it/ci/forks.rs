//! The pair that is safe for forks: a run that may not write, and one that believes nothing of it.

use super::*;
use crate::github::{Run, archive};
use kelvin_fixtures::text::{lines_with, redacted};

/// A run of the fork's pull request that has failed, with its bundle as an artifact.
pub(super) fn ended(rig: &Rig, bundle: &[u8]) -> u64 {
    ended_with(rig, "failure", bundle)
}

/// The same with another ending.
pub(super) fn ended_with(rig: &Rig, conclusion: &'static str, bundle: &[u8]) -> u64 {
    let mut state = rig.server.state();
    // The bundle says which run it is of; GitHub says the same.
    let id = rig.run;
    let run = Run {
        event: "pull_request",
        path: ".github/workflows/kelvin.yml".to_owned(),
        head_branch: "feature".to_owned(),
        head_sha: rig.head.clone(),
        head_repository: (2002, "stranger/widgets".to_owned()),
        pull_requests: Vec::new(),
        conclusion,
    };
    state.runs.insert(id, run);
    state.add_artifact(
        "kelvin-report-kelvin",
        id,
        archive::zip(&[("bundle.json", bundle)]),
    );
    state.pulls.get_mut(&PULL).expect("there").head_repository = "stranger/widgets".to_owned();
    id
}

/// Runs `kelvin post` on the recorded event of that run.
pub(super) fn post(rig: &mut Rig, run: u64) -> Said {
    post_with(rig, run, &[])
}

/// The same with further arguments.
pub(super) fn post_with(rig: &mut Rig, run: u64, more: &[&str]) -> Said {
    let mut payload = rig.payload("workflow_run");
    payload["workflow_run"]["id"] = run.into();
    let (_, runner) = rig.command("workflow_run", &payload, &[]);
    // It is a run of its own, which leaves the number of the first alone.
    rig.run -= 1;
    let arguments: Vec<&str> = std::iter::once("post")
        .chain(more.iter().copied())
        .collect();
    let mut command = rig.project.command(&arguments);
    command
        .env("GITHUB_API_URL", rig.server.url())
        .env("GITHUB_SERVER_URL", rig.served())
        .env("GITHUB_REPOSITORY", REPOSITORY)
        .env("GITHUB_TOKEN", TOKEN)
        .env("GITHUB_EVENT_NAME", "workflow_run")
        .env("GITHUB_EVENT_PATH", runner.join("event.json"));
    said(command.output().expect("the binary starts"))
}

/// Runs the first half for the fork, and gives its bundle.
fn bundle(rig: &mut Rig) -> Vec<u8> {
    bundle_of(rig, 3)
}

/// The same where the run ends with another code.
pub(super) fn bundle_of(rig: &mut Rig, code: i32) -> Vec<u8> {
    let (said, bundle) = any_bundle_of(rig);
    said.expect(code);
    bundle
}

/// The same however the run ends, with what it said.
pub(super) fn any_bundle_of(rig: &mut Rig) -> (Said, Vec<u8>) {
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    let ran = rig.ci("pull_request", &payload, &["--check-run"]);
    assert!(
        rig.comments().is_empty() && rig.checks().is_empty(),
        "nothing is even tried"
    );
    let bundle = fs::read(rig.project.path("kelvin/bundle.json"));
    (ran.said, bundle.expect("it left a bundle"))
}

#[test]
fn the_bundle_of_a_fork_is_posted_by_the_second_workflow() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle(&mut rig);
    let run = ended(&rig, &bundle);
    post(&mut rig, run).expect(0);
    assert_eq!(rig.comments().len(), 1);
    assert!(rig.comments()[0].contains("regression"));
}

#[test]
fn the_second_workflow_believes_github_and_not_the_bundle() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle(&mut rig);
    let run = ended(&rig, &bundle);
    // The branch has moved on: no pull request has this commit at its tip.
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha = "d".repeat(40);
    post(&mut rig, run).expect(0);
    assert!(rig.comments().is_empty());
    // A run that somebody else's event started leaves nothing to post.
    rig.server.state().runs.get_mut(&run).expect("there").event = "push";
    assert_ne!(post(&mut rig, run).code, Some(0));
    assert!(rig.comments().is_empty());
}

#[test]
fn poisoned_bundles_are_refused() {
    let mut rig = Rig::new(CONSTANT);
    let good = bundle(&mut rig);
    let half = &good[..good.len() / 2];
    for poison in [
        b"{}".as_slice(),
        b"[]",
        b"\xff",
        half,
        &vec![b' '; 200 * 1024 * 1024],
    ] {
        let run = ended(&rig, poison);
        let said = post(&mut rig, run);
        assert!(!matches!(said.code, Some(0 | 101)), "{}", said.stderr);
        assert!(rig.comments().is_empty());
    }
    let run = ended(&rig, &good);
    let bytes = archive::zip(&[("bundle.json", &good), ("../../evil", b"x")]);
    rig.server
        .state()
        .artifacts
        .values_mut()
        .for_each(|artifact| artifact.zip.clone_from(&bytes));
    assert_ne!(post(&mut rig, run).code, Some(0));
    assert!(rig.comments().is_empty());
}

#[test]
fn a_run_of_a_fork_that_left_no_result_takes_the_green_comment_away() {
    let mut rig = Rig::new(GROUNDED);
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    rig.ci("pull_request", &payload, &[]).expect(0);
    let bundle = fs::read(rig.project.path("kelvin/bundle.json")).expect("it left a bundle");
    let run = ended_with(&rig, "success", &bundle);
    post(&mut rig, run).expect(0);
    assert!(rig.comments()[0].contains("✅"), "{}", rig.comments()[0]);
    // The next run fails in its setup.
    rig.ci("pull_request", &payload, &["--setup", "exit 1"])
        .expect(1);
    let run = ended(&rig, b"");
    rig.server
        .state()
        .artifacts
        .retain(|_, artifact| artifact.run != run);
    post(&mut rig, run).expect(0);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1);
    insta::assert_snapshot!(redacted(&lines_with(&comments[0], &["### "])), @"### ❌ Kelvin: could not check `[HASH]`");
    assert!(!comments[0].contains("✅"), "{}", comments[0]);
}

/// What the second half makes of a bundle that was changed; its code, and the comments.
fn changed_all(rig: &mut Rig, bundle: &[u8], change: impl Fn(&mut Value)) -> (Said, Vec<String>) {
    let mut forged: Value = serde_json::from_slice(bundle).expect("JSON");
    change(&mut forged);
    let run = ended(rig, forged.to_string().as_bytes());
    let said = post(rig, run);
    (said, rig.comments())
}

/// The same where there is one comment.
fn changed(rig: &mut Rig, bundle: &[u8], change: impl Fn(&mut Value)) -> (Said, String) {
    let (said, comments) = changed_all(rig, bundle, change);
    assert_eq!(comments.len(), 1, "{comments:?}");
    (said, comments[0].clone())
}

#[test]
fn a_verdict_that_does_not_follow_from_the_figures_of_a_bundle_is_not_believed() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle(&mut rig);
    // No sentence of the run is read: what it adds to its verdict is nowhere.
    let (said, comment) = changed(&mut rig, &bundle, |forged| {
        let judgement = &mut forged["judgement"];
        judgement["flips"] = serde_json::json!([{ "item": "harmless" }]);
        judgement["differences"] = serde_json::json!(["harmless"]);
        judgement["reproduce"] = serde_json::json!({
            "commit": null, "dirty": false,
            "arguments": ["x\n\n# Approved\n\n/merge\n\n@harmless ![x](https://example.org/harmless.png)"],
        });
    });
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(!comment.contains("harmless"), "{comment}");
    assert!(
        comment.contains("`kelvin gate --baseline branch"),
        "{comment}"
    );
    insta::assert_snapshot!(redacted(&lines_with(&comment, &["> "])), @"> The figures are the pull request's own claim: its own code has measured them. The verdict was computed again from them, with the rules and the report of `main`.");
    let green = |forged: &mut Value| {
        let judgement = &mut forged["judgement"];
        (judgement["verdict"], judgement["passed"]) = ("pass".into(), true.into());
    };
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let changes: [Change<'_>; 7] = [
        ("a green verdict", &green),
        ("no word of a verdict", &|forged| {
            forged["judgement"] = Value::Null
        }),
        ("a base that it has made up", &|forged| {
            green(forged);
            forged["judgement"]["base"]["commit"] = forged["head_sha"].clone();
        }),
        ("no base", &|forged| {
            green(forged);
            forged["judgement"]["verdict"] = "no_baseline".into();
            forged["judgement"]["base"] = Value::Null;
        }),
        ("a report that nobody can judge", &|forged| {
            green(forged);
            forged["report"]["run"]["shard"] =
                serde_json::json!({ "index": 1, "count": 2, "of": "x" });
        }),
        ("figures that its records do not give", &|forged| {
            green(forged);
            for metric in forged["report"]["metrics"]
                .as_object_mut()
                .expect("a map")
                .values_mut()
            {
                metric["value"] = 1.0.into();
                metric["per_case"] = serde_json::json!({});
            }
        }),
        ("figures of another suite", &|forged| {
            green(forged);
            forged["report"]["probes"] = serde_json::json!({});
            forged["report"]["metrics"] = serde_json::json!({});
        }),
    ];
    let mut refused = Vec::new();
    for (what, change) in changes {
        let (said, comment) = changed(&mut rig, &bundle, change);
        assert!(
            !matches!(said.code, Some(0 | 101)),
            "{what}: {}",
            said.stdout
        );
        assert!(comment.contains("### ❌"), "{what}: {comment}");
        refused.push(redacted(&lines_with(&said.stderr, &["error: "])));
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    error: The run says `pass`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `regression`: that of the run is not believed
    error: The run does not say what its gate has found. Computed from its figures, with the rules and the report of `main`, the verdict is `regression`
    error: The run says `pass`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `regression`: that of the run is not believed
    error: The run says `no_baseline`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `regression`: that of the run is not believed
    error: The result of the run cannot be read: the bundle is not what this version writes: missing field `cases` at line 1 column [COLUMN]
    error: The verdict could not be computed again, so nobody knows whether it is true: the report has figures that its own records do not give (kelvin [VERSION] wrote it, and this is kelvin [VERSION]; use one version of the action in both workflows)
    error: The run says `pass`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `unmeasured`: that of the run is not believed
    ");
    // Where nobody can compute it, nobody knows.
    git(
        rig.project.root(),
        &["push", "--quiet", "--delete", "origin", "kelvin-reports"],
    );
    let (said, comment) = changed(&mut rig, &bundle, green);
    assert!(!matches!(said.code, Some(0 | 101)), "{}", said.stdout);
    assert!(!comment.contains("### ✅"), "{comment}");
}

#[test]
fn a_fork_is_judged_by_the_rules_of_the_base_branch() {
    let mut rig = Rig::new(CONSTANT);
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "feature"]);
    rig.project.config("gate: { max_drop: 2.0 }\n");
    rig.head = commit(&rig.project, "everything is allowed");
    git(&root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        &root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "feature"],
    );
    let tip = rig.head.clone();
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha = tip;
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    rig.ci("pull_request", &payload, &[]).expect(0);
    let bundle = fs::read(rig.project.path("kelvin/bundle.json")).expect("it left a bundle");
    let (said, comment) = changed(&mut rig, &bundle, |_| {});
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["error: "])), @"error: The run says `pass`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `regression`: that of the run is not believed");
    assert!(comment.contains("❌ Kelvin: regression"), "{comment}");
}

#[test]
fn every_pull_request_with_the_tip_of_the_run_gets_the_verdict_against_its_own_base() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle(&mut rig);
    let root = rig.project.root().to_path_buf();
    // The second one is into a branch where the same figures are allowed.
    git(
        &root,
        &["checkout", "--quiet", "--force", "-b", "release", "main"],
    );
    rig.project.config("gate: { max_drop: 2.0 }\n");
    commit(&rig.project, "everything is allowed");
    git(&root, &["push", "--quiet", "origin", "release"]);
    save(&rig.project);
    git(
        &root,
        &[
            "push",
            "--quiet",
            "origin",
            &format!("{}:refs/pull/8/head", rig.head),
        ],
    );
    let run = ended(&rig, &bundle);
    {
        let mut state = rig.server.state();
        let mut second = state.pulls[&PULL].clone();
        second.base_branch = "release".to_owned();
        state.pulls.insert(8, second);
    }
    // It follows for one of them, so the run is believed.
    post(&mut rig, run).expect(0);
    let on = |rig: &Rig, pull: u64| -> Vec<String> {
        let state = rig.server.state();
        let comments = state.comments.values();
        comments
            .filter(|comment| comment.pull == pull)
            .map(|comment| comment.body.clone())
            .collect()
    };
    let (first, second) = (on(&rig, PULL), on(&rig, 8));
    assert_eq!((first.len(), second.len()), (1, 1));
    assert!(first[0].contains("❌ Kelvin: regression"), "{}", first[0]);
    // The run has failed, for the other one.
    assert!(second[0].contains("### ⚠️ Kelvin: pass"), "{}", second[0]);
    let mut told = Vec::new();
    for comment in [&first[0], &second[0]] {
        told.push(redacted(&lines_with(comment, &["`release`"])));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    > The figures are the pull request's own claim: its own code has measured them. The verdict was computed again from them, with the rules and the report of `main`. This commit is the tip of 2 pull requests (\#&#8203;7 into `main`, \#&#8203;8 into `release`), and GitHub does not say which of them the run was for: each has the verdict against its own base branch.
    > The figures are the pull request's own claim: its own code has measured them. The verdict is what they give with the rules and the report of `release`. This commit is the tip of 2 pull requests (\#&#8203;7 into `main`, \#&#8203;8 into `release`), and GitHub does not say which of them the run was for: each has the verdict against its own base branch.
    ");
    // A green verdict that follows for the one is none for the other.
    let run = changed_all(&mut rig, &bundle, |forged| {
        forged["judgement"]["verdict"] = "pass".into();
        forged["judgement"]["passed"] = true.into();
    });
    assert_eq!(run.0.code, Some(0), "{}", run.0.stderr);
    let first = on(&rig, PULL);
    assert!(first[0].contains("❌ Kelvin: regression"), "{}", first[0]);
    // One that follows for none is refused on both.
    let run = changed_all(&mut rig, &bundle, |forged| {
        forged["judgement"]["verdict"] = "no_baseline".into();
        forged["judgement"]["passed"] = true.into();
    });
    assert_eq!(run.0.code, Some(1), "{}", run.0.stderr);
    insta::assert_snapshot!(lines_with(&on(&rig, PULL)[0], &["`no_baseline`"]), @r"> The figures are the pull request's own claim: its own code has measured them. The run says `no_baseline`, and computed again from its own figures, with the rules and the report of `main`, the verdict is `regression`: that of the run is not believed. This commit is the tip of 2 pull requests (\#&#8203;7 into `main`, \#&#8203;8 into `release`), and GitHub does not say which of them the run was for: each has the verdict against its own base branch.");
}

#[test]
fn what_a_run_leaves_for_later_is_posted_by_the_second_workflow_alone() {
    let mut rig = Rig::new(CONSTANT);
    let ran = rig.on("pull_request", &["--comment", "later", "--check-run"]);
    let ran = ran.expect(3);
    assert!(rig.comments().is_empty() && rig.checks().is_empty());
    let tried = rig.server.state().log.iter().any(|one| one.method != "GET");
    assert!(!tried, "nothing is even tried");
    assert!(ran.summary.contains("`comment: later`"), "{}", ran.summary);
    let bundle = fs::read(rig.project.path("kelvin/bundle.json")).expect("it left a bundle");
    let run = ended(&rig, &bundle);
    let mut state = rig.server.state();
    let home = crate::github::REPOSITORY.to_owned();
    state
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_repository
        .clone_from(&home);
    state.runs.get_mut(&run).expect("there").head_repository = (crate::github::REPOSITORY_ID, home);
    drop(state);
    post(&mut rig, run).expect(0);
    assert_eq!(rig.comments().len(), 1);
    assert!(rig.comments()[0].contains("❌ Kelvin: regression"));
    // What publishes cannot leave it to somebody else.
    let said = rig
        .project
        .kelvin(&["post", "--run-id", "1", "--comment", "later"]);
    let said = said.expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `comment: later` is for the run that measures
      help: leave out `comment` here, or write `update`, `new`, `on-change` or `off`
    ");
}

#[test]
fn what_a_run_leaves_open_is_no_green_comment_and_what_it_asked_is_none_less() {
    // It heeds the words that two cases have on the base no more, and the change gives these cases other words.
    let worse = format!(
        "if grep -qE '^# Request (alder|birch)' \"$1\" && grep -q 'Sent in' \"$1\"; then {CONSTANT}; exit; fi\n{GROUNDED}"
    );
    let mut headings = Vec::new();
    for script in [worse, format!("# said again\n{GROUNDED}")] {
        let (remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        let mut rig = Rig::requested(Server::start(), (project, remote), &script, |project| {
            for case in ["alder", "birch"] {
                let path = format!("cases/{case}.md");
                let text = project.read(&path);
                project.write(&path, &text.replace("Sent in", "Received"));
            }
        });
        let bundle = bundle_of(&mut rig, 0);
        let run = ended_with(&rig, "success", &bundle);
        post(&mut rig, run).expect(0);
        let comments = rig.comments();
        headings.push(lines_with(&comments[0], &["### "]));
    }
    // Of four cases two pairs are few, whatever was asked.
    insta::assert_snapshot!(headings.join("\n"), @r"
    ### ⚠️ Kelvin: inconclusive, passes, 2 of 4 cases were edited
    ### ⚠️ Kelvin: passes on few pairs, 2 of 4 cases were edited
    ");
}
