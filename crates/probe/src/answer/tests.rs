use serde_json::json;

use super::*;

fn key(name: &str) -> DecisionField {
    DecisionField::Key(name.to_owned())
}

fn pointer(path: &str) -> DecisionField {
    DecisionField::Pointer(path.to_owned())
}

fn refused(bytes: &[u8], field: &DecisionField) -> (FailureKind, String) {
    let failure = find(bytes, field).expect_err("refused");
    (failure.kind, failure.message)
}

#[test]
fn the_decision_is_found_by_key_and_by_pointer() {
    let output = br#"{"x": [1, {"y": "z"}], "a/b": 1, "decision": null, "a": {"b": {"c": true}}}"#;
    for (field, value) in [
        (key("decision"), json!(null)),
        (key("a/b"), json!(1)),
        (key("x"), json!([1, {"y": "z"}])),
        (pointer("/a/b/c"), json!(true)),
        (pointer("/a~1b"), json!(1)),
        (pointer("/x/1/y"), json!("z")),
        (pointer("/x/0"), json!(1)),
    ] {
        assert_eq!(find(output, &field).expect("found"), value, "{field:?}");
    }
    assert_eq!(
        find(b"\xef\xbb\xbf{\"d\": 2}\r\n", &key("d")).expect("a BOM"),
        json!(2)
    );
    assert_eq!(
        find(br#"{"d": 1, "d": 2}"#, &key("d")).expect("the last"),
        json!(2)
    );
    assert_eq!(
        find(br#"{"\u0064": 1}"#, &key("d")).expect("an escape"),
        json!(1)
    );
}

#[test]
fn kel_26_a_missing_field_names_what_is_there() {
    let mut told = Vec::new();
    for field in [
        key("b"),
        pointer("/b/x"),
        pointer("/a/y"),
        pointer("/a/x/z"),
        pointer("/c/5"),
    ] {
        let (kind, message) = refused(br#"{"a": {"x": 1}, "c": [1]}"#, &field);
        assert_eq!(kind, FailureKind::DecisionMissing);
        told.push(message.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    its output has no field `b`; it has `a`, `c`
    its output has no field `/b/x`; it has `a`, `c`
    its output has no field `/a/y`; `/a` has `x`
    its output has no field `/a/x/z`; `/a/x` is a number
    its output has no field `/c/5`; `/c` is a list
    ");
    let (_, message) = refused(b"{}", &key("b"));
    insta::assert_snapshot!(message, @"its output has no field `b`; it has no fields");
}

#[test]
fn names_of_fields_are_capped_and_harmless() {
    let mut output = String::from("{\"\\u001b[31mred`\": 0");
    for n in 0..100 {
        output.push_str(&format!(", \"{n}{}\": 0", "x".repeat(500)));
    }
    let (_, message) = refused(format!("{output}}}").as_bytes(), &key("d"));
    assert!(
        message.len() < 1000 && message.contains("and 89 more"),
        "{message}"
    );
    assert!(
        !message.contains('\u{1b}') && message.contains("\\u{1b}[31mred"),
        "{message}"
    );
}

#[test]
fn m12_not_a_number_and_infinity_are_refused_by_name() {
    for (number, name) in [
        ("NaN", "NaN"),
        ("-Infinity", "Infinity"),
        ("Infinity", "Infinity"),
    ] {
        for output in [
            format!("{{\"score\": 1,\n \"decision\": {number}}}"),
            format!("{{\"decision\": 1,\n \"other\": [{number}]}}"),
        ] {
            let (kind, message) = refused(output.as_bytes(), &key("decision"));
            assert_eq!(kind, FailureKind::OutputNotJson);
            assert!(
                message.contains(name) && message.contains("line 2"),
                "{message}"
            );
        }
    }
}

#[test]
fn outputs_that_crash_others_are_failures() {
    let deep = "[".repeat(200_000);
    let closed = format!("{{\"d\": {deep}{}}}", "]".repeat(200_000));
    let beside = format!("{{\"x\": {deep}{}, \"d\": 1}}", "]".repeat(200_000));
    let digits = |count| format!("{{\"d\": {}}}", "9".repeat(count));
    for (output, kind) in [
        (deep.as_bytes(), FailureKind::OutputNotJson),
        (closed.as_bytes(), FailureKind::OutputNotJson),
        (digits(400).as_bytes(), FailureKind::OutputNotJson),
        (digits(5000).as_bytes(), FailureKind::OutputNotJson),
        (b"{\"d\": \"\xff\"}", FailureKind::OutputNotJson),
        (b"", FailureKind::OutputNotJson),
        (b"\0\0\0", FailureKind::OutputNotJson),
        (b"{\"d\": 1", FailureKind::OutputNotJson),
        (b"{\"d\": 1} x", FailureKind::OutputNotJson),
        (b"{\"d\": 1,}", FailureKind::OutputNotJson),
        (b"{'d': 1}", FailureKind::OutputNotJson),
        (b"[{\"d\": 1}]", FailureKind::OutputNotObject),
        (b"\"d\"", FailureKind::OutputNotObject),
        (b"null", FailureKind::OutputNotObject),
        (b"12", FailureKind::OutputNotObject),
        (b"-1.5", FailureKind::OutputNotObject),
        (b"true", FailureKind::OutputNotObject),
    ] {
        let (found, message) = refused(output, &key("d"));
        assert_eq!(found, kind, "{message}");
        assert!(message.len() < 300, "{message}");
    }
    // What is not the decision need not be small.
    assert_eq!(find(beside.as_bytes(), &key("d")).expect("found"), json!(1));
}

#[test]
fn the_place_of_a_mistake_is_told() {
    let (_, message) = refused(b"{\"d\":\n  1,\n}", &key("d"));
    assert!(message.contains("line 3, column 1"), "{message}");
    let (_, message) = refused(b"{\"d\":\n \"\xe9\"}", &key("d"));
    insta::assert_snapshot!(message, @"its output is not UTF-8: byte 8, in line 2, is 0xe9");
}

#[test]
fn the_beginning_of_what_is_no_json_is_shown_and_json_behind_it_is_found() {
    let told = |output: &str| refused(output.as_bytes(), &key("d")).1;
    let logs = "[info] model loaded\n{\"d\": 1}\n";
    insta::assert_snapshot!(told(logs), @"its output is not JSON: expected value at line 1, column 2; it begins with `[info] model loaded`; JSON follows in line 2: does the pipeline print logs before it? Print them on standard error, or write the JSON alone to the file `{output}`");
    insta::assert_snapshot!(told("a\nb\n {\"d\":\n 1}\ndone\n"), @"its output is not JSON: expected value at line 1, column 1; it begins with `a`; JSON follows in line 3: does the pipeline print logs before it? Print them on standard error, or write the JSON alone to the file `{output}`");
    // Neither a line that only looks like it, nor an object with a mistake.
    let mut messages = Vec::new();
    for output in [
        "model loaded",
        "loaded\n{not json}",
        "loaded\n{\"d\": 1,}",
        "# {\"d\": 1}",
    ] {
        let message = told(output);
        messages.push(message);
    }
    insta::assert_snapshot!(messages.join("\n"), @r#"
    its output is not JSON: expected value at line 1, column 1; it begins with `model loaded`
    its output is not JSON: expected value at line 1, column 1; it begins with `loaded`
    its output is not JSON: expected value at line 1, column 1; it begins with `loaded`
    its output is not JSON: expected value at line 1, column 1; it begins with `# {"d": 1}`
    "#);
    // An object tells by the place of its mistake.
    assert!(!told("{\"d\": 1,}").contains("begins"));
    let hostile = told("\u{1b}[31m`rm`\rx\n");
    insta::assert_snapshot!(hostile, @"its output is not JSON: expected value at line 1, column 1; it begins with ` [31m'rm' x`");
}

#[test]
fn what_is_shown_of_an_output_is_cut_between_words() {
    let told = |output: &str| refused(output.as_bytes(), &key("d")).1;
    let secret = "hunter2-hunter2-hunter2";
    let padding = "word ".repeat(10);
    insta::assert_snapshot!(told(&format!("{padding}{secret}")), @"its output is not JSON: expected value at line 1, column 1; it begins with `word word word word word word word word word word…`");
    assert!(told(&format!("{secret} {}", "é".repeat(99))).ends_with("`hunter2-hunter2-hunter2…`"));
    // A word that is longer than what is shown is left out.
    assert!(told(&"x".repeat(9000)).ends_with("column 1"));
    assert!(told(&"é ".repeat(9000)).ends_with("é…`"));
}

#[test]
fn the_smallest_output_has_its_find() {
    for field in [key("a/b"), pointer("/a~1b/c~0")] {
        let output = smallest(&json!([1]), &field);
        assert_eq!(find(&output, &field).expect("found"), json!([1]));
    }
}
