//! What the client makes of a no, of silence and of nonsense.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use super::super::error::Surface;
use super::super::fake::{Fault, HEAD, PULL, REPOSITORY, Response, Server, TOKEN};
use super::super::{Access, Client, Error, MOST_REQUESTS};
use super::client;

fn limited(status: u16, header: &str, value: &str) -> Fault {
    let body = serde_json::json!({ "message": "You have exceeded a secondary rate limit" });
    Fault {
        method: "POST",
        path: "/comments",
        times: 1,
        answer: Some(Response::json(status, &body).with(header, value)),
        effective: false,
    }
}

#[test]
fn a_refusal_on_every_surface_names_the_permission_to_add() {
    let server = Server::start();
    server
        .state()
        .denied
        .extend(["comments", "checks", "pulls", "actions", "contents"]);
    let (client, waits) = client(&server, TOKEN);
    let errors = [
        (
            client.create_comment(PULL, "x").map(drop),
            "pull-requests: write",
        ),
        (
            client.create_check_run("k", HEAD, "1").map(drop),
            "checks: write",
        ),
        (client.pull_request(PULL).map(drop), "pull-requests: read"),
        (client.run(1).map(drop), "actions: read"),
        (client.artifacts("k").map(drop), "actions: read"),
        (client.download(1, 10).map(drop), "actions: read"),
        (client.repository_facts().map(drop), "contents: read"),
    ];
    for (result, permission) in errors {
        let error = result.expect_err("it is refused");
        let text = error.to_string();
        assert_eq!(error.status(), Some(403), "{text}");
        assert!(text.contains(permission), "{text}");
        assert!(
            text.contains("Resource not accessible by integration"),
            "{text}"
        );
        let writes = permission.ends_with("write");
        assert_eq!(text.contains("`workflow_run`"), writes, "{text}");
    }
    assert!(
        waits.lock().expect("no panic").is_empty(),
        "a no is not asked for twice"
    );
}

#[test]
fn a_read_survives_502_and_a_broken_connection_and_backs_off() {
    let server = Server::start();
    server
        .state()
        .faults
        .push_back(Fault::status("GET", "/pulls/7", 2, 502));
    server.state().faults.push_back(Fault {
        answer: None,
        ..Fault::status("GET", "/pulls/7", 1, 0)
    });
    let (client, waits) = client(&server, TOKEN);
    assert_eq!(client.pull_request(PULL).expect("at last").number, PULL);
    let waits = waits.lock().expect("no panic").clone();
    assert_eq!((waits.len(), client.requests()), (3, 4));
    for (at, wait) in waits.iter().enumerate() {
        let least = Duration::from_millis(500 << at);
        assert!(*wait >= least && *wait <= least * 3, "{waits:?}");
    }
}

#[test]
fn a_lasting_502_is_given_up_after_four_requests() {
    let server = Server::start();
    server
        .state()
        .faults
        .push_back(Fault::status("GET", "/pulls/7", 100, 502));
    let (client, _) = client(&server, TOKEN);
    let error = client.pull_request(PULL).expect_err("GitHub is down");
    assert_eq!((error.status(), client.requests()), (Some(502), 4));
    insta::assert_snapshot!(error.to_string(), @"the pull request: GitHub answered 502 (injected by the test); GitHub is in trouble; run the job again later");
}

#[test]
fn a_post_that_may_have_had_its_effect_is_not_sent_again() {
    let server = Server::start();
    let fault = Fault::status("POST", "/comments", 1, 502);
    server.state().faults.push_back(Fault {
        effective: true,
        ..fault
    });
    let (client, _) = client(&server, TOKEN);
    let error = client
        .create_comment(PULL, "x")
        .expect_err("it is not known");
    assert!(error.is_unsure());
    assert_eq!(server.state().comments.len(), 1);
}

#[test]
fn a_limit_is_waited_for_as_long_as_github_asks_even_by_a_post() {
    for status in [403, 429] {
        let server = Server::start();
        server
            .state()
            .faults
            .push_back(limited(status, "retry-after", "17"));
        let (client, waits) = client(&server, TOKEN);
        client.create_comment(PULL, "x").expect("the second time");
        let waits = waits.lock().expect("no panic").clone();
        assert!(
            waits.len() == 1 && waits[0] >= Duration::from_secs(17),
            "{waits:?}"
        );
        assert!(waits[0] < Duration::from_secs(19), "{waits:?}");
        assert_eq!(server.state().comments.len(), 1);
    }
}

#[test]
fn a_limit_of_an_hour_is_told_and_not_waited_for() {
    let server = Server::start();
    server
        .state()
        .faults
        .push_back(limited(429, "retry-after", "3600"));
    let (client, waits) = client(&server, TOKEN);
    let error = client.create_comment(PULL, "x").expect_err("too long");
    assert!(error.to_string().contains("wait 3600 s"), "{error}");
    assert!(waits.lock().expect("no panic").is_empty());
}

