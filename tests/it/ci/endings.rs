//! However the first workflow ends, the comment is true of it: the table in `docs/reports.md`, row by row.

use super::forks::{bundle_of, ended_with, post, post_with};
use super::*;
use crate::github::{Fault, archive};
use kelvin_fixtures::text::{lines_with, redacted};

/// What the comment says after a run that passed.
pub(super) const PASS: &str = "### ✅ Kelvin: pass";
/// The name of the artifact.
const NAME: &str = "kelvin-report-kelvin";

/// A row of the table.
#[derive(Debug)]
struct Row {
    conclusion: String,
    left: String,
    says: String,
    code: i32,
}

/// The rows of the table.
fn table() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reports.md");
    let text = fs::read_to_string(path).expect("the document is there");
    let (_, rest) = text
        .split_once("<!-- endings: begin -->")
        .expect("it begins");
    let (table, _) = rest.split_once("<!-- endings: end -->").expect("it ends");
    let rows = table.trim().lines().skip(2);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [conclusion, left, says, code] = cells[..] else {
            panic!("a row has four cells: {line}");
        };
        Row {
            conclusion: conclusion.trim_matches('`').to_owned(),
            left: left.to_owned(),
            says: says.to_owned(),
            code: code.parse().expect("an exit code"),
        }
    })
    .collect()
}

/// What GitHub has of a run, as a row of the table says it.
fn leave(rig: &Rig, row: &Row, run: u64, bundle: &[u8]) {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bundle: Value = serde_json::from_slice(bundle).expect("JSON");
        change(&mut bundle);
        bundle.to_string().into_bytes()
    };
    let conclusion = match row.conclusion.as_str() {
        "any" => "success",
        other => Box::leak(other.to_owned().into_boxed_str()),
    };
    rig.server.state().artifacts.clear();
    let content = match row.left.as_str() {
        "a bundle of another version" => changed(&|bundle| bundle["schema_version"] = 1.into()),
        "the bundle of another run" => changed(&|bundle| bundle["run_id"] = "7".into()),
        "a text that is no bundle" => b"{}".to_vec(),
        "a result that says that it does not pass, with figures that do" => changed(&|bundle| {
            bundle["judgement"]["verdict"] = "regression".into();
            bundle["judgement"]["passed"] = false.into();
        }),
        _ => bundle.to_vec(),
    };
    assert_eq!(ended_with(rig, conclusion, &content), run);
    let mut state = rig.server.state();
    state.attempts.remove(&run);
    let mut only = |change: &dyn Fn(&mut crate::github::Artifact)| {
        state.artifacts.values_mut().for_each(change);
    };
    match row.left.as_str() {
        "nothing" => state.artifacts.clear(),
        "an artifact that has expired" => only(&|artifact| artifact.expired = true),
        "an artifact without a bundle" => {
            only(&|artifact| artifact.zip = archive::zip(&[("report.json", b"{}")]));
        }
        "an artifact that is no archive" => only(&|artifact| artifact.zip = b"PK garbage".to_vec()),
        "an artifact that is too large" => {
            only(&|artifact| artifact.zip = vec![0; 64 * 1024 * 1024 + 1]);
        }
        "an artifact that GitHub does not hand out" => {
            state
                .faults
                .push_back(Fault::status("GET", "/zip", 99, 403));
        }
        "the result of an earlier attempt alone" => drop(state.attempts.insert(run, 2)),
        "a result that passes"
        | "a result that does not pass"
        | "a result that says that it does not pass, with figures that do"
        | "a bundle of another version"
        | "the bundle of another run"
        | "a text that is no bundle" => {}
        other => panic!("nobody knows how a run leaves {other}"),
    }
}

