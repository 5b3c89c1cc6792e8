use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

fn key(name: &str) -> DecisionField {
    DecisionField::Key(name.to_owned())
}

fn pointer(path: &str) -> DecisionField {
    DecisionField::Pointer(path.to_owned())
}

fn refused(bytes: &[u8], field: &DecisionField) -> Refusal {
    decision(bytes, field).expect_err("refused")
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
        assert_eq!(decision(output, &field).expect("found"), value, "{field:?}");
    }
    assert_eq!(
        decision(b"\xef\xbb\xbf{\"d\": 2}\r\n", &key("d")).expect("a BOM"),
        json!(2)
    );
    assert_eq!(
        decision(br#"{"d": 1, "d": 2}"#, &key("d")).expect("the last"),
        json!(2)
    );
    assert_eq!(
        decision(br#"{"\u0064": 1}"#, &key("d")).expect("an escape"),
        json!(1)
    );
}

#[test]
fn kel_26_a_missing_field_names_what_is_there() {
    for (field, words) in [
        (key("b"), "no field `b`; it has `a`, `c`"),
        (pointer("/b/x"), "no field `/b/x`; it has `a`, `c`"),
        (pointer("/a/y"), "no field `/a/y`; `/a` has `x`"),
        (pointer("/a/x/z"), "no field `/a/x/z`; `/a/x` is a number"),
        (pointer("/c/5"), "no field `/c/5`; `/c` is a list"),
    ] {
        let (kind, message) = refused(br#"{"a": {"x": 1}, "c": [1]}"#, &field);
        assert_eq!(kind, FailureKind::DecisionMissing);
        assert!(message.contains(words), "{message}");
    }
    let (_, message) = refused(b"{}", &key("b"));
    assert!(message.contains("it has no fields"), "{message}");
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
    assert_eq!(
        decision(beside.as_bytes(), &key("d")).expect("found"),
        json!(1)
    );
}

#[test]
fn the_place_of_a_mistake_is_told() {
    let (_, message) = refused(b"{\"d\":\n  1,\n}", &key("d"));
    assert!(message.contains("line 3, column 1"), "{message}");
    let (_, message) = refused(b"{\"d\":\n \"\xe9\"}", &key("d"));
    assert!(message.contains("byte 8, in line 2, is 0xe9"), "{message}");
}

#[test]
fn p14_only_a_regular_file_of_bounded_size_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("whole"), b"{}").expect("written");
    symlink(path("whole"), path("link")).expect("linked");
    symlink(path("nowhere"), path("dangling")).expect("linked");
    fs::create_dir(path("folder")).expect("made");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    let mut bytes = vec![1, 2, 3];
    let mut kind = |name: &str, most| read(&path(name), most, &mut bytes).map_err(|(kind, _)| kind);
    assert_eq!(kind("whole", 2), Ok(()));
    assert_eq!(kind("whole", 1), Err(FailureKind::OutputTooLarge));
    assert_eq!(kind("absent", 1), Err(FailureKind::OutputMissing));
    for name in ["link", "dangling", "folder", "pipe"] {
        assert_eq!(kind(name, 9), Err(FailureKind::OutputUnreadable), "{name}");
    }
    read(&path("whole"), 2, &mut bytes).expect("read");
    assert_eq!(bytes, b"{}", "what was there before is gone");
}

#[test]
fn the_smallest_output_has_its_decision() {
    for field in [key("a/b"), pointer("/a~1b/c~0")] {
        let output = smallest(&json!([1]), &field).to_string();
        assert_eq!(
            decision(output.as_bytes(), &field).expect("found"),
            json!([1])
        );
    }
}
