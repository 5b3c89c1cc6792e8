//! Reads the decision from an output.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::EvidenceSettings;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::{DecisionField, answer};
use kelvin_record::{FIELDS_BESIDE, TURN, has_words};
use kelvin_run::Reader;
use kelvin_run::judge::Scorer;
use kelvin_run::targets::Reply;

/// The maximum size of a decision in bytes. The decision of every call is stored in memory and in the report, and a
/// larger value is a text rather than a decision.
pub(crate) const LARGEST: usize = 64 * 1024;

/// Reads the field with the decision, and lets the scorer reject a decision that it cannot compare.
pub struct DecisionReader<'a> {
    field: &'a DecisionField,
    scorer: &'a dyn Scorer,
}

impl<'a> DecisionReader<'a> {
    /// Reads the decision field of the settings.
    pub const fn new(settings: &'a EvidenceSettings, scorer: &'a dyn Scorer) -> Self {
        Self {
            field: &settings.decision_field,
            scorer,
        }
    }
}

impl Reader for DecisionReader<'_> {
    /// The scorer is not a part of the digest: a known output can be read again for another scorer.
    fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/reader/decision/v1");
        fields.field("field", self.field.as_str()).digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let decision = answer::find(output, self.field)?;
        // Apart from a few escapes, a decision takes no more bytes than the output that contains it.
        if output.len() > LARGEST {
            let size = size(&decision);
            if size > LARGEST {
                let field = self.field.as_str();
                return Err(Failure::new(
                    FailureKind::DecisionRefused,
                    format!(
                        "the decision in `{field}` has {size} bytes, and {LARGEST} is the most that a decision \
                         has: name a field with the decision alone under `decision_field`"
                    ),
                ));
            }
        }
        match self.scorer.accepts(&decision) {
            Ok(()) => Ok(decision),
            Err(what) => Err(Failure::new(
                FailureKind::DecisionRefused,
                format!("the decision in `{}` is {what}", self.field.as_str()),
            )),
        }
    }

    fn smallest(&self, decision: &Value) -> Vec<u8> {
        answer::smallest(decision, self.field)
    }
}

/// The size of a value as JSON in bytes, counted without writing it.
fn size(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Every JSON value can be written as JSON, and the counter never fails.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// A decision with its texts replaced. Numbers, booleans and null are not texts. A list keeps its length, since a
/// scorer of sets compares the entries.
pub(super) fn withheld_decision(whole: Value) -> Value {
    match whole {
        Value::String(text) => kelvin_record::withheld(&text).into(),
        Value::Array(list) => list.into_iter().map(withheld_decision).collect(),
        Value::Object(_) => kelvin_record::withheld(&whole.to_string()).into(),
        other => other,
    }
}

/// Whether the texts of a decision were replaced.
pub(super) fn is_withheld_decision(of: &Value) -> bool {
    match of {
        Value::String(text) => kelvin_record::withheld(text) == *text,
        Value::Array(list) => list.iter().any(is_withheld_decision),
        _ => false,
    }
}

/// The answers to how many of the turns before the last are stored at most.
const TURNS_BESIDE: usize = 8;

/// How many characters of a field are stored at most.
const MOST_BESIDE: usize = 200;

/// How many characters of a field name are stored at most.
const NAME_BESIDE: usize = 60;

/// A few fields in the output besides the decision: first those with words, among these first those of the object with
/// the decision, and then by name. Empty fields are left out. A field of an object has a name such as `trace.id`, so
/// that what varies in it stands apart from the rest.
pub(super) fn fields_beside(output: &[u8], decision: &DecisionField) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    for (level, fields) in answer::beside(output, decision).into_iter().enumerate() {
        let mut leaves = Vec::new();
        add_leaves("", Value::Object(fields), &mut leaves);
        for (name, text) in leaves {
            told.entry(beginning(&name, NAME_BESIDE))
                .or_insert((level, text));
        }
    }
    let mut told: Vec<(String, (usize, String))> = told.into_iter().collect();
    told.sort_by_key(|(_, (level, text))| (!has_words(text), *level));
    let told = told.into_iter().take(FIELDS_BESIDE);
    told.map(|(name, (_, text))| (name, text)).collect()
}

/// Adds the texts of a value that is neither null nor empty, each with its name.
fn add_leaves(name: &str, value: Value, leaves: &mut Vec<(String, String)>) {
    let of = |inner: &str| match name {
        "" => inner.to_owned(),
        _ => format!("{name}.{inner}"),
    };
    let text = match value {
        Value::Null => return,
        Value::Object(fields) => {
            for (inner, value) in fields {
                add_leaves(&of(&inner), value, leaves);
            }
            return;
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, value) in items.into_iter().enumerate() {
                add_leaves(&of(&at.to_string()), value, leaves);
            }
            return;
        }
        Value::String(text) => text,
        other => other.to_string(),
    };
    let text = beginning(text.trim(), MOST_BESIDE);
    if !text.is_empty() {
        leaves.push((name.to_owned(), text));
    }
}

/// The answers to the first turns of a conversation that has further ones, by the names of the turns: of an output with
/// a decision the decision, of any other its texts that have words.
pub(super) fn earlier_turns(
    conversation: &[u8],
    decision: &DecisionField,
) -> BTreeMap<String, String> {
    let mut turns: Vec<Map<String, Value>> =
        serde_json::from_slice(conversation).unwrap_or_default();
    turns.pop();
    turns.truncate(TURNS_BESIDE);
    let answered = (1..).zip(turns).filter_map(|(number, mut turn)| {
        let output = turn.remove("output")?;
        let text = match answer::find(output.to_string().as_bytes(), decision).unwrap_or(output) {
            Value::String(text) => text,
            value if value.is_object() => {
                let mut leaves = Vec::new();
                add_leaves("", value, &mut leaves);
                let texts = leaves.into_iter().map(|(_, text)| text);
                let worded: Vec<String> = texts.filter(|text| has_words(text)).collect();
                worded.join("; ")
            }
            other => other.to_string(),
        };
        let text = beginning(text.trim(), MOST_BESIDE);
        (!text.is_empty()).then(|| (format!("{TURN}{number}"), text))
    });
    answered.collect()
}

