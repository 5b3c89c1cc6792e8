//! Servers that are not there, do not answer, or let nobody in: an error with its reason, and never a
//! check that fails.

use std::net::TcpListener;

use kelvin_fixtures::text::redacted;

use super::servers::{KINDS, reached, with};
use super::*;

/// A port where nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

const SCHEMES: [(&str, &str); 3] = [
    ("postgres", "postgresql"),
    ("mysql", "mysql"),
    ("mysql", "mariadb"),
];

#[test]
fn a_server_that_is_not_there_is_an_error_of_the_scenario_or_of_the_check() {
    let mut told = Vec::new();
    let mut each = Vec::new();
    for (kind, scheme) in SCHEMES {
        let url = format!("{scheme}://user:pass-word@127.0.0.1:{}/db", closed_port());
        let own = with(json!({"type": kind, "url": url}));
        let why = own.trouble();
        assert!(why.contains("Connection refused"), "{why}");
        told.push(redacted(&why));
        // Another database of the same server would be reached as little.
        assert!(!why.contains("isolation"), "{why}");
        assert!(!why.contains("pass-word"), "{why}");
        let shared = with(json!({"type": kind, "url": url, "isolation": "serial"}));
        let db = shared.open();
        each.push(db.is_error("SELECT 1"));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the query failed: no connection: error connecting to server: Connection refused (os error 111)
    the query failed: no connection: Input/output error: Connection refused (os error 111)
    the query failed: no connection: Input/output error: Connection refused (os error 111)
    ");
    insta::assert_snapshot!(told.join("\n"), @"
    the service `db` of type `postgres`: no connection to the server: error connecting to server: Connection refused (os error 111); look at `services.db.url`, and whether the server runs
    the service `db` of type `mysql`: no connection to the server: Input/output error: Connection refused (os error 111); look at `services.db.url`, and whether the server runs
    the service `db` of type `mysql`: no connection to the server: Input/output error: Connection refused (os error 111); look at `services.db.url`, and whether the server runs
    ");
}

#[test]
fn a_server_that_does_not_answer_costs_its_limit() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let mut troubles = Vec::new();
    for (kind, scheme) in SCHEMES {
        let url = format!("{scheme}://user@127.0.0.1:{port}/db");
        let shared =
            with(json!({"type": kind, "url": url, "isolation": "serial", "timeout_s": 0.3}));
        let db = shared.open();
        let check = json!({"type": "sql", "service": "db", "query": "SELECT 1", "equals": 1, "timeout_s": 0.3});
        let found = db.look(check);
        assert_eq!(found.outcome, Outcome::Error);
        assert_eq!(
            found.reason,
            "the query failed: before the pipeline ran the server did not answer within 0.3 s"
        );
        let own = with(json!({"type": kind, "url": url, "timeout_s": 0.3}));
        troubles.push(own.trouble());
        // The run that is stopped does not wait for it.
        shared.left.interrupt.trip();
        let query = Query {
            values: &[],
            between: &[],
            text: "SELECT 1",
            timeout: std::time::Duration::from_secs(60),
            interrupt: &shared.left.interrupt,
        };
        assert_eq!(db.services.get("db").ask(&query), Err(Trouble::Stopped));
    }
    insta::assert_snapshot!(redacted(&troubles.join("\n")), @"
    the service `db` of type `postgres`: a database of its own could not be made for the scenario: it was stopped after [SECONDS] s
    the service `db` of type `mysql`: a database of its own could not be made for the scenario: it was stopped after [SECONDS] s
    the service `db` of type `mysql`: a database of its own could not be made for the scenario: it was stopped after [SECONDS] s
    ");
}

#[test]
fn a_server_that_does_not_become_ready_is_told_with_what_was_waited_for() {
    let port = closed_port();
    let url = format!("postgres://user@127.0.0.1:{port}/db");
    let time = regex::Regex::new(r"\b\d+\.\d+ s\b").expect("it is one");
    let mut told = Vec::new();
    for ready in [
        json!({"query": "SELECT 1"}),
        json!({"port": port}),
        json!({"command": "echo not yet >&2; exit 3"}),
        json!({"command": "sleep 60"}),
    ] {
        let beside =
            with(json!({"type": "postgres", "url": url, "ready": ready, "timeout_s": 0.4}));
        let begun = Instant::now();
        let why = beside.trouble();
        // What is left of the time for a command differs.
        told.push(redacted(&time.replace_all(&why, "[SECONDS] s")));
        // It is waited for once, whatever the number of the scenarios.
        let once = begun.elapsed();
        for _ in 0..20 {
            assert_eq!(beside.trouble(), why);
        }
        assert!(begun.elapsed() < once * 10, "{once:?}");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the service `db` of type `postgres`: it was not ready within [SECONDS] s; waited for the query `SELECT 1`: error connecting to server: Connection refused (os error 111)
    the service `db` of type `postgres`: it was not ready within [SECONDS] s; waited for port [PORT]: Connection refused (os error 111)
    the service `db` of type `postgres`: it was not ready within [SECONDS] s; waited for the command `echo not yet >&2; exit 3`: it ended with exit code 3; stderr: not yet
    the service `db` of type `postgres`: it was not ready within [SECONDS] s; waited for the command `sleep 60`: it was stopped after [SECONDS] s
    ");
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_wrong_password_is_an_error() {
    for (kind, _) in KINDS {
        let url = reached(&kind.to_uppercase()).replace("of-the-tests", "wrong-password");
        let shared = with(json!({"type": kind, "url": url, "isolation": "serial"}));
        let db = shared.open();
        let found = db.ask("SELECT 1", json!(1));
        assert_eq!(
            (found.outcome, found.score),
            (Outcome::Error, None),
            "{found:?}"
        );
        let reason = found.reason.to_lowercase();
        assert!(reason.contains("password"), "{reason}");
        assert!(!reason.contains("wrong-password"), "{reason}");
        let why = with(json!({"type": kind, "url": url})).trouble();
        assert!(why.contains("no connection to the server: "), "{why}");
        for hint in ["isolation", "serial", "could not be made"] {
            assert!(!why.contains(hint), "{why}");
        }
    }
}
