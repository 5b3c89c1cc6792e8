//! A comment that approves, in the workflow of the default branch.

use super::*;

#[test]
#[ignore = "takes `act`; `tests/action/act` runs it"]
fn a_comment_that_approves_runs_the_job_again_which_passes() {
    let act = std::env::var_os("KELVIN_ACT").expect("`tests/action/act` says where it is");
    let mut rig = Rig::new(PathBuf::from(act));
    let config = fs::read_to_string(rig.path("work/kelvin.yaml")).expect("read");
    let config = config.replace(
        "deterministic: true",
        "deterministic: true, approval: {by: [alice]}",
    );
    rig.write("kelvin.yaml", &config);
    let (base, _) = rig.begin();
    {
        let mut state = rig.api.state();
        let place = ("main".to_owned(), "kelvin.yaml".to_owned());
        state.files.insert(place, config);
        state.rights.insert("alice".to_owned(), "write");
    }
    rig.git(&["checkout", "--quiet", "-b", "feature"]);
    rig.pipeline("examples/position-biased/pipeline.py");
    let head = rig.push("what stands first");
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(!ran.succeeded, "{}", ran.log);
    assert!(
        ran.outputs().starts_with("pending_approval "),
        "{}",
        ran.outputs()
    );
    let run = rig.run;
    let comment = |rig: &mut Rig, who: &str, text: &str| {
        {
            let mut state = rig.api.state();
            state.now += 60;
            state.add_comment(who, text);
        }
        let payload = json!({
            "action": "created",
            "issue": { "number": PULL, "pull_request": { "url": "https://github.example/x" } },
            "comment": { "body": text, "user": { "login": who } },
            "repository": { "full_name": REPOSITORY, "default_branch": "main" },
        });
        rig.act("issue_comment", &payload, "refs/heads/main")
    };
    let ended = github::Run {
        event: "pull_request",
        path: ".github/workflows/kelvin.yml".to_owned(),
        head_branch: "feature".to_owned(),
        head_sha: head.clone(),
        head_repository: (1001, REPOSITORY.to_owned()),
        pull_requests: vec![PULL],
        conclusion: "failure",
    };
    rig.api.state().runs.insert(run, ended);

    // A comment that is no command starts nothing, and an outsider's changes nothing.
    for (who, text) in [("alice", "Looks odd."), ("eve", "/kelvin approve x")] {
        let ran = comment(&mut rig, who, text);
        assert!(ran.succeeded, "{}", ran.log);
        assert!(rig.api.state().run_again.is_empty(), "{text}");
    }
    let ran = comment(
        &mut rig,
        "alice",
        "/kelvin approve the old answers were wrong",
    );
    assert!(ran.succeeded, "{}", ran.log);
    assert_eq!(rig.api.state().run_again, [run], "{}", ran.log);
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(ran.succeeded, "{}", ran.log);
    assert!(
        ran.outputs().starts_with("regression "),
        "{}",
        ran.outputs()
    );
    let comments = rig.comments();
    assert!(
        comments
            .iter()
            .any(|(_, body)| body.contains("approved by `alice`")),
        "{comments:?}"
    );
}
