//! GitHub's OpenAPI description: what a request and an answer have to look like.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::wire::Request;

/// The description, and what was compiled of it so far.
pub(super) struct Contract {
    document: Value,
    compiled: Mutex<BTreeMap<String, Arc<Validator>>>,
}

/// An operation of the description, e.g. `GET /repos/{owner}/{repo}`, and what fills its braces.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) filled: BTreeMap<String, String>,
}

impl Contract {
    /// The one of this process.
    pub(super) fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Contract>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| {
            // Two crates have this server among their tests: the file stands above the folder of either.
            let package = Path::new(env!("CARGO_MANIFEST_DIR"));
            let mut places = package.ancestors();
            let text = places
                .find_map(|place| {
                    std::fs::read(place.join("tests/fixtures/github-openapi.json")).ok()
                })
                .expect("the description is there");
            Arc::new(Self {
                document: serde_json::from_slice(&text).expect("it is JSON"),
                compiled: Mutex::default(),
            })
        }))
    }

    /// The operation of a method and a path.
    pub(super) fn operation(&self, method: &str, path: &str) -> Option<Operation> {
        let operations = self.document["operations"].as_object().expect("a map");
        let mut found: Vec<Operation> = operations
            .keys()
            .filter_map(|name| {
                let (its_method, template) = name.split_once(' ')?;
                let filled = (its_method == method).then(|| fill(template, path))??;
                Some(Operation {
                    name: name.clone(),
                    filled,
                })
            })
            .collect();
        // `/issues/comments/1` is no comments of the issue `comments`.
        found.sort_by_key(|operation| operation.filled.len());
        found.into_iter().next()
    }

    /// What is wrong with a request.
    pub(super) fn check_request(&self, operation: &Operation, request: &Request) -> Vec<String> {
        let described = &self.document["operations"][&operation.name];
        let mut wrong = Vec::new();
        let mut known = Vec::new();
        for parameter in described["parameters"].as_array().expect("a list") {
            let name = parameter["name"].as_str().expect("a name");
            let given = match parameter["in"].as_str() {
                Some("path") => operation.filled.get(name),
                Some("query") => {
                    known.push(name);
                    request.query.get(name)
                }
                _ => continue,
            };
            match given {
                None if parameter["required"] == true => wrong.push(format!("`{name}` is missing")),
                None => {}
                Some(text) => {
                    let key = format!("{} parameter {name}", operation.name);
                    let value = text.parse().map_or_else(|_| json!(text), |n: i64| json!(n));
                    let texts = [value, json!(text)];
                    let schema = &parameter["schema"];
                    if texts
                        .iter()
                        .all(|v| !self.errors(&key, schema, v).is_empty())
                    {
                        wrong.push(format!("`{name}={text}` is not {schema}"));
                    }
                }
            }
        }
        for name in request.query.keys() {
            if !known.contains(&name.as_str()) {
                wrong.push(format!("there is no parameter `{name}`"));
            }
        }
        match (described.get("body"), request.body.is_empty()) {
            (Some(_), true) if described["body_required"] == true => {
                wrong.push("the body is missing".to_owned());
            }
            (Some(schema), false) => {
                let key = format!("{} body", operation.name);
                wrong.extend(self.errors(&key, schema, &request.json()));
            }
            (None, false) => wrong.push("a body, and none is described".to_owned()),
            _ => {}
        }
        if request.headers.get("accept").map(String::as_str) != Some("application/vnd.github+json")
        {
            wrong.push("the `accept` header is not GitHub's".to_owned());
        }
        if !request.headers.contains_key("user-agent") {
            wrong.push("there is no `user-agent`, which GitHub refuses".to_owned());
        }
        wrong
    }

    /// What is wrong with an answer.
    pub(super) fn check_answer(
        &self,
        operation: &Operation,
        status: u16,
        body: &[u8],
    ) -> Vec<String> {
        let key = format!("{} {status}", operation.name);
        let described = self.answer_schema(&operation.name, status);
        let Some(schema) = described else {
            return vec![format!("{key}: the status is not described")];
        };
        if schema.is_null() {
            return Vec::new();
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let errors = self.errors(&key, &schema, &body);
        errors
            .into_iter()
            .map(|error| format!("{key}: {error}"))
            .collect()
    }

    /// The smallest answer that the description allows, to lay real values over.
    pub(super) fn sample(&self, operation: &str, status: u16) -> Value {
        let schema = self
            .answer_schema(operation, status)
            .expect("it is described");
        self.smallest(&schema)
    }

    /// The smallest value of a named schema.
    pub(super) fn sample_of(&self, name: &str) -> Value {
        self.smallest(&self.document["$defs"][name])
    }

    /// GitHub's description lists few of the errors; the others look like its basic error.
    fn answer_schema(&self, operation: &str, status: u16) -> Option<Value> {
        let answers = &self.document["operations"][operation]["responses"];
        match answers.get(status.to_string()) {
            Some(schema) => Some(schema.clone()),
            None if status >= 400 => Some(json!({ "$ref": "#/$defs/basic-error" })),
            None => None,
        }
    }

    fn errors(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let mut compiled = self.compiled.lock().expect("nothing panics with it");
        let validator = Arc::clone(compiled.entry(key.to_owned()).or_insert_with(|| {
            let whole = json!({ "allOf": [schema], "$defs": self.document["$defs"] });
            let built = jsonschema::options()
                .should_validate_formats(true)
                .build(&whole);
            Arc::new(built.expect("the description is a schema"))
        }));
        drop(compiled);
        validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    fn smallest(&self, schema: &Value) -> Value {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().expect("a name");
            return self.smallest(&self.document["$defs"][name]);
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        for several in ["anyOf", "oneOf"] {
            if let Some(list) = schema[several].as_array() {
                let null = list.iter().any(|one| one["type"] == "null");
                return if null {
                    Value::Null
                } else {
                    self.smallest(&list[0])
                };
            }
        }
        if let Some(list) = schema["allOf"].as_array() {
            return self.smallest(&list[0]);
        }
        let kind = match &schema["type"] {
            Value::Array(_) => return Value::Null,
            Value::String(kind) => kind.as_str(),
            _ => "object",
        };
        match kind {
            "string" => match schema["format"].as_str() {
                Some("uri" | "url") => json!("https://github.example/x"),
                Some("date-time") => json!("2026-11-20T12:00:00Z"),
                Some("email") => json!("x@github.example"),
                _ => json!("x".repeat(schema["minLength"].as_u64().unwrap_or(1) as usize)),
            },
            "integer" | "number" => json!(schema["minimum"].as_i64().unwrap_or(1)),
            "boolean" => json!(false),
            "array" => json!([]),
            _ => {
                let required = schema["required"].as_array().into_iter().flatten();
                required
                    .filter_map(Value::as_str)
                    .map(|name| (name.to_owned(), self.smallest(&schema["properties"][name])))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }
        }
    }
}

fn fill(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let parts = template.split('/').count();
    // The path of a file may have folders.
    let path: Vec<_> = match template.ends_with("/{path}") {
        true => path.splitn(parts, '/').collect(),
        false => path.split('/').collect(),
    };
    let template: Vec<_> = template.split('/').collect();
    if template.len() != path.len() {
        return None;
    }
    let mut filled = BTreeMap::new();
    for (wanted, given) in template.iter().zip(path) {
        match wanted.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(name) if !given.is_empty() => {
                filled.insert(name.to_owned(), given.to_owned());
            }
            None if *wanted == given => {}
            _ => return None,
        }
    }
    Some(filled)
}
