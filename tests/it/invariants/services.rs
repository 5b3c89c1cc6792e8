//! Scenarios with databases, end to end.

use std::net::TcpListener;
use std::process::Command;

use super::*;

/// A pipeline that writes an order into the database that it is given.
const ORDERS: &str = r#"
python3 - "$KELVIN_SERVICE_SHOP_URL" "$(grep -o '[0-9]*' "$1" | head -n 1)" <<'END'
import sqlite3, sys
shop = sqlite3.connect(sys.argv[1].removeprefix('sqlite:///'))
shop.execute('INSERT INTO orders VALUES (?)', (int(sys.argv[2]),))
shop.commit()
END
echo "at $KELVIN_SERVICE_SHOP_URL"
"#;

const SHOP: &str = "\
services:
  shop: {type: sqlite, path: shop.db, init: seed.sql}
invariants:
  booked:
    description: The order is booked once
    gate: true
    check: {type: sql, service: shop, query: SELECT count(*) FROM orders, equals: 1}
  small:
    description: The order is of a room below 2
    weight: 0.3
    check: {type: sql, service: shop, query: 'SELECT room < 2 FROM orders', equals: true, coerce: true}
";

#[test]
fn inv_12_every_scenario_has_an_sqlite_database_that_is_asked_after_it() {
    let project = project(ORDERS, 3, SHOP);
    project.write("seed.sql", "CREATE TABLE orders (room INTEGER);\n");
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    for (scenario, small) in [("s00", "passed"), ("s01", "passed"), ("s02", "failed")] {
        let run = ran(&report, scenario, 0);
        assert_eq!(run["checks"]["booked"]["outcome"], "passed", "{run}");
        assert_eq!(run["checks"]["small"]["outcome"], small, "{run}");
    }
    let last = ran(&report, "s02", 0);
    assert_eq!(last["composite"], json!(1.0 / 1.3));
    assert_eq!(
        last["checks"]["small"]["reason"],
        "the query brings 0, expected true"
    );
    // An address that differs from run to run is shown nowhere.
    let page = project.read("kelvin/report.html");
    assert!(!page.contains("sqlite:///"), "an address is on the page");
    // The same with a pipeline that forgets: the gate of the composite falls.
    project.write("pipeline.sh", "echo done");
    project.kelvin(&["check"]).expect(0);
    assert_eq!(figure(&project.report(), "composite"), json!(0.0));
    // And with one that destroys the table: nobody knows.
    project.write(
        "pipeline.sh",
        &ORDERS.replace(
            "INSERT INTO orders VALUES (?)', (int(sys.argv[2]),)",
            "DROP TABLE orders'",
        ),
    );
    project.kelvin(&["check"]).expect(2);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "error", "{run}");
    assert_eq!(run["composite"], Value::Null);
    insta::assert_snapshot!(run["checks"]["booked"]["reason"], @r#""the query failed: no such table: orders""#);
}

