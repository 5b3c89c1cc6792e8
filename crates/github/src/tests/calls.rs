//! Every call once, and the pages.

use super::super::fake::{
    APP, HEAD, PERSON, PULL, REPOSITORY, REPOSITORY_ID, Server, TOKEN, archive,
};
use super::super::{Error, Remark};
use super::client;

#[test]
fn every_page_of_250_comments_is_read_in_three_requests() {
    let server = Server::start();
    for number in 0..250 {
        server
            .state()
            .add_comment("somebody", &format!("comment {number}"));
    }
    let (client, _) = client(&server, TOKEN);
    let comments = client.comments(PULL, 1).expect("they are read");
    assert_eq!(comments.len(), 250);
    assert_eq!(comments[249].body.as_deref(), Some("comment 249"));
    assert_eq!(client.requests(), 3);
}

#[test]
fn a_comment_is_created_changed_and_deleted_twice() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let comment = client.create_comment(PULL, "one").expect("created");
    assert!(comment.is_by("github-actions[bot]"));
    let changed = client.update_comment(comment.id, "two").expect("changed");
    assert_eq!(changed.body.as_deref(), Some("two"));
    client.delete_comment(comment.id).expect("deleted");
    client.delete_comment(comment.id).expect("gone is as good");
    assert!(server.state().comments.is_empty());
}

#[test]
fn the_workflow_s_token_may_not_ask_who_it_is_and_a_person_may() {
    let server = Server::start();
    for (token, login) in [
        (TOKEN, "github-actions[bot]"),
        (APP, "github-actions[bot]"),
        (PERSON, "somebody"),
    ] {
        let (client, waits) = client(&server, token);
        assert_eq!(client.viewer().expect("known"), login);
        assert!(waits.lock().expect("no panic").is_empty());
    }
}

#[test]
fn a_check_run_is_created_found_again_and_changed() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let run = client
        .create_check_run("Kelvin: rag", HEAD, "7/1")
        .expect("created");
    let found = client
        .check_run_of("Kelvin: rag", HEAD, "7/1")
        .expect("asked");
    assert_eq!(found.as_ref(), Some(&run));
    assert_eq!(
        client
            .check_run_of("Kelvin: rag", HEAD, "7/2")
            .expect("asked"),
        None
    );
    assert_eq!(
        client.check_run_of("other", HEAD, "7/1").expect("asked"),
        None
    );
    let remark = Remark {
        path: "cases/a.md".to_owned(),
        start_line: 3,
        end_line: 3,
        annotation_level: "warning",
        title: "moved".to_owned(),
        message: "the decision moved".to_owned(),
    };
    let change = serde_json::json!({
        "status": "completed", "conclusion": "failure",
        "output": { "title": "t", "summary": "s", "annotations": [remark] },
    });
    client.update_check_run(run.id, &change).expect("changed");
    let state = server.state();
    assert_eq!(state.check_runs[&run.id]["conclusion"], "failure");
    assert_eq!(state.annotations[&run.id][0]["start_line"], 3);
}

#[test]
fn pull_requests_are_found_by_number_and_by_branch() {
    let server = Server::start();
    {
        let mut state = server.state();
        let mut fork = state.pulls[&PULL].clone();
        fork.head_repository = "stranger/widgets".to_owned();
        state.pulls.insert(8, fork);
        let mut closed = state.pulls[&PULL].clone();
        closed.state = "closed";
        state.pulls.insert(9, closed);
        let mut odd = state.pulls[&PULL].clone();
        odd.head_branch = "a&b #ü".to_owned();
        state.pulls.insert(10, odd);
    }
    let (client, _) = client(&server, TOKEN);
    let request = client.pull_request(PULL).expect("it is there");
    assert_eq!((&*request.head.sha, &*request.base.branch), (HEAD, "main"));
    assert_eq!(request.head.repo.expect("it has one").id, REPOSITORY_ID);
    let numbers = |owner: &str, branch: &str| -> Vec<u64> {
        let found = client.pull_requests_of(owner, branch).expect("asked");
        found.iter().map(|request| request.number).collect()
    };
    assert_eq!(numbers("acme", "feature"), [7]);
    assert_eq!(numbers("stranger", "feature"), [8]);
    assert_eq!(numbers("acme", "a&b #ü"), [10]);
    assert!(numbers("acme", "none").is_empty());
}

