//! Servers that are not there, do not answer, or let nobody in: an error with its reason, and never a
//! check that fails.

use std::net::TcpListener;

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
    for (kind, scheme) in SCHEMES {
        let url = format!("{scheme}://user:pass-word@127.0.0.1:{}/db", closed_port());
        let own = with(json!({"type": kind, "url": url}));
        let why = own.trouble();
        for part in [
            "the service `db` of type",
            "no connection to the server",
            "Connection refused",
            "look at `services.db.url`",
        ] {
            assert!(why.contains(part), "{part} in {why}");
        }
        // Another database of the same server would be reached as little.
        assert!(!why.contains("isolation"), "{why}");
        assert!(!why.contains("pass-word"), "{why}");
        let shared = with(json!({"type": kind, "url": url, "isolation": "serial"}));
        let db = shared.open();
        db.is_error("SELECT 1", "Connection refused");
    }
}

#[test]
fn a_server_that_does_not_answer_costs_its_limit() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = silent.local_addr().expect("an address").port();
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
        assert!(own.trouble().contains("it was stopped after 0.3 s"));
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
}

#[test]
fn a_server_that_does_not_become_ready_is_told_with_what_was_waited_for() {
    let port = closed_port();
    let url = format!("postgres://user@127.0.0.1:{port}/db");
    for (ready, told) in [
        (json!({"query": "SELECT 1"}), "the query `SELECT 1`: "),
        (json!({"port": port}), &*format!("port {port}: ")),
        (
            json!({"command": "echo not yet >&2; exit 3"}),
            "the command `echo not yet >&2; exit 3`: it ended with exit code 3; stderr: not yet",
        ),
        (
            json!({"command": "sleep 60"}),
            "the command `sleep 60`: it was stopped after",
        ),
    ] {
        let beside =
            with(json!({"type": "postgres", "url": url, "ready": ready, "timeout_s": 0.4}));
        let begun = Instant::now();
        let why = beside.trouble();
        assert!(
            why.contains("it was not ready within 0.4 s; waited for"),
            "{why}"
        );
        assert!(why.contains(told), "{told} in {why}");
        // It is waited for once, whatever the number of the scenarios.
        let once = begun.elapsed();
        for _ in 0..20 {
            assert_eq!(beside.trouble(), why);
        }
        assert!(begun.elapsed() < once * 10, "{once:?}");
    }
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
