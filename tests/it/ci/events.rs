//! What each event leads to.

use kelvin_fixtures::text::{lines_with, redacted};
use std::process::Stdio;

use super::*;
use crate::github::archive;
use crate::project::FIRST_UNIT;

#[test]
fn a_pull_request_that_changes_nothing_passes_with_one_comment_that_a_second_run_updates() {
    let mut rig = Rig::new(GROUNDED);
    let ran = rig.on("pull_request", &["--check-run"]).expect(0);
    assert_eq!(rig.comments().len(), 1);
    assert!(rig.comments()[0].starts_with("<!-- kelvin-action:"));
    assert!(!ran.summary.is_empty() && ran.outputs.contains("verdict"));
    assert!(ran.outputs.contains("comment-url"), "{}", ran.outputs);
    rig.on("pull_request", &["--check-run"]).expect(0);
    assert_eq!(rig.comments().len(), 1);
    let of_head = (
        "completed".into(),
        "success".into(),
        rig.head.clone().into(),
    );
    assert_eq!(rig.checks(), [of_head.clone(), of_head]);
    let requests = rig.server.state().log.len();
    assert!(requests < 40, "two runs made {requests} requests");
}

#[test]
fn a_pull_request_that_hurts_is_red_and_says_so_everywhere() {
    let mut rig = Rig::new(CONSTANT);
    let ran = rig.on("pull_request", &["--check-run"]).expect(3);
    assert!(
        rig.comments()[0].contains("regression"),
        "{}",
        rig.comments()[0]
    );
    assert_eq!(rig.checks()[0].1, "failure");
    assert!(ran.outputs.contains("regression") && ran.summary.contains("regression"));
}

/// The page of the folder has no texts beside the verdict, and the comment has; both name the same variant.
#[test]
fn every_page_says_to_look_at_the_same_variant_and_the_comment_shows_its_text() {
    let mut rig = Rig::new(FIRST_UNIT);
    rig.on("pull_request", &[]).expect(3);
    let look = |page: &str| -> String {
        let line = page.lines().find(|line| line.contains("`swap-rule-"));
        line.unwrap_or_else(|| panic!("no such line: {page}"))
            .to_owned()
    };
    let comment = rig.comments()[0].clone();
    let page = rig.project.read("kelvin/gate.md");
    assert_eq!(look(&comment), look(&page));
    let named = look(&comment);
    let variant = named.split('`').nth(3).expect("a variant");
    // In the table, and above the lines that differ.
    assert!(
        comment.matches(variant).count() >= 3,
        "{variant}: {comment}"
    );
    let html = rig.project.read("kelvin/report.html");
    let (_, rest) = html
        .split_once("<p class=\"next\">")
        .expect("the page opens with it");
    let opening: String = rest.chars().take(200).collect();
    assert!(opening.contains(variant), "{variant}: {opening}");
}

#[test]
fn a_merge_group_is_measured_against_its_base_and_has_no_comment() {
    let mut rig = Rig::new(CONSTANT);
    let ran = rig.on("merge_group", &["--check-run"]).expect(3);
    assert!(rig.comments().is_empty());
    assert_eq!(rig.checks()[0].2, rig.head);
    assert!(ran.summary.contains("regression"));
}

#[test]
fn act_16_a_run_by_hand_updates_the_pull_request_of_its_branch_or_writes_the_summary_alone() {
    let mut rig = Rig::new(CONSTANT);
    git(rig.project.root(), &["checkout", "--quiet", "feature"]);
    rig.on("workflow_dispatch", &[]).expect(3);
    assert_eq!(rig.comments().len(), 1);
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .state = "closed";
    rig.server.state().comments.clear();
    let ran = rig.on("workflow_dispatch", &[]).expect(3);
    assert!(rig.comments().is_empty());
    assert!(!ran.summary.is_empty());
}

