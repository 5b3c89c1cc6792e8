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
    for (text, parts) in [
        (
            beside("  db: {type: postgrs, url: x}\n"),
            vec![":7:", "did you mean `postgres`?"],
        ),
        (
            beside("  db: {type: mariadb, url: x}\n"),
            vec![":7:", "MariaDB is of the type `mysql`"],
        ),
        (
            beside("  db: {path: x}\n"),
            vec![":7:", "the key `type` is missing"],
        ),
        (
            beside("  db: {type: sqlite, paht: x}\n"),
            vec![":7:22", "did you mean `path`?"],
        ),
        (
            beside("  db: {type: sqlite, path: ../x}\n"),
            vec![":7:", "leads out of the workspace"],
        ),
        (
            beside("  db: {type: sqlite, path: /x}\n"),
            vec![":7:", "leads out of the workspace"],
        ),
        (
            beside("  db: {type: sqlite, isolation: serial}\n"),
            vec![":7:", "unknown key `isolation`"],
        ),
        (
            beside("  db: {type: sqlite, init: gone.sql}\n"),
            vec![":7:", "`gone.sql` cannot be read"],
        ),
        (
            beside("  db: {type: sqlite, timeout_s: 0}\n"),
            vec![":7:", "above 0"],
        ),
        (
            beside("  my db: {type: sqlite}\n"),
            vec![":7:3", "no name of a service"],
        ),
        (
            beside("  my-db: {type: sqlite}\n  MY_DB: {type: sqlite}\n"),
            vec![":8:3", "have the same variable, `KELVIN_SERVICE_MY_DB_URL`"],
        ),
        (
            beside("  db: {type: sqlite, path: '${KELVIN_NOT_SET_ANYWHERE}'}\n"),
            vec![":7:", "`KELVIN_NOT_SET_ANYWHERE` is not set"],
        ),
        (
            with(sql),
            vec![":5:", "no service is called `db`: declare it"],
        ),
        (
            asking("{type: sql, service: bd, query: SELECT 1, equals: 1}"),
            vec![":5:", "did you mean `db`?"],
        ),
        (
            asking("{type: sql, service: db, query: DROP TABLE a, equals: 1}"),
            vec![
                ":5:",
                "a query begins with SELECT, WITH, VALUES or SHOW, and not with `DROP`",
            ],
        ),
        (
            asking("{type: sql, service: db, query: 'SELECT 1; SELECT 2', equals: 1}"),
            vec![":5:", "more than one statement"],
        ),
        (
            asking("{type: sql, service: db, query: SELECT 1}"),
            vec!["has nothing to compare with: it has no `equals`"],
        ),
        (
            asking("{type: sql, service: db, query: SELECT 1, equal: 1}"),
            vec!["did you mean `equals`?"],
        ),
        (
            with("{type: command_exit, command: x, timeout_s: -1}"),
            vec![":5:", "above 0"],
        ),
        (
            with("{type: command_exit, command: x, timeout_s: .nan}"),
            vec![":5:"],
        ),
        (
            beside("  db: {type: sqlite, timeout_s: -1}\n"),
            vec![":7:", "above 0"],
        ),
        (
            asking("{type: sql, service: db, query: SELECT 1, equals: 1, timeout_s: -1}"),
            vec![":5:", "above 0"],
        ),
    ] {
        let told = refusal(&text);
        for part in parts {
            assert!(
                told.contains(part),
                "{part}\nis not told of\n{text}\nbut\n{told}"
            );
        }
    }
    load(&asking(sql)).expect("nothing is wrong with it");
    load(&asking(
        "{type: sql, service: db, query: SELECT 1, equals: null}",
    ))
    .expect("null is a value");
}

#[test]
#[cfg(feature = "sql")]
fn what_is_wrong_with_a_server_is_told_and_its_address_is_not() {
    for (keys, part) in [
        (
            "url: 'host=localhost password=hidden-one'",
            "this is no URL such as `postgres://",
        ),
        (
            "url: 'mysql://u:hidden-one@h/d'",
            "this is no URL such as `postgres://",
        ),
        (
            "url: 'postgres://u:hidden-one@h/d?sslmode=verify-ca'",
            "`sslmode` is one of",
        ),
        (
            "url: 'postgres://u:hidden-one@h/d?sslrootcert=x'",
            "needs `sslmode=verify-full`",
        ),
        (
            "url: 'postgres://u:hidden-one@h/d?sslmode=verify-full&sslrootcert=gone.pem'",
            "the certificates of `gone.pem` cannot be read",
        ),
        ("url: 'postgres://h/d', ready: {}", "`ready` has one of"),
        (
            "url: 'postgres://h/d', ready: {port: 1, query: SELECT 1}",
            "`ready` has one of",
        ),
        ("url: 'postgres://h/d', ready: {port: 0}", "from 1"),
        ("url: 'postgres://h/d', isolation: shared", "`serial`"),
        ("url: 'postgres://h/d', path: x", "unknown key `path`"),
        (
            "url: 'postgres://h/d', confirm: d",
            "nothing is shared without `isolation: serial`",
        ),
    ] {
        let told = refusal(&beside(&format!("  db: {{type: postgres, {keys}}}\n")));
        let message = told.split("\n").next().unwrap_or_default();
        assert!(
            told.contains(part) && told.contains(":7:"),
            "{part}\nof\n{told}"
        );
        assert!(!message.contains("hidden-one"), "{message}");
    }
    let told = refusal(&beside(
        "  db: {type: mysql, url: 'mysql://h/d?ssl-mode=PREFERRED'}\n",
    ));
    assert!(told.contains("`ssl-mode` is one of"), "{told}");
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
