//! Compares a YAML tree with a JSON schema and describes every difference to a person.
//!
//! It supports the part of JSON Schema that the types of `kelvin.yaml` and its related files produce.

use serde_json::{Value, json};

pub use super::branch::wanted;
pub use super::branch::{branches, properties};
use super::branch::{either, names_a_model, only_key, tag, takes, takes_anything, words};
use super::configure::Slip;
use super::diagnostic::Problem;
use super::hints;
use super::yaml::{Content, Key, Node};

/// Gives advice about a mistake, if the caller knows more about it than the schema.
pub type Hint<'a> = dyn Fn(&Slip<'_>) -> Option<String> + 'a;

/// All differences between a node and a schema.
pub fn problems(node: &Node, schema: &Value, source: &str, hint: &Hint<'_>) -> Vec<Problem> {
    let models = node.entries(&["models"]).iter();
    let mut walk = ShapeWalk {
        models: models.map(|(name, _)| &*name.text).collect(),
        source,
        root: schema,
        hint,
        path: Vec::new(),
        found: Vec::new(),
    };
    walk.node(node, schema);
    walk.found
}

struct ShapeWalk<'a> {
    /// The names of the models that the file declares.
    models: Vec<&'a str>,
    source: &'a str,
    root: &'a Value,
    hint: &'a Hint<'a>,
    path: Vec<String>,
    found: Vec<Problem>,
}

