use crate::fixtures::text::redacted;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fixtures::report as fixture;
use crate::fixtures::report::EvidenceReport as _;

fn written(report: &Report) -> String {
    let mut text = Vec::new();
    write(&mut text, report).expect("memory takes it");
    String::from_utf8(text).expect("JSON is text")
}

fn refused(text: &str) -> String {
    format!(
        "{:#}",
        read(text.as_bytes(), &fixture::kinds()).expect_err("it is refused")
    )
}

fn every_fixture() -> Vec<Report> {
    let mut reports = vec![
        fixture::good(),
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
        fixture::dry_run(),
    ];
    reports.extend(fixture::corpus().iter().map(|text| fixture::hostile(text)));
    reports
}

#[test]
fn a_report_comes_back_as_it_was() {
    for report in every_fixture() {
        let text = written(&report);
        let back = read(text.as_bytes(), &fixture::kinds()).expect("it is read");
        assert_eq!(back, report);
        assert_eq!(written(&back), text);
    }
}

#[test]
fn every_variant_and_every_case_of_a_metric_has_a_line() {
    let text = written(&fixture::bad());
    let line = |start: &str| {
        let found = text
            .lines()
            .filter(|line| line.trim_start().starts_with(start))
            .count();
        assert!(found > 0, "{start}");
        found
    };
    assert_eq!(line(r#"{"id":"reorder-01","kind":"reorder""#), 12);
    assert_eq!(line(r#""evidence.invariance": {"#), 1);
    assert_eq!(line(r#""value": "#), fixture::bad().metrics.len());
    assert!(
        text.contains("\n      \"per_case\": {\n        \"case_000\": {\"value\":"),
        "{text}"
    );
    assert!(text.starts_with("{\n  \"schema_version\": 2,\n  \"tool\": {\n"));
    assert!(text.ends_with("\n}\n"));
}

#[test]
fn thousands_of_cases_stay_small() {
    let text = written(&fixture::large(200));
    assert!(
        text.len() < 200 * 9_000,
        "{} bytes a case",
        text.len() / 200
    );
}

#[test]
fn lines_are_broken_to_their_depth_and_empty_ones_are_not() {
    let value = json!({ "a": [], "b": {}, "c": [1, { "d": [[2, 3], {}] }], "e": "x" });
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, OuterLines::within(0, 2));
    value.serialize(&mut serializer).expect("memory takes it");
    let text = String::from_utf8(text).expect("JSON is text");
    assert_eq!(
        text,
        "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\"d\":[[2,3],{}]}\n  ],\n  \"e\": \"x\"\n}"
    );
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
}

#[test]
fn a_case_has_a_report_of_its_own() {
    let report = fixture::bad();
    let mut text = Vec::new();
    write_item(&mut text, "case_000", &report.cases()["case_000"]).expect("memory takes it");
    let value: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(value["schema_version"], 2);
    assert_eq!(value["case"], "case_000");
    assert_eq!(value["variants"].as_array().map(Vec::len), Some(15));
}

#[test]
fn a_newer_report_is_refused_with_its_version_and_a_cure() {
    let newer =
        r#"{"schema_version": 3, "tool": {"name": "kelvin", "version": "9.1.0"}, "all": "new"}"#;
    insta::assert_snapshot!(refused(newer), @"it was written by a newer kelvin, version 9.1.0 (schema 3, this one reads 2): update kelvin, or measure again with this one");
    let largest = refused(r#"{"schema_version": 18446744073709551615}"#);
    insta::assert_snapshot!(largest, @"it was written by a newer kelvin (schema 18446744073709551615, this one reads 2): update kelvin, or measure again with this one");
}

#[test]
fn a_report_of_an_early_kelvin_is_refused_with_a_cure() {
    // Its shape does not matter: the version alone says that it is not read.
    for text in [
        r#"{"schema_version": 1, "cases": {}}"#.to_owned(),
        written(&fixture::good()).replacen("\"schema_version\": 2", "\"schema_version\": 1", 1),
    ] {
        assert_eq!(
            refused(&text),
            "it was written by an early kelvin (schema 1), which is not read any more: measure again"
        );
    }
}

#[test]
fn what_is_no_report_is_refused_in_words() {
    let mut told = Vec::new();
    for text in [
        "",
        "{",
        "nonsense",
        "null",
        "[]",
        "[1, 2]",
        "\"text\"",
        "{}",
        r#"{"schema_version": null}"#,
        r#"{"schema_version": "1"}"#,
        r#"{"schema_version": 0}"#,
        r#"{"schema_version": -1}"#,
        r#"{"schema_version": 1.5}"#,
        r#"{"schema_version": 2}"#,
        r#"{"schema_version": 2, "schema_version": 2}"#,
    ] {
        let said = refused(text);
        told.push(said.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    it is cut off: EOF while parsing a value at line 1 column 0
    it is cut off: EOF while parsing an object at line 1 column 1
    it is not JSON: expected ident at line 1 column 2
    it is JSON, but no report of kelvin: invalid type: null, expected struct Head at line 1 column 4
    it is JSON, but no report of kelvin: invalid length 0, expected struct Head with 2 elements at line 1 column 2
    it is JSON, but no report of kelvin: it is not an object
    it is JSON, but no report of kelvin: invalid type: string "text", expected struct Head at line 1 column 6
    it has no `schema_version`, so it is no report of kelvin
    it has no `schema_version`, so it is no report of kelvin
    its `schema_version` is "1", which no kelvin has written
    its `schema_version` is 0, which no kelvin has written
    its `schema_version` is -1, which no kelvin has written
    its `schema_version` is 1.5, which no kelvin has written
    it is no whole report of kelvin: missing field `tool` at line 1 column 21
    it is JSON, but no report of kelvin: duplicate field `schema_version` at line 1 column 38
    "#);
}

#[test]
fn a_report_nested_too_deep_is_refused() {
    let mut told = Vec::new();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        told.push(refused(&deep));
        // The words of the parser.
        let field = format!("{{\"schema_version\": {deep}}}");
        let said = refused(&field);
        assert!(said.contains("recursion limit"), "{said}");
        let whole = written(&fixture::good()).replacen("\"approve\"", &deep, 1);
        assert!(refused(&whole).contains("recursion limit"));
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    it is not JSON: recursion limit exceeded at line 1 column [COLUMN]
    it has no `schema_version`, so it is no report of kelvin
    ");
}

#[test]
fn a_report_cut_anywhere_is_refused_without_a_panic() {
    let text = written(&fixture::report(2, |_, kind, _| {
        (kind == "swap").then_some(1.0)
    }));
    let mut kinds = std::collections::BTreeSet::new();
    for end in (0..text.trim_end().len()).step_by(7) {
        let said = refused(&text[..end]);
        kinds.insert(said.split(':').next().unwrap_or_default().to_owned());
    }
    // A number that is cut in the middle is no number.
    insta::assert_snapshot!(Vec::from_iter(kinds).join("\n"), @"
    it is cut off
    it is not JSON
    ");
}

#[test]
fn what_was_not_written_is_not_read() {
    let text = written(&fixture::good());
    for (from, to) in [
        ("\"seed\": 7", "\"seed\": -7"),
        ("\"seed\": 7", "\"seed\": \"7\""),
        ("\"metrics\": {", "\"metrics\": [{"),
        ("\"ending\": \"complete\"", "\"ending\": \"done\""),
        ("\"direction\": \"higher\"", "\"direction\": null"),
        ("\"n\": 108", "\"n\": 1.5"),
        ("\"notices\": []", "\"notices\": {}"),
    ] {
        assert!(text.contains(from), "{from}");
        refused(&text.replacen(from, to, 1));
    }
}

/// Every object of a report has one more field, as reports of newer versions may have.
fn with_more(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(with_more),
        Value::Object(fields) => {
            fields.values_mut().for_each(with_more);
            fields.insert(
                "from_the_future".to_owned(),
                json!({"of": ["a newer version"]}),
            );
        }
        _ => {}
    }
}

#[test]
fn a_report_of_a_newer_version_is_read_where_it_only_says_more() {
    let report = fixture::bad();
    let mut value: Value = serde_json::from_str(&written(&report)).expect("JSON");
    // Maps of items and figures hold no fields of their own.
    let mut metrics = value["metrics"].take();
    let mut cases = value["probes"]["evidence"]["items"].take();
    with_more(&mut value);
    value["probes"]
        .as_object_mut()
        .expect("a map")
        .remove("from_the_future");
    for map in [&mut metrics, &mut cases] {
        for item in map.as_object_mut().expect("a map").values_mut() {
            item.as_object_mut()
                .expect("fields")
                .insert("from_the_future".to_owned(), json!(1));
        }
    }
    value["metrics"] = metrics;
    value["probes"]["evidence"]["items"] = cases;
    assert_eq!(
        read(value.to_string().as_bytes(), &fixture::kinds()).expect("it is read"),
        report
    );
    value["notices"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"code": "told_by_a_newer_version", "text": "hello"}));
    let read = read(value.to_string().as_bytes(), &fixture::kinds()).expect("it is read");
    assert_eq!(
        read.notices.last().map(|notice| notice.code.clone()),
        Some(kelvin_base::notice::Code::own("told_by_a_newer_version"))
    );
}

proptest! {
    #[test]
    fn bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &fixture::kinds());
    }

    #[test]
    fn a_flipped_byte_is_read_or_refused(at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = written(&fixture::half()).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(report) = read(&bytes, &fixture::kinds()) {
            // Whatever was read can be shown.
            crate::report::page::to_markdown(&report);
            crate::report::page::to_terminal(&report, "kelvin", kelvin_page::terminal::Style::PLAIN);
        }
    }

    #[test]
    fn a_value_keeps_its_last_digit(value in 0.0..2.0f64, distance in 0.0..1.0f64) {
        let mut report = fixture::half();
        fixture::set(&mut report, "kelvin_score", value, 3);
        for case in fixture::cases(&mut report).values_mut() {
            case.variants[0].samples[0].distance = Some(distance);
        }
        prop_assert_eq!(read(written(&report).as_bytes(), &fixture::kinds()).expect("it is read"), report);
    }
}
