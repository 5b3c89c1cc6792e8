//! What a mocked server was asked: servers that are really asked, checks that pass, fail and cannot tell,
//! and ways to get past them.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::*;
use crate::services::{self, Service, ServiceSite};

/// What a mail server answers, and one that keeps nothing.
fn services() -> BTreeMap<String, Box<dyn Service>> {
    let mail = json!({"type": "http_mock", "record": true, "routes": [
        {"method": "POST", "path": "/api/messages", "status": 202, "json": {"ok": true}},
    ]});
    let keys = serde_json::from_value(mail).expect("the keys of a mock");
    let service = services::open_service(&keys, &keys, None).expect("nothing is wrong with it");
    BTreeMap::from([("mail".to_owned(), service)])
}

fn declared() -> DeclaredServices {
    let all = [
        ("mail", "http_mock"),
        ("mute", "http_mock"),
        ("db", "sqlite"),
    ];
    DeclaredServices::of(all.into_iter()).recording(["mail"].into_iter())
}

/// Has requests made, and looks with a check at what came.
struct Asked {
    left: Left,
    requests: Vec<String>,
}

fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: m\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

fn asked(requests: &[(&str, &str)]) -> Asked {
    let all = requests.iter();
    Asked {
        left: Left::new(""),
        requests: all.map(|(line, body)| request(line, "", body)).collect(),
    }
}

impl Asked {
    fn with(mut self, request: String) -> Self {
        self.requests.push(request);
        self
    }

    fn look(&self, check: Value) -> CheckFinding {
        let folder = self.left.path("");
        let private = self.left.folder.path().join("private");
        let audit_log = self.left.folder.path().join("audit.jsonl");
        fs::write(&audit_log, "").expect("written");
        let services = services();
        let scenario = Scenario::asking("s".to_owned(), String::new());
        let site = ServiceSite {
            name: "",
            scenario: &scenario,
            root: self.left.folder.path(),
            folder: &folder,
            private: &private,
            audit_log: &audit_log,
            interrupt: &self.left.interrupt,
        };
        let services = RunningServices::open(&services, site).expect("started");
        let variables = services.variables();
        let (name, url) = &variables[0];
        assert_eq!(name, "KELVIN_SERVICE_MAIL_URL");
        let url = url.to_string_lossy().into_owned();
        for request in &self.requests {
            let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("open");
            stream.write_all(request.as_bytes()).expect("sent");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("answered");
        }
        services.settle().expect("recorded");
        self.left.look_beside(&services, &declared(), check)
    }

    fn all(&self, assertions: &Value) -> CheckFinding {
        self.look(
            json!({"type": "http_mock_assertions", "service": "mail", "assertions": assertions}),
        )
    }

    #[track_caller]
    fn demand(&self, assertion: Value, outcome: Outcome) -> String {
        let found = self.all(&json!([assertion]));
        assert_eq!(found.outcome, outcome, "{assertion}: {found:?}");
        found.reason
    }

    #[track_caller]
    fn holds(&self, assertion: Value) {
        self.demand(assertion, Outcome::Passed);
    }

    #[track_caller]
    fn fails(&self, assertion: Value) -> String {
        self.demand(assertion, Outcome::Failed)
    }
}

const POST: &str = "POST /api/messages?dry=0";