#[test]
#[cfg(feature = "sql")]
fn a_scenario_whose_server_is_not_there_is_an_error_and_its_pipeline_is_not_run() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let services = SHOP.replace(
        "{type: sqlite, path: shop.db, init: seed.sql}",
        "{type: postgres, url: '${SHOP_URL}'}",
    );
    let url = format!("postgres://u:hidden-one@127.0.0.1:{port}/d");
    let project = project("echo ran >> \"$KELVIN_ROOT/ran\"", 2, &services);
    let said = with_variable(&project, &["check"], "SHOP_URL", &url);
    assert!(!project.path("ran").exists(), "the pipeline was not run");
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "error", "{run}");
    assert_eq!(run["checks"]["booked"]["outcome"], "skipped");
    let why = run["failure"]["message"].as_str().expect("a text");
    insta::assert_snapshot!(why, @"the service `shop` of type `postgres`: no connection to the server: error connecting to server: Connection refused (os error 111); look at `SHOP_URL`, which `services.shop.url` is taken from, and whether the server runs");
    // It is the service, and nothing is advised that would run `init` elsewhere.
    insta::assert_snapshot!(why, @"the service `shop` of type `postgres`: no connection to the server: error connecting to server: Connection refused (os error 111); look at `SHOP_URL`, which `services.shop.url` is taken from, and whether the server runs");
    assert!(!why.contains("serial"), "{why}");
    let reason = &run["checks"]["booked"]["reason"];
    insta::assert_snapshot!(reason.as_str().unwrap_or_default(), @"a service of the scenario failed");
    assert_eq!(run["failure"]["kind"], "service_failed");
    for page in [&said.stdout, &project.read("kelvin/report.md")] {
        assert!(page.contains("2 of 2"), "{page}");
    }
    assert_eq!(said.code, Some(2), "nothing was measured");
    // The doctor has tried it before anything is run.
    let doctor = with_variable(&project, &["doctor"], "SHOP_URL", &url);
    assert_eq!(doctor.code, Some(1), "{}", doctor.stdout);
    let line = |text: &str| doctor.stdout.contains(text);
    assert!(line("`shop` cannot be used: no connection to the server"));
    assert!(!line("hidden-one"), "{}", doctor.stdout);
    let everything = project.read("kelvin/report.json") + &said.stdout + &said.stderr;
    assert!(!everything.contains("hidden-one"), "the password is told");
}

