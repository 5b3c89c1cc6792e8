//! Checks of values: JSON, distances and numbers.

use super::*;

#[test]
fn values_are_compared_as_json() {
    let left = Left::new(r#"{"a": [1, 2.0], "b": null}"#);
    left.passes(json!({"type": "equals", "value": {"b": null, "a": [1.0, 2]}}));
    insta::assert_snapshot!(left.fails(json!({"type": "equals", "value": {"a": [1, 2]}})), @r#"the output is `{"a": [1, 2.0], "b": null}`, expected `{"a":[1,2]}`"#);
    left.passes(json!({"type": "json_path", "path": "$.a[1]", "exists": true}));
    left.passes(json!({"type": "json_path", "path": "$.a[*]", "equals": 2}));
    left.passes(json!({"type": "json_path", "path": "$.b", "equals": null}));
    insta::assert_snapshot!(left.fails(json!({"type": "json_path", "path": "$.a[0]", "equals": 2})), @"the output has `1` at `$.a[0]`, expected `2`");
    insta::assert_snapshot!(left.fails(json!({"type": "json_path", "path": "$.c", "exists": true})), @"the output has nothing at `$.c`");
    insta::assert_snapshot!(Left::new("no").fails(json!({"type": "json_path", "path": "$.c", "exists": true})), @"the output is not JSON: expected ident at line 1 column 2");
    assert_eq!(
        refusal(json!({"type": "json_path", "path": "a.b"})).0,
        "path"
    );
}

#[test]
fn json_is_held_against_a_schema_that_fetches_nothing_and_explodes_nowhere() {
    let left = Left::new(r#"{"id": "a-1", "n": 0}"#);
    let schema = |schema: Value| json!({"type": "json_schema", "schema": schema});
    left.passes(schema(json!({"type": "object", "required": ["id"]})));
    insta::assert_snapshot!(left.fails(schema(json!({"properties": {"n": {"minimum": 1}}, "required": ["x"]}))), @r#"the output does not fit the schema: at `/`: "x" is a required property; at `/n`: 0 is less than the minimum of 1"#);
    insta::assert_snapshot!(left.fails(schema(json!({"properties": {"id": {"pattern": "^(a+)+$"}}}))), @r#"the output does not fit the schema: at `/id`: "a-1" does not match "^(a+)+$""#);
    let (key, _) = refusal(schema(json!({"type": "objekt"})));
    assert_eq!(key, "schema");
    let (key, _) = refusal(schema(json!({"$ref": "http://127.0.0.1:9/schema.json"})));
    assert_eq!(key, "schema");
    assert_eq!(refusal(schema(json!("a"))).0, "schema");
}

#[test]
fn the_edit_distance_is_that_of_levenshtein() {
    let left = Left::new("kitten");
    let near = |value: &str, pass_threshold: f64| json!({"type": "levenshtein", "value": value, "pass_threshold": pass_threshold});
    // Three edits of seven letters.
    let score = Some(1.0 - 3.0 / 7.0);
    insta::assert_snapshot!(left.demand(near("sitting", 0.5), Outcome::Passed, score), @"the output is 3 edits from the expected text, a similarity of 0.5714; 0.5 is enough");
    insta::assert_snapshot!(left.demand(near("sitting", 0.8), Outcome::Failed, score), @"the output is 3 edits from the expected text, a similarity of 0.5714; 0.8 is enough");
    // Letters that change places are two edits, not one.
    insta::assert_snapshot!(Left::new("ab").demand(near("ba", 0.5), Outcome::Failed, Some(0.0)), @"the output is 2 edits from the expected text, a similarity of 0.0000; 0.5 is enough");
    insta::assert_snapshot!(Left::new("é").demand(near("e", 0.0), Outcome::Passed, Some(0.0)), @"the output is 1 edits from the expected text, a similarity of 0.0000; 0 is enough");
    Left::new("")
        .expecting(json!(""))
        .passes(json!({"type": "levenshtein"}));
    insta::assert_snapshot!(Left::new(&"x".repeat(30_000)).is_error(near("x", 0.5)), @"the output has 30000 characters, more than the 20000 that are compared letter by letter");
}

#[test]
fn numbers_are_held_against_their_limits() {
    let left = Left::new(" 3.5\n");
    left.passes(json!({"type": "numeric", "equals": 3.5}));
    left.passes(json!({"type": "numeric", "equals": 3.4, "tolerance": 0.2}));
    insta::assert_snapshot!(left.fails(json!({"type": "numeric", "equals": 3.4})), @"the output is 3.5, expected 3.4, give or take 0.000000001");
    left.passes(json!({"type": "numeric", "min": 3.5, "max": 3.5}));
    insta::assert_snapshot!(left.fails(json!({"type": "numeric", "min": 4})), @"the output is 3.5, expected at least 4");
    insta::assert_snapshot!(left.fails(json!({"type": "numeric", "max": 3})), @"the output is 3.5, expected at most 3");
    insta::assert_snapshot!(Left::new("NaN").fails(json!({"type": "numeric", "min": 0})), @"the output is no number: NaN");
    let inside = Left::new(r#"{"total": "12.5"}"#);
    inside.passes(json!({"type": "numeric", "path": "$.total", "equals": 12.5}));
    insta::assert_snapshot!(inside.fails(json!({"type": "numeric", "path": "$.sum", "min": 0})), @"the output has no number at `$.sum`");
    assert_eq!(
        refusal(json!({"type": "numeric", "min": 2, "max": 1})).0,
        "min"
    );
}
