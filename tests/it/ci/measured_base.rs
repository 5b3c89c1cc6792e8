//! A base that the run has measured itself, as `baseline: {compute: true}` lets it: `post/` judges by the same, and says
//! whose figures they are.

use super::endings::PASS;
use super::forks::{any_bundle_of, bundle_of, ended_with, post};
use super::*;
use kelvin_fixtures::text::lines_with;

const COMPUTE: &str = "baseline: {compute: true}\n";

fn forget_reports(rig: &Rig) {
    let root = rig.project.root();
    git(
        root,
        &["push", "--quiet", "--delete", "origin", "kelvin-reports"],
    );
}

/// What comes of a bundle of this run that was changed.
fn changed(rig: &mut Rig, bundle: &[u8], change: impl Fn(&mut Value)) -> (Said, String) {
    let mut bundle: Value = serde_json::from_slice(bundle).expect("JSON");
    change(&mut bundle);
    let text = bundle.to_string();
    rig.server.state().artifacts.clear();
    let run = ended_with(rig, "success", text.as_bytes());
    let said = post(rig, run);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{comments:?}");
    (said, comments[0].clone())
}

fn green(bundle: &mut Value) {
    bundle["judgement"]["verdict"] = "pass".into();
    bundle["judgement"]["passed"] = true.into();
}

#[test]
fn a_pass_against_a_base_that_the_run_has_measured_is_believed_and_marked_as_its_claim() {
    let mut rig = Rig::configured(Server::start(), GROUNDED, COMPUTE);
    forget_reports(&rig);
    let bundle = bundle_of(&mut rig, 0);
    let (said, comment) = changed(&mut rig, &bundle, |bundle| {
        assert!(bundle["base"].is_object(), "it has measured it");
    });
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(comment.contains(PASS), "{comment}");
    insta::assert_snapshot!(lines_with(&comment, &["`main`"]), @"> The figures are the pull request's own claim: its own code has measured them. The verdict was computed again from them, with the rules and the report of `main`. The base was measured in that run too (`baseline: {compute: true}`), so its figures are a claim as well.");
    // Without the records of the base there is nothing to judge by.
    let (said, comment) = changed(&mut rig, &bundle, |bundle| bundle["base"] = Value::Null);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(!comment.contains(PASS), "{comment}");
}

#[test]
fn a_loss_against_a_base_that_the_run_has_measured_stays_one_whatever_the_run_says() {
    let mut rig = Rig::configured(Server::start(), CONSTANT, COMPUTE);
    forget_reports(&rig);
    let bundle = bundle_of(&mut rig, 3);
    let (said, comment) = changed(&mut rig, &bundle, green);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(comment.contains("❌ Kelvin: regression"), "{comment}");
    // Another commit than the base is no base.
    let (said, comment) = changed(&mut rig, &bundle, |bundle| {
        green(bundle);
        bundle["base"] = bundle["report"].clone();
        bundle["judgement"]["base"]["commit"] = bundle["head_sha"].clone();
    });
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(comment.contains("### ❌"), "{comment}");
}

#[test]
fn where_the_base_branch_lets_no_job_measure_it_the_stored_report_alone_counts() {
    let mut rig = Rig::new(CONSTANT);
    let bundle = bundle_of(&mut rig, 3);
    let (said, comment) = changed(&mut rig, &bundle, |bundle| {
        assert!(
            bundle.get("base").is_none(),
            "it was compared with a stored one"
        );
        green(bundle);
        bundle["base"] = bundle["report"].clone();
    });
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(comment.contains("❌ Kelvin: regression"), "{comment}");
}

/// The answers depend on the day, as those of a model do: what both sides lost since the base was stored is not the
/// change's loss.
#[test]
fn a_change_that_was_measured_beside_its_base_is_not_red_for_what_the_stored_report_says() {
    let mut rig = Rig::configured(Server::start(), GROUNDED, COMPUTE);
    let root = rig.project.root().to_path_buf();
    let day = rig.project.path("../another-day");
    let script = format!(
        "if [ -e '{}' ]; then\n{CONSTANT}\nelse\n{GROUNDED}\nfi\n",
        day.display()
    );
    git(&root, &["checkout", "--quiet", "--force", "main"]);
    rig.project.write("pipeline.sh", &script);
    commit(&rig.project, "depends on the day");
    git(&root, &["push", "--quiet", "origin", "main"]);
    save(&rig.project);
    git(&root, &["checkout", "--quiet", "--force", "-B", "feature"]);
    rig.project.write("README.md", "A change of a word.\n");
    rig.head = commit(&rig.project, "a change");
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
    fs::write(&day, "").expect("written");
    let bundle = bundle_of(&mut rig, 0);
    let (said, comment) = changed(&mut rig, &bundle, |bundle| {
        assert!(bundle["base"].is_object() && bundle["judgement"]["base_reruns"] != 0);
    });
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    insta::assert_snapshot!(lines_with(&comment, &["### ", "`main`"]), @"
    ### ⚠️ Kelvin: pass, but not by the stored report of the base
    > The figures are the pull request's own claim: its own code has measured them. The verdict was computed again from them, with the rules and the report of `main`. The base was measured in that run too (`baseline: {compute: true}`), so its figures are a claim as well; by the stored report alone it would be `regression`.
    ");
}

/// A pipeline that varies, and did not change: what its job says after re-runs, its comment says too.
#[test]
fn an_unchanged_pipeline_that_varies_has_no_redder_comment_than_job() {
    let mut open = 0;
    for every in [4, 9] {
        // Its luck follows from the input and from how often that was asked before, and not from the order of calls.
        let luck = tempfile::tempdir().expect("a folder");
        let counts = luck.path().display();
        let script = format!(
            "{SUMMED}\ninput=$sum\n\
             printf . >> '{counts}/'$input; read -r asked < '{counts}/'$input\n\
             mixed \"$input ${{#asked}}\"\n\
             if [ $((mixed % {every})) = 0 ]; then printf '{{\"decision\": \"none\"}}' > \"$2\"; else\n\
             {GROUNDED}\nfi\n"
        );
        let mut rig = Rig::changed(
            Server::start(),
            (&script, &script),
            &format!("{COMPUTE}{USUAL}"),
        );
        let (job, bundle) = any_bundle_of(&mut rig);
        let judged: Value = serde_json::from_slice(&bundle).expect("JSON");
        let judged = &judged["judgement"];
        let is_open = judged["verdict"] == "inconclusive" && judged["reruns"] != 0;
        open += usize::from(is_open && job.code == Some(0));
        let (posted, comment) = changed(&mut rig, &bundle, |_| {});
        let passes = |said: &Said| said.code == Some(0);
        assert_eq!(passes(&posted), passes(&job), "1 of {every}: {comment}");
    }
    assert!(open > 0, "none of them stays open after re-runs");
}
