//! Pull requests that touch only files which the base lists as harmless, in both halves of the pair.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

const LIST: &str = "harmless: [docs/**, README.md]\n\
                    variants: {reorder: 1, pad_length: 1, pad_content: 1, swap: 1}\n";

fn counted(script: &str) -> String {
    format!("echo x >> ../calls.log\n{script}")
}

/// A pull request with this pipeline that also edits a page.
fn rig(script: &str) -> Rig {
    let (remote, url) = bare();
    let project = pushed(&url, &counted(GROUNDED));
    project.config(LIST);
    project.write("docs/a.md", "A.\n");
    commit(&project, "with a list");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    let edit = |project: &Project| project.write("docs/a.md", "AA.\n");
    let rig = Rig::requested(Server::start(), (project, remote), &counted(script), edit);
    forget(&rig);
    rig
}

fn forget(rig: &Rig) {
    fs::write(rig.project.path("../calls.log"), "").expect("written");
}

fn calls(rig: &Rig) -> usize {
    rig.project.read("../calls.log").lines().count()
}

fn bundle(rig: &Rig) -> Value {
    let text = fs::read(rig.project.path("kelvin/bundle.json")).expect("it left one");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// Runs the second half on a bundle of a run that has ended well.
fn post(rig: &mut Rig, bundle: &Value) -> (Said, String) {
    let run = forks::ended_with(rig, "success", bundle.to_string().as_bytes());
    let said = forks::post(rig, run);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{}", said.stderr);
    (said, comments[0].clone())
}

#[test]
fn a_pull_request_that_touches_pages_alone_is_green_without_a_call() {
    let mut rig = rig(GROUNDED);
    let ran = rig.on("pull_request", &["--check-run"]).expect(0);
    assert_eq!(calls(&rig), 0, "{}", ran.said.stderr);
    assert!(ran.outputs.contains("unaffected"), "{}", ran.outputs);
    assert!(
        ran.summary.contains("### ✅ Kelvin: unaffected"),
        "{}",
        ran.summary
    );
    let comment = &rig.comments()[0];
    insta::assert_snapshot!(redacted(&lines_with(comment, &["### ", "`docs/a.md`"])), @"
    ### ✅ Kelvin: unaffected
    **Nothing was run: the change touches only `docs/a.md`, which `harmless` of the base [HASH] lists**
    - Nothing was run: the change touches only `docs/a.md`, which `harmless` of the base [HASH] lists
    ");
    let (status, conclusion, _) = &rig.checks()[0];
    assert_eq!(
        (status.as_str(), conclusion.as_str()),
        (Some("completed"), Some("success"))
    );
    // In the queue the change is the same.
    let ran = rig.on("merge_group", &[]).expect(0);
    assert!(ran.outputs.contains("unaffected"), "{}", ran.outputs);
    assert_eq!(calls(&rig), 0);
}

#[test]
fn a_push_of_pages_is_measured_and_kept_so_that_later_changes_have_a_base() {
    let mut rig = rig(GROUNDED);
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "-B", "main", "HEAD"]);
    git(&root, &["push", "--quiet", "origin", "main"]);
    let tip = git(&root, &["rev-parse", "HEAD"]);
    let mut payload = rig.payload("push");
    payload["after"] = tip.as_str().into();
    let ran = rig.ci("push", &payload, &[]).expect(0);
    assert!(calls(&rig) > 0, "{}", ran.said.stdout);
    assert!(!ran.outputs.contains("unaffected"), "{}", ran.outputs);
    let kept = git(
        rig.remote.path(),
        &["ls-tree", "-r", "--name-only", "kelvin-reports"],
    );
    assert!(kept.contains(&tip), "{kept}");
}

#[test]
fn the_second_half_comes_to_the_same_word_by_itself_and_shows_the_figures_that_are_kept() {
    let mut rig = rig(GROUNDED);
    let ran = rig.on("pull_request", &["--comment", "later"]).expect(0);
    assert_eq!(calls(&rig), 0, "{}", ran.said.stderr);
    let honest = bundle(&rig);
    let (said, comment) = post(&mut rig, &honest);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    insta::assert_snapshot!(lines_with(&comment, &["### ", "`main`"]), @"
    ### ✅ Kelvin: unaffected
    > Nothing of the pull request was run. The files that it touches were looked at again, with the rules and the report of `main`, and the figures are those that are kept for its base.
    ");
    // Figures that the run made up are not shown.
    let mut forged = honest.clone();
    forged["report"]["metrics"]["evidence.sensitivity"]["n"] = 987_654.into();
    forged["judgement"]["metrics"]["evidence.sensitivity"]["head"] = 0.123.into();
    let (said, comment) = post(&mut rig, &forged);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        !comment.contains("987654") && !comment.contains("0.12"),
        "{comment}"
    );
    // Meanwhile the branch has got something else, which is no part of the change.
    let root = rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "--force", "main"]);
    rig.project.write("pipeline.sh", &counted("# another\n"));
    commit(&rig.project, "another pipeline");
    git(&root, &["push", "--quiet", "origin", "main"]);
    let (said, comment) = post(&mut rig, &honest);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(comment.contains("### ✅ Kelvin: unaffected"), "{comment}");
}

#[test]
fn a_fork_that_says_it_needs_no_run_is_not_believed_where_it_touches_code() {
    // What an honest run on pages leaves, as a pattern for the forged ones.
    let mut pages = rig(GROUNDED);
    pages.on("pull_request", &["--comment", "later"]).expect(0);
    let honest = bundle(&pages);
    let mut rig = rig(CONSTANT);
    rig.on("pull_request", &["--comment", "later"]).expect(3);
    assert!(calls(&rig) > 0);
    let red = bundle(&rig);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut forged = red.clone();
        change(&mut forged);
        forged
    };
    let says_so = |forged: &mut Value| {
        forged["judgement"]["verdict"] = "unaffected".into();
        forged["judgement"]["passed"] = true.into();
    };
    let copied = |forged: &mut Value| {
        let session = forged["report"]["run"]["session"].clone();
        forged["report"] = honest["report"].clone();
        let mark = &mut forged["report"]["run"]["session"];
        mark["commit"] = session["commit"].clone();
        mark["copied_from"] = serde_json::json!({ "base": rig.base, "measured": rig.base });
    };
    let forged = [
        ("the word", with(&says_so)),
        (
            "a copy of the base",
            with(&|forged| {
                copied(forged);
                says_so(forged);
            }),
        ),
        (
            "a copy that passes",
            with(&|forged| {
                copied(forged);
                says_so(forged);
                forged["judgement"]["verdict"] = "pass".into();
            }),
        ),
        (
            "a base that is none",
            with(&|forged| {
                copied(forged);
                says_so(forged);
                forged["report"]["run"]["session"]["copied_from"]["base"] =
                    forged["head_sha"].clone();
            }),
        ),
    ];
    for (what, forged) in forged {
        let (said, comment) = post(&mut rig, &forged);
        assert!(
            !matches!(said.code, Some(0 | 101)),
            "{what}: {}",
            said.stdout
        );
        assert!(comment.contains("### ❌"), "{what}: {comment}");
        assert!(comment.contains("pipeline.sh"), "{what}: {comment}");
        assert!(
            said.stderr.contains("`unmeasured`"),
            "{what}: {}",
            said.stderr
        );
    }
}
