//! What a hostile client costs, and what it can hide.

use super::*;
use crate::services::http_mock::ledger::{MOST_BODY, MOST_LOGGED, MOST_REQUESTS};

/// Many requests over one connection, whose answers are read and thrown away.
fn flood(mock: &Mock, requests: usize, request: impl Fn(usize) -> String) {
    let mut stream = mock.connect();
    let mut answers = stream.try_clone().expect("a second end");
    let reader = std::thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
    let mut sent = String::new();
    for at in 0..requests {
        sent.push_str(&request(at));
        if sent.len() > 1 << 16 {
            stream.write_all(sent.as_bytes()).expect("sent");
            sent.clear();
        }
    }
    sent.push_str("GET /last?end=1 HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n");
    stream.write_all(sent.as_bytes()).expect("sent");
    reader.join().expect("read").expect("answered");
}

#[test]
fn a_flood_of_100_000_requests_costs_its_limit_and_hides_nothing() {
    let mock = Mock::plain();
    flood(&mock, 99_999, |at| {
        let path = if at == 60_000 { "/pay" } else { "/poll" };
        format!("GET {path}?at={at} HTTP/1.1\r\nHost: m\r\n\r\n")
    });
    let record = mock.record();
    assert_eq!(record.requests.len(), MOST_REQUESTS);
    let count = |filters: Value| seen(&record, "request_count", filters);
    assert_eq!(count(json!({})), FieldSeen::Value(json!(100_000)));
    // Nobody can tell whether one was to be hidden in the flood.
    for filters in [
        json!({"path": "/pay"}),
        json!({"path": "/never"}),
        json!({"to": "x"}),
    ] {
        assert!(
            matches!(count(filters.clone()), FieldSeen::Unknown(why) if why.contains("first 10000 of 100000"))
        );
    }
    for field in [
        "last_request.path",
        "requests[0].path",
        "requests[10000].path",
    ] {
        assert!(
            matches!(seen(&record, field, json!({})), FieldSeen::Unknown(_)),
            "{field}"
        );
    }
    let log = mock.log();
    assert_eq!(log.len(), MOST_REQUESTS + 1);
    let last = log.last().expect("a line");
    assert_eq!(
        *last,
        json!({"type": "http_calls_cut", "details": {"service": "smtp", "kept": MOST_REQUESTS}})
    );
}

#[test]
fn of_large_bodies_the_beginning_is_kept_and_nothing_is_claimed_of_the_rest() {
    let mock = Mock::plain();
    for _ in 0..20 {
        let body = format!(
            "{{\"to\": \"a\", \"x\": \"{}\"}}",
            "y".repeat(2 * MOST_BODY)
        );
        mock.ask("POST /large", "", &body);
    }
    mock.ask("GET /small", "", "");
    let record = mock.record();
    let kept: usize = record
        .requests
        .iter()
        .map(|request| request.body.len())
        .sum();
    assert!(kept <= 32 << 20, "{kept}");
    assert!(record.requests[0].size > 2 * MOST_BODY as u64);
    for field in ["requests[0].body", "requests[0].body.to"] {
        let body = seen(&record, field, json!({}));
        assert!(
            matches!(body, FieldSeen::Unknown(why) if why.contains("1048576")),
            "{field}"
        );
    }
    let count = |filters: Value| seen(&record, "request_count", filters);
    assert_eq!(count(json!({})), FieldSeen::Value(json!(21)));
    assert_eq!(
        count(json!({"path": "/large"})),
        FieldSeen::Value(json!(20))
    );
    assert!(matches!(count(json!({"to": "a"})), FieldSeen::Unknown(_)));
    let line = &mock.log()[0]["details"];
    let logged = line["request_body"].as_str().expect("a text");
    assert_eq!((logged.len(), &line["is_cut"]), (MOST_LOGGED, &json!(true)));
}

#[test]
fn large_heads_and_many_connections_have_their_limits() {
    let mock = Mock::plain();
    let answer = mock.ask("GET /x", &format!("X: {}\r\n", "y".repeat(200_000)), "");
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{}",
        answer.len()
    );
    // Those that say nothing are in the way of nobody but themselves.
    let silent: Vec<TcpStream> = (0..90).map(|_| mock.connect()).collect();
    let answer = mock.ask("GET /x", "", "");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    drop(silent);
    let all: Vec<TcpStream> = (0..150).map(|_| mock.connect()).collect();
    drop(all);
    let answer = mock.ask("GET /x", "", "");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert_eq!(mock.record().total, 2);
}

#[test]
fn a_body_that_is_encoded_hides_nothing_from_a_check() {
    let mock = Mock::plain();
    mock.ask("POST /x", "Content-Encoding: gzip\r\n", "whatever");
    mock.ask(
        "POST /y",
        "Content-Encoding: identity\r\n",
        r#"{"to": "a"}"#,
    );
    let record = mock.record();
    assert!(matches!(
        seen(&record, "requests[0].body", json!({})),
        FieldSeen::Unknown(_)
    ));
    assert!(matches!(
        seen(&record, "request_count", json!({"to": "a"})),
        FieldSeen::Unknown(_)
    ));
    assert_eq!(
        value(&record, "request_count", json!({"to": "a", "path": "/y"})),
        json!(1)
    );
}

#[test]
fn a_log_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = OpenOptions::new()
        .append(true)
        .open("/dev/full")
        .expect("Linux has it");
    let routes = Routes::of(&keys(json!({"record": true}))).expect("nothing is wrong");
    let server = MockServer::start("smtp", Arc::new(routes), Some(full)).expect("started");
    let mock = Mock { folder, server };
    mock.ask("GET /x", "", "");
    let why = mock.server.settle().expect_err("the disk is full");
    insta::assert_snapshot!(why, @"the audit log could not be written: No space left on device (os error 28)");
}
