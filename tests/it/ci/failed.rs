//! A run that fails before anything is measured says so everywhere, and leaves no green comment.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

/// A pull request with a green comment of an earlier run.
fn green() -> Rig {
    let mut rig = Rig::new(GROUNDED);
    rig.on("pull_request", &["--check-run"]).expect(0);
    assert!(rig.comments()[0].contains("✅"), "{}", rig.comments()[0]);
    rig
}

/// Commits what was written to the pull request, and checks its merge out as before.
fn changed(rig: &mut Rig) {
    git(rig.project.root(), &["add", "--all"]);
    git(
        rig.project.root(),
        &["commit", "--quiet", "-m", "a further change"],
    );
    rig.head = git(rig.project.root(), &["rev-parse", "HEAD"]);
    let mut state = rig.server.state();
    state.pulls.get_mut(&PULL).expect("there").head_sha = rig.head.clone();
}

/// Demands that the failure is told on every surface, and that the comment is no longer green.
#[track_caller]
fn told_everywhere(rig: &Rig, ran: &Ran, reason: &str) {
    let log = ran.log();
    assert!(log.contains("::error "), "{log}");
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{comments:?}");
    for page in [&comments[0], &ran.summary] {
        assert!(page.contains("### ❌ Kelvin"), "{page}");
        assert!(page.contains(reason), "{reason}: {page}");
        assert!(!page.contains('✅') && !page.contains("pass"), "{page}");
    }
    assert!(
        comments[0].contains(&rig.head),
        "the commit that it is about"
    );
    assert!(comments[0].contains(&format!("`{}`", &rig.head[..7])));
    assert!(comments[0].contains("/actions/runs/"), "{}", comments[0]);
    assert!(
        ran.outputs.contains("verdict<<KELVIN\nunmeasured\n"),
        "{}",
        ran.outputs
    );
    let last = rig.checks().pop().expect("a check run");
    let failed = (
        "completed".into(),
        "failure".into(),
        rig.head.clone().into(),
    );
    assert_eq!(last, failed);
}

#[test]
fn a_setup_that_fails_is_told_everywhere_and_replaces_the_green_comment() {
    let mut rig = green();
    let script = "echo '::error::forged'; exit 7";
    let ran = rig
        .on("pull_request", &["--check-run", "--setup", script])
        .expect(1);
    told_everywhere(&rig, &ran, "`setup`");
    let title = {
        let state = rig.server.state();
        let run = state.check_runs.values().last().expect("there");
        run["output"]["title"].as_str().map(str::to_owned)
    };
    insta::assert_snapshot!(title.unwrap_or_default(), @"Not checked: Something has to be corrected before anything can be measured");
    // The next run that works has the comment again.
    rig.on("pull_request", &[]).expect(0);
    assert!(rig.comments()[0].contains("✅"));
}

#[test]
fn a_configuration_that_is_wrong_is_told_at_its_line() {
    let mut rig = green();
    let good = rig.project.read("kelvin.yaml");
    for (wrong, line, told) in [
        (format!("{good}jbos: 3\n"), 7, "jbos"),
        (format!("{good}repeats: [\n"), 7, "kelvin.yaml"),
    ] {
        rig.project.write("kelvin.yaml", &wrong);
        changed(&mut rig);
        let ran = rig.on("pull_request", &["--check-run"]).expect(1);
        told_everywhere(&rig, &ran, told);
        let at = format!("::error file=kelvin.yaml,line={line},");
        assert!(ran.log().contains(&at), "{at}: {}", ran.log());
        let state = rig.server.state();
        let run = state.check_runs.values().last().expect("there");
        assert!(run["output"].to_string().contains("kelvin.yaml"), "{run}");
    }
}

#[test]
fn a_configuration_that_is_gone_or_broken_is_known_by_the_name_it_had() {
    for broken in [None, Some("name: billing # ours\nrun: [\n")] {
        let mut rig = Rig::new(GROUNDED);
        rig.project.config("name: billing\n");
        changed(&mut rig);
        git(
            rig.project.root(),
            &["push", "--quiet", "origin", "HEAD:main"],
        );
        let ran = rig.on("pull_request", &["--check-run"]);
        assert_eq!(rig.comments().len(), 1, "{}", ran.log());
        assert!(rig.comments()[0].contains("billing"));
        match broken {
            None => fs::remove_file(rig.project.path("kelvin.yaml")).expect("removed"),
            Some(text) => rig.project.write("kelvin.yaml", text),
        }
        // The base has the name where the change has taken the file away.
        changed(&mut rig);
        let ran = rig.on("pull_request", &["--check-run"]).expect(1);
        told_everywhere(&rig, &ran, "kelvin.yaml");
    }
}

#[test]
fn a_wrong_input_is_told_everywhere() {
    beside(
        [
            ("INPUT_MAX-DROP", "much", "--max-drop"),
            ("INPUT_SHARD", "9/3", "--shard"),
            ("INPUT_COMMENT", "loudly", "--comment"),
            ("INPUT_WORKING-DIRECTORY", "nowhere", "`working-directory`"),
            // Behind a link of the change there may be rules of another folder.
            (
                "INPUT_WORKING-DIRECTORY",
                "linked",
                "`linked` is a symbolic link",
            ),
            (
                "INPUT_CONFIG",
                "linked/kelvin.yaml",
                "`linked` is a symbolic link",
            ),
            ("INPUT_ONLY", "no-such-case", "no-such-case"),
        ],
        |(name, value, told)| {
            let mut rig = green();
            std::os::unix::fs::symlink(".", rig.project.path("linked")).expect("linked");
            let payload = rig.payload("pull_request");
            let (mut command, runner) = rig.command("pull_request", &payload, &[]);
            command.env(name, value).env("INPUT_CHECK-RUN", "true");
            if name == "INPUT_WORKING-DIRECTORY" || name == "INPUT_CONFIG" {
                // The folder is where the name of the configuration comes from.
                command.env("INPUT_COMMENT-KEY", "Kelvin/check/kelvin");
            }
            let said = said(command.output().expect("it starts")).expect(1);
            let read = |name: &str| fs::read_to_string(runner.join(name)).unwrap_or_default();
            let ran = Ran {
                said,
                outputs: read("output"),
                summary: read("summary"),
            };
            told_everywhere(&rig, &ran, told);
        },
    );
}

