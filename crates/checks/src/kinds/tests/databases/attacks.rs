//! Queries that do more than read: whatever is tried, another connection finds everything as it was. Each
//! is tried as a check, and then past the check that looks at the statement.

use std::path::Path;

use super::servers::{own, reached, with};
use super::*;

impl Under<'_> {
    fn refuses(&self, query: &str) {
        let said = self.past_the_check(query);
        assert!(matches!(said, Err(Trouble::Failed(_))), "{query}: {said:?}");
    }
}

const POSTGRES: &str = "
CREATE TABLE users (id integer);
INSERT INTO users VALUES (1), (2);
CREATE SEQUENCE numbers;
CREATE FUNCTION writes() RETURNS integer LANGUAGE plpgsql AS $$
  BEGIN INSERT INTO users VALUES (3); RETURN 1; END $$;
CREATE FUNCTION unlocks() RETURNS integer LANGUAGE plpgsql AS $$
  BEGIN
    BEGIN PERFORM set_config('transaction_read_only', 'off', true);
    EXCEPTION WHEN OTHERS THEN NULL; END;
    SET default_transaction_read_only = off;
    INSERT INTO users VALUES (3);
    RETURN 1;
  END $$;
CREATE FUNCTION commits() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN COMMIT; RETURN 1; END $$;
";

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_12_nothing_is_written_to_postgresql() {
    for account in ["POSTGRES", "POSTGRES_ADMIN"] {
        let beside = with(json!({"type": "postgres", "url": reached(account), "init": POSTGRES}));
        let db = beside.open();
        let mark = beside.left.path("mark");
        let mark = mark.display();
        let unchanged = |query: &str| {
            let told = |found: &CheckFinding| {
                assert_eq!(found.outcome, Outcome::Passed, "{query}: {found:?}")
            };
            // All in one question, since every question takes a connection.
            let state = "SELECT (SELECT count(*) FROM users), (SELECT max(id) FROM users),
                           (SELECT last_value FROM numbers WHERE NOT is_called),
                           (SELECT count(*) FROM pg_largeobject_metadata),
                           (SELECT count(*) FROM pg_class WHERE relname = 'copy'),
                           current_setting('default_transaction_read_only')";
            let state = format!("SELECT state::text FROM ({state}) AS state");
            told(&db.ask(&state, json!("(2,2,1,0,0,on)")));
            assert!(!Path::new(&mark.to_string()).exists(), "{query}");
        };
        for query in [
            "COMMIT; INSERT INTO users VALUES (3)",
            "SELECT 1; COMMIT; INSERT INTO users VALUES (3)",
            "COMMIT",
            "DROP TABLE users",
            "TRUNCATE users",
            "INSERT INTO users VALUES (3) RETURNING id",
            "SELECT * INTO copy FROM users",
            "CREATE TABLE copy AS SELECT 1",
            "WITH a AS (INSERT INTO users VALUES (3) RETURNING id) SELECT * FROM a",
            &format!("COPY users TO PROGRAM 'touch {mark}'"),
            &format!("COPY users TO '{mark}'"),
            "COPY users FROM PROGRAM 'echo 3'",
            "DO $$ BEGIN INSERT INTO users VALUES (3); COMMIT; END $$",
            "SET default_transaction_read_only = off",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            "CALL writes()",
            "/* SELECT */ DELETE FROM users RETURNING id",
        ] {
            assert_eq!(refused("postgres", query).0, "query");
            db.refuses(query);
            unchanged(query);
        }
        for query in [
            "WITH a AS (DELETE FROM users RETURNING id) SELECT count(*) FROM a",
            "WITH a AS (UPDATE users SET id = 9 RETURNING id) SELECT count(*) FROM a",
            "SELECT nextval('numbers')",
            "SELECT setval('numbers', 9)",
            "SELECT writes()",
            "SELECT unlocks()",
            "SELECT commits()",
            "SELECT set_config('transaction_read_only', 'off', false)",
            "SELECT id FROM users FOR UPDATE",
            "SELECT query_to_xml('INSERT ' || 'IN' || 'TO users VALUES (3)', true, false, '')",
            "SELECT query_to_xml('COMMIT', true, false, '')",
            &format!(
                "SELECT query_to_xml('COPY users TO PROGRAM ''touch {mark}''', true, false, '')"
            ),
            "SELECT dblink_exec('dbname=postgres', 'DROP TABLE users')",
        ] {
            assert!(db.is_error(query).contains("the query failed"));
            unchanged(query);
        }
        // What a session that is read-only lets pass is rolled back, or ends with the connection.
        for query in [
            "SELECT set_config('default_transaction_read_only', 'off', false)",
            "SELECT lo_create(0)",
            "SELECT lo_from_bytea(0, 'x')",
            "SELECT pg_notify('a', 'b')",
            "SELECT pg_advisory_lock(1)",
        ] {
            db.ask(query, json!(1));
            unchanged(query);
        }
        // Files of the server are for administrators alone: the document names a role without such rights.
        if account == "POSTGRES" {
            for query in [
                "SELECT pg_read_file('/etc/passwd')".to_owned(),
                "SELECT pg_ls_dir('/')".to_owned(),
                format!("SELECT lo_export(1, '{mark}')"),
            ] {
                assert!(db.is_error(&query).contains("ermission denied"));
                unchanged(&query);
            }
        }
    }
}

