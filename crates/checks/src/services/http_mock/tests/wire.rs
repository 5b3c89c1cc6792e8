//! HTTP as clients speak it.

use std::thread;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn inv_14_requests_are_kept_in_their_order_with_method_path_query_headers_and_body() {
    let mock = Mock::of(json!({"record": true, "routes": [
        {"method": "POST", "path": "/api/messages", "status": 202, "json": {"ok": true}},
        {"method": "get", "path": "/plain", "body": "hello", "headers": {"X-Kind": "greeting"}},
    ]}));
    let answer = mock.ask("POST /api/messages?dry=1&to=a%40b HTTP", "", "");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let answer = mock.ask(
        "POST /api/messages?dry=1&to=a%40b",
        "X-Key: one\r\nx-key: two\r\nContent-Type: application/json\r\n",
        r#"{"to": "a@b", "parts": [{"n": 1}]}"#,
    );
    assert!(answer.starts_with("HTTP/1.1 202 Accepted"), "{answer}");
    assert!(
        answer
            .to_lowercase()
            .contains("content-type: application/json"),
        "{answer}"
    );
    assert!(answer.ends_with(r#"{"ok":true}"#), "{answer}");
    let answer = mock.ask("get /plain", "", "");
    assert!(
        answer.ends_with("hello") && answer.to_lowercase().contains("x-kind: greeting"),
        "{answer}"
    );
    let answer = mock.ask("GET /api/messages", "", "");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let record = mock.record();
    let all = |field: &str| value(&record, field, json!({}));
    assert_eq!(all("request_count"), json!(3));
    for (field, found) in [
        ("requests[0].method", json!("POST")),
        ("requests[0].path", json!("/api/messages")),
        ("requests[0].query", json!("dry=1&to=a%40b")),
        ("requests[0].query.to", json!("a@b")),
        ("requests[0].headers.X-KEY", json!("one, two")),
        ("requests[0].body.to", json!("a@b")),
        ("requests[0].body.parts[0].n", json!(1)),
        ("requests[1].method", json!("GET")),
        ("requests[1].path", json!("/plain")),
        ("last_request.path", json!("/api/messages")),
        ("last_request.method", json!("GET")),
    ] {
        assert_eq!(all(field), found, "{field}");
    }
    assert_eq!(all("requests[0].headers")["x-key"], json!("one, two"));
    assert_eq!(record.garbled, 1);
}

#[test]
fn chunks_kept_connections_head_and_expect_are_http_like_any_other() {
    let mock = Mock::of(json!({"record": true, "routes": [{"path": "/x", "body": "hello"}]}));
    let answer = mock.send(
        "POST /x HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n\
         HEAD /x HTTP/1.1\r\nHost: m\r\n\r\nGET /x HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
    assert_eq!(
        answer.matches("hello").count(),
        2,
        "HEAD has no body: {answer}"
    );
    let mut stream = mock.connect();
    let head = "POST /x HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: 7\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    let mut first = [0; 25];
    stream
        .read_exact(&mut first)
        .expect("the server asks for the body");
    assert_eq!(&first, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{\"a\":2}").expect("sent");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("answered");
    assert!(rest.starts_with("HTTP/1.1 200"), "{rest}");
    let record = mock.record();
    assert_eq!(value(&record, "request_count", json!({})), json!(4));
    assert_eq!(value(&record, "requests[0].body.a", json!({})), json!(1));
    assert_eq!(
        value(&record, "requests[1].method", json!({})),
        json!("HEAD")
    );
    assert_eq!(value(&record, "last_request.body.a", json!({})), json!(2));
}

#[test]
fn what_a_client_sent_before_it_went_is_in_the_record_and_what_comes_after_the_end_is_not() {
    for _ in 0..50 {
        let mock = Mock::plain();
        for at in 0..20 {
            let mut stream = mock.connect();
            let body = "x".repeat(at * 5_000);
            let request = format!(
                "POST /{at} HTTP/1.1\r\nHost: m\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).expect("sent");
            // Nobody waits for the answer.
        }
        let record = mock.record();
        assert_eq!(value(&record, "request_count", json!({})), json!(20));
        let late = mock.ask("GET /late", "", "");
        assert!(late.starts_with("HTTP/1.1 404"), "it still answers: {late}");
        assert_eq!(mock.record().total, 20);
        assert_eq!(mock.log().len(), 20);
    }
}

#[test]
fn what_breaks_off_is_told_and_not_counted() {
    let mock = Mock::plain();
    let half = "POST /pay HTTP/1.1\r\nHost: m\r\nContent-Length: 100\r\n\r\nhalf";
    drop(mock.connect().write_all(half.as_bytes()));
    let mut tls = mock.connect();
    tls.write_all(&[
        0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03,
    ])
    .expect("sent");
    let mut answer = Vec::new();
    let _ = tls.read_to_end(&mut answer);
    mock.ask("GET /x", "", "");
    let record = mock.record();
    assert_eq!((record.total, record.incomplete, record.garbled), (1, 1, 1));
    let troubles = record.troubles();
    insta::assert_snapshot!(troubles.join("\n"), @"
    not counted: requests that broke off before their end (1)
    not counted: connections that sent something else than HTTP, such as TLS (1)
    ");
}

#[test]
fn a_server_ends_with_its_scenario_whoever_still_speaks_with_it() {
    let mock = Mock::plain();
    let url = mock.server.url();
    let mut stream = mock.connect();
    stream
        .write_all(b"POST /x HTTP/1.1\r\nContent-Le")
        .expect("sent");
    let start = Instant::now();
    drop(mock);
    assert!(start.elapsed() < Duration::from_secs(5));
    let address = url.trim_start_matches("http://");
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
    let mut rest = Vec::new();
    // The end of the connection, or a reset: nobody answers.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn servers_at_the_same_time_see_their_own_requests_only() {
    let threads: Vec<_> = (0..8)
        .map(|own| {
            thread::spawn(move || {
                let mock = Mock::plain();
                for at in 0..50 {
                    mock.ask(&format!("GET /{own}/{at}"), "", "");
                }
                let record = mock.record();
                assert_eq!(record.total, 50);
                let is_own = |request: &Value| {
                    let request = request.as_str().unwrap_or_default();
                    request.starts_with(&format!("GET /{own}/"))
                };
                let summary = record.summary();
                let first = summary["first"].as_array().expect("a list");
                assert!(first.len() == 10 && first.iter().all(is_own), "{summary}");
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it sees its own");
    }
}

#[test]
fn every_call_is_a_whole_line_of_the_audit_log_among_those_of_the_pipeline() {
    let mock = Mock::of(json!({"record": true, "routes": [
        {"method": "POST", "path": "/send", "status": 202, "json": {"ok": true}},
    ]}));
    let mut own = log(&mock.folder);
    let writes = thread::spawn(move || {
        for at in 0..300 {
            own.write_all(format!("{{\"type\":\"own\",\"at\":{at}}}\n").as_bytes())
                .expect("written");
        }
    });
    for at in 0..100 {
        mock.ask("POST /send", "", &format!("{{\"at\": {at}}}"));
    }
    writes.join().expect("written");
    mock.ask("GET /other", "", "no JSON");
    mock.record();
    let lines = mock.log();
    let calls: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "http_call")
        .collect();
    assert_eq!((lines.len(), calls.len()), (401, 101));
    for (at, call) in calls.iter().take(100).enumerate() {
        assert_eq!(
            call["details"],
            json!({
                "service": "smtp", "method": "POST", "path": "/send", "query": "", "status": 202,
                "request_body": {"at": at}, "response_body": {"ok": true},
            })
        );
    }
    assert_eq!(calls[100]["details"]["request_body"], json!("no JSON"));
    assert_eq!(calls[100]["details"]["response_body"], Value::Null);
}
