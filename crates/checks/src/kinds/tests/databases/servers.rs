use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::*;

/// How the real servers are reached: a line of what `tests/databases/servers start` prints. It starts them
/// where they do not run yet.
pub(super) fn reached(name: &str) -> String {
    static SERVERS: OnceLock<String> = OnceLock::new();
    let all = SERVERS.get_or_init(|| {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/databases/servers");
        let output = Command::new(program).arg("start").output();
        let output = output.expect("bash is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("text")
    });
    let mut lines = all.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.find(|(found, _)| *found == name).expect(name);
    value.to_owned()
}

/// A database of its own on a real server, with the rights of somebody who is no administrator.
pub(super) fn own(kind: &str, init: &str) -> Beside {
    with(json!({"type": kind, "url": reached(&kind.to_uppercase()), "init": init}))
}

pub(super) fn with(service: Value) -> Beside {
    Beside::new(service)
}

/// What each server does differently, with the type of its services.
pub(super) const KINDS: [(&str, &str); 2] = [
    ("postgres", "SELECT pg_sleep(60)"),
    ("mysql", "SELECT SLEEP(60)"),
];

pub(super) const INIT: &str = "CREATE TABLE users (id INTEGER, name VARCHAR(20)); \
                               INSERT INTO users VALUES (1, 'ann'), (2, NULL);";

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_12_a_query_passes_fails_is_an_error_and_is_stopped() {
    for (kind, slow) in KINDS {
        let beside = own(kind, INIT);
        let db = beside.open();
        db.brings("SELECT count(*) FROM users", json!(2));
        db.brings(
            " /* how many */ (SELECT count(*) FROM users); -- all",
            json!(2),
        );
        db.brings("SELECT name FROM users ORDER BY id", json!("ann"));
        db.brings("SELECT name FROM users WHERE id = 2", json!(null));
        db.brings("WITH a AS (SELECT 7 AS b) SELECT b FROM a", json!(7));
        db.brings("VALUES (8)", json!(8));
        let show = match kind {
            "postgres" => db.ask("SHOW transaction_read_only", json!("on")),
            _ => db.ask("SHOW TABLES", json!("users")),
        };
        assert_eq!(show.outcome, Outcome::Passed, "{show:?}");
        assert!(
            db.fails("SELECT count(*) FROM users", json!(3))
                .contains("brings 2, expected 3")
        );
        assert!(
            db.fails("SELECT name FROM users", json!("eve"))
                .contains("brings \"ann\", expected \"eve\"")
        );
        assert!(
            db.fails("SELECT count(*) FROM users", json!("2"))
                .contains("another type (`coerce: true`")
        );
        assert!(
            db.fails("SELECT name FROM users WHERE id = 3", json!(1))
                .contains("no rows")
        );
        assert!(db.is_error("SELECT * FROM nowhere").contains("nowhere"));
        assert!(db.is_error("SELECT FROM FROM").contains("syntax"));
        let start = Instant::now();
        let found = db.look(json!({
            "type": "sql", "service": "db", "query": slow, "equals": 1, "timeout_s": 0.5,
        }));
        assert_eq!(found.outcome, Outcome::Error, "{found:?}");
        assert_eq!(found.reason, "the query was stopped after 0.5 s");
        assert!(start.elapsed() < Duration::from_secs(20));
        // A result without an end costs its first row.
        let rows = match kind {
            "postgres" => "SELECT generate_series(1, 2000000000)",
            _ => "SELECT seq FROM seq_1_to_2000000000",
        };
        db.brings(rows, json!(1));
    }
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_every_scenario_has_a_database_of_its_own_that_goes_with_it() {
    for (kind, _) in KINDS {
        let beside = own(kind, INIT);
        let (one, other) = (beside.open(), beside.open());
        assert_ne!(one.url(), other.url());
        one.write("DELETE FROM users");
        one.brings("SELECT count(*) FROM users", json!(0));
        other.brings("SELECT count(*) FROM users", json!(2));
        let names: Vec<String> = [&one, &other].map(|under| name(&under.url())).into();
        assert_eq!(databases(kind, &names), json!(2));
        // A pipeline that never closes its connection holds no database.
        let mut held = one.client("SELECT 1; SELECT pg_sleep(60)", "SELECT SLEEP(60)");
        std::thread::sleep(Duration::from_millis(500));
        one.services.close().expect("it is removed");
        // Where the checks are never reached it goes all the same.
        drop(other.services);
        assert_eq!(databases(kind, &names), json!(0), "{kind}");
        let _ = held.kill();
        let _ = held.wait();
    }
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_service_that_cannot_begin_says_why() {
    for (kind, _) in KINDS {
        let broken = own(
            kind,
            "CREATE TABLE a (b INTEGER); INSERT INTO nowhere VALUES (1);",
        );
        let why = broken.trouble();
        let begin = format!("the service `db` of type `{kind}`: `init`: ");
        assert!(why.starts_with(&begin) && why.contains("nowhere"), "{why}");
        assert_eq!(why, broken.trouble(), "equal runs fail equally");
        let slow = match kind {
            "postgres" => "SELECT pg_sleep(60)",
            _ => "SELECT SLEEP(60)",
        };
        let url = reached(&kind.to_uppercase());
        let endless = with(json!({"type": kind, "url": url, "init": slow, "timeout_s": 8}));
        let why = endless.trouble();
        assert!(why.contains("`init`: it was stopped after 8 s"), "{why}");
    }
    // Somebody who may not make databases is told of the other way.
    let admin = with(json!({
        "type": "postgres", "url": reached("POSTGRES_ADMIN"), "isolation": "serial",
        "init": "DROP ROLE IF EXISTS nobody_at_all; CREATE ROLE nobody_at_all LOGIN PASSWORD 'of-the-tests'",
    }));
    admin.open();
    let url = reached("POSTGRES").replace("tester", "nobody_at_all");
    let why = with(json!({"type": "postgres", "url": url})).trouble();
    assert!(why.contains("permission denied"), "{why}");
    assert!(why.contains("the right to make databases"), "{why}");
    assert!(why.contains("`isolation: serial`"), "{why}");
    let other = reached("MYSQL") + "somebody_elses";
    let beside = with(json!({"type": "mysql", "url": other}));
    assert!(beside.trouble().contains("no connection to the server"));
    let shared = with(json!({"type": "postgres", "url": url, "isolation": "serial"}));
    shared
        .open()
        .brings("SELECT current_user", json!("nobody_at_all"));
    assert!(shared.services["db"].is_serial());
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_connections_are_encrypted_as_the_address_asks() {
    let encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let certificate = reached("POSTGRES_CERTIFICATE");
    let postgres = |host: &str, parameters: &str| {
        let url = reached("POSTGRES").replace("127.0.0.1", host);
        let url = format!("{url}?schema=public{parameters}");
        with(json!({"type": "postgres", "url": url, "isolation": "serial"}))
    };
    for (parameters, is_encrypted) in [
        ("&sslmode=disable", false),
        ("&sslmode=require", true),
        ("", true),
        (
            &*format!("&sslmode=verify-full&sslrootcert={certificate}"),
            true,
        ),
    ] {
        let beside = postgres("localhost", parameters);
        beside.open().brings(encrypted, json!(is_encrypted));
    }
    for (host, parameters) in [
        ("localhost", "&sslmode=verify-full".to_owned()),
        (
            "127.0.0.1",
            format!("&sslmode=verify-full&sslrootcert={certificate}"),
        ),
    ] {
        let beside = postgres(host, &parameters);
        assert!(beside.open().is_error("SELECT 1").contains("certificate"));
    }
    let cipher = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS \
                  WHERE VARIABLE_NAME = 'Ssl_cipher'";
    let certificate = reached("MYSQL_CERTIFICATE");
    let mysql = |host: &str, parameters: &str| {
        let url = reached("MYSQL").replace("127.0.0.1", host);
        let url = format!("{url}?charset=utf8{parameters}");
        with(json!({"type": "mysql", "url": url}))
    };
    for (parameters, is_encrypted) in [
        ("", 0),
        ("&ssl-mode=DISABLED", 0),
        ("&ssl-mode=REQUIRED", 1),
        (
            &*format!("&ssl-mode=VERIFY_IDENTITY&ssl-ca={certificate}"),
            1,
        ),
    ] {
        mysql("localhost", parameters)
            .open()
            .brings(cipher, json!(is_encrypted));
    }
    for (host, parameters) in [
        ("localhost", "&ssl-mode=VERIFY_IDENTITY".to_owned()),
        (
            "127.0.0.1",
            format!("&ssl-mode=VERIFY_IDENTITY&ssl-ca={certificate}"),
        ),
    ] {
        let why = mysql(host, &parameters).trouble();
        assert!(why.to_lowercase().contains("cert"), "{why}");
    }
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_server_is_waited_for() {
    let url = reached("POSTGRES");
    let port: u16 = url
        .rsplit(':')
        .next()
        .and_then(|rest| rest.split('/').next())
        .and_then(|port| port.parse().ok())
        .expect("a port");
    for ready in [
        json!({"query": "SELECT 1"}),
        json!({"port": port}),
        json!({"command": "test -d ."}),
    ] {
        let beside = with(json!({"type": "postgres", "url": url, "ready": ready}));
        beside.open().brings("SELECT 1", json!(1));
    }
    // It becomes ready while it is waited for.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let later = listener.local_addr().expect("an address").port();
    drop(listener);
    let begun = Instant::now();
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(600));
        let listener = TcpListener::bind(("127.0.0.1", later)).expect("the port is free");
        std::thread::sleep(Duration::from_secs(5));
        drop(listener);
    });
    let beside = with(json!({"type": "postgres", "url": url, "ready": {"port": later}}));
    beside.open();
    assert!(begun.elapsed() >= Duration::from_millis(500));
    opener.join().expect("it ends");
}

impl Under<'_> {
    /// Runs a statement as the pipeline would, with the client of the database.
    pub(super) fn write(&self, statement: &str) {
        let status = self.client(statement, statement).wait();
        assert!(status.expect("it ends").success(), "{statement}");
    }

    /// The client of the database at work on a statement of its own.
    fn client(&self, postgres: &str, mysql: &str) -> std::process::Child {
        let url = self.url();
        let mut command = if url.starts_with("postgres") {
            let mut command = Command::new("psql");
            command.args([&url, "-qc", postgres]);
            command
        } else {
            let rest = url.trim_start_matches("mysql://");
            let (who, place) = rest.split_once('@').expect("somebody");
            let (user, password) = who.split_once(':').expect("a password");
            let (place, database) = place.split_once('/').expect("a database");
            let port = place.split_once(':').expect("a port").1;
            let mut command = Command::new("mariadb");
            command.args(["--no-defaults", "-h127.0.0.1", database, "-e", mysql]);
            command.args([
                format!("-u{user}"),
                format!("-p{password}"),
                format!("-P{port}"),
            ]);
            command
        };
        let silent = || std::process::Stdio::null();
        command.stdout(silent()).stderr(silent()).stdin(silent());
        command
            .spawn()
            .expect("the client is installed with the server")
    }
}

/// The database of a URL.
fn name(url: &str) -> String {
    url.rsplit('/').next().unwrap_or_default().to_owned()
}

/// How many databases of these names there are.
fn databases(kind: &str, names: &[String]) -> Value {
    let url = reached(&format!("{}_ADMIN", kind.to_uppercase()));
    let beside = with(json!({"type": kind, "url": url, "isolation": "serial"}));
    let (table, column) = match kind {
        "postgres" => ("pg_database", "datname"),
        _ => ("information_schema.SCHEMATA", "SCHEMA_NAME"),
    };
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let names = names.join(", ");
    let under = beside.open();
    let query = format!("SELECT count(*) FROM {table} WHERE {column} IN ({names})");
    let counts =
        (0..=names.len()).find(|count| under.ask(&query, json!(count)).outcome == Outcome::Passed);
    json!(counts)
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_field_of_the_scenario_is_bound_in_a_query_and_in_init() {
    for (kind, _) in KINDS {
        for name in super::sqlite::HOSTILE {
            let init = "CREATE TABLE users (id INTEGER, name VARCHAR(80), paid BOOLEAN); \
                        INSERT INTO users VALUES (1, ${KELVIN_PARAM_NAME}, ${KELVIN_PARAM_PAID}); \
                        INSERT INTO users VALUES (${KELVIN_PARAM_N}, 'bob', NULL);";
            let beside = own(kind, init);
            let beside = beside
                .param("name", name)
                .param("n", 17)
                .param("paid", true);
            let db = beside.open();
            db.brings("SELECT count(*) FROM users", json!(2));
            db.brings("SELECT name FROM users WHERE id = 1", json!(name));
            db.brings(
                "SELECT id FROM users WHERE name = ${KELVIN_PARAM_NAME}",
                json!(1),
            );
            db.brings(
                "SELECT name FROM users WHERE id = ${KELVIN_PARAM_N}",
                json!("bob"),
            );
            db.brings(
                "SELECT count(*) FROM users WHERE name <> ${KELVIN_PARAM_NAME} AND id = ${KELVIN_PARAM_N}",
                json!(1),
            );
            assert!(
                db.is_error("SELECT ${KELVIN_PARAM_GONE}")
                    .contains("has no parameter `gone`")
            );
        }
    }
}
