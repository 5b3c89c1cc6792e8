//! A mocked HTTP server as written, and the assertions about the requests that it received.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::given;

/// An HTTP server that takes the place of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpMockKeys {
    /// The answers of the server: the first route that fits counts.
    #[serde(default)]
    pub(crate) routes: Vec<RouteKeys>,
    /// The answer of the server if no route fits.
    #[serde(default)]
    pub(crate) default_response: DefaultKeys,
    /// Whether requests are kept for `http_mock_assertions` and written to the audit log.
    #[serde(default)]
    pub(crate) record: bool,
}

/// What is answered to one method and path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteKeys {
    /// The method. Without it: every method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) method: Option<String>,
    /// The path, which is compared as a whole, without the query.
    #[schemars(length(min = 1))]
    pub(crate) path: String,
    /// The status.
    #[serde(default = "ok")]
    #[schemars(range(min = 200, max = 599))]
    pub(crate) status: u16,
    /// The body, as JSON.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json: Option<Value>,
    /// The body, as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

/// What is answered if no route fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefaultKeys {
    /// The status.
    #[serde(default = "not_found")]
    #[schemars(range(min = 200, max = 599))]
    pub(crate) status: u16,
    /// The body, as JSON.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) json: Option<Value>,
    /// The body, as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

impl Default for DefaultKeys {
    fn default() -> Self {
        Self {
            status: not_found(),
            json: None,
            body: None,
            headers: BTreeMap::new(),
        }
    }
}

/// What has to be true of the requests that a mocked server got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpMockAssertionsKeys {
    /// The service, which is of type `http_mock` and has `record: true`.
    #[schemars(length(min = 1))]
    pub(crate) service: String,
    /// The conditions, which must all hold.
    #[schemars(length(min = 1))]
    pub(crate) assertions: Vec<AssertionKeys>,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// One condition on the requests: a field, and one comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertionKeys {
    /// What is looked at: `request_count`, or `last_request` or `requests[N]` with `.method`, `.path`, `.query`,
    /// `.headers` or `.body`, and further names for what is inside these.
    #[schemars(length(min = 1))]
    pub(crate) field: String,
    /// The requests that the condition is about: `method`, `path`, `headers`, `query`; any other name is a field of the
    /// body as JSON. Without it: all.
    #[serde(default)]
    pub(crate) filters: BTreeMap<String, Value>,
    /// The field is this value.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) equals: Option<Value>,
    /// The text contains this text, the list this item, or the object this name.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contains: Option<Value>,
    /// The text, the list or the object does not contain it.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_contains: Option<Value>,
    /// A regular expression that matches somewhere in the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) matches: Option<String>,
    /// The field is a number and at least this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gte: Option<f64>,
    /// The field is a number and at most this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lte: Option<f64>,
}

const fn ok() -> u16 {
    200
}

const fn not_found() -> u16 {
    404
}