/// Takes the rows that a rig can show, each of them with the green comment of an earlier run on the pull request.
fn show(rig: &mut Rig, bundle: &[u8], is_shown: impl Fn(&Row) -> bool) -> usize {
    let run = rig.run;
    let before = rig.comments();
    assert!(before[0].contains(PASS), "{before:?}");
    let kept = rig.server.state().comments.clone();
    let mut shown = 0;
    for row in table().iter().filter(|row| is_shown(row)) {
        rig.server.state().comments.clone_from(&kept);
        leave(rig, row, run, bundle);
        if row.conclusion == "skipped" {
            // A run that nobody asked for says nothing of a commit that was measured before.
            post(rig, run).expect(row.code);
            assert!(rig.comments()[0].contains(PASS), "{row:?}");
            let head = rig.head.clone();
            for comment in rig.server.state().comments.values_mut() {
                comment.body = comment.body.replace(&head, &"0".repeat(40));
            }
        }
        let said = post(rig, run);
        rig.server.state().faults.clear();
        assert_eq!(said.code, Some(row.code), "{row:?}: {}", said.stderr);
        let comments = rig.comments();
        assert_eq!(comments.len(), 1, "{row:?}");
        assert!(comments[0].contains(&row.says), "{row:?}: {}", comments[0]);
        let is_green = comments[0].contains("### ✅");
        assert_eq!(
            is_green,
            row.says.starts_with('✅'),
            "{row:?}: {}",
            comments[0]
        );
        assert!(
            comments[0].contains(&format!("run={run} ")),
            "{row:?}: {}",
            comments[0]
        );
        shown += 1;
    }
    shown
}

fn fails(row: &Row) -> bool {
    row.left == "a result that does not pass"
}

#[test]
fn however_the_first_workflow_ends_no_comment_of_an_earlier_run_survives() {
    let mut rig = Rig::new(GROUNDED);
    let first = bundle_of(&mut rig, 0);
    let run = ended_with(&rig, "success", &first);
    post(&mut rig, run).expect(0);
    let bundle = bundle_of_next(&mut rig);
    let shown = show(&mut rig, &bundle, |row| !fails(row));
    assert!(shown >= 20, "{shown}");
}

/// The bundle of a second run on the same commit.
fn bundle_of_next(rig: &mut Rig) -> Vec<u8> {
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    rig.ci("pull_request", &payload, &[]).expect(0);
    fs::read(rig.project.path("kelvin/bundle.json")).expect("it left a bundle")
}

#[test]
fn a_run_whose_verdict_fails_is_told_as_that() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle_of(&mut rig, 3);
    let rows = table();
    let rows = rows.iter().filter(|row| fails(row));
    let mut shown = 0;
    for row in rows {
        leave(&rig, row, rig.run, &bundle);
        let run = rig.run;
        post(&mut rig, run).expect(row.code);
        let comments = rig.comments();
        assert_eq!(comments.len(), 1, "{row:?}");
        assert!(comments[0].contains(&row.says), "{row:?}: {}", comments[0]);
        shown += 1;
    }
    assert!(shown > 0);
}

#[test]
fn a_second_attempt_that_left_nothing_takes_the_green_comment_of_the_first_away() {
    let mut rig = Rig::new(GROUNDED);
    let bundle = bundle_of(&mut rig, 0);
    let run = ended_with(&rig, "success", &bundle);
    post(&mut rig, run).expect(0);
    assert!(rig.comments()[0].contains(PASS));
    // While it runs nothing is known of it.
    {
        let mut state = rig.server.state();
        state.attempts.insert(run, 2);
        state.runs.get_mut(&run).expect("there").conclusion = "";
    }
    let said = post(&mut rig, run).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"run 101 has not ended yet");
    assert!(rig.comments()[0].contains(PASS));
    // What an upload that did not write over the first one leaves.
    rig.server
        .state()
        .runs
        .get_mut(&run)
        .expect("there")
        .conclusion = "failure";
    post(&mut rig, run).expect(0);
    let comment = rig.comments().remove(0);
    insta::assert_snapshot!(redacted(&lines_with(&comment, &["### "])), @"### ❌ Kelvin: could not check `[HASH]`");
    assert!(comment.contains("attempt=2"), "{comment}");
    // Where only another job was run again, and passed, what this one found is still so.
    rig.server
        .state()
        .runs
        .get_mut(&run)
        .expect("there")
        .conclusion = "success";
    post(&mut rig, run).expect(0);
    let comment = rig.comments().remove(0);
    assert!(comment.contains(PASS), "{comment}");
    insta::assert_snapshot!(redacted(&lines_with(&comment, &["> "])), @"> The figures are the pull request's own claim: its own code has measured them. The verdict was computed again from them, with the rules and the report of `main`. They are of attempt 1 of the run; in attempt 2, which ended well, the job was left alone.");
}