/// The beginning of a text, with a mark if it was shortened. The text is never cut inside a word, because a masker only
/// recognises a whole secret.
pub(super) fn beginning(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let is_within_a_word = |letter: char| letter.is_ascii_graphic();
    let kept = match text[end..].starts_with(is_within_a_word) {
        true => text[..end].trim_end_matches(is_within_a_word),
        false => &text[..end],
    };
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_run::judge::{self, Choice};
    use serde_json::json;

    #[test]
    fn every_scorer_finds_the_same_distances_without_the_texts() {
        let scorers = [
            (
                json!("exact"),
                vec![
                    json!("a"),
                    json!("b"),
                    json!(1),
                    json!(3),
                    json!(true),
                    json!(null),
                ],
            ),
            (
                json!({"ordinal": ["low", "medium", "high"]}),
                vec![json!("low"), json!("medium"), json!("high")],
            ),
            (
                json!("set"),
                vec![
                    json!(["a", "b"]),
                    json!(["b"]),
                    json!([]),
                    json!("b"),
                    json!(["a", 1]),
                ],
            ),
        ];
        for (choice, decisions) in scorers {
            let scorer = judge::chosen_scorer(&Choice::read(&choice).expect("a scorer"));
            for one in &decisions {
                let without = withheld_decision(one.clone());
                assert_eq!(withheld_decision(without.clone()), without, "twice is once");
                assert!(scorer.accepts(&without).is_ok(), "{choice}: {without}");
                for other in &decisions {
                    assert_eq!(
                        scorer.distance(one, other),
                        scorer.distance(&without, &withheld_decision(other.clone())),
                        "{choice}: {one} and {other}"
                    );
                }
            }
        }
    }

    fn beside(output: &Value, field: &DecisionField) -> Vec<(String, String)> {
        let fields = fields_beside(output.to_string().as_bytes(), field);
        fields.into_iter().collect()
    }

    #[test]
    fn a_few_short_fields_are_kept_and_not_the_decision() {
        let key = DecisionField::Key("decision".to_owned());
        let output = json!({
            "decision": "deny", "reason": " It is late. ", "citations": ["a", "b"], "none": null, "blank": " ",
        });
        assert_eq!(
            beside(&output, &key),
            [("citations", "[\"a\",\"b\"]"), ("reason", "It is late.")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
        let pointer = DecisionField::Pointer("/result/decision".to_owned());
        let nested = json!({
            "result": {"decision": 1, "reason": "so", "zone": 2}, "usage": {"tokens": 3, "note": "two words"},
            "reason": "farther away", "id": "a1", "steps": [{"text": "first"}],
        });
        let kept = [
            ("reason", "so"),
            ("steps.0.text", "first"),
            ("usage.note", "two words"),
            ("zone", "2"),
        ];
        assert_eq!(
            beside(&nested, &pointer),
            kept.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
        let many: BTreeMap<String, u8> = (0..9).map(|at| (format!("f{at}"), at)).collect();
        assert_eq!(beside(&json!(many), &key).len(), 0, "without a decision");
        let many =
            json!({"decision": 1, "f1": 1, "f2": 2, "f3": 3, "f4": 4, "why": "for a reason"});
        let names: Vec<String> = beside(&many, &key)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["f1", "f2", "f3", "why"]);
        for other in [json!([1]), json!({"result": 1}), json!("text")] {
            assert_eq!(beside(&other, &pointer), []);
        }
        assert!(fields_beside(b"no JSON", &key).is_empty());
    }

    #[test]
    fn the_answers_to_all_turns_but_the_last_are_kept() {
        let key = DecisionField::Key("decision".to_owned());
        let output = json!({"decision": "no", "id": "a-1"});
        let free = json!({"text": "I wait.", "meta": {"at": "2026-11-30", "why": "so soon"}});
        let turns = json!([
            {"turn": 1, "input": "a", "output": output}, {"turn": 2, "input": "b", "output": "plain words"},
            {"turn": 3, "input": "c", "output": free}, {"turn": 4, "input": "d", "output": output},
        ]);
        let kept = [
            ("turn 1", "no"),
            ("turn 2", "plain words"),
            ("turn 3", "so soon; I wait."),
        ];
        let kept = kept.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(
            earlier_turns(turns.to_string().as_bytes(), &key),
            BTreeMap::from(kept)
        );
        let many: Vec<Value> = (1..=20)
            .map(|at| json!({"turn": at, "input": "", "output": "x"}))
            .collect();
        assert_eq!(
            earlier_turns(json!(many).to_string().as_bytes(), &key).len(),
            TURNS_BESIDE
        );
        assert_eq!(earlier_turns(b"no JSON", &key), BTreeMap::new());
    }

    #[test]
    fn no_part_of_a_word_is_kept() {
        assert_eq!(beginning("the key is ghp_abc", 14), "the key is…");
        assert_eq!(beginning("the key is gone", 11), "the key is…");
        assert_eq!(beginning(&"密".repeat(9), 3), "密密密…");
        assert_eq!(beginning("short", 5), "short");
    }
}
