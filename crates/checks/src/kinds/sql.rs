//! Checks that a query to a database returns a value.

use std::time::Duration;

use serde_json::Value;

use super::text::nothing_expected;
use super::{Check, CheckFinding, EarlyEnd, shown};
use crate::keys::{SqlKeys, limit};
use crate::same::same;
use crate::scenario::Scenario;
use crate::scene::Scene;
use crate::services::{DeclaredServices, Query, QueryAnswer, Trouble, TypedCell};
use crate::sql::{BoundSql, Dialect, reads};

/// Runs the query.
#[derive(Debug)]
pub(super) struct Sql {
    service: String,
    query: BoundSql,
    /// The value that the query has to return; none if the scenario's `expected` is used.
    equals: Option<Value>,
    /// The value of `equals` in the form of the file, for messages.
    written: Option<Value>,
    coerce: bool,
    timeout: Duration,
}

impl Sql {
    pub(super) fn of(
        written: &SqlKeys,
        keys: &SqlKeys,
        services: &DeclaredServices,
    ) -> Result<Self, (&'static str, String)> {
        let kind = services.find(&keys.service, "sql", &Dialect::SERVICES);
        let kind = kind.map_err(|what| ("service", what))?;
        let dialect = Dialect::of(kind);
        let query = BoundSql::query(&keys.query, dialect).map_err(|what| ("query", what))?;
        reads(&query.text, dialect).map_err(|what| ("query", what))?;
        Ok(Self {
            service: keys.service.clone(),
            query,
            equals: keys.equals.clone(),
            written: written.equals.clone(),
            coerce: keys.coerce,
            timeout: limit(keys.timeout_s),
        })
    }
}

impl Check for Sql {
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        scenario.values(&self.query.names).map(|_| ())
    }

    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let equals = self
            .equals
            .as_ref()
            .or(scene.scenario.expected.as_ref())
            .ok_or_else(nothing_expected)?;
        let values = scene
            .scenario
            .values(&self.query.names)
            .map_err(CheckFinding::error)?;
        let query = Query {
            text: &self.query.text,
            values: &values,
            between: &self.query.between,
            timeout: self.timeout,
            interrupt: scene.interrupt,
        };
        let cell = match scene.services.get(&self.service).ask(&query) {
            Ok(QueryAnswer::Value(cell)) => cell,
            Ok(QueryAnswer::NoRows) => {
                return Ok(CheckFinding::nothing("the query has brought no rows"));
            }
            Ok(QueryAnswer::Absent) => {
                return Ok(CheckFinding::nothing("the database is not there"));
            }
            Err(Trouble::Failed(why)) => {
                return Ok(CheckFinding::error(format!(
                    "the query failed: {}",
                    shown(&why)
                )));
            }
            Err(Trouble::Unreached(why)) => {
                let what = format!("the query failed: no connection: {}", shown(&why));
                return Ok(CheckFinding::error(what));
            }
            Err(Trouble::TimedOut(time)) => {
                let time = time.as_secs_f64();
                let what = format!("the query was stopped after {time} s");
                return Ok(CheckFinding::error(what));
            }
            Err(Trouble::Stopped) => return Err(EarlyEnd::Interrupted),
        };
        let (found, wanted) = (
            shown_cell(&cell),
            shown(&self.written.as_ref().unwrap_or(equals).to_string()),
        );
        if is_equal(&cell, equals, self.coerce) {
            return Ok(CheckFinding::of(true, format!("the query brings {found}")));
        }
        let hint = match !self.coerce && is_equal(&cell, equals, true) {
            true => ", which is of another type (`coerce: true` compares what is written)",
            false => "",
        };
        let reason = format!("the query brings {found}, expected {wanted}{hint}");
        Ok(CheckFinding::of(false, reason))
    }
}

/// Whether a value is the wanted one: with the same type, unless `coerce` says that only the text counts.
fn is_equal(cell: &TypedCell, wanted: &Value, coerce: bool) -> bool {
    match (cell, wanted) {
        (TypedCell::Null, wanted) => wanted.is_null(),
        (TypedCell::Json(found), wanted) if same(found, wanted) => true,
        (_, Value::Null) => false,
        (TypedCell::Bool(found), Value::Bool(wanted)) => found == wanted,
        (TypedCell::Number(found), Value::Number(wanted)) => {
            is_same_number(found, &wanted.to_string())
        }
        (TypedCell::Text(found), Value::String(wanted)) => found == wanted,
        // A database without a type for JSON stores it as text.
        (TypedCell::Text(found), Value::Array(_) | Value::Object(_)) => {
            serde_json::from_str(found).is_ok_and(|found| same(&found, wanted))
        }
        (cell, wanted) => coerce && is_written_alike(cell, wanted),
    }
}