#[test]
fn what_cannot_be_measured_at_all_is_told_everywhere() {
    let mut rig = green();
    fs::remove_dir_all(rig.project.path("cases")).expect("removed");
    changed(&mut rig);
    let ran = rig.on("pull_request", &["--check-run"]).expect(1);
    told_everywhere(&rig, &ran, "cases");
    let mut rig = green();
    rig.project
        .write("pipeline.sh", "printf '{\"other\": 1}' > \"$2\"\n");
    changed(&mut rig);
    let ran = rig.on("pull_request", &["--check-run"]).expect(2);
    told_everywhere(&rig, &ran, "decision");
}

#[test]
fn a_failure_makes_no_first_comment_and_keeps_to_the_mode() {
    let fails = ["--setup", "exit 1"];
    let mut rig = Rig::new(GROUNDED);
    rig.on("pull_request", &fails).expect(1);
    assert!(rig.comments().is_empty());
    let mut rig = green();
    let ours = rig.comments();
    rig.on(
        "pull_request",
        &[&fails[..], &["--comment", "off"]].concat(),
    )
    .expect(1);
    assert_eq!(rig.comments(), ours);
    rig.on(
        "pull_request",
        &[&fails[..], &["--comment", "new"]].concat(),
    )
    .expect(1);
    assert_eq!(rig.comments().len(), 2);
    insta::assert_snapshot!(redacted(&lines_with(&rig.comments()[1], &["### "])), @"### ❌ Kelvin: could not check `[HASH]`");
    // A stranger's comment with our marker is not ours to replace.
    let mut rig = green();
    let forged = rig.comments()[0].clone();
    rig.server.state().comments.clear();
    rig.server.state().add_comment("mallory", &forged);
    rig.on("pull_request", &fails).expect(1);
    assert_eq!(rig.comments(), [forged]);
}

#[test]
fn a_token_that_can_only_read_leaves_the_exit_code_and_the_summary() {
    let mut rig = Rig::new(GROUNDED);
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    let ran = rig.ci(
        "pull_request",
        &payload,
        &["--check-run", "--setup", "exit 3"],
    );
    let ran = ran.expect(1);
    assert!(rig.comments().is_empty() && rig.checks().is_empty());
    insta::assert_snapshot!(redacted(&lines_with(&ran.summary, &["### "])), @"### ❌ Kelvin: could not check `[HASH]`");
    let mut rig = green();
    rig.server.state().denied.insert("comments");
    let ran = rig.on("pull_request", &["--setup", "exit 3"]).expect(1);
    assert!(ran.log().contains("pull-requests: write"), "{}", ran.log());
}

#[test]
fn a_fork_on_pull_request_target_does_not_keep_an_old_green_comment() {
    let mut rig = green();
    let mut payload = rig.payload("pull_request_target");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    let ran = rig
        .ci("pull_request_target", &payload, &["--check-run"])
        .expect(1);
    told_everywhere(&rig, &ran, "`pull_request_target`");
}

#[test]
fn an_older_run_that_fails_late_does_not_write_over_a_newer_one() {
    let mut rig = green();
    rig.run += 10;
    rig.on("pull_request", &[]).expect(0);
    let newer = rig.comments();
    rig.run -= 5;
    rig.on("pull_request", &["--setup", "exit 1"]).expect(1);
    assert_eq!(rig.comments(), newer);
}

#[test]
fn a_reason_gives_no_orders_and_tells_no_secret() {
    let mut rig = green();
    let secret = "hunter2hunter2hunter2";
    let hostile = format!(
        "\"x\\r\\n::add-mask::forged\\n```\\n# forged\\n@everybody <!-- kelvin-action: {secret}\": 1\n"
    );
    let good = rig.project.read("kelvin.yaml");
    rig.project
        .write("kelvin.yaml", &format!("{good}{hostile}"));
    changed(&mut rig);
    let payload = rig.payload("pull_request");
    let (mut command, runner) = rig.command("pull_request", &payload, &["--check-run"]);
    command.env("THEIR_API_KEY", secret);
    let said = said(command.output().expect("it starts")).expect(1);
    let summary = fs::read_to_string(runner.join("summary")).expect("written");
    let comment = rig.comments().remove(0);
    let check = rig
        .server
        .state()
        .check_runs
        .values()
        .last()
        .expect("there")
        .to_string();
    for page in [&summary, &comment, &check] {
        assert!(!page.contains(secret), "{page}");
        assert!(!page.contains("@everybody"), "{page}");
    }
    assert_eq!(comment.matches("<!--").count(), 1, "{comment}");
    let log = format!("{}\n{}", said.stdout, said.stderr);
    let commands = log
        .lines()
        .filter(|line| line.trim_start().starts_with("::add-mask::"));
    assert!(
        commands.clone().all(|line| !line.contains("forged")),
        "{log}"
    );
}