#[test]
fn a_later_attempt_says_which_one_it_is_and_a_run_that_publishes_itself_is_left_alone() {
    let mut rig = Rig::new(GROUNDED);
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/widgets".into();
    let (mut command, _) = rig.command("pull_request", &payload, &[]);
    command.env("GITHUB_RUN_ATTEMPT", "2");
    said(command.output().expect("it starts")).expect(0);
    let bundle = rig.project.json("kelvin/bundle.json");
    assert_eq!(bundle["run_attempt"], 2);
    fs::remove_file(rig.project.path("kelvin/bundle.json")).expect("removed");
    // A run with a token that may write leaves no bundle, and the comment is its own.
    let key = ".github/workflows/kelvin.yml/kelvin";
    rig.on("pull_request", &["--comment-key", key]).expect(0);
    assert!(!rig.project.path("kelvin/bundle.json").exists());
    let before = rig.comments();
    let run = ended_with(&rig, "success", b"");
    let zip = archive::zip(&[("report.json", b"{}")]);
    {
        let mut state = rig.server.state();
        state
            .artifacts
            .values_mut()
            .for_each(|artifact| artifact.zip.clone_from(&zip));
    }
    post(&mut rig, run).expect(0);
    assert_eq!(rig.comments(), before);
}

#[test]
fn a_configuration_with_a_name_of_its_own_gets_its_comment() {
    let mut rig = Rig::configured(Server::start(), CONSTANT, "name: rag\n");
    let yaml = rig.project.read("kelvin.yaml");
    let place = ("main".to_owned(), "kelvin.yaml".to_owned());
    rig.server.state().files.insert(place, yaml);
    let bundle = bundle_of(&mut rig, 3);
    let run = ended_with(&rig, "failure", &bundle);
    let name = {
        // As the action names it.
        let outputs = fs::read_to_string(rig.project.path(&format!("../runner-{run}/output")));
        let outputs = outputs.expect("it has outputs");
        let line = outputs
            .lines()
            .find(|line| line.starts_with("kelvin-report-"));
        line.expect("it names its artifact").to_owned()
    };
    assert_ne!(name, NAME);
    let mut state = rig.server.state();
    state
        .artifacts
        .values_mut()
        .for_each(|artifact| artifact.name.clone_from(&name));
    drop(state);
    post(&mut rig, run).expect(0);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0].contains("❌ Kelvin (rag): regression"),
        "{}",
        comments[0]
    );
    // Where another one is asked for, the reason says what there is.
    let said = post_with(&mut rig, run, &["--configuration", "other"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"The run failed and left no result: run 101 has no artifact `kelvin-report-other`, but it has those of `rag`: the input `configuration` of `post/` names the one to publish, and `config` its file");
    assert_eq!(rig.comments().len(), 1);
}

/// A bundle that is longer than that of some six thousand cases.
#[test]
fn the_bundle_of_a_large_suite_is_read() {
    let mut rig = Rig::new(GROUNDED);
    let bundle = bundle_of(&mut rig, 0);
    let mut text = String::from_utf8(bundle).expect("it is text");
    text.push_str(&" ".repeat(33 * 1024 * 1024));
    let run = ended_with(&rig, "success", b"");
    let zip = archive::stored("bundle.json", text.as_bytes());
    {
        let mut state = rig.server.state();
        state
            .artifacts
            .values_mut()
            .for_each(|artifact| artifact.zip.clone_from(&zip));
    }
    post(&mut rig, run).expect(0);
    assert!(rig.comments()[0].contains(PASS), "{}", rig.comments()[0]);
}
