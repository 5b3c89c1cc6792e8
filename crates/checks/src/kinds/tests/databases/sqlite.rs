use std::os::unix::fs::symlink;

use rusqlite::Connection;

use super::*;

const INIT: &str =
    "CREATE TABLE users (id INTEGER, name TEXT); INSERT INTO users VALUES (1, 'ann'), (2, NULL);";

fn sqlite() -> Beside {
    Beside::new(json!({"type": "sqlite", "path": "shop.db", "init": INIT}))
}

#[test]
fn inv_12_a_query_of_sqlite_passes_fails_is_an_error_and_is_stopped() {
    let beside = sqlite();
    let db = beside.open();
    db.brings("SELECT count(*) FROM users", json!(2));
    db.brings("SELECT name FROM users ORDER BY id", json!("ann"));
    db.brings("SELECT name FROM users WHERE id = 2", json!(null));
    db.brings("VALUES (1.50)", json!(1.5));
    insta::assert_snapshot!(db.fails("SELECT count(*) FROM users", json!(3)), @"the query brings 2, expected 3");
    insta::assert_snapshot!(db.fails("SELECT count(*) FROM users", json!("2")), @r#"the query brings 2, expected "2", which is of another type (`coerce: true` compares what is written)"#);
    insta::assert_snapshot!(db.fails("SELECT name FROM users WHERE id = 3", json!("ann")), @"the query has brought no rows");
    insta::assert_snapshot!(db.is_error("SELECT * FROM nowhere"), @"the query failed: no such table: nowhere");
    insta::assert_snapshot!(db.is_error("SELECT FROM"), @r#"the query failed: near "FROM": syntax error in SELECT FROM at offset 7"#);
    insta::assert_snapshot!(db.is_error("SELECT ?"), @"the query failed: Wrong number of parameters passed to query. Got 0, needed 1");
    insta::assert_snapshot!(db.is_error("SHOW tables"), @r#"the query failed: near "SHOW": syntax error in SHOW tables at offset 0"#);
    let endless =
        "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT max(n) FROM a";
    let start = Instant::now();
    let found = db.look(json!({
        "type": "sql", "service": "db", "query": endless, "equals": 1, "timeout_s": 0.3,
    }));
    assert_eq!(found.outcome, Outcome::Error, "{found:?}");
    insta::assert_snapshot!(found.reason, @"the query was stopped after 0.3 s");
    assert!(start.elapsed().as_secs() < 20);
    // As large as it likes: no value is larger than a limit.
    insta::assert_snapshot!(db.is_error("SELECT zeroblob(100000000)"), @"the query failed: string or blob too big");
    insta::assert_snapshot!(db.is_error("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a LIMIT 30000) \
         SELECT group_concat(hex(randomblob(5000))) FROM a"), @"the query failed: string or blob too big");
}

#[test]
fn inv_13_values_of_sqlite_have_their_types() {
    let beside = sqlite();
    let db = beside.open();
    for (value, equals) in [
        ("9223372036854775807", json!(i64::MAX)),
        ("0.1", json!(0.1)),
        ("2.0", json!(2)),
        ("'2'", json!("2")),
        ("x'00ff'", json!("\\x00ff")),
        ("NULL", json!(null)),
        ("1 = 1", json!(1)),
        ("json('{\"a\": [1, 2]}')", json!({"a": [1, 2]})),
        ("date('2026-01-02')", json!("2026-01-02")),
    ] {
        db.brings(&format!("SELECT {value}"), equals);
    }
    insta::assert_snapshot!(db.fails("SELECT '2'", json!(2)), @r#"the query brings "2", expected 2, which is of another type (`coerce: true` compares what is written)"#);
    insta::assert_snapshot!(db.fails("SELECT 1 = 1", json!(true)), @"the query brings 1, expected true, which is of another type (`coerce: true` compares what is written)");
    let coerced = db.look(json!({
        "type": "sql", "service": "db", "query": "SELECT 1 = 1", "equals": true, "coerce": true,
    }));
    assert_eq!(coerced.outcome, Outcome::Passed);
    let turned = db.look(json!({
        "type": "sql", "service": "db", "query": "SELECT 1 WHERE 0", "equals": 1, "not": true,
    }));
    assert_eq!(turned.outcome, Outcome::Failed, "no rows are no opposite");
}

#[test]
fn inv_12_a_query_of_sqlite_writes_nothing_and_reads_no_other_file() {
    let beside = sqlite();
    let db = beside.open();
    let other = beside.left.folder.path().join("other.db");
    Connection::open(&other)
        .and_then(|other| {
            other.execute_batch("CREATE TABLE secret (a); INSERT INTO secret VALUES (1)")
        })
        .expect("made");
    let before = fs::read(beside.left.path("shop.db")).expect("it is there");
    for query in [
        "COMMIT; INSERT INTO users VALUES (3, 'eve')",
        "DROP TABLE users",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 3",
        "PRAGMA writable_schema = 1",
        "VACUUM",
        "SELECT 1; DELETE FROM users",
        "SELECT 1 INTO x",
        "INSERT INTO users VALUES (3, 'eve') RETURNING id",
        "WITH a AS (SELECT 3) INSERT INTO users SELECT 3, 'eve' FROM a RETURNING 1",
    ] {
        let (key, _) = refused("sqlite", query);
        assert_eq!(key, "query");
        // Past the check too: either it is refused, or it is done to the copy, which is thrown away.
        let _ = db.past_the_check(query);
        db.brings("SELECT count(*) FROM users", json!(2));
        db.brings("SELECT user_version FROM pragma_user_version", json!(0));
    }
    let mut each = Vec::new();
    for query in [
        "WITH a AS (SELECT 3) DELETE FROM users RETURNING 1",
        "SELECT load_extension('other.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'x')",
        "SELECT * FROM pragma_journal_mode('wal')",
        "SELECT a FROM other.secret",
    ] {
        each.push(db.is_error(query));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the query failed: attempt to write a readonly database
    the query failed: not authorized
    the query failed: no such function: readfile in SELECT readfile('/etc/passwd') at offset 7
    the query failed: no such function: writefile in SELECT writefile('/tmp/x', 'x') at offset 7
    the query failed: unknown database 'wal'
    the query failed: no such table: other.secret
    ");
    db.brings("SELECT count(*) FROM users", json!(2));
    assert_eq!(
        fs::read(beside.left.path("shop.db")).expect("there"),
        before
    );
    assert_eq!(
        fs::read_dir(beside.left.path(""))
            .expect("a folder")
            .count(),
        1
    );
}

#[test]
fn inv_28_a_database_that_is_a_link_is_an_error_and_one_that_is_missing_fails() {
    let beside = sqlite();
    let db = beside.open();
    let path = beside.left.path("shop.db");
    fs::remove_file(&path).expect("removed");
    insta::assert_snapshot!(db.fails("SELECT 1", json!(1)), @"the database is not there");
    let other = beside.left.folder.path().join("other.db");
    fs::write(&other, "").expect("written");
    symlink(&other, &path).expect("linked");
    insta::assert_snapshot!(db.is_error("SELECT 1"), @"the query failed: the file is a link that leads out of the workspace");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    insta::assert_snapshot!(db.is_error("SELECT 1"), @"the query failed: the file is no regular file");
    fs::remove_dir(&path).expect("removed");
    fs::write(
        &path,
        "this is no database, and long enough to be looked at as one: ".repeat(20),
    )
    .expect("written");
    insta::assert_snapshot!(db.is_error("SELECT 1"), @"the query failed: file is not a database");
    fs::File::create(&path)
        .and_then(|file| file.set_len((1 << 30) + 1))
        .expect("a file of no content");
    insta::assert_snapshot!(db.is_error("SELECT 1"), @"the query failed: the file has more than the 1 GiB that a check reads");
    // The journal of a database may be a link too.
    fs::remove_file(&path).expect("removed");
    Connection::open(&path)
        .and_then(|made| made.execute_batch(INIT))
        .expect("made");
    symlink(&other, beside.left.path("shop.db-wal")).expect("linked");
    insta::assert_snapshot!(db.is_error("SELECT 1"), @"the query failed: the file is a link that leads out of the workspace");
    // One of the template is not written through either.
    let linked = sqlite();
    symlink(&other, linked.left.path("shop.db")).expect("linked");
    assert!(linked.opened().is_err());
    assert_eq!(fs::read(&other).expect("there"), b"");
}

#[test]
fn what_a_database_keeps_beside_its_file_is_read_and_stays() {
    let beside = sqlite();
    let db = beside.open();
    let writer = Connection::open(beside.left.path("shop.db")).expect("opened");
    writer
        .pragma_update(None, "journal_mode", "wal")
        .expect("set");
    writer
        .execute_batch("PRAGMA wal_autocheckpoint = 0; INSERT INTO users VALUES (3, 'eve')")
        .expect("written");
    // The pipeline was killed: the row is in the log only.
    let log = beside.left.path("shop.db-wal");
    let before = fs::read(&log).expect("there is a log");
    assert!(!before.is_empty());
    db.brings("SELECT count(*) FROM users", json!(3));
    // What is not committed is not there.
    writer
        .execute_batch("BEGIN; DELETE FROM users")
        .expect("written");
    db.brings("SELECT count(*) FROM users", json!(3));
    writer.execute_batch("ROLLBACK").expect("undone");
    assert_eq!(fs::read(&log).expect("there"), before);
}

#[test]
fn a_database_without_a_path_is_beside_the_workspace_and_its_init_may_fail() {
    let own = Beside::new(json!({"type": "sqlite", "init": INIT}));
    let db = own.open();
    db.brings("SELECT count(*) FROM users", json!(2));
    let path = db.url().replace("sqlite:///", "");
    assert!(fs::metadata(&path).expect("there").is_file(), "{path}");
    assert!(!path.contains("workspace"));
    let wrong = Beside::new(json!({"type": "sqlite", "init": "CREATE TABLE a (b); nonsense"}));
    let Err(Trouble::Failed(why)) = wrong.opened().map(|_| ()) else {
        panic!("it is not opened");
    };
    insta::assert_snapshot!(why, @r#"the service `db` of type `sqlite`: `init`: near "nonsense": syntax error in  nonsense at offset 1"#);
    let endless = "CREATE TABLE a AS WITH RECURSIVE b(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM b) \
                   SELECT max(n) FROM b;";
    let slow = Beside::new(json!({"type": "sqlite", "init": endless, "timeout_s": 0.3}));
    let Err(Trouble::Failed(why)) = slow.opened().map(|_| ()) else {
        panic!("it is not opened");
    };
    insta::assert_snapshot!(why, @"the service `db` of type `sqlite`: `init`: it was stopped after 0.3 s");
}

#[test]
fn a_query_ends_when_the_run_is_stopped() {
    let beside = sqlite();
    let db = beside.open();
    beside.left.interrupt.trip();
    let query = Query {
        values: &[],
        between: &[],
        text: "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT max(n) FROM a",
        timeout: std::time::Duration::from_secs(60),
        interrupt: &beside.left.interrupt,
    };
    assert_eq!(db.services.get("db").ask(&query), Err(Trouble::Stopped));
}

/// Values that would be more than a value in a statement that they were put into.
pub(super) const HOSTILE: [&str; 6] = [
    "x'); DROP TABLE users; --",
    "' OR '1'='1",
    "\\'; DROP TABLE users; --",
    "\" OR 1=1 --",
    "${KELVIN_PARAM_NAME}",
    "$1 ?1 ? /* */ $$x$$",
];

#[test]
fn a_field_of_the_scenario_is_bound_in_a_query_and_in_init_and_changes_no_statement() {
    let mut each = Vec::new();
    for name in HOSTILE {
        let init = "CREATE TABLE users (id INTEGER, name TEXT); \
                    INSERT INTO users VALUES (1, ${KELVIN_PARAM_NAME}), (${KELVIN_PARAM_N}, 'bob');";
        let beside = Beside::new(json!({"type": "sqlite", "path": "shop.db", "init": init}));
        let beside = beside.param("name", name).param("n", 17);
        let db = beside.open();
        db.brings("SELECT count(*) FROM users", json!(2));
        db.brings("SELECT name FROM users WHERE id = 1", json!(name));
        db.brings(
            "SELECT id FROM users WHERE name = ${KELVIN_PARAM_NAME}",
            json!(1),
        );
        db.brings(
            "SELECT typeof(id) FROM users WHERE id = ${KELVIN_PARAM_N}",
            json!("integer"),
        );
        db.brings(
            "SELECT count(*) FROM users WHERE name <> ${KELVIN_PARAM_NAME}",
            json!(1),
        );
        db.brings("SELECT ${KELVIN_PARAM_NAME}", json!("${KELVIN_PARAM_NAME}"));
        each.push(db.is_error("SELECT ${KELVIN_PARAM_GONE}"));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    `${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`
    ");
    let (key, what) = refused("sqlite", "SELECT '${KELVIN_PARAM_NAME}'");
    assert_eq!(key, "query");
    insta::assert_snapshot!(what, @"`${KELVIN_PARAM_NAME}` stands within quotes, a comment or a longer word: leave the quotes out, since it is bound as a value and never becomes a part of the text (join texts with `||` or CONCAT)");
    let mut texts = Vec::new();
    for init in ["SELECT '${KELVIN_PARAM_NAME}'", "SELECT ${KELVIN_EXPECTED}"] {
        let keys: ServiceKeys =
            serde_json::from_value(json!({"type": "sqlite", "init": init})).expect("a service");
        let (key, what) = services::open_service(&keys, &keys, keys.init()).expect_err(init);
        assert_eq!(key, "init");
        texts.push(what.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    `${KELVIN_PARAM_NAME}` stands within quotes, a comment or a longer word: leave the quotes out, since it is bound as a value and never becomes a part of the text (join texts with `||` or CONCAT)
    `${KELVIN_EXPECTED}` stands for what is expected, which the pipeline must not find in its database
    ");
}