fn is_written_alike(cell: &TypedCell, wanted: &Value) -> bool {
    let found = match cell {
        TypedCell::Null => return false,
        TypedCell::Bool(found) => found.to_string(),
        TypedCell::Number(text) | TypedCell::Text(text) => text.clone(),
        TypedCell::Json(Value::String(text)) => text.clone(),
        TypedCell::Json(value) => value.to_string(),
    };
    let wanted_text = match wanted {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if matches!(cell, TypedCell::Bool(_)) || wanted.is_boolean() {
        return truth(&found).is_some_and(|found| truth(&wanted_text) == Some(found));
    }
    found == wanted_text || is_same_number(&found, &wanted_text)
}

/// A truth value in the form of databases without a boolean type.
fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" => Some(false),
        _ => None,
    }
}

/// Whether two texts mean exactly the same number.
fn is_same_number(one: &str, other: &str) -> bool {
    let (one, other) = (Decimal::read(one), Decimal::read(other));
    one.is_some_and(|one| other == Some(one))
}

/// A decimal number in a normal form that equal numbers share: `0.digits` times a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// The digits without zeros at either end; empty for zero.
    digits: String,
    power: i64,
}

impl Decimal {
    /// Parses a number as databases and JSON write it; none if the text is not a finite number.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - digits.len()).ok()?;
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self {
                is_negative: false,
                digits: String::new(),
                power: 0,
            });
        }
        let before = i64::try_from(whole.len()).ok()? - leading;
        Some(Self {
            is_negative: text.starts_with('-'),
            digits: digits.to_owned(),
            power: power.checked_add(before)?,
        })
    }
}

/// A value for a reason, with its type if it is not a text.
fn shown_cell(cell: &TypedCell) -> String {
    match cell {
        TypedCell::Null => "NULL".to_owned(),
        TypedCell::Bool(value) => value.to_string(),
        TypedCell::Number(text) => shown(text),
        TypedCell::Json(value) => format!("the JSON {}", shown(&value.to_string())),
        TypedCell::Text(text) => shown(&Value::String(text.clone()).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(text: &str) -> TypedCell {
        TypedCell::Number(text.to_owned())
    }

    fn text(text: &str) -> TypedCell {
        TypedCell::Text(text.to_owned())
    }

    #[test]
    fn inv_13_a_value_is_equal_to_one_of_its_own_type_only() {
        for (cell, wanted, plain, coerced) in [
            (number("0"), json!(0), true, true),
            (number("0"), json!("0"), false, true),
            (text("0"), json!(0), false, true),
            (number("0"), json!(false), false, true),
            (number("1"), json!(true), false, true),
            (number("2"), json!(true), false, false),
            (TypedCell::Bool(true), json!("t"), false, true),
            (TypedCell::Bool(true), json!(true), true, true),
            (TypedCell::Bool(true), json!(false), false, false),
            (TypedCell::Null, json!(null), true, true),
            (TypedCell::Null, json!(""), false, false),
            (TypedCell::Null, json!(0), false, false),
            (text(""), json!(null), false, false),
            (text("null"), json!(null), false, false),
            (text("a"), json!("a"), true, true),
            (text("a "), json!("a"), false, false),
            (TypedCell::Json(json!(null)), json!(null), true, true),
            (
                TypedCell::Json(json!({"a": [1.0]})),
                json!({"a": [1]}),
                true,
                true,
            ),
            (TypedCell::Json(json!("x")), json!("x"), true, true),
            (TypedCell::Json(json!(1)), json!("1"), false, true),
            (text("{\"a\": 1}"), json!({"a": 1}), true, true),
            (text("{\"a\": 1}"), json!({"a": 2}), false, false),
            (text("no JSON"), json!([1]), false, false),
        ] {
            assert_eq!(is_equal(&cell, &wanted, false), plain, "{cell:?} {wanted}");
            assert_eq!(is_equal(&cell, &wanted, true), coerced, "{cell:?} {wanted}");
        }
    }

    #[test]
    fn numbers_are_equal_to_the_last_digit_however_they_are_written() {
        for (one, other) in [
            ("0.10", json!(0.1)),
            ("1e+20", json!(1e20)),
            ("100000000000000000000", json!(1e20)),
            ("-0.00", json!(0)),
            ("007.5", json!(7.5)),
            ("5e-324", json!(5e-324)),
            ("18446744073709551615", json!(u64::MAX)),
        ] {
            assert!(is_equal(&number(one), &other, false), "{one} {other}");
        }
        for (one, other) in [
            ("9007199254740993", json!(9007199254740992_i64)),
            ("18446744073709551616", json!(u64::MAX)),
            ("0.1000000000000000001", json!(0.1)),
            ("-1", json!(1)),
            ("10", json!(1)),
            ("0.01", json!(0.1)),
            ("NaN", json!(0)),
            ("Infinity", json!(1e308)),
            ("", json!(0)),
            ("1e99999999999999999999", json!(1)),
        ] {
            assert!(!is_equal(&number(one), &other, true), "{one} {other}");
        }
    }
}