/// What a command says with one more variable in its environment.
fn with_variable(project: &Project, arguments: &[&str], name: &str, value: &str) -> Said {
    let output = project.command(arguments).env(name, value).output();
    let output = output.expect("the binary starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

#[test]
#[cfg(feature = "sql")]
fn what_a_service_has_given_to_the_agent_is_a_secret_and_the_name_of_a_database_is_none() {
    // Nobody asks this server anything, so it need not be there.
    let more = "\
services:
  db: {type: postgres, url: 'postgres://reader:long%40\"secret@127.0.0.1:1/orders', isolation: serial}
invariants:
  done: {description: It is done, check: {type: contains, value: done}}
forbidden: {secrets_in_logs: deny}
";
    let project = project("", 1, more);
    let told = |script: &str| -> String {
        project.write("pipeline.sh", script);
        project.kelvin(&["check", "--no-cache"]).expect(0);
        let report = project.report();
        let run = ran(&report, "s00", 0);
        let found = run["forbidden"].to_string();
        let outcome = match run["forbidden"].is_null() {
            true => "passed",
            false => "failed",
        };
        assert_eq!(run["outcome"], outcome, "{script}: {run}");
        assert!(!found.contains("secret@"), "{found}");
        found
    };
    let mut texts = Vec::new();
    let mut all_told = Vec::new();
    for script in [
        "echo \"done at $KELVIN_SERVICE_DB_URL\"",
        "echo done; echo 'long@\"secret' >&2",
        "echo done; echo 'long%40%22secret' >> \"$KELVIN_AUDIT_LOG\"",
        "echo 'done {\"password\": \"long@\\\"secret\"}'",
    ] {
        let found = told(script);
        texts.push(found.to_string());
        all_told.push(found.to_string());
    }
    insta::assert_snapshot!(all_told.join("\n"), @r#"
    ["the password of the service `db` stands in its output and in its standard output","the address of the service `db` stands in its output and in its standard output"]
    ["the password of the service `db` stands in its standard error"]
    ["the password of the service `db` stands in the audit log"]
    ["the password of the service `db` stands in its output and in its standard output"]
    "#);
    insta::assert_snapshot!(texts.join("\n"), @r#"
    ["the password of the service `db` stands in its output and in its standard output","the address of the service `db` stands in its output and in its standard output"]
    ["the password of the service `db` stands in its standard error"]
    ["the password of the service `db` stands in the audit log"]
    ["the password of the service `db` stands in its output and in its standard output"]
    "#);
    for script in [
        "echo done; echo 'connected to orders on 127.0.0.1:1 as reader' >&2",
        "test -n \"$KELVIN_SERVICE_DB_URL\" && echo 'done with the password of orders'",
    ] {
        assert_eq!(told(script), "null");
    }
}

/// An agent that does not book, and makes its database say that it has.
#[test]
fn a_view_in_the_place_of_a_table_of_sqlite_makes_its_check_an_error() {
    let seed = "CREATE TABLE orders (room INTEGER);\nCREATE VIEW small AS SELECT * FROM orders;\n";
    let agent = |statements: &str| {
        format!(
            "python3 - \"$KELVIN_SERVICE_SHOP_URL\" <<'END'\nimport sqlite3, sys\n\
             sqlite3.connect(sys.argv[1].removeprefix('sqlite:///')).executescript('{statements}')\nEND\n"
        )
    };
    let trick = "ALTER TABLE orders RENAME TO kept; CREATE VIEW orders AS SELECT 1 AS room;";
    let project = project(&agent(trick), 1, SHOP);
    project.write("seed.sql", seed);
    project.kelvin(&["check"]).expect(2);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "error", "{run}");
    let reason = run["checks"]["booked"]["reason"].as_str().expect("a text");
    insta::assert_snapshot!(reason, @"the query failed: `orders` was a table before the pipeline ran and is a view now, so what it brings is not what the scenario began with");
    // A table that is made anew, and a view beside it, are the agent's work.
    let honest = "DROP TABLE orders; CREATE TABLE orders (room INTEGER, day TEXT); \
                  INSERT INTO orders VALUES (1, 0); CREATE VIEW days AS SELECT day FROM orders;";
    project.write("pipeline.sh", &agent(honest));
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "passed", "{run}");
}

#[test]
#[cfg(feature = "sql")]
fn scenarios_that_share_a_database_run_one_after_the_other() {
    // Nobody asks this server anything, and so nobody notices that it is not there.
    let services =
        "services:\n  db: {type: mysql, url: 'mysql://u@127.0.0.1:1/d', isolation: serial}\n";
    let script = r#"
echo "begin" >> "$KELVIN_ROOT/turns"; sleep 0.1; echo "end $KELVIN_SERVICE_DB_URL" >> "$KELVIN_ROOT/turns"
echo "done: x"; echo x > made.txt
"#;
    let project = project(script, 8, &format!("{INVARIANTS}{services}"));
    project.kelvin(&["check"]).expect(0);
    let turns = project.read("turns");
    let turns: Vec<&str> = turns.lines().collect();
    assert_eq!(turns.len(), 16);
    for turn in turns.chunks(2) {
        assert_eq!(turn, ["begin", "end mysql://u@127.0.0.1:1/d"]);
    }
    // Without it they do overlap.
    fs::remove_file(project.path("turns")).expect("removed");
    configure(&project, INVARIANTS);
    project.kelvin(&["check"]).expect(0);
    let turns = project.read("turns");
    assert!(turns.contains("begin\nbegin\n"), "{turns}");
}

/// How a real server is reached.
fn reached(name: &str) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases/servers");
    let output = Command::new(program).arg("start").output().expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.find(|(found, _)| *found == name).expect(name);
    value.to_owned()
}

#[test]
#[cfg(feature = "sql")]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_12_scenarios_run_at_the_same_time_each_with_its_own_database() {
    let address = reached("POSTGRES");
    let services = SHOP.replace(
        "{type: sqlite, path: shop.db, init: seed.sql}",
        "{type: postgres, url: '${SHOP_URL}', init: seed.sql, ready: {query: SELECT 1}}",
    );
    let script = r#"
psql -q "$KELVIN_SERVICE_SHOP_URL" -c "INSERT INTO orders VALUES ($(grep -o '[0-9]*' "$1" | head -n 1))"
echo "at $KELVIN_SERVICE_SHOP_URL"
"#;
    let project = project(script, 6, &services);
    project.write("seed.sql", "CREATE TABLE orders (room integer);\n");
    let output = project
        .command(&["check"])
        .env("SHOP_URL", &address)
        .output();
    let output = output.expect("the binary starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = project.report();
    assert_eq!(figure(&report, "booked"), json!(1.0));
    assert_eq!(figure(&report, "small"), json!(2.0 / 6.0));
    let text = project.read("kelvin/report.json") + &project.read("kelvin/report.html");
    for hidden in ["of-the-tests", "kelvin_0", &address] {
        assert!(!text.contains(hidden), "{hidden} is told");
    }
    // An agent that goes past its own database is seen.
    project.write("pipeline.sh", "echo done");
    let output = project
        .command(&["check"])
        .env("SHOP_URL", &address)
        .output();
    assert!(output.expect("it starts").status.success());
    assert_eq!(figure(&project.report(), "booked"), json!(0.0));
}

/// Has the client of a server run statements.
#[cfg(feature = "sql")]
fn run_sql(address: &str, statements: &str) {
    let mut command = match address.starts_with("postgres") {
        true => {
            let mut command = Command::new("psql");
            command.args(["-q", "-v", "ON_ERROR_STOP=1", address, "-c", statements]);
            command
        }
        false => {
            let rest = address.trim_start_matches("mysql://");
            let (who, place) = rest.split_once('@').expect("somebody");
            let (user, password) = who.split_once(':').expect("a password");
            let (place, database) = place.split_once('/').expect("a database");
            let port = place.split_once(':').expect("a port").1;
            let mut command = Command::new("mariadb");
            command.args(["--no-defaults", "-h127.0.0.1", "-e", statements]);
            command.args([
                format!("-u{user}"),
                format!("-p{password}"),
                format!("-P{port}"),
            ]);
            command.args(Some(database).filter(|name| !name.is_empty()));
            command
        }
    };
    let output = command.output().expect("the client is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{statements}: {said}");
}

#[test]
#[cfg(feature = "sql")]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_init_is_run_in_a_shared_database_that_is_empty_or_confirmed() {
    for kind in ["postgres", "mysql"] {
        let server = reached(&kind.to_uppercase());
        let database = format!("kelvin_prod_{}_{kind}", std::process::id());
        run_sql(&server, &format!("CREATE DATABASE {database}"));
        let address = format!("{}/{database}", server.rsplit_once('/').expect("a path").0);
        let configured = |more: &str| {
            SHOP.replace(
                "{type: sqlite, path: shop.db, init: seed.sql}",
                &format!("{{type: {kind}, url: '${{SHOP_URL}}', isolation: serial, init: seed.sql{more}}}"),
            )
        };
        let book = match kind {
            "postgres" => "psql -q \"$KELVIN_SERVICE_SHOP_URL\" -c \"$1\"",
            _ => {
                "u=${KELVIN_SERVICE_SHOP_URL#mysql://}; mariadb --no-defaults -h127.0.0.1 \
                  -P\"$(echo \"$u\" | sed 's/.*:\\([0-9]*\\)\\/.*/\\1/')\" \
                  -utester -pof-the-tests \"${u##*/}\" -e \"$1\""
            }
        };
        let script = format!(
            "sql() {{ {book}; }}\nsql \"INSERT INTO orders VALUES (1)\"\n\
             sql \"SELECT count(*) FROM kelvin_between_scenarios\" >/dev/null 2>&1 && exit 9\n\
             echo ran >> \"$KELVIN_ROOT/ran\"\n"
        );
        let project = project(&script, 2, &configured(""));
        project.write(
            "seed.sql",
            "DROP TABLE IF EXISTS orders; CREATE TABLE orders (room integer);",
        );
        let check = || with_variable(&project, &["check", "--no-cache"], "SHOP_URL", &address);
        // An empty database, and then the same with what the first run has left in it.
        for _ in 0..2 {
            let said = check();
            assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
            assert_eq!(figure(&project.report(), "booked"), json!(1.0));
        }
        // Somebody else's tables, in the same database.
        run_sql(
            &address,
            "DROP TABLE kelvin_between_scenarios; CREATE TABLE users (id integer); \
             CREATE TABLE visits (id integer); CREATE TABLE walls (id integer)",
        );
        fs::remove_file(project.path("ran")).expect("removed");
        run_sql(&address, "INSERT INTO orders VALUES (17)");
        let said = check();
        assert_eq!(said.code, Some(2), "{}", said.stdout);
        assert!(!project.path("ran").exists(), "the pipeline was not run");
        let why = ran(&project.report(), "s00", 0)["failure"]["message"].clone();
        let why = why.as_str().expect("a text");
        for part in [
            &*format!("the database `{database}` is not empty"),
            "4 tables, `orders`, `users`, `visits` and 1 more",
            "`init` was not run",
            &format!("add `confirm: {database}` to `services.shop`"),
        ] {
            assert!(why.contains(part), "{part} in {why}");
        }
        let doctor = with_variable(&project, &["doctor"], "SHOP_URL", &address);
        assert!(doctor.stdout.contains(&database), "{}", doctor.stdout);
        // What was there is there: two rows of the last scenario, and one more.
        configure(&project, &configured(", confirm: another_one"));
        let why = check();
        assert!(why.stdout.contains("another_one"), "{}", why.stdout);
        configure(&project, &configured(&format!(", confirm: {database}")));
        let said = check();
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        let doctor = with_variable(&project, &["doctor"], "SHOP_URL", &address);
        let line = doctor.stdout.lines().find(|line| line.contains("`shop`"));
        assert!(
            line.is_some_and(|line| line.starts_with("ok ")),
            "{}",
            doctor.stdout
        );
        run_sql(&server, &format!("DROP DATABASE {database}"));
    }
}

