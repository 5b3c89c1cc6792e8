//! Replaces private data in a text by its kind: an e-mail address becomes `[email 1]`, and the same address becomes the
//! same words wherever it occurs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::personal::{self, PersonalRule};

/// A rule of the command line: `NAME=REGEX`.
#[derive(Clone, Debug)]
pub(super) struct OwnRedaction {
    name: String,
    pattern: Regex,
}

impl OwnRedaction {
    /// Parses the form of the command line. Fails with a message that says why the rule is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, pattern) = text
            .split_once('=')
            .ok_or("write NAME=REGEX, such as `customer=K-[0-9]{6}`")?;
        let is_plain =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(
                "the name is made of small letters, digits and `_`, as in `customer=K-[0-9]{6}`"
                    .to_owned(),
            );
        }
        if PersonalRule::ALL.iter().any(|rule| rule.name() == name) {
            return Err(format!(
                "`{name}` is the name of a rule that ships; give this one another name"
            ));
        }
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        if pattern.is_match("") {
            return Err("the pattern matches the empty text, which stands everywhere".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            pattern,
        })
    }

    /// The form in which a rule is written on the command line.
    pub(super) fn written(&self) -> String {
        format!("{}={}", self.name, self.pattern)
    }
}

/// How often each rule has matched.
pub(super) type RuleCounts = BTreeMap<String, usize>;

/// Replaces the text that its rules match; the same text is always replaced by the same words.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    own: Vec<OwnRedaction>,
    /// The number of each value, by rule and normal form.
    known: BTreeMap<(String, String), usize>,
    /// The highest number that each rule has used.
    last: BTreeMap<String, usize>,
    counts: RuleCounts,
}

impl Redactor {
    /// A redactor with the rules of the command line, besides those that ship.
    pub(super) fn new(own: &[OwnRedaction]) -> Self {
        Self {
            own: own.to_vec(),
            ..Self::default()
        }
    }

    /// How often each rule has matched.
    pub(super) fn into_counts(self) -> RuleCounts {
        self.counts
    }

    /// A copy of a text in which everything that the rules find is replaced.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut found = personal::found(text, self.own.len());
        for (place, rule) in self.own.iter().enumerate() {
            let spans = rule.pattern.find_iter(text);
            found.extend(spans.map(|span| (span.range(), place)));
        }
        personal::replaced(text, found, &mut |place, value| {
            self.placeholder(place, value)
        })
    }

    /// The words for a value that a rule has found.
    fn placeholder(&mut self, order: usize, value: &str) -> String {
        let (name, plain) = match self.own.get(order) {
            Some(rule) => (rule.name.clone(), value.to_owned()),
            None => {
                let rule = PersonalRule::ALL[order - self.own.len()];
                (rule.name().to_owned(), rule.plain(value))
            }
        };
        *self.counts.entry(name.clone()).or_default() += 1;
        let last = self.last.entry(name.clone()).or_default();
        let number = *self.known.entry((name.clone(), plain)).or_insert_with(|| {
            *last += 1;
            *last
        });
        format!("[{name} {number}]")
    }

    /// A copy of a value in which everything is replaced that the rules find in its texts, field names and numbers.
    pub(super) fn value(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Number(number) => {
                let text = number.to_string();
                match self.text(&text) {
                    clean if clean == text => Value::Number(number),
                    clean => Value::String(clean),
                }
            }
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other,
        }
    }

    /// Does the same for the fields of an object. The name of a field may show that its text is a key.
    pub(super) fn fields(&mut self, fields: Map<String, Value>) -> Map<String, Value> {
        // The first rule that ships is the one for keys.
        let key_rule = self.own.len();
        let mut clean = Map::new();
        for (name, value) in fields {
            let value = match &value {
                Value::String(text) if KEY_FIELD.is_match(&name) && !text.trim().is_empty() => {
                    Value::String(self.placeholder(key_rule, text))
                }
                _ => self.value(value),
            };
            clean.insert(self.text(&name), value);
        }
        clean
    }
}

/// The names of fields whose texts are keys.
static KEY_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:^|[_-])(?:password|passwd|passphrase|pwd|secret|api[_-]?key|token|authorization|private[_-]?key|access[_-]?key)$|(?-i:Token|Password|Secret|ApiKey|AccessKey|PrivateKey)$",
    )
    .expect("the pattern is tested")
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_value_has_the_same_words_and_another_one_others() {
        let mut redactor = Redactor::new(&[]);
        let text =
            "Ann@example.com, ann@example.com, bob@example.com; +49 30 1234567 or 0049301234567";
        assert_eq!(
            redactor.text(text),
            "[email 1], [email 1], [email 2]; [phone 1] or [phone 1]"
        );
        assert_eq!(redactor.text("bob@example.com"), "[email 2]");
        let counts = [("email".to_owned(), 4), ("phone".to_owned(), 2)];
        assert_eq!(redactor.into_counts(), RuleCounts::from(counts));
    }

    #[test]
    fn values_that_touch_are_replaced_together_and_own_rules_win() {
        let own = OwnRedaction::parse("customer=K-[0-9]+").expect("a rule");
        let mut redactor = Redactor::new(&[own]);
        // The address goes on where the own rule ends.
        let cleaned = redactor.text("K-77@example.com, K-78");
        assert_eq!(cleaned, "[customer 1], [customer 2]");
        for wrong in ["x", "=a", "Ä=a", "email=a", "a=(", "a=b*"] {
            assert!(OwnRedaction::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_fields_and_numbers_are_looked_at_too() {
        let mut redactor = Redactor::new(&[]);
        let value = json!({
            "ann@example.com": {"card": 4_111_111_111_111_111_u64, "n": 12, "f": 1.5},
            "db_password": "plainword", "accessToken": "x", "tokens": "many", "list": [null, true, "10.1.2.3"],
        });
        let cleaned = redactor.value(value);
        let wanted = json!({
            "[email 1]": {"card": "[card 1]", "n": 12, "f": 1.5},
            "db_password": "[key 2]", "accessToken": "[key 1]", "tokens": "many", "list": [null, true, "[ip 1]"],
        });
        assert_eq!(cleaned, wanted);
    }
}
