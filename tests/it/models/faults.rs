use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::{Faults, Reaction, Request, decides, says};
use super::{CALLS, cost, failures, project};

/// Retries without a wait of their own, so that only what the server asks for is waited.
const AT_ONCE: &str = "retry: {initial_delay_s: 0, jitter_max_s: 0}\n";

/// Runs a check whose server does this to the first request and answers all others. Returns how long it
/// took.
fn first(fault: fn() -> Reaction) -> Duration {
    let server = Faults::start(move |number, _| match number {
        0 => fault(),
        _ => decides(),
    });
    let project = project(&server, "", AT_ONCE);
    let start = Instant::now();
    project.check();
    let time = start.elapsed();
    assert_eq!(cost(&project)["retries"], json!(1));
    assert_eq!(cost(&project)["invocations"], json!(CALLS + 1));
    let requests = server.requests();
    assert_eq!(requests.len(), CALLS + 1);
    assert_eq!(requests[0].body, requests[1].body, "the same request again");
    time
}

/// Runs a check whose server does this to every request. Returns the kind and the message of the failure,
/// which all cases share, and how many requests a case took.
fn always(
    fault: impl Fn(&Request) -> Reaction + Send + Sync + 'static,
    more: &str,
) -> (serde_json::Value, String, usize) {
    let server = Faults::start(move |_, request| fault(request));
    let project = project(&server, "", &format!("{AT_ONCE}{more}"));
    project.kelvin(&["check"]).expect(2);
    let mut found = failures(&project.json("kelvin/report.json"));
    assert_eq!(found.len(), 4, "every case fails");
    found.dedup();
    assert_eq!(found.len(), 1, "equal failures have equal words: {found:?}");
    let (kind, message) = found.remove(0);
    assert_eq!(server.requests().len() % 4, 0);
    (kind, message, server.requests().len() / 4)
}

fn answer(status: u16, body: &str) -> Reaction {
    Reaction::Answer(status, Vec::new(), body.to_owned())
}

#[test]
fn a_limit_is_waited_for_as_long_as_the_server_asks_in_seconds() {
    let time =
        first(|| Reaction::Answer(429, vec![("retry-after", "2".to_owned())], String::new()));
    assert!(time >= Duration::from_secs(2), "{time:?}");
}

#[test]
fn a_limit_is_waited_for_until_the_date_that_the_server_names() {
    let time = first(|| {
        // A date counts from that of the answer, whatever the clock of this machine says.
        let headers = vec![
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            ("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT".to_owned()),
        ];
        Reaction::Answer(429, headers, String::new())
    });
    assert!(time >= Duration::from_secs(2), "{time:?}");
}

#[test]
fn what_passes_is_asked_again() {
    first(|| answer(500, "{}"));
    first(|| answer(529, "{}"));
    first(|| answer(408, ""));
    first(|| Reaction::Cut);
    // Half an answer is none.
    first(|| {
        Reaction::Answer(
            200,
            vec![("content-length", "999".to_owned())],
            "{".to_owned(),
        )
    });
}

#[test]
fn what_does_not_pass_fails_after_the_attempts_that_are_allowed() {
    let (kind, message, requests) = always(|_| answer(429, "busy, 20 s"), "");
    assert_eq!((kind, requests), (json!("rate_limit"), 4));
    insta::assert_snapshot!(message, @"the server takes no more calls for now (HTTP status 429)");
    let (kind, message, requests) = always(|_| answer(503, "x"), "");
    assert_eq!((kind, requests), (json!({ "status": 503 }), 4));
    insta::assert_snapshot!(message, @"the server could not answer the call (HTTP status 503)");
    let (kind, message, requests) = always(|_| Reaction::Cut, "");
    assert_eq!((kind, requests), (json!("connection"), 4));
    insta::assert_snapshot!(message, @"the server could not be asked: the server cut the connection");
    // Who asks for an hour is not waited for.
    let hour = |_: &Request| {
        Reaction::Answer(429, vec![("retry-after", "3600".to_owned())], String::new())
    };
    assert_eq!(always(hour, "").2, 1);
}

#[test]
fn a_refusal_is_final() {
    for status in [400, 401, 403, 404, 422] {
        let (kind, _, requests) = always(move |_| answer(status, "no"), "");
        assert_eq!((kind, requests), (json!({ "status": status }), 1));
    }
}

