//! What a push has measured with a token that can only read, and the second workflow that keeps it.

use super::*;
use crate::github::{Run, archive};
use kelvin_fixtures::text::{lines_with, redacted};

/// A push to `main` that was measured, with what its run has left as an artifact.
struct Pushed {
    rig: Rig,
    tip: String,
    run: u64,
}

fn reports(rig: &Rig) -> String {
    let remote = rig.remote.path();
    let is_there = git(remote, &["branch", "--list", "kelvin-reports"]);
    match is_there.is_empty() {
        true => String::new(),
        false => git(remote, &["ls-tree", "-r", "--name-only", "kelvin-reports"]),
    }
}

impl Pushed {
    /// Merges the change, and measures the push as the workflow does.
    fn new(script: &str) -> Self {
        let mut rig = Rig::new(script);
        let root = rig.project.root().to_path_buf();
        git(&root, &["checkout", "--quiet", "-B", "main", "HEAD"]);
        git(&root, &["push", "--quiet", "origin", "main"]);
        git(rig.remote.path(), &["branch", "-D", "kelvin-reports"]);
        git(
            &root,
            &["update-ref", "-d", "refs/remotes/origin/kelvin-reports"],
        );
        let tip = git(&root, &["rev-parse", "HEAD"]);
        let mut payload = rig.payload("push");
        payload["after"] = tip.as_str().into();
        let ran = rig.ci(
            "push",
            &payload,
            &["--comment", "later", "--base-repeats", "2"],
        );
        ran.expect(0);
        assert_eq!(reports(&rig), "", "the run that measures writes nothing");
        let run = rig.run;
        let mut pushed = Self { rig, tip, run };
        let bundle = fs::read(pushed.rig.project.path("kelvin/bundle.json")).expect("it left one");
        pushed.leaves(&bundle);
        pushed
    }

    /// GitHub knows the run, and has its artifact.
    fn leaves(&mut self, bundle: &[u8]) {
        let config = self.rig.project.read("kelvin.yaml");
        let mut state = self.rig.server.state();
        let file = (self.tip.clone(), "kelvin.yaml".to_owned());
        state.files.insert(file, config);
        state.artifacts.clear();
        state.runs.insert(
            self.run,
            Run {
                event: "push",
                path: ".github/workflows/kelvin.yml".to_owned(),
                head_branch: "main".to_owned(),
                head_sha: self.tip.clone(),
                head_repository: (crate::github::REPOSITORY_ID, REPOSITORY.to_owned()),
                pull_requests: Vec::new(),
                conclusion: "success",
            },
        );
        state.add_artifact(
            "kelvin-report-kelvin",
            self.run,
            archive::zip(&[("bundle.json", bundle)]),
        );
    }

    fn change(&self, change: impl FnOnce(&mut Run)) {
        change(
            self.rig
                .server
                .state()
                .runs
                .get_mut(&self.run)
                .expect("there"),
        );
    }

    /// Runs the second workflow; all that it says stands in `stdout`.
    fn post(&mut self) -> Said {
        let run = self.run;
        let said = forks::post(&mut self.rig, run);
        let stdout = said.stdout + &said.stderr;
        Said {
            stdout,
            stderr: String::new(),
            ..said
        }
    }

    fn bundle(&self) -> Value {
        let text = fs::read(self.rig.project.path("kelvin/bundle.json")).expect("it left one");
        serde_json::from_slice(&text).expect("it is JSON")
    }
}

#[test]
fn the_second_workflow_keeps_what_a_push_has_measured_and_a_change_is_held_against_it() {
    let mut pushed = Pushed::new(GROUNDED);
    let said = pushed.post().expect(0);
    assert!(said.stdout.contains("saved"), "{}", said.stdout);
    let kept = reports(&pushed.rig);
    assert!(kept.contains(&pushed.tip), "{kept}");
    assert!(pushed.rig.comments().is_empty());
    // It is kept once, however often the second workflow runs.
    pushed.post().expect(0);
    assert_eq!(reports(&pushed.rig), kept);
    // A later change that hurts is red beside it.
    let Pushed { rig, tip, .. } = &mut pushed;
    branch(&rig.project, "worse", CONSTANT);
    rig.head = git(rig.project.root(), &["rev-parse", "HEAD"]);
    rig.base.clone_from(tip);
    let ran = rig.on("pull_request", &["--comment", "later"]).expect(3);
    assert!(ran.outputs.contains("regression"), "{}", ran.outputs);
    let judgement = rig.project.json("kelvin/gate.json");
    assert_eq!(judgement["base"]["source"], "branch");
    assert_eq!(judgement["base"]["commit"], tip.as_str());
}