const MARIADB: &str = "
CREATE TABLE users (id INTEGER);
CREATE TABLE plain (id INTEGER) ENGINE = MyISAM;
INSERT INTO users VALUES (1), (2);
INSERT INTO plain VALUES (1), (2);
CREATE SEQUENCE numbers;
CREATE FUNCTION writes() RETURNS INTEGER BEGIN INSERT INTO users VALUES (3); RETURN 1; END;
CREATE FUNCTION writes_plain() RETURNS INTEGER BEGIN INSERT INTO plain VALUES (3); RETURN 1; END;
";

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_12_nothing_is_written_to_mariadb() {
    let beside = own("mysql", MARIADB);
    let db = beside.open();
    let file = format!("{}/mark", reached("MYSQL_FILES"));
    let unchanged = |query: &str| {
        let told =
            |found: &CheckFinding| assert_eq!(found.outcome, Outcome::Passed, "{query}: {found:?}");
        let state =
            "SELECT CONCAT_WS(',', (SELECT count(*) FROM users), (SELECT count(*) FROM plain),
                       (SELECT next_not_cached_value FROM numbers), IF(@@tx_read_only, 'on', 'off'))";
        told(&db.ask(state, json!("2,2,1,on")));
        assert!(!Path::new(&file).exists(), "{query}");
    };
    for query in [
        "COMMIT; INSERT INTO users VALUES (3)",
        "SELECT 1; INSERT INTO users VALUES (3)",
        "DROP TABLE users",
        "TRUNCATE users",
        "INSERT INTO users VALUES (3) RETURNING id",
        "INSERT INTO plain VALUES (3)",
        "DELETE FROM users RETURNING id",
        "/*!50000 INSERT */ /*!50000 INTO */ users VALUES (3)",
        "SELECT id FROM users /*!50000 INTO OUTFILE '/tmp/kelvin-mark' */",
        &format!("SELECT 1 INTO OUTFILE '{file}'"),
        &format!("SELECT 1 INTO DUMPFILE '{file}'"),
        "CREATE TABLE copy AS SELECT 1",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE users",
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE users",
        "EXECUTE IMMEDIATE 'DROP TABLE users'",
        "HANDLER users OPEN",
    ] {
        assert_eq!(refused("mysql", query).0, "query");
        db.refuses(query);
        unchanged(query);
    }
    for query in [
        "SELECT writes()",
        "SELECT writes_plain()",
        "SELECT NEXT VALUE FOR numbers",
        "SELECT SETVAL(numbers, 9)",
        "WITH a AS (SELECT 1) DELETE FROM users",
        "SELECT sys_exec('touch x')",
    ] {
        assert!(db.is_error(query).contains("the query failed"));
        unchanged(query);
    }
    for query in [
        "SELECT id FROM users FOR UPDATE",
        "SELECT @a := 1",
        "SELECT GET_LOCK('a', 1)",
        "SELECT LAST_INSERT_ID(7)",
    ] {
        db.ask(query, json!(1));
        unchanged(query);
    }
    // A file of the server takes the right FILE, which the document tells not to give.
    db.brings("SELECT LOAD_FILE('/etc/hostname')", json!(null));
}

