//! The fields of an output, at any depth.

use serde_json::{Map, Value, json};

use crate::cli::init::decision::{Field, Fields};

/// The value that a field names.
fn value_at<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    let Some(pointer) = field.strip_prefix('/') else {
        return object.get(field);
    };
    let (first, rest) = match pointer.find('/') {
        Some(end) => pointer.split_at(end),
        None => (pointer, ""),
    };
    let first = first.replace("~1", "/").replace("~0", "~");
    object.get(&first)?.pointer(rest)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => panic!("an object was wanted"),
    }
}

/// What the scorer of a new configuration takes.
fn scalar(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(_) => Err("a list".to_owned()),
        Value::Object(_) => Err("an object".to_owned()),
        _ => Ok(()),
    }
}

#[test]
fn every_scalar_is_listed_and_its_name_leads_back_to_it() {
    let output = object(json!({
        "id": 7,
        "result": {"decision": "approve", "why": {"text": "x", "": null}, "parts": [true, {"x": 1}], "a/b~c": 1},
        "/odd": "o",
        "empty": {},
    }));
    let fields = Fields::of(&output, &scalar);
    assert_eq!(
        fields.shown(),
        [
            "/odd             \"o\"",
            "id               7",
            "result.a/b~c     1",
            "result.decision  \"approve\"",
            "result.why.      null",
            "result.why.text  \"x\"",
        ]
    );
    let written: Vec<String> = fields.usable.iter().map(Field::written).collect();
    assert_eq!(
        written,
        [
            "/~1odd",
            "id",
            "/result/a~1b~0c",
            "/result/decision",
            "/result/why/",
            "/result/why/text",
        ]
    );
    let found: Vec<Option<&Value>> = written
        .iter()
        .map(|field| value_at(&output, field))
        .collect();
    let (odd, seven) = (json!("o"), json!(7));
    assert_eq!(found[..2], [Some(&odd), Some(&seven)]);
    assert!(found.iter().all(Option::is_some), "{found:?}");
    assert_eq!(fields.refused, ["`empty` is an object"]);
    assert_eq!(value_at(&output, "/result/nothing"), None);
}

#[test]
fn the_one_that_is_called_decision_is_meant_and_nothing_is_guessed() {
    let obvious = |value: Value| {
        let output = object(value);
        let fields = Fields::of(&output, &scalar);
        fields.obvious().map(Field::written)
    };
    let is = |field: &str| Some(field.to_owned());
    assert_eq!(obvious(json!({"a": {"b": 1}})), is("/a/b"));
    assert_eq!(
        obvious(json!({"x": 1, "a": {"decision": 1}})),
        is("/a/decision")
    );
    assert_eq!(
        obvious(json!({"decision": 2, "a": {"decision": 1}})),
        is("decision")
    );
    assert_eq!(
        obvious(json!({"b": {"decision": 2}, "a": {"decision": 1}})),
        None
    );
    assert_eq!(obvious(json!({"x": 1, "verdict": 2})), None);
    assert_eq!(obvious(json!({})), None);
    // An item of a list cannot be the decision, and is in the way of nothing.
    assert_eq!(obvious(json!({"decision": ["a"]})), None);
    assert_eq!(
        obvious(json!({"verdict": "x", "why": ["a"]})),
        is("verdict")
    );
}

#[test]
fn an_output_with_a_million_fields_is_listed_in_part() {
    let many: Map<String, Value> = (0..5000).map(|at| (format!("k{at}"), json!(at))).collect();
    let fields = Fields::of(&many, &scalar);
    assert_eq!(fields.shown().len(), 200);
    assert!(fields.obvious().is_none());
}