#[test]
fn a_run_that_is_no_push_to_the_default_branch_never_becomes_a_base() {
    let mut pushed = Pushed::new(GROUNDED);
    // A branch of a writer, with a workflow of the same name.
    pushed.change(|run| run.head_branch = "feature".to_owned());
    let said = pushed.post().expect(0);
    insta::assert_snapshot!(said.stdout, @"run 101 is of a push to another branch than `main`: its report is not kept, and stays an artifact");
    // A fork's push, however it calls its branch.
    pushed.change(|run| {
        run.head_branch = "main".to_owned();
        run.head_repository = (2002, "stranger/widgets".to_owned());
    });
    assert_ne!(pushed.post().code, Some(0));
    // A tag that is called `main`, at a commit that was never merged.
    let root = pushed.rig.project.root().to_path_buf();
    git(&root, &["checkout", "--quiet", "-b", "apart"]);
    pushed.rig.project.write("apart.txt", "apart\n");
    let apart = commit(&pushed.rig.project, "apart");
    git(&root, &["push", "--quiet", "origin", "apart"]);
    let mut bundle = pushed.bundle();
    bundle["head_sha"] = apart.as_str().into();
    bundle["report"]["run"]["session"]["commit"] = apart.as_str().into();
    pushed.leaves(bundle.to_string().as_bytes());
    let config = pushed.rig.project.read("kelvin.yaml");
    let file = (apart.clone(), "kelvin.yaml".to_owned());
    pushed.rig.server.state().files.insert(file, config);
    pushed.change(|run| {
        run.head_sha.clone_from(&apart);
        run.head_repository = (crate::github::REPOSITORY_ID, REPOSITORY.to_owned());
    });
    let said = pushed.post();
    assert_ne!(said.code, Some(0));
    insta::assert_snapshot!(redacted(&said.stdout), @"error: the commit [HASH] is not on `main`");
    assert_eq!(reports(&pushed.rig), "");
}

#[test]
fn a_bundle_of_a_push_that_is_not_what_it_says_is_not_kept() {
    let mut pushed = Pushed::new(GROUNDED);
    let honest = pushed.bundle();
    let other = git(pushed.rig.project.root(), &["rev-parse", "HEAD~1"]);
    let forged: [(&str, Value); 5] = [
        ("/run_id", "7".into()),
        ("/head_sha", other.as_str().into()),
        ("/report/run/session/commit", other.as_str().into()),
        ("/report/run/session/configuration", "other.yaml".into()),
        ("/report/metrics/evidence.sensitivity/value", 0.1.into()),
    ];
    let mut refused = Vec::new();
    for (place, value) in forged {
        let mut bundle = honest.clone();
        *bundle
            .pointer_mut(place)
            .unwrap_or_else(|| panic!("{place}")) = value;
        pushed.leaves(bundle.to_string().as_bytes());
        let said = pushed.post();
        assert!(
            !matches!(said.code, Some(0 | 101)),
            "{place}: {}",
            said.stdout
        );
        refused.push(redacted(&lines_with(&said.stdout, &["error: "])));
        assert_eq!(reports(&pushed.rig), "", "{place}");
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    error: The result that the run left is not its own: the bundle names another run than the run it comes from
    error: The result that the run left is not its own: the bundle names another commit than the run it comes from
    error: the report is of another commit than the one at hand
    error: the report was measured with the configuration `other.yaml`, and `kelvin.yaml` is to be saved
    error: the report has figures that its own records do not give (kelvin [VERSION] wrote it, and this is kelvin [VERSION]; use one version of the action in both workflows)
    ");
    // A run that may write has kept its report itself, and leaves nothing for the second workflow.
    pushed
        .rig
        .server
        .state()
        .artifacts
        .values_mut()
        .for_each(|artifact| {
            artifact.zip = archive::zip(&[("report.json", b"{}")]);
        });
    let said = pushed.post().expect(0);
    insta::assert_snapshot!(said.stdout, @"The run left no result for `post/`: its artifact `kelvin-report-kelvin` has no `bundle.json`: a run that may write publishes its result itself");
    // A run that goes on is kept when it ends.
    pushed.leaves(honest.to_string().as_bytes());
    pushed.post().expect(0);
    assert!(reports(&pushed.rig).contains(&pushed.tip));
}