#[test]
fn a_push_to_the_base_branch_keeps_its_report_for_the_next_change() {
    let mut rig = Rig::new(GROUNDED);
    git(
        rig.project.root(),
        &["checkout", "--quiet", "-B", "main", "HEAD"],
    );
    let tip = git(rig.project.root(), &["rev-parse", "HEAD"]);
    let mut payload = rig.payload("push");
    payload["after"] = tip.as_str().into();
    rig.ci("push", &payload, &[]).expect(0);
    assert!(rig.comments().is_empty());
    let kept = git(
        rig.project.root(),
        &["ls-remote", "origin", "kelvin-reports"],
    );
    assert!(!kept.is_empty());
    git(
        rig.project.root(),
        &["fetch", "--quiet", "origin", "kelvin-reports"],
    );
    let files = git(
        rig.project.root(),
        &["ls-tree", "-r", "--name-only", "FETCH_HEAD"],
    );
    assert!(files.contains(&tip), "{files}");
}

#[test]
fn a_push_runs_a_base_as_often_as_asked_and_a_pull_request_does_not() {
    let mut rig = Rig::new(GROUNDED);
    let invocations = |rig: &Rig| {
        let report = rig.project.json("kelvin/report.json");
        let runs = report["run"]["repeats"].clone();
        let made = report["run"]["session"]["cost"]["invocations"].as_u64();
        (runs, made.expect("a number"))
    };
    rig.on("pull_request", &["--base-repeats", "3"]).expect(0);
    let (runs, once) = invocations(&rig);
    assert_eq!(runs, 1);
    git(
        rig.project.root(),
        &["checkout", "--quiet", "-B", "main", "HEAD"],
    );
    let mut payload = rig.payload("push");
    payload["after"] = git(rig.project.root(), &["rev-parse", "HEAD"]).into();
    let (mut command, _) = rig.command("push", &payload, &["--no-cache"]);
    // As the input of the action comes.
    let ran = said(
        command
            .env("INPUT_BASE_REPEATS", "3")
            .output()
            .expect("ran"),
    );
    ran.expect(0);
    assert_eq!(invocations(&rig), (3.into(), 3 * once));
}

