//! The services of a configuration.

use super::*;

/// A configuration with services.
fn beside(services: &str) -> String {
    with("{type: latency, max_s: 1}") + "services:\n" + services
}

/// A check of a database, and its service.
fn asking(check: &str) -> String {
    with(check) + "services:\n  db: {type: sqlite, path: shop.db}\n"
}

#[test]
fn what_is_wrong_with_a_service_is_told_with_its_line_and_a_cure() {
    let sql = "{type: sql, service: db, query: SELECT 1, equals: 1}";
    let mut each = Vec::new();
    for text in [
        beside("  db: {type: postgrs, url: x}\n"),
        beside("  db: {type: mariadb, url: x}\n"),
        beside("  db: {path: x}\n"),
        beside("  db: {type: sqlite, paht: x}\n"),
        beside("  db: {type: sqlite, path: ../x}\n"),
        beside("  db: {type: sqlite, path: /x}\n"),
        beside("  db: {type: sqlite, isolation: serial}\n"),
        beside("  db: {type: sqlite, init: gone.sql}\n"),
        beside("  db: {type: sqlite, timeout_s: 0}\n"),
        beside("  my db: {type: sqlite}\n"),
        beside("  my-db: {type: sqlite}\n  MY_DB: {type: sqlite}\n"),
        beside("  db: {type: sqlite, path: '${KELVIN_NOT_SET_ANYWHERE}'}\n"),
        with(sql),
        asking("{type: sql, service: bd, query: SELECT 1, equals: 1}"),
        asking("{type: sql, service: db, query: DROP TABLE a, equals: 1}"),
        asking("{type: sql, service: db, query: 'SELECT 1; SELECT 2', equals: 1}"),
        asking("{type: sql, service: db, query: SELECT 1}"),
        asking("{type: sql, service: db, query: SELECT 1, equal: 1}"),
        with("{type: command_exit, command: x, timeout_s: -1}"),
        with("{type: command_exit, command: x, timeout_s: .nan}"),
        beside("  db: {type: sqlite, timeout_s: -1}\n"),
        asking("{type: sql, service: db, query: SELECT 1, equals: 1, timeout_s: -1}"),
    ] {
        let told = refusal(&text);
        each.push(problems(&told));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    `services.db.type` must be `postgres`, `mysql`, `sqlite` or `http_mock`, found `postgrs`
     --> kelvin.yaml:7:14
      = help: did you mean `postgres`?
    `services.db.type` must be `postgres`, `mysql`, `sqlite` or `http_mock`, found `mariadb`
     --> kelvin.yaml:7:14
      = help: MariaDB is of the type `mysql`
    the key `type` is missing in `services.db`
     --> kelvin.yaml:7:7
    unknown key `paht` in `services.db`
     --> kelvin.yaml:7:22
      = help: did you mean `path`?
    `../x` leads out of the workspace: a path is relative to it
     --> kelvin.yaml:7:28
    `/x` leads out of the workspace: a path is relative to it
     --> kelvin.yaml:7:28
    unknown key `isolation` in `services.db`
     --> kelvin.yaml:7:22
      = help: known here: init, path, timeout_s, type
    `gone.sql` cannot be read: No such file or directory (os error 2)
     --> kelvin.yaml:7:28
      = help: name a file with SQL, relative to the folder of the configuration
    `services.db.timeout_s` must be a number above 0 and at most 86400, found `0`
     --> kelvin.yaml:7:33
    `my db` is no name of a service
     --> kelvin.yaml:7:3
      = help: a name has letters, digits, `_` and `-`, and begins with a letter: the pipeline sees the address as `KELVIN_SERVICE_NAME_URL`
    `MY_DB` and `my-db` have the same variable, `KELVIN_SERVICE_MY_DB_URL`
     --> kelvin.yaml:8:3
      = help: give one of them another name
    the variable `KELVIN_NOT_SET_ANYWHERE` is not set in the environment
     --> kelvin.yaml:7:28
      = help: set it, or write `$${KELVIN_NOT_SET_ANYWHERE}` where the text itself is meant
    no service is called `db`: declare it, e.g. `services: {db: {type: postgres, …}}`
     --> kelvin.yaml:5:33
    no service is called `bd`: did you mean `db`?
     --> kelvin.yaml:5:33
    a query begins with SELECT, WITH, VALUES or SHOW, and not with `DROP`: a check only reads
     --> kelvin.yaml:5:44
    the query has more than one statement
     --> kelvin.yaml:5:44
    the check of `made` has nothing to compare with: it has no `equals`, and there is no scenario that could expect something
     --> kelvin.yaml:5:12
      = help: add `equals: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    unknown key `equal` in `invariants.made.check`
     --> kelvin.yaml:5:54
      = help: did you mean `equals`?
    `invariants.made.check.timeout_s` must be a number above 0 and at most 86400, found `-1`
     --> kelvin.yaml:5:56
    `invariants.made.check.timeout_s` must be a number above 0 and at most 86400, found `.nan`
     --> kelvin.yaml:5:56
    `services.db.timeout_s` must be a number above 0 and at most 86400, found `-1`
     --> kelvin.yaml:7:33
    `invariants.made.check.timeout_s` must be a number above 0 and at most 86400, found `-1`
     --> kelvin.yaml:5:76
    ");
    load(&asking(sql)).expect("nothing is wrong with it");
    load(&asking(
        "{type: sql, service: db, query: SELECT 1, equals: null}",
    ))
    .expect("null is a value");
}

#[test]
#[cfg(feature = "sql")]
fn what_is_wrong_with_a_server_is_told_and_its_address_is_not() {
    let mut each = Vec::new();
    for keys in [
        "url: 'host=localhost password=hidden-one'",
        "url: 'mysql://u:hidden-one@h/d'",
        "url: 'postgres://u:hidden-one@h/d?sslmode=verify-ca'",
        "url: 'postgres://u:hidden-one@h/d?sslrootcert=x'",
        "url: 'postgres://u:hidden-one@h/d?sslmode=verify-full&sslrootcert=gone.pem'",
        "url: 'postgres://h/d', ready: {}",
        "url: 'postgres://h/d', ready: {port: 1, query: SELECT 1}",
        "url: 'postgres://h/d', ready: {port: 0}",
        "url: 'postgres://h/d', isolation: shared",
        "url: 'postgres://h/d', path: x",
        "url: 'postgres://h/d', confirm: d",
    ] {
        let told = refusal(&beside(&format!("  db: {{type: postgres, {keys}}}\n")));
        let message = told.split("\n").next().unwrap_or_default();
        each.push(problems(&told));
        assert!(!message.contains("hidden-one"), "{message}");
    }
    insta::assert_snapshot!(each.join("\n"), @"
    this is no URL such as `postgres://user:password@host/database`: relative URL without a base (in a name or a password, `@`, `:`, `/`, `#` and `%` are written as…
     --> kelvin.yaml:7:29
    this is no URL such as `postgres://user:password@host/database`
     --> kelvin.yaml:7:29
    `sslmode` is one of disable, prefer, require and verify-full
     --> kelvin.yaml:7:29
    `sslrootcert` needs `sslmode=verify-full`
     --> kelvin.yaml:7:29
    the certificates of `gone.pem` cannot be read: I/O error: No such file or directory (os error 2)
     --> kelvin.yaml:7:29
    `ready` has one of `command`, `port` and `query`, e.g. `ready: {query: SELECT 1}`
     --> kelvin.yaml:7:54
    `ready` has one of `command`, `port` and `query`, e.g. `ready: {query: SELECT 1}`
     --> kelvin.yaml:7:54
    `services.db.ready.port` must be a whole number from 1 to 65535, found `0`
     --> kelvin.yaml:7:61
    `services.db.isolation` must be `database` or `serial`, found `shared`
     --> kelvin.yaml:7:58
    unknown key `path` in `services.db`
     --> kelvin.yaml:7:47
      = help: known here: confirm, init, isolation, ready, timeout_s, type, url; `path` is a key of `baseline`
    `confirm` says that a shared database may be used although it is not empty, and nothing is shared without `isolation: serial`: leave `confirm` out
     --> kelvin.yaml:7:56
    ");
    let told = refusal(&beside(
        "  db: {type: mysql, url: 'mysql://h/d?ssl-mode=PREFERRED'}\n",
    ));
    insta::assert_snapshot!(problems(&told), @"
    `ssl-mode` is one of DISABLED, REQUIRED and VERIFY_IDENTITY
     --> kelvin.yaml:7:26
    ");
}

#[test]
#[cfg(feature = "sql")]
fn where_a_service_is_no_part_of_what_is_measured_and_what_is_in_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |keys: &str, seed: &str| {
        fs::write(folder.path().join("seed.sql"), seed).expect("written");
        let text = beside(&format!(
            "  db: {{type: postgres, {keys}, init: seed.sql}}\n"
        ));
        load_in(folder.path(), &text).expect("nothing is wrong with it")
    };
    let of = |config: &Config| {
        use kelvin_run::config::ProbeSettings as _;
        let settings = settings(config);
        let written = serde_json::Value::Object(settings.as_data()).to_string();
        assert!(
            !format!("{written}{settings:?}").contains("hidden-one"),
            "{written}"
        );
        let files = settings.files();
        assert!(files.contains(&("init of a service", std::path::Path::new("seed.sql"))));
        (written, settings.reader_digest())
    };
    let plain = of(&read("url: 'postgres://u:hidden-one@h/d'", "SELECT 1"));
    let elsewhere = of(&read("url: 'postgres://u:hidden-one@other/d'", "SELECT 1"));
    assert_eq!(plain.0, elsewhere.0);
    assert_ne!(plain.1, elsewhere.1, "the cache asks again");
    let seeded = of(&read("url: 'postgres://u:hidden-one@h/d'", "SELECT 2"));
    assert_ne!(plain.1, seeded.1);
    let serial = of(&read(
        "url: 'postgres://u:hidden-one@h/d', isolation: serial",
        "SELECT 1",
    ));
    assert_ne!(plain.0, serial.0);
    // Configurations without services are what they were.
    let without = load(&with("{type: latency, max_s: 1}")).expect("complete");
    use kelvin_run::config::ProbeSettings as _;
    assert!(!settings(&without).as_data().contains_key("services"));
}

#[test]
#[cfg(not(feature = "sql"))]
fn without_the_feature_a_server_is_refused_by_name_and_sqlite_is_there() {
    for kind in ["postgres", "mysql"] {
        let told = refusal(&beside(&format!(
            "  db: {{type: {kind}, url: '{kind}://h/d'}}\n"
        )));
        let what = format!(
            "this program was built without the feature `sql`, which a service of type `{kind}` needs"
        );
        assert!(told.contains(&what) && told.contains(":7:"), "{told}");
    }
    load(&asking(
        "{type: sql, service: db, query: SELECT 1, equals: 1}",
    ))
    .expect("it is there");
}
