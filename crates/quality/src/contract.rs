//! The form that an output must have: a JSON schema, or a contract that names outputs with their types. A contract is
//! turned into a schema, so there is one way to check an output.

use std::collections::BTreeMap;

use jsonschema::{PatternOptions, Validator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use kelvin_base::digest::Digest;
use kelvin_page::safe;

/// How many differences from the form are stored.
const TOLD: usize = 5;
/// The maximum length of a difference in characters; a longer one is shortened.
const LONGEST: usize = 160;

/// The outputs that a contract names, each with its rule.
pub(super) type ContractKeys = BTreeMap<String, Rule>;

/// What one output must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Rule {
    /// Only a type.
    Type(OutputType),
    /// A type with what else must hold.
    Rule(RuleKeys),
}

/// The type of an output, with what else must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleKeys {
    /// Its type.
    #[serde(rename = "type")]
    pub(super) kind: OutputType,
    /// The smallest number that it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<f64>,
    /// The largest number that it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<f64>,
    /// The values that it may have.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(super) values: Option<Vec<Value>>,
    /// A regular expression that the text must match somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(super) pattern: Option<String>,
    /// How many characters the text, or how many entries the array or the object, may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<Length>,
    /// Whether the output must exist.
    #[serde(default = "yes")]
    pub(super) required: bool,
}

const fn yes() -> bool {
    true
}

/// The allowed length of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Length {
    /// At least this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<u32>,
    /// At most this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<u32>,
}

/// The types of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum OutputType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Float,
    /// True or false.
    Boolean,
    /// A text that is more than white space.
    Document,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

impl OutputType {
    const fn in_schema(self) -> &'static str {
        match self {
            Self::String | Self::Document => "string",
            Self::Integer => "integer",
            Self::Float => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The keys of a schema that limit the length of this type; none if values of this type have no length.
    const fn lengths(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::String | Self::Document => Some(("minLength", "maxLength")),
            Self::Array => Some(("minItems", "maxItems")),
            Self::Object => Some(("minProperties", "maxProperties")),
            Self::Integer | Self::Float | Self::Boolean => None,
        }
    }
}

impl Rule {
    fn full(&self) -> RuleKeys {
        match self {
            Self::Rule(rule) => rule.clone(),
            Self::Type(kind) => RuleKeys {
                kind: *kind,
                min: None,
                max: None,
                values: None,
                pattern: None,
                length: None,
                required: true,
            },
        }
    }

    /// The problem of a rule that can never hold, with the key that causes it.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let rule = self.full();
        let is_number = matches!(rule.kind, OutputType::Integer | OutputType::Float);
        let is_text = matches!(rule.kind, OutputType::String | OutputType::Document);
        let name = rule.kind.in_schema();
        if (rule.min.is_some() || rule.max.is_some()) && !is_number {
            let key = if rule.min.is_some() { "min" } else { "max" };
            return Some((
                key,
                format!("`{key}` bounds a number, and this is of type {name}"),
            ));
        }
        if rule.pattern.is_some() && !is_text {
            return Some((
                "pattern",
                format!("`pattern` is for a text, and this is of type {name}"),
            ));
        }
        if rule.length.is_some() && rule.kind.lengths().is_none() {
            return Some(("length", format!("a value of type {name} has no length")));
        }
        if let (Some(min), Some(max)) = (rule.min, rule.max)
            && min > max
        {
            return Some(("max", format!("`max` {max} is below `min` {min}")));
        }
        if let Some(Length {
            min: Some(min),
            max: Some(max),
        }) = rule.length
            && min > max
        {
            return Some(("length", format!("`max` {max} is below `min` {min}")));
        }
        None
    }

    fn schema(&self) -> Value {
        let rule = self.full();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!(rule.kind.in_schema()));
        if rule.kind == OutputType::Document {
            schema.insert("allOf".to_owned(), json!([{ "pattern": "\\S" }]));
        }
        let mut put = |key: &str, value: Option<Value>| {
            schema.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("minimum", rule.min.map(Value::from));
        put("maximum", rule.max.map(Value::from));
        put("enum", rule.values.map(Value::Array));
        put("pattern", rule.pattern.map(Value::String));
        if let (Some((min, max)), Some(length)) = (rule.kind.lengths(), rule.length) {
            put(min, length.min.map(Value::from));
            put(max, length.max.map(Value::from));
        }
        Value::Object(schema)
    }
}

/// The form that an output must have.
#[derive(Debug)]
pub(crate) struct Contract {
    validator: Validator,
    schema: Value,
    /// Whether the contract has no requirements: then no output conforms, and none violates it.
    is_empty: bool,
}

impl Contract {
    /// A contract from a JSON schema. Fails with the reason why the schema is invalid. Nothing is fetched for a `$ref`,
    /// so one to a file or a URL is rejected.
    pub(super) fn of_schema(schema: Value) -> Result<Self, String> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err("a JSON schema is a mapping".to_owned());
        }
        // This regular expression engine needs only linear time.
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options
            .build(&schema)
            .map_err(|error| format!("this is no JSON schema: {error}"))?;
        Ok(Self {
            validator,
            schema,
            is_empty: false,
        })
    }

    /// A contract from the named outputs. Fails with the reason why an output cannot be checked, e.g. because a pattern
    /// is not a regular expression.
    pub(super) fn of_outputs(outputs: &ContractKeys) -> Result<Self, String> {
        let rules = outputs.iter();
        let properties: Map<String, Value> = rules
            .map(|(name, rule)| (name.clone(), rule.schema()))
            .collect();
        let required = outputs.iter().filter(|(_, rule)| rule.full().required);
        let required: Vec<&String> = required.map(|(name, _)| name).collect();
        let contract = Self::of_schema(json!({
            "type": "object",
            "properties": properties,
            "required": required,
        }))?;
        Ok(Self {
            is_empty: outputs.is_empty(),
            ..contract
        })
    }

    /// Identifies the form that outputs must have.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.schema.to_string().as_bytes())
    }

    /// Whether the contract names no output.
    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The differences of an output from the form; empty if the output conforms.
    pub(super) fn differences(&self, output: &Value) -> Vec<String> {
        let mut errors = self.validator.iter_errors(output);
        let mut told: Vec<String> = errors
            .by_ref()
            .take(TOLD)
            .map(|error| {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() {
                    "the output".to_owned()
                } else {
                    format!("`{at}`")
                };
                safe::cut(&safe::line(&format!("{at}: {error}")), LONGEST)
            })
            .collect();
        let more = errors.count();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        told
    }
}