#[test]
fn inv_16_inv_18_each_comparison_holds_where_it_should_and_fails_where_it_should() {
    let asked = asked(&[
        (
            POST,
            r#"{"to": "ann@x", "subject": "Refund", "total": 12.5, "tags": ["a", "b"]}"#,
        ),
        ("GET /status", ""),
    ]);
    let body = |name: &str| format!("requests[0].body.{name}");
    asked.holds(json!({"field": "request_count", "equals": 2}));
    asked.holds(json!({"field": "request_count", "filters": {"method": "post"}, "equals": 1.0}));
    asked.holds(json!({"field": "request_count", "gte": 2}));
    asked.holds(json!({"field": "request_count", "lte": 2}));
    asked.holds(json!({"field": body("to"), "equals": "ann@x"}));
    asked.holds(json!({"field": body("subject"), "contains": "fun"}));
    asked.holds(json!({"field": body("subject"), "not_contains": "fund sent"}));
    asked.holds(json!({"field": body("subject"), "matches": "^Re"}));
    asked.holds(json!({"field": body("total"), "gte": 12.5}));
    asked.holds(json!({"field": body("tags"), "contains": "b"}));
    asked.holds(json!({"field": body("tags"), "equals": ["a", "b"]}));
    asked.holds(json!({"field": "requests[0].body", "contains": "\"to\": \"ann@x\""}));
    asked.holds(json!({"field": "requests[0].method", "equals": "post"}));
    asked.holds(json!({"field": "requests[0].headers.content-length", "gte": 20}));
    asked.holds(json!({"field": "requests[0].headers", "contains": "host"}));
    asked.holds(json!({"field": "last_request.path", "equals": "/status"}));
    insta::assert_snapshot!(asked.fails(json!({"field": "request_count", "equals": 1})), @"`request_count` is `2`, expected `1`");
    insta::assert_snapshot!(asked.fails(json!({"field": "request_count", "equals": "2"})), @r#"`request_count` is `2`, expected `"2"`"#);
    insta::assert_snapshot!(asked.fails(json!({"field": "request_count", "gte": 3})), @"`request_count` is `2`, expected at least 3");
    insta::assert_snapshot!(asked.fails(json!({"field": "request_count", "lte": 1})), @"`request_count` is `2`, expected at most 1");
    insta::assert_snapshot!(asked.fails(json!({"field": body("to"), "gte": 1})), @r#"`requests[0].body.to` is `"ann@x"`, expected at least 1"#);
    insta::assert_snapshot!(asked.fails(json!({"field": body("subject"), "contains": "refund"})), @r#"`requests[0].body.subject` is `"Refund"`, expected something with `"refund"` in it"#);
    insta::assert_snapshot!(asked.fails(json!({"field": body("subject"), "not_contains": "Refund"})), @r#"`requests[0].body.subject` is `"Refund"`, expected something without `"Refund"` in it"#);
    insta::assert_snapshot!(asked.fails(json!({"field": body("subject"), "matches": "^fund"})), @r#"`requests[0].body.subject` is `"Refund"`, expected a match of `^fund`"#);
    insta::assert_snapshot!(asked.fails(json!({"field": "request_count", "filters": {"method": "PUT", "path": "/x"}, "equals": 1})), @"`request_count` of `{method: PUT, path: /x}` is `0`, expected `1`");
    // One of them does not hold: it is named, and the check fails.
    let found = asked.all(&json!([
        {"field": "request_count", "equals": 2},
        {"field": "last_request.path", "equals": "/other"},
    ]));
    assert_eq!((found.outcome, found.score), (Outcome::Failed, Some(0.0)));
    assert_eq!(
        found.reason,
        "assertion 2: `last_request.path` is `\"/status\"`, expected `\"/other\"`"
    );
    let found = asked.all(&json!([
        {"field": "request_count", "equals": 2}, {"field": "request_count", "lte": 9},
    ]));
    assert_eq!(
        (&*found.reason, found.score),
        ("all 2 assertions hold", Some(1.0))
    );
    let details = found.details.expect("what was asked");
    assert_eq!(
        details["requests"]["first"],
        json!(["POST /api/messages", "GET /status"])
    );
}

#[test]
fn inv_17_without_a_request_neither_an_assertion_nor_its_opposite_holds() {
    let none = asked(&[]);
    none.holds(json!({"field": "request_count", "equals": 0}));
    insta::assert_snapshot!(none.fails(json!({"field": "last_request.body", "contains": "x"})), @r#"`last_request.body` has no request, expected something with `"x"` in it"#);
    insta::assert_snapshot!(none.fails(json!({"field": "last_request.body", "not_contains": "x"})), @r#"`last_request.body` has no request, expected something without `"x"` in it"#);
    let negated = |assertion: Value| {
        none.look(json!({
            "type": "http_mock_assertions", "service": "mail", "not": true,
            "assertions": [assertion],
        }))
    };
    let found = negated(json!({"field": "last_request.body", "contains": "x"}));
    assert_eq!(found.outcome, Outcome::Failed, "{found:?}");
    let found = negated(json!({"field": "request_count", "equals": 1}));
    assert_eq!(found.outcome, Outcome::Passed, "{found:?}");
    let one = asked(&[(POST, "{}")]);
    insta::assert_snapshot!(one.fails(json!({"field": "requests[9].body", "contains": "x"})), @r#"`requests[9].body` has no request 9, the last of them is 0, expected something with `"x"` in it"#);
}

#[test]
fn no_spelling_of_a_word_or_a_path_hides_it() {
    let nowhere = json!({"field": "requests[0].body", "not_contains": "password"});
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    // Nested more deeply than JSON is read, and under a name that stands there twice.
    let deep = format!("{}\"p\\u0061ssword\"{}", "[".repeat(500), "]".repeat(500));
    let found = [
        // As it is, with an escape of JSON, and as the field of a form.
        asked(&[(POST, r#"{"a": "my password"}"#)]),
        asked(&[(POST, r#"{"a": "my p\u0061ssword"}"#)]),
        asked(&[]).with(request(POST, form, "a=p%61ssword")),
        asked(&[]).with(request(POST, form, r#"{"a": "my p\u0061ssword"}"#)),
        asked(&[(POST, &deep)]),
        asked(&[(POST, r#"{"a": "p\u0061ssword", "a": ""}"#)]),
    ]
    .map(|asked| asked.fails(nowhere.clone()));
    insta::assert_snapshot!(found.join("\n"), @r#"
    `requests[0].body` is `{"a": "my password"}`, expected something without `"password"` in it
    `requests[0].body` is `{"a": "my p\u0061ssword"}`, expected something without `"password"` in it
    `requests[0].body` is `a=p%61ssword`, expected something without `"password"` in it
    `requests[0].body` is `{"a": "my p\u0061ssword"}`, expected something without `"password"` in it
    `requests[0].body` is `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…`, expected something without `"password"` in it
    `requests[0].body` is `{"a": "p\u0061ssword", "a": ""}`, expected something without `"password"` in it
    "#);
    // A text that only looks like another value is none.
    let other = asked(&[(POST, r#"{"a": "\",\"b\":\"1"}"#)]);
    insta::assert_snapshot!(other.fails(json!({"field": "last_request.body", "equals": {"a": "", "b": "1"}})), @r#"`last_request.body` is `{"a": "\",\"b\":\"1"}`, expected `{"a":"","b":"1"}`"#);
    // What cannot be read is no pass.
    let gzip = "Content-Encoding: gzip\r\n";
    let long = format!("{}password", " ".repeat(1 << 20));
    let unread = [
        asked(&[(POST, "p\0a\0s\0s\0w\0o\0r\0d\0")]),
        asked(&[]).with(request(POST, gzip, "...")),
        asked(&[(POST, &long)]),
    ]
    .map(|asked| asked.demand(nowhere.clone(), Outcome::Error));
    insta::assert_snapshot!(unread.join("\n").replace('\0', "[NUL]"), @"
    `requests[0].body` is `p[NUL]a[NUL]s[NUL]s[NUL]w[NUL]o[NUL]r[NUL]d[NUL]`: nobody can tell
    `requests[0].body` has a body with a `content-encoding`, which is not undone: nobody can tell
    `requests[0].body` has a body of 1048584 bytes, of which only the first 1048576 were kept: nobody can tell
    ");
    let never = json!({"field": "request_count", "filters": {"path": "/admin"}, "equals": 0});
    insta::assert_snapshot!(asked(&[("DELETE /%61dmin?x=/", "")]).fails(never), @"`request_count` of `{path: /admin}` is `1`, expected `0`");
}

#[test]
fn a_filter_by_a_field_that_never_was_warns_and_what_broke_off_is_told() {
    let asked = asked(&[(POST, r#"{"to": "ann"}"#)]).with("no HTTP at all\r\n\r\n".to_owned());
    let found = asked.all(&json!([
        {"field": "request_count", "filters": {"too": "ann"}, "equals": 0},
    ]));
    assert_eq!(found.outcome, Outcome::Passed);
    insta::assert_snapshot!(found.reason, @"`request_count` of `{too: ann}` is `0`; not counted: connections that sent something else than HTTP, such as TLS (1); no request has a field `too` in its body, which the filters of assertion 1 name");
    let details = found.details.expect("details");
    assert_eq!(
        details["warnings"].as_array().map(Vec::len),
        Some(2),
        "{details}"
    );
}

#[test]
fn hostile_texts_are_cut_and_stay_on_one_line() {
    let body = format!("{{\"a\": \"line\\n::error::\\r{}\"}}", "x".repeat(100_000));
    let asked = asked(&[(POST, &body)]);
    for field in ["last_request.body", "last_request.body.a"] {
        let found = asked.all(&json!([{"field": field, "equals": "other"}]));
        assert_eq!(found.outcome, Outcome::Failed);
        assert!(
            found.reason.len() < 1_000 && !found.reason.contains(['\n', '\r']),
            "{found:?}"
        );
    }
}

#[test]
fn a_pattern_that_explodes_elsewhere_takes_linear_time_on_a_large_body() {
    let body = "a".repeat(1 << 20);
    let asked = asked(&[(POST, &body)]);
    let start = Instant::now();
    insta::assert_snapshot!(asked.fails(json!({"field": "last_request.body", "matches": "(a+)+$x"})), @"`last_request.body` is `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`, expected a match of `(a+)+$x`");
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn inv_15_services_fields_and_comparisons_that_make_no_sense_are_refused() {
    let refusal = |service: &str, assertion: Value| {
        let check = json!({
            "type": "http_mock_assertions", "service": service, "assertions": [assertion],
        });
        let keys: CheckKeys = serde_json::from_value(check).expect("a check");
        open(&keys, &keys, &declared()).expect_err("it is refused")
    };
    let count = json!({"field": "request_count", "equals": 1});
    let mut told = Vec::new();
    for service in ["mute", "mial", "db"] {
        let (key, what) = refusal(service, count.clone());
        assert!(key == "service");
        told.push(what.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the service `mute` keeps no requests: add `record: true` to it
    no service is called `mial`: did you mean `mail`?
    the service `db` is of type `sqlite`; a check of type `http_mock_assertions` asks one of type `http_mock`
    ");
    let mut texts = Vec::new();
    for assertion in [
        json!({"field": "request_count"}),
        json!({"field": "request_count", "gte": 1, "lte": 2}),
        json!({"field": "requests", "gte": 1}),
        json!({"field": "last_request.body", "matches": "("}),
        json!({"field": "request_count", "filters": {"path": "x"}, "gte": 1}),
    ] {
        let (key, what) = refusal("mail", assertion);
        assert!(key == "assertions");
        texts.push(what.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    assertion 1: nothing is compared: add one of `equals`, `contains`, `not_contains`, `matches`, `gte` and `lte`
    assertion 1: there is more than one comparison: write an assertion for each
    assertion 1: `requests` is no field: write `request_count`, `last_request.PART` or `requests[0].PART`
    assertion 1: this is no regular expression: unclosed group
    assertion 1: filters: the path `x` does not begin with `/`
    ");
}
