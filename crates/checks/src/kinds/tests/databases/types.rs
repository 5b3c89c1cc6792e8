use super::servers::own;
use super::*;

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_13_every_type_of_postgresql_compares() {
    let beside = own(
        "postgres",
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN price AS numeric(10, 2);
         CREATE DOMAIN cheap AS price; CREATE TYPE pair AS (a int, b text);
         SET TimeZone = 'Asia/Tokyo'",
    );
    let db = beside.open();
    for (value, equals) in [
        ("12345678901234567890.123450::numeric", json!(null)),
        ("0.10::numeric", json!(0.1)),
        ("7::smallint", json!(7)),
        ("9223372036854775807::bigint", json!(i64::MAX)),
        ("0.1::real", json!(0.1)),
        ("1e100::double precision", json!(1e100)),
        ("2.50::price", json!(2.5)),
        ("2.50::cheap", json!(2.5)),
        ("true", json!(true)),
        ("1 > 2", json!(false)),
        ("NULL::int", json!(null)),
        ("'a'::char(3)", json!("a  ")),
        ("DATE '2026-01-02'", json!("2026-01-02")),
        (
            "TIMESTAMP '2026-01-02 03:04:05.6'",
            json!("2026-01-02 03:04:05.6"),
        ),
        (
            "TIMESTAMPTZ '2026-01-02 03:04:05+02'",
            json!("2026-01-02 01:04:05+00"),
        ),
        ("TIME '03:04:05'", json!("03:04:05")),
        ("INTERVAL '1 day 2 hours'", json!("1 day 02:00:00")),
        (
            "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        ("'{\"a\": [1, 2.0]}'::json", json!({"a": [1, 2]})),
        ("'{\"a\": [1, 2.0]}'::jsonb", json!({"a": [1, 2]})),
        ("'null'::jsonb", json!(null)),
        ("'\"x\"'::jsonb", json!("x")),
        ("'happy'::mood", json!("happy")),
        ("'\\x00ff'::bytea", json!("\\x00ff")),
        ("'10.0.0.1/8'::inet", json!("10.0.0.1/8")),
        ("ARRAY[1, 2]", json!("{1,2}")),
        ("'[1,3)'::int4range", json!("[1,3)")),
        ("ROW(1, 'x')::pair", json!("(1,x)")),
        ("B'101'", json!("101")),
        ("'<a/>'::xml", json!("<a/>")),
        ("point(1, 2)", json!("(1,2)")),
        ("'a & b'::tsquery", json!("'a' & 'b'")),
        ("1::oid", json!(1)),
    ] {
        let query = format!("SELECT {value}");
        match value.starts_with("1234567890") {
            // More digits than any number of the configuration has.
            true => {
                let found = db.fails(&query, json!(12345678901234567890_u64));
                assert!(found.contains("12345678901234567890.123450"), "{found}");
            }
            false => db.brings(&query, equals),
        }
    }
    for (value, equals) in [
        ("'NaN'::float8", json!(0)),
        ("'1'::text", json!(1)),
        ("1", json!("1")),
        ("1", json!(true)),
        ("true", json!(1)),
        ("0.1::numeric + 0.2", json!(0.30000000000000004)),
        ("'2026-01-02'::date", json!("2026-01-03")),
    ] {
        assert!(
            db.fails(&format!("SELECT {value}"), equals)
                .contains("expected")
        );
    }
    let coerced = db.look(json!({
        "type": "sql", "service": "db", "query": "SELECT '0'::text", "equals": 0, "coerce": true,
    }));
    assert_eq!(coerced.outcome, Outcome::Passed, "{coerced:?}");
    assert!(
        db.is_error("SELECT FROM pg_class LIMIT 1")
            .contains("no column")
    );
    assert!(db.is_error("SELECT $1::int").contains("parameter"));
}

#[test]
#[ignore = "needs database servers: tests/databases/servers"]
fn on_real_servers_inv_13_every_type_of_mariadb_compares() {
    let beside = own(
        "mysql",
        "CREATE TABLE t (a DECIMAL(30, 10), b DATE, c DATETIME(3), d TIME, e YEAR, f JSON, g UUID,
           h BIT(9), i ENUM('sad', 'happy'), j SET('x', 'y'), k BLOB, l FLOAT, m DOUBLE,
           n BIGINT UNSIGNED, o BOOLEAN, p TIMESTAMP NULL, q CHAR(3), r INET6, s TEXT, u TIME(2));
         SET time_zone = '+09:00';
         INSERT INTO t VALUES (12.50, '2026-01-02', '2026-01-02 03:04:05.678', '-100:01:02', 2026,
           '{\"a\": [1, 2.0]}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', b'100000001', 'happy', 'x,y',
           x'00ff', 0.1, 1e100, 18446744073709551615, true, '2026-01-02 03:04:05', 'a', '::1', 'größer',
           '01:02:03.45')",
    );
    let db = beside.open();
    for (column, equals) in [
        ("a", json!(12.5)),
        ("b", json!("2026-01-02")),
        ("c", json!("2026-01-02 03:04:05.678")),
        ("d", json!("-100:01:02")),
        ("e", json!(2026)),
        ("f", json!({"a": [1, 2]})),
        ("g", json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("h", json!(257)),
        ("i", json!("happy")),
        ("j", json!("x,y")),
        ("k", json!("\\x00ff")),
        ("l", json!(0.1)),
        ("m", json!(1e100)),
        ("n", json!(u64::MAX)),
        ("o", json!(1)),
        ("p", json!("2026-01-01 18:04:05")),
        ("q", json!("a")),
        ("r", json!("::1")),
        ("s", json!("größer")),
        ("u", json!("01:02:03.45")),
        ("NULL", json!(null)),
        ("count(*)", json!(1)),
        ("sum(a)", json!(12.5)),
        ("JSON_EXTRACT(f, '$.a')", json!([1, 2])),
        ("CONCAT(1, 2)", json!("12")),
    ] {
        db.brings(&format!("SELECT {column} FROM t"), equals);
    }
    assert!(
        db.fails("SELECT o FROM t", json!(true))
            .contains("brings 1, expected true, which is of another type")
    );
    assert!(
        db.fails("SELECT '1' FROM t", json!(1))
            .contains("expected 1, which is of another type")
    );
    assert!(
        db.fails("SELECT n FROM t", json!(18446744073709551614_u64))
            .contains("expected")
    );
    assert!(db.is_error("SELECT ?").contains("parameter"));
}