#[test]
fn a_limit_without_a_time_is_waited_for_a_minute() {
    let server = Server::start();
    server
        .state()
        .faults
        .push_back(limited(403, "x-other", "1"));
    let (client, waits) = client(&server, TOKEN);
    client.create_comment(PULL, "x").expect("the second time");
    assert!(waits.lock().expect("no panic")[0] >= Duration::from_secs(60));
}

#[test]
fn no_run_makes_more_requests_than_its_limit() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    for _ in 0..MOST_REQUESTS {
        client.pull_request(PULL).expect("within the limit");
    }
    let error = client.pull_request(PULL).expect_err("over the limit");
    assert_eq!(error, Error::Spent(Surface::PullRequest));
    assert!(error.to_string().contains(&MOST_REQUESTS.to_string()));
    assert_eq!(server.state().log.len(), MOST_REQUESTS);
}

#[test]
fn a_token_that_is_not_known_or_cannot_be_one_is_never_shown() {
    let server = Server::start();
    let (client, _) = client(&server, "ghs_unknown_secret");
    let error = client.pull_request(PULL).expect_err("it is not known");
    assert_eq!(error.status(), Some(401));
    let body = serde_json::json!({ "message": "no ghs_unknown_secret here" });
    let echo = Fault {
        answer: Some(Response::json(400, &body)),
        ..Fault::status("GET", "/pulls", 1, 0)
    };
    server.state().faults.push_back(echo);
    let echoed = client.pull_request(PULL).expect_err("it is refused");
    for text in [error.to_string(), echoed.to_string(), format!("{client:?}")] {
        assert!(!text.contains("secret"), "{text}");
    }
    for token in ["", " ", "ghs_a\nb", "ghs_ä"] {
        let access = Access {
            api_url: server.url(),
            repository: REPOSITORY,
            token,
        };
        let error = Client::new(&access).expect_err("it is no token");
        assert!(!format!("{error:#}").contains("ghs_"), "{error:#}");
    }
}

#[test]
fn what_is_no_repository_and_no_address_is_refused_before_anything_is_sent() {
    for repository in [
        "acme",
        "acme/../x",
        "acme/..",
        "a b/c",
        "",
        "a/b/c",
        "a/b?x",
    ] {
        let access = Access {
            api_url: "https://api.github.com",
            repository,
            token: "t",
        };
        assert!(Client::new(&access).is_err(), "{repository}");
    }
    for api_url in ["", "api.github.com", "file:///x", "https://"] {
        let access = Access {
            api_url,
            repository: REPOSITORY,
            token: "t",
        };
        assert!(Client::new(&access).is_err(), "{api_url}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_in_one_line() {
    let access = Access {
        api_url: "http://127.0.0.1:1",
        repository: REPOSITORY,
        token: "ghs_secret",
    };
    let client = Client::new(&access)
        .expect("the address is one")
        .pausing(|_| ());
    let error = client
        .pull_request(PULL)
        .expect_err("nobody is there")
        .to_string();
    assert!(
        error.to_lowercase().contains("refused") && !error.contains('\n'),
        "{error}"
    );
    // What the system says of it differs.
    let ours: Vec<&str> = error.split(": ").take(2).collect();
    insta::assert_snapshot!(ours.join(": "), @"the pull request: GitHub cannot be reached");
}

#[test]
fn an_answer_that_is_no_json_is_unreadable() {
    let server = Server::start();
    let answer = Some(Response::bytes(200, b"<html>proxy".to_vec()));
    server.state().faults.push_back(Fault {
        answer,
        ..Fault::status("GET", "/pulls", 1, 0)
    });
    let (client, _) = client(&server, TOKEN);
    let error = client
        .pull_request(PULL)
        .expect_err("it is no pull request");
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
}

/// The server itself is tested: one that takes everything would prove nothing.
#[test]
fn a_request_that_github_would_not_take_is_refused_by_the_server() {
    let wrong = [
        ("POST", "/repos/acme/widgets/issues/7/comments", "{}"),
        (
            "POST",
            "/repos/acme/widgets/issues/7/comments",
            r#"{"body":7}"#,
        ),
        ("POST", "/repos/acme/widgets/check-runs", r#"{"name":"k"}"#),
        ("GET", "/repos/acme/widgets/issues/abc/comments", ""),
        (
            "GET",
            "/repos/acme/widgets/issues/7/comments?per_page=xx",
            "",
        ),
        ("GET", "/repos/acme/widgets/issues/7/comments?nope=1", ""),
        ("GET", "/repos/acme/widgets/nothing", ""),
        ("PUT", "/repos/acme/widgets/issues/7/comments", "{}"),
        (
            "PATCH",
            "/repos/acme/widgets/check-runs/1",
            r#"{"status":"completed","conclusion":"red"}"#,
        ),
    ];
    let server = Server::start();
    for (method, target, body) in wrong {
        let address = server.url().trim_start_matches("http://").to_owned();
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\nhost: x\r\nuser-agent: t\r\nauthorization: Bearer {TOKEN}\r\n\
             accept: application/vnd.github+json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(
            answer.starts_with("HTTP/1.1 4"),
            "{method} {target}: {answer}"
        );
        assert_eq!(server.violations().len(), 1, "{method} {target}");
    }
}
