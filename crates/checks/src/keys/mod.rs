//! The keys of this probe in `kelvin.yaml`, as written; the JSON schema is made from these types.

mod check;
mod http_mock;
mod sections;
mod services;

use serde::{Deserialize as _, Deserializer};
use serde_json::Value;
use std::time::Duration;

pub(super) use check::{
    CheckKeys, CommandExitKeys, ContainsKeys, CustomKeys, EqualsKeys, FileContentKeys, FileKeys,
    JsonPathKeys, JsonSchemaKeys, LatencyKeys, LevenshteinKeys, LlmAsJudgeKeys, NumericKeys,
    RegexKeys, RunsIn, SqlKeys,
};
pub(super) use http_mock::{
    AssertionKeys, DefaultKeys, HttpMockAssertionsKeys, HttpMockKeys, RouteKeys,
};
pub(super) use sections::{Aggregation, ChecksKeys, InvariantKeys, OWN, Parameter, REQUIRED};
#[cfg(feature = "sql")]
pub(super) use services::{Isolation, ReadyKeys, ServerKeys};
pub(super) use services::{ServiceKeys, SqliteKeys};

/// The default text for a check.
fn agent_output() -> String {
    "agent_output".to_owned()
}

/// A time limit as written. An invalid number, which the schema reports, becomes zero.
pub(super) fn limit(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The value of a key that is present, even if the value is null.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