impl ShapeWalk<'_> {
    fn node(&mut self, node: &Node, schema: &Value) {
        if takes_anything(schema) {
            return;
        }
        let fitting: Vec<&Value> = branches(schema)
            .into_iter()
            .filter(|branch| takes(branch, &node.content))
            .collect();
        let [first, ..] = fitting[..] else {
            return self.refuse(node, schema);
        };
        match &node.content {
            Content::Map(entries) => {
                if let Some(tag) = tag(&fitting) {
                    return self.tagged(node, tag, &fitting);
                }
                // If several mappings are possible, the writer meant one that has a key which the file uses.
                let is_known = |branch: &&Value| {
                    let has = |name: &str| entries.iter().any(|(key, _)| key.text == name);
                    properties(branch).any(|(name, _)| has(name))
                };
                match fitting.iter().copied().find(is_known) {
                    Some(meant) => self.map(node, meant),
                    None if self.lacks_all_keys(node, entries, &fitting) => {}
                    None => self.map(node, first),
                }
            }
            Content::List(items) => self.list(node, items, first),
            Content::Text(text) => self.text(node, text, schema, &fitting),
            Content::Integer(number) => self.number(node, number.as_f64(), first),
            Content::Float(value) => self.number(node, Some(*value), first),
            Content::Null | Content::Bool(_) => {}
        }
    }

    /// Reports a mapping that has none of the keys of which each alternative wants its own one, as `run: {url: ...}` has
    /// none of `http`, `model`, `node` and `python`. Any of the alternatives would report the keys of the others.
    fn lacks_all_keys(&mut self, node: &Node, entries: &[(Key, Node)], fitting: &[&Value]) -> bool {
        let keys: Option<Vec<String>> = fitting.iter().map(|branch| only_key(branch)).collect();
        let (Some(keys), Some((written, _))) =
            (keys.filter(|keys| keys.len() > 1), entries.first())
        else {
            return false;
        };
        let names: Vec<&str> = keys.iter().map(|key| key.trim_matches('`')).collect();
        let is_below = |inner: &Value| {
            let mut known = branches(inner).into_iter().flat_map(properties);
            known.any(|(name, _)| name == written.text)
        };
        let mut alternatives = fitting.iter().flat_map(|branch| properties(branch));
        let help = match hints::nearest(&written.text, &names) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => alternatives
                .find(|(_, inner)| is_below(inner))
                .map(|(home, _)| {
                    let key = &written.text;
                    format!("`{key}` belongs under `{home}`: write `{home}: {{{key}: ...}}`")
                }),
        };
        let message = format!(
            "{} needs one of the keys {}, found `{}`",
            self.name(),
            either(&keys),
            written.text
        );
        let problem = Problem::new(node.at.clone(), message);
        self.found.push(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
        true
    }

    /// Checks a node against several mappings that are distinguished by one key, e.g. `kind: openai`.
    fn tagged(&mut self, node: &Node, tag: &str, branches: &[&Value]) {
        let Some(written) = node.get(&[tag]) else {
            return self.missing(node, tag);
        };
        let of = |branch: &Value| branch["properties"][tag].clone();
        let meant = branches.iter().find(|branch| match &written.content {
            Content::Text(text) => words(&of(branch)).contains(&&**text),
            _ => false,
        });
        match meant {
            Some(branch) => self.map(node, branch),
            // The allowed keys depend on this key, so the other keys are not checked.
            None => {
                let any: Vec<Value> = branches.iter().map(|branch| of(branch)).collect();
                self.path.push(tag.to_owned());
                self.node(written, &json!({ "anyOf": any }));
                self.path.pop();
            }
        }
    }

    fn map(&mut self, node: &Node, schema: &Value) {
        let Content::Map(entries) = &node.content else {
            return;
        };
        for (key, value) in entries {
            let known = properties(schema).find(|(name, _)| *name == key.text);
            // A mapping whose keys are chosen by the user has one schema for all values.
            let any = schema
                .get("additionalProperties")
                .filter(|any| any.is_object());
            // If the schema does not restrict the values, any value is allowed.
            let is_free = schema.get("additionalProperties") == Some(&Value::Bool(true));
            if known.is_none() && is_free {
                continue;
            }
            match known.map(|(_, inner)| inner).or(any) {
                Some(inner) => {
                    self.path.push(key.text.clone());
                    self.node(value, inner);
                    self.path.pop();
                }
                None => {
                    let problem = Problem::new(key.at.clone(), self.unknown(&key.text));
                    let help = (self.hint)(&Slip::UnknownKey(&key.text)).unwrap_or_else(|| {
                        hints::unknown_key(&key.text, &self.path, schema, self.root)
                    });
                    self.found.push(problem.help(help));
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !entries.iter().any(|(key, _)| key.text == name) {
                self.missing(node, name);
            }
        }
    }

    fn unknown(&self, key: &str) -> String {
        if self.path.is_empty() {
            format!("unknown key `{key}`")
        } else {
            format!("unknown key `{key}` in `{}`", self.path.join("."))
        }
    }

    fn missing(&mut self, node: &Node, name: &str) {
        let (at, message) = if self.path.is_empty() {
            (0..0, format!("the key `{name}` is missing"))
        } else {
            let section = self.path.join(".");
            (
                node.at.clone(),
                format!("the key `{name}` is missing in `{section}`"),
            )
        };
        let problem = Problem::new(at, message);
        self.found.push(match (self.hint)(&Slip::MissingKey(name)) {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    fn list(&mut self, node: &Node, items: &[Node], schema: &Value) {
        let fewest = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        if (items.len() as u64) < fewest {
            let message = format!(
                "{} needs at least {fewest} entries, found {}",
                self.name(),
                items.len()
            );
            self.found.push(Problem::new(node.at.clone(), message));
        }
        let Some(inner) = schema.get("items") else {
            return;
        };
        for (place, item) in items.iter().enumerate() {
            self.path.push(format!("{}", place + 1));
            self.node(item, inner);
            self.path.pop();
        }
    }

    fn text(&mut self, node: &Node, text: &str, schema: &Value, fitting: &[&Value]) {
        let words: Vec<&str> = fitting.iter().flat_map(|branch| words(branch)).collect();
        if words.is_empty() {
            let needed = fitting
                .iter()
                .any(|branch| branch.get("minLength").is_some());
            if needed && text.trim().is_empty() {
                let message = format!("{} must not be empty", self.name());
                self.found.push(Problem::new(node.at.clone(), message));
            } else if fitting.iter().any(|branch| names_a_model(branch)) {
                self.model(node, text);
            }
        } else if !words.contains(&text) {
            let message = format!("{} must be {}, found `{text}`", self.name(), wanted(schema));
            let problem = Problem::new(node.at.clone(), message);
            let help = (self.hint)(&Slip::UnknownWord(text, &words));
            self.found
                .push(match help.or_else(|| hints::word(text, &words)) {
                    Some(help) => problem.help(help),
                    None => problem,
                });
        }
    }

    /// Checks that a name belongs to a model that the file declares.
    fn model(&mut self, node: &Node, name: &str) {
        if self.models.contains(&name) {
            return;
        }
        let message = format!(
            "{} names the model `{name}`, which is not declared",
            self.name()
        );
        let help = match (hints::nearest(name, &self.models), &self.models[..]) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => format!("declare it: `models: {{{name}: {{kind: openai, ...}}}}`"),
            (None, models) => format!("declared under `models`: {}", models.join(", ")),
        };
        self.found
            .push(Problem::new(node.at.clone(), message).help(help));
    }

    fn number(&mut self, node: &Node, value: Option<f64>, schema: &Value) {
        let limit = |name| schema.get(name).and_then(Value::as_f64);
        let value = value.unwrap_or(f64::NAN);
        let fits = value.is_finite()
            && limit("minimum").is_none_or(|least| value >= least)
            && limit("exclusiveMinimum").is_none_or(|least| value > least)
            && limit("maximum").is_none_or(|most| value <= most);
        if !fits {
            self.refuse(node, schema);
        }
    }

    fn refuse(&mut self, node: &Node, schema: &Value) {
        let text = self.source.get(node.at.clone()).unwrap_or("").trim();
        let found = match &node.content {
            Content::Null => "nothing".to_owned(),
            Content::Text(text) if text.chars().count() > 40 => "a string".to_owned(),
            Content::Text(text) => format!("the string `{text}`"),
            Content::List(_) => "a list".to_owned(),
            Content::Map(_) => "a mapping".to_owned(),
            Content::Bool(_) | Content::Integer(_) | Content::Float(_) => format!("`{text}`"),
        };
        let message = format!("{} must be {}, found {found}", self.name(), wanted(schema));
        let problem = Problem::new(node.at.clone(), message);
        let key = self.path.last().map_or("", String::as_str);
        self.found
            .push(match hints::wrong_type(key, node, schema, self.source) {
                Some(help) => problem.help(help),
                None => problem,
            });
    }

    /// The position in the file in words: `retry.max_attempts`, entry 2 of `env`.
    fn name(&self) -> String {
        match &self.path[..] {
            [] => "the file".to_owned(),
            [section @ .., last] if last.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("entry {last} of `{}`", section.join("."))
            }
            path => format!("`{}`", path.join(".")),
        }
    }
}