#[test]
fn on_pull_request_target_the_code_of_a_fork_is_not_run_and_that_of_a_branch_is() {
    let counting = format!("echo x >> \"$KELVIN_CALLS\"\n{GROUNDED}");
    let mut rig = Rig::new(&counting);
    let calls = rig.project.path("../calls");
    let run = |rig: &mut Rig, payload: &Value| {
        let (mut command, _) = rig.command("pull_request_target", payload, &[]);
        said(
            command
                .env("KELVIN_CALLS", &calls)
                .output()
                .expect("it starts"),
        )
    };
    let own = rig.payload("pull_request_target");
    let mut fork = own.clone();
    fork["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    let refused = run(&mut rig, &fork);
    assert!(!matches!(refused.code, Some(0 | 3)), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("`pull_request_target`")
            || refused.stdout.contains("`pull_request_target`"),
        "{}",
        refused.stderr
    );
    assert!(!calls.exists(), "the pipeline of the fork ran");
    assert!(rig.comments().is_empty());
    run(&mut rig, &own).expect(0);
    assert!(calls.exists());
    assert_eq!(rig.comments().len(), 1);
}

#[test]
fn on_a_schedule_the_branch_is_measured_against_what_it_was() {
    let mut rig = Rig::new(GROUNDED);
    git(rig.project.root(), &["checkout", "--quiet", "main"]);
    rig.on("schedule", &["--check-run"]).expect(0);
    // Nobody changed the branch; what it asks has changed.
    rig.project.write("pipeline.sh", CONSTANT);
    let ran = rig.on("schedule", &["--check-run"]).expect(3);
    assert!(ran.summary.contains("regression"), "{}", ran.summary);
    assert!(rig.comments().is_empty());
}

#[test]
fn a_pipeline_sees_no_token_of_the_action_and_cannot_speak_for_its_step() {
    let mut rig = Rig::new(&format!(
        "env > ../seen; echo verdict=pass >> \"$GITHUB_OUTPUT\"; {CONSTANT}"
    ));
    let payload = rig.payload("pull_request");
    let (mut command, runner) =
        rig.command("pull_request", &payload, &["--setup", "env > ../before"]);
    command
        .env("INPUT_TOKEN", TOKEN)
        .env("ACTIONS_RUNTIME_TOKEN", "of the runner")
        .env("OPENAI_API_KEY", "its own");
    said(command.output().expect("it starts")).expect(3);
    for seen in ["../seen", "../before"] {
        let seen = rig.project.read(seen);
        assert!(seen.contains("OPENAI_API_KEY=its own"));
        for name in [
            "INPUT_TOKEN",
            "ACTIONS_RUNTIME_TOKEN",
            "GITHUB_OUTPUT",
            "GITHUB_STEP_SUMMARY",
        ] {
            assert!(!seen.contains(&format!("{name}=")), "{name}");
        }
    }
    let outputs = fs::read_to_string(runner.join("output")).expect("written");
    assert!(outputs.contains("regression") && !outputs.contains("verdict=pass"));
}

#[test]
fn a_run_that_a_new_commit_overtook_writes_no_comment() {
    let mut rig = Rig::new(CONSTANT);
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha = "c".repeat(40);
    let ran = rig.on("pull_request", &[]).expect(3);
    assert!(rig.comments().is_empty());
    let log = ran.log();
    let said = log.lines().find(|line| !line.starts_with("::"));
    insta::assert_snapshot!(said.unwrap_or_default(), @"no comment: the pull request has a newer commit, which has a run of its own");
}

#[test]
fn an_artifact_of_a_push_serves_as_the_baseline() {
    let mut rig = Rig::new(CONSTANT);
    git(
        rig.project.root(),
        &["push", "--quiet", "origin", ":kelvin-reports"],
    );
    let remembered = ["update-ref", "-d", "refs/remotes/origin/kelvin-reports"];
    git(rig.project.root(), &remembered);
    git(rig.project.root(), &["checkout", "--quiet", "main"]);
    rig.project.check();
    let report = rig.project.read("kelvin/report.json");
    git(
        rig.project.root(),
        &["checkout", "--quiet", "--detach", "main"],
    );
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(rig.project.root(), &merge);
    {
        let mut state = rig.server.state();
        let run = state.add_run(&rig.base);
        let zip = archive::zip(&[("report.json", report.as_bytes())]);
        state.add_artifact("kelvin-report-kelvin", run, zip);
    }
    rig.on("pull_request", &[]).expect(3);
    let judgement = rig.project.json("kelvin/gate.json");
    assert_eq!(judgement["base"]["source"], "artifact");
}

#[test]
fn on_github_enterprise_server_everything_is_below_its_prefix() {
    let mut rig = Rig::with(Server::below("/api/v3"), GROUNDED);
    rig.on("pull_request", &["--check-run"]).expect(0);
    assert_eq!((rig.comments().len(), rig.checks().len()), (1, 1));
}

#[test]
fn two_processes_that_race_leave_one_comment() {
    let mut rig = Rig::new(GROUNDED);
    // A machine of its own for the other job of the workflow.
    let other = rig.project.path("../other");
    let copied = Command::new("cp")
        .arg("-r")
        .args([rig.project.root(), &other])
        .status();
    assert!(copied.expect("it starts").success());
    for _ in 0..3 {
        let payload = rig.payload("pull_request");
        let (first, _) = rig.command("pull_request", &payload, &["--comment-key=one"]);
        let (mut second, _) = rig.command("pull_request", &payload, &["--comment-key=one"]);
        second.current_dir(&other);
        let children = [first, second].map(|mut job| {
            job.stdout(Stdio::null()).stderr(Stdio::null());
            job.spawn().expect("it starts")
        });
        for mut child in children {
            assert_eq!(child.wait().expect("it ends").code(), Some(0));
        }
        assert_eq!(rig.comments().len(), 1);
        rig.server.state().comments.clear();
    }
}

#[test]
fn a_share_of_the_cases_posts_nothing_and_does_not_try() {
    let mut rig = Rig::new(GROUNDED);
    rig.on("pull_request", &[]).expect(0);
    let [whole] = <[String; 1]>::try_from(rig.comments()).expect("one comment");
    rig.server.state().log.clear();
    for mode in ["update", "new"] {
        let asked = ["--shard", "1/2", "--check-run", "--comment", mode];
        let ran = rig.on("pull_request", &asked).expect(0);
        assert!(!ran.log().contains("::warning"), "{}", ran.log());
        // Nor does one that breaks replace what the job that joins them has said.
        let broken = [&asked[..], &["--setup", "false"]].concat();
        rig.on("pull_request", &broken).expect(1);
    }
    assert_eq!(rig.comments(), [whole]);
    let state = rig.server.state();
    let tried = state.log.iter().find(|request| {
        let path = &request.path;
        path.contains("/comments") || path.contains("/check-runs")
    });
    assert!(tried.is_none(), "{:?}", tried.map(|request| &request.path));
}

/// A release is compared with the one before it, by its event as by `--base`, and not with the commit before it.
#[test]
fn a_release_is_measured_against_the_release_before_it() {
    let mut rig = Rig::new(GROUNDED);
    let root = rig.project.root().to_path_buf();
    git(&root, &["tag", "v1.0.0", &rig.base]);
    git(&root, &["checkout", "--quiet", "-B", "main", &rig.base]);
    rig.project.write("notes.txt", "Between two releases.\n");
    commit(&rig.project, "notes");
    save(&rig.project);
    rig.project.write("pipeline.sh", CONSTANT);
    commit(&rig.project, "an idea");
    git(&root, &["tag", "v1.1.0"]);
    git(&root, &["tag", "v1"]);
    let ran = rig.on("release", &[]).expect(3);
    assert!(ran.outputs.contains(&rig.base), "{}", ran.outputs);
    assert!(ran.summary.contains("regression"), "{}", ran.summary);
    assert!(rig.comments().is_empty());

    let said = rig.project.kelvin(&["gate", "--base", "v1.0.0"]).expect(3);
    assert!(said.stdout.contains(&rig.base[..7]), "{}", said.stdout);

    // The same code as in the release before passes. The first release of all has nothing to be compared with, and says
    // so.
    git(&root, &["tag", "--delete", "v1.1.0"]);
    rig.project.write("pipeline.sh", GROUNDED);
    commit(&rig.project, "taken back");
    git(&root, &["tag", "--delete", "v1"]);
    git(&root, &["tag", "v1.1.0"]);
    rig.on("release", &[]).expect(0);
    // Where the clone has not the whole history, nobody knows whether there is an earlier one, which is no reason to pass.
    let push = [
        "push",
        "--quiet",
        "--force",
        "origin",
        "HEAD:refs/heads/main",
        "v1.0.0",
        "v1.1.0",
    ];
    git(&root, &push);
    let from = format!("file://{}", rig.remote.path().display());
    let shallow = rig.project.path("../shallow");
    let to = shallow.display().to_string();
    let clone = [
        "clone", "--quiet", "--depth", "1", "--branch", "v1.1.0", &from, &to,
    ];
    git(&root, &clone);
    let payload = rig.payload("release");
    let (mut command, runner) = rig.command("release", &payload, &[]);
    Said::of(command.current_dir(&shallow)).expect(3);
    let read = |file: &str| fs::read_to_string(runner.join(file)).expect("written");
    assert!(read("output").contains("baseline_unreachable"));
    assert!(read("summary").contains("fetch-depth: 0"));
    git(&root, &["tag", "--delete", "v1.0.0"]);
    let ran = rig.on("release", &[]).expect(0);
    assert!(ran.outputs.contains("no_baseline"), "{}", ran.outputs);
    insta::assert_snapshot!(redacted(&lines_with(&ran.summary, &["`v1.1.0`"])), @"<sub>no baseline; tree: no commit before `v1.1.0` has a tag; name the base, as in `--base v1.2.0` · 0 invocations, 28 answered by the cache</sub>");
}
