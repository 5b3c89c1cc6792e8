//! What fits a contract, and what does not.

use serde_json::json;

use super::contract::*;

fn contract(text: &str) -> Contract {
    let outputs: ContractKeys = serde_json::from_str(text).expect("a contract");
    Contract::of_outputs(&outputs).expect("it can be looked at")
}

#[test]
fn qlt_08_every_type_takes_its_own_values_and_no_others() {
    let values = json!({
        "string": "", "integer": 3, "float": 0.5, "boolean": false,
        "document": "text", "array": [], "object": {}
    });
    for (name, value) in values.as_object().expect("a mapping") {
        let contract = contract(&format!("{{\"it\": \"{name}\"}}"));
        assert!(
            contract.differences(&json!({ "it": value })).is_empty(),
            "{name}"
        );
        for (other, wrong) in values.as_object().expect("a mapping") {
            let fits = contract.differences(&json!({ "it": wrong })).is_empty();
            let is_kin = name == other
                || (name == "string" && other == "document")
                || (name == "float" && other == "integer");
            assert_eq!(fits, is_kin, "{name} and the value of {other}");
        }
        for wrong in [
            json!({}),
            json!({ "it": null }),
            json!([value]),
            json!("it"),
        ] {
            assert!(!contract.differences(&wrong).is_empty(), "{name}: {wrong}");
        }
    }
    assert!(
        !contract(r#"{"it": "document"}"#)
            .differences(&json!({ "it": " \n" }))
            .is_empty()
    );
}

#[test]
fn qlt_08_bounds_patterns_values_and_lengths_hold() {
    for (rule, right, wrong) in [
        (
            r#"{"type": "float", "min": 0, "max": 1}"#,
            json!(1),
            json!(1.1),
        ),
        (r#"{"type": "integer", "min": 1}"#, json!(1), json!(0)),
        (
            r#"{"type": "string", "enum": ["yes", "no"]}"#,
            json!("no"),
            json!("No"),
        ),
        (
            r#"{"type": "string", "pattern": "^[A-Z]{2}$"}"#,
            json!("AB"),
            json!("ABC"),
        ),
        (
            r#"{"type": "string", "length": {"max": 2}}"#,
            json!("ab"),
            json!("abc"),
        ),
        (
            r#"{"type": "array", "length": {"min": 1}}"#,
            json!([0]),
            json!([]),
        ),
        (
            r#"{"type": "object", "length": {"min": 1}}"#,
            json!({"a": 0}),
            json!({}),
        ),
        (
            r#"{"type": "document", "pattern": "b"}"#,
            json!("abc"),
            json!("acd"),
        ),
    ] {
        let contract = contract(&format!("{{\"it\": {rule}}}"));
        assert!(
            contract.differences(&json!({ "it": right })).is_empty(),
            "{rule}"
        );
        let told = contract.differences(&json!({ "it": wrong }));
        assert!(told[0].starts_with("`/it`: "), "{rule}: {told:?}");
    }
    let optional = contract(r#"{"it": {"type": "string", "required": false}}"#);
    assert!(optional.differences(&json!({})).is_empty());
    assert!(!optional.differences(&json!({ "it": 1 })).is_empty());
}

#[test]
fn a_rule_that_can_never_hold_is_a_problem() {
    for (rule, key) in [
        (r#"{"type": "string", "min": 1}"#, "min"),
        (r#"{"type": "float", "min": 1, "max": 0}"#, "max"),
        (r#"{"type": "float", "pattern": "a"}"#, "pattern"),
        (r#"{"type": "boolean", "length": {"max": 1}}"#, "length"),
        (
            r#"{"type": "array", "length": {"min": 2, "max": 1}}"#,
            "length",
        ),
    ] {
        let rule: Rule = serde_json::from_str(rule).expect("a rule");
        assert_eq!(rule.problem().map(|(key, _)| key), Some(key), "{rule:?}");
    }
    let outputs: ContractKeys =
        serde_json::from_str(r#"{"it": {"type": "string", "pattern": "("}}"#).expect("keys");
    assert!(Contract::of_outputs(&outputs).is_err());
}

#[test]
fn a_schema_that_names_a_file_or_an_address_is_refused() {
    for reference in ["file:///etc/passwd", "https://example.com/schema.json"] {
        let refused = Contract::of_schema(json!({ "$ref": reference }));
        assert!(refused.is_err(), "{reference}");
    }
    assert!(Contract::of_schema(json!({ "type": "nothing" })).is_err());
    assert!(Contract::of_schema(json!([])).is_err());
}
