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
    assert_eq!(
        run["checks"]["booked"]["reason"],
        "the query failed: no such table: orders"
    );
}

#[test]
#[cfg(feature = "sql")]
fn a_scenario_whose_server_is_not_there_is_an_error_and_its_pipeline_is_not_run() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let services = SHOP.replace(
        "{type: sqlite, path: shop.db, init: seed.sql}",
        &format!("{{type: postgres, url: 'postgres://u:hidden-one@127.0.0.1:{port}/d'}}"),
    );
    let project = project("echo ran >> \"$KELVIN_ROOT/ran\"", 2, &services);
    let said = project.kelvin(&["check"]);
    assert!(!project.path("ran").exists(), "the pipeline was not run");
    let run = ran(&project.report(), "s00", 0);
    assert_eq!(run["outcome"], "error", "{run}");
    assert_eq!(run["checks"]["booked"]["outcome"], "skipped");
    let why = run["failure"]["message"].as_str().expect("a text");
    assert!(
        why.contains("the service `shop` of type `postgres`"),
        "{why}"
    );
    assert!(why.contains("Connection refused"), "{why}");
    let everything = project.read("kelvin/report.json") + &said.stdout + &said.stderr;
    assert!(!everything.contains("hidden-one"), "the password is told");
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