#[test]
#[cfg(feature = "sql")]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_a_search_path_that_leads_to_a_decoy_passes_no_check() {
    let services = SHOP.replace(
        "{type: sqlite, path: shop.db, init: seed.sql}",
        "{type: postgres, url: '${SHOP_URL}', init: seed.sql}",
    );
    let script = r#"
url=$KELVIN_SERVICE_SHOP_URL
psql -q "$url" -c "CREATE SCHEMA evil; CREATE VIEW evil.orders AS SELECT 1 AS room;
  ALTER DATABASE ${url##*/} SET search_path = evil, public"
"#;
    let project = project(script, 1, &services);
    project.write("seed.sql", "CREATE TABLE orders (room integer);\n");
    let address = reached("POSTGRES");
    with_variable(&project, &["check"], "SHOP_URL", &address);
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "failed", "{run}");
    assert_eq!(
        run["checks"]["booked"]["reason"],
        "the query brings 0, expected 1"
    );
}

#[test]
fn the_ceiling_of_a_model_holds_where_scenarios_ask_it() {
    let project = project("", 3, INVARIANTS);
    let answers =
        (0..3).map(|at| json!({"prompt": format!("Give room {at}.\n"), "answer": "done: x"}));
    let answers: Vec<String> = answers.map(|line| line.to_string()).collect();
    project.write("answers.jsonl", &answers.join("\n"));
    project.write(
        "kelvin.yaml",
        "run: {model: tape}\ncases: cases\njobs: 1\n\
         models: {tape: {kind: replay, file: answers.jsonl, limits: {max_calls: 1}}}\n\
         invariants:\n  a: {description: d, check: {type: contains, value: 'done:'}}\n",
    );
    project.kelvin(&["check"]);
    let report = project.report();
    let outcomes: Vec<Value> = (0..3)
        .map(|at| ran(&report, &format!("s{at:02}"), 0)["outcome"].clone())
        .collect();
    assert_eq!(
        outcomes,
        [json!("passed"), Value::Null, Value::Null],
        "one call was made"
    );
}