#[test]
fn runs_and_artifacts_are_read_and_the_storage_never_sees_the_token() {
    let server = Server::start();
    let zip = archive::zip(&[("report.json", b"{}")]);
    let run = server.state().add_run(HEAD);
    let id = server
        .state()
        .add_artifact("kelvin report", run, zip.clone());
    server.state().add_artifact("other", run, Vec::new());
    let (client, _) = client(&server, TOKEN);
    let found = client.run(run).expect("it is there");
    assert_eq!(
        (&*found.event, found.workflow()),
        ("push", ".github/workflows/kelvin.yml")
    );
    assert_eq!(found.repository.full_name, REPOSITORY);
    let artifacts = client.artifacts("kelvin report").expect("listed");
    assert_eq!(artifacts.len(), 1);
    let origin = artifacts[0].workflow_run.as_ref().expect("it has one");
    assert_eq!(origin.head_repository_id, Some(REPOSITORY_ID));
    assert_eq!(client.artifacts_of(run, "other").expect("listed").len(), 1);
    // The storage is another port; it breaks the test where it is shown an `authorization`.
    assert_eq!(client.download(id, 1_000_000).expect("had"), zip);
    let error = client.download(id, 10).expect_err("it is longer");
    let Error::Unreadable { why, .. } = error else {
        panic!("it is read: {error}")
    };
    insta::assert_snapshot!(why, @"it is longer than 10 bytes");
}

#[test]
fn github_enterprise_server_has_its_api_below_a_prefix() {
    let server = Server::below("/api/v3");
    let (client, _) = client(&server, TOKEN);
    assert_eq!(
        client.repository_facts().expect("read").default_branch,
        "main"
    );
    client.create_comment(PULL, "hello").expect("created");
    let run = server.state().add_run(HEAD);
    let id = server.state().add_artifact("a", run, b"zip".to_vec());
    assert_eq!(client.download(id, 100).expect("had"), b"zip");
    let state = server.state();
    assert!(
        state
            .log
            .iter()
            .all(|request| request.path.starts_with("/api/v3/"))
    );
}

#[test]
fn the_pull_requests_of_a_run_are_found_by_branch_repository_and_commit() {
    let server = Server::start();
    let run = server.state().add_run(HEAD);
    let fork = "stranger/widgets".to_owned();
    {
        let mut state = server.state();
        let found = state.runs.get_mut(&run).expect("there");
        found.event = "pull_request";
        found.head_branch = "feature".to_owned();
        found.head_repository = (2002, fork.clone());
        let mut theirs = state.pulls[&PULL].clone();
        theirs.head_repository = fork;
        state.pulls.insert(8, theirs);
    }
    let (client, _) = client(&server, TOKEN);
    let of = |run: u64| -> Vec<u64> {
        let run = client.run(run).expect("there");
        let found = client.pull_requests_of_run(&run).expect("asked");
        found.iter().map(|request| request.number).collect()
    };
    assert_eq!(of(run), [8], "not 7, whose branch has the same name");
    {
        let mut state = server.state();
        let mut second = state.pulls[&8].clone();
        second.base_branch = "release".to_owned();
        state.pulls.insert(9, second);
    }
    assert_eq!(of(run), [8, 9], "GitHub does not say which of them it was");
    server.state().pulls.get_mut(&8).expect("there").head_sha = "b".repeat(40);
    assert_eq!(of(run), [9], "the other one has moved on");
    let mut state = server.state();
    state.runs.get_mut(&run).expect("there").head_repository = (7, "acme/widgets".to_owned());
    drop(state);
    assert!(of(run).is_empty());
}