#[test]
fn nothing_for_longer_than_the_timeout_is_a_timeout() {
    let (kind, message, requests) = always(|_| Reaction::Silence, "timeout_s: 0.3\n");
    assert_eq!((kind, requests), (json!("timeout"), 1));
    insta::assert_snapshot!(message, @"the server gave no whole answer within 0.3 s, which is what `timeout_s` allows");
}

#[test]
fn an_answer_beyond_the_limit_is_cut_off() {
    let (kind, message, requests) = always(
        |_| says(&"x".repeat(2_000_000)),
        "max_output_bytes: 1000000\n",
    );
    assert_eq!((kind, requests), (json!("output_too_large"), 1));
    insta::assert_snapshot!(message, @"the server's answer is larger than the 1000000 bytes that `max_output_bytes` allows");
}

#[test]
fn what_is_no_answer_is_told_as_such() {
    let malformed = [
        "",
        "no JSON",
        "{\"choices\": []}",
        "[]",
        "{\"choices\": [{\"message\": {\"content\": 3}}]}",
        "{\"error\": \"no\"}",
    ];
    for body in malformed {
        let (kind, _, requests) = always(move |_| answer(200, body), "");
        assert_eq!((kind, requests), (json!("malformed_body"), 1), "{body}");
    }
    for text in ["", " \n"] {
        let (kind, message, _) = always(move |_| says(text), "");
        assert_eq!(kind, json!("empty_content"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(message, @"the model answered without a text; the server says `stop`");
        }
    }
    // A text that is no JSON is a failure of the pipeline as of any other, and final.
    let (kind, _, requests) = always(|_| says("I think so."), "");
    assert_eq!((kind, requests), (json!("output_not_json"), 1));
}

#[test]
fn a_redirect_to_another_server_carries_nothing_there() {
    let other = Faults::start(|_, _| decides());
    let to = other.url();
    let (kind, message, requests) = always(
        move |_| Reaction::Answer(307, vec![("location", to.clone())], String::new()),
        "",
    );
    assert_eq!((kind, requests), (json!({ "status": 307 }), 1));
    insta::assert_snapshot!(message, @"the server redirects to another address, and neither key nor prompt is sent there: correct `base_url` (HTTP status 307)");
    assert!(other.requests().is_empty());

    // Within the same server the request goes on, and not for ever.
    let within = Faults::start(|_, request| match request.head.contains("/moved") {
        true => decides(),
        false => Reaction::Answer(308, vec![("location", "/moved".to_owned())], String::new()),
    });
    let project = project(&within, "", "");
    project.check();
    assert_eq!(within.requests().len(), 2 * CALLS);
    let round =
        |_: &Request| Reaction::Answer(307, vec![("location", "/v1".to_owned())], String::new());
    assert_eq!(always(round, "").2, 4, "the request and three redirects");
}

#[test]
fn nobody_at_the_address_is_a_connection_that_cannot_be_made() {
    let server = Faults::start(|_, _| decides());
    let project = project(&server, "", AT_ONCE);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let config = project.read("kelvin.yaml");
    let config = config.replace(&server.port().to_string(), &port.to_string());
    project.write("kelvin.yaml", &config);
    project.kelvin(&["check"]).expect(2);
    for (kind, message) in failures(&project.json("kelvin/report.json")) {
        assert_eq!(kind, json!("connection"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(message, @"the server could not be asked: the connection was refused: nobody listens at its address, or a proxy refuses");
        }
    }
}

#[test]
fn an_interruption_ends_a_call_that_waits() {
    let server = Faults::start(|_, _| Reaction::Silence);
    let project = project(&server, "", "");
    let mut child = project.start(&["check"]);
    let start = Instant::now();
    while server.requests().is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "nothing was asked"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_retry_is_paid_for_and_counted_once_it_answers() {
    let failed = AtomicUsize::new(0);
    // The first answer has no text, which costs all the same; the judge of it is the wire format.
    let server = Faults::start(move |_, _| match failed.fetch_add(1, Ordering::SeqCst) {
        0 => answer(
            200,
            r#"{"error": {"code": 502, "message": "upstream"}, "usage": {}}"#,
        ),
        _ => decides(),
    });
    let project = project(&server, "", AT_ONCE);
    project.check();
    assert_eq!(cost(&project)["retries"], json!(1));
    assert_eq!(cost(&project)["usage"]["input_tokens"], json!(100 * CALLS));
}