/// What an agent may put in the place of a table, which every check of that table would look at.
#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_decoy_in_the_place_of_a_table_is_not_what_a_check_looks_at() {
    let init =
        "CREATE TABLE users (id integer); CREATE VIEW numbers AS SELECT count(*) AS n FROM users;";
    let decoys = "CREATE SCHEMA evil; CREATE VIEW evil.users AS SELECT 7 AS id; \
                  CREATE VIEW evil.numbers AS SELECT 7 AS n;";
    for default in [
        "ALTER DATABASE {database} SET search_path = evil, public",
        "ALTER ROLE CURRENT_USER IN DATABASE {database} SET search_path = evil, public",
        "ALTER DATABASE {database} SET search_path = evil, pg_catalog, public",
    ] {
        let beside = own("postgres", init);
        let db = beside.open();
        let url = db.url();
        let database = url.rsplit('/').next().expect("a name");
        db.write(&format!(
            "{decoys} {}",
            default.replace("{database}", database)
        ));
        db.brings("SELECT count(*) FROM users", json!(0));
        db.brings("SELECT n FROM numbers", json!(0));
        assert!(
            db.fails("SELECT 7 IN (SELECT id FROM users)", json!(true))
                .contains("brings false")
        );
    }
    let replaced: [(&str, &str, &str); 5] = [
        (
            "postgres",
            "CREATE SCHEMA tester; CREATE VIEW tester.users AS SELECT 7 AS id",
            "is a view of the schema tester now",
        ),
        (
            "postgres",
            "ALTER TABLE users RENAME TO kept; CREATE VIEW users AS SELECT 7 AS id",
            "was a table of the schema public before the pipeline ran and is a view",
        ),
        (
            "postgres",
            "INSERT INTO users VALUES (1); ALTER TABLE users ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            "with row security for its owner too",
        ),
        (
            "mysql",
            "RENAME TABLE users TO kept; CREATE VIEW users AS SELECT 7 AS id",
            "`users` was a table before the pipeline ran and is a view now",
        ),
        (
            "mysql",
            "CREATE OR REPLACE VIEW numbers AS SELECT 7 AS n",
            "`numbers` is a view with another definition",
        ),
    ];
    for (kind, trick, told) in replaced {
        let beside = own(kind, init);
        let db = beside.open();
        db.write(trick);
        let found = match told.contains("numbers") {
            true => db.is_error("SELECT n FROM numbers"),
            false => db.is_error("SELECT count(*) FROM users"),
        };
        assert!(found.contains(told), "{found}");
    }
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_an_agent_that_changes_its_own_tables_and_defaults_is_not_accused() {
    let init =
        "CREATE TABLE users (id integer); CREATE VIEW numbers AS SELECT count(*) AS n FROM users;";
    for kind in ["postgres", "mysql"] {
        let beside = own(kind, init);
        let db = beside.open();
        let database = db.url().rsplit('/').next().expect("a name").to_owned();
        db.write("INSERT INTO users VALUES (1); ALTER TABLE users ADD COLUMN name varchar(9);");
        db.write("CREATE TABLE rooms (id integer); CREATE VIEW free AS SELECT id FROM rooms;");
        if kind == "postgres" {
            db.write(&format!(
                "ALTER DATABASE {database} SET TimeZone = 'Europe/Berlin'"
            ));
            db.write("CREATE RULE once AS ON DELETE TO users DO INSTEAD NOTHING");
        }
        db.brings("SELECT count(*) FROM users", json!(1));
        db.brings("SELECT n FROM numbers", json!(1));
        db.brings("SELECT count(*) FROM free", json!(0));
        let again = own(kind, init);
        let db = again.open();
        db.write("DROP VIEW numbers; DROP TABLE users; CREATE TABLE users (id integer)");
        db.brings("SELECT count(*) FROM users", json!(0));
    }
}
