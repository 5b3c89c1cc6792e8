//! The answers of a model that lists claims, statements or passages with a verdict for each, and the figure that is
//! computed from the verdicts.
//!
//! The formulas are those of Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", as Ragas
//! 0.4.3 computes them; the relevance of an answer is that of deepeval 4.3.1. For an answer without a claim, Ragas
//! returns "not a number"; here there is no grade.

use serde_json::{Map, Value, json};

use crate::judge::{RagMeasure, seat};
use kelvin_base::failure::{Failure, FailureKind};

/// How many entries a list may have.
const MOST_ENTRIES: usize = 500;
/// How many characters of a claim are stored.
const KEPT_OF_A_CLAIM: usize = 300;
/// How many claims the notes quote at most.
const QUOTED: usize = 5;

/// The words for a measure: the key of the list, the key of an entry's text or number, and the key of its verdict.
struct Words {
    list: &'static str,
    entry: &'static str,
    verdict: &'static str,
    /// The word for an entry whose verdict is false, for the notes.
    refused: &'static str,
}

const fn words(measure: RagMeasure) -> Words {
    let (list, entry, verdict, refused) = match measure {
        RagMeasure::Faithfulness | RagMeasure::ContextRecall => {
            ("claims", "claim", "carried", "not carried by the passages")
        }
        RagMeasure::AnswerRelevance => ("statements", "statement", "relevant", "not relevant"),
        RagMeasure::ContextPrecision => ("passages", "passage", "useful", "not of use"),
    };
    Words {
        list,
        entry,
        verdict,
        refused,
    }
}

/// Whether the entries are numbered passages, and not texts.
const fn is_numbered(measure: RagMeasure) -> bool {
    matches!(measure, RagMeasure::ContextPrecision)
}

/// The form of an answer, as the question shows it.
pub(super) fn form(measure: RagMeasure) -> String {
    let Words {
        list,
        entry,
        verdict,
        ..
    } = words(measure);
    let example = match is_numbered(measure) {
        true => "the number of the passage",
        false => "\"the words of it\"",
    };
    format!(
        "{{\"{list}\": [{{\"{entry}\": {example}, \"{verdict}\": true or false}}, and so on for each {entry}]}}"
    )
}

/// The JSON schema of an answer.
pub(super) fn schema(measure: RagMeasure) -> Value {
    let Words {
        list,
        entry,
        verdict,
        ..
    } = words(measure);
    let kind = if is_numbered(measure) {
        "integer"
    } else {
        "string"
    };
    json!({
        "type": "object",
        "properties": { list: { "type": "array", "items": {
            "type": "object",
            "properties": { entry: { "type": kind }, verdict: { "type": "boolean" } },
            "required": [entry, verdict],
            "additionalProperties": false,
        } } },
        "required": [list],
        "additionalProperties": false,
    })
}

/// The score, the notes and the list, from the answer of a model. Fails if the list is missing or empty, or if an entry
/// has no text, no number or no verdict. Nothing is guessed: a list with one malformed entry is rejected as a whole,
/// since the share over the rest would be a different figure.
pub(super) fn read(measure: RagMeasure, answer: &Map<String, Value>) -> Result<Value, Failure> {
    let invalid = |what: String| Failure::new(FailureKind::GradeInvalid, what);
    let Words {
        list,
        entry,
        verdict,
        refused,
    } = words(measure);
    let missing = |what: String| Failure::new(FailureKind::GradeMissing, what);
    let found = answer
        .get(list)
        .ok_or_else(|| missing(format!("the answer of the judge has no `{list}`")))?;
    let Value::Array(entries) = found else {
        return Err(invalid(format!("`{list}` is no list")));
    };
    if entries.is_empty() {
        return Err(missing(format!(
            "the judge found no {entry}, so there is no share of {list}"
        )));
    }
    if entries.len() > MOST_ENTRIES {
        let found = entries.len();
        return Err(invalid(format!(
            "`{list}` has {found} entries, and at most {MOST_ENTRIES} are read"
        )));
    }
    let mut verdicts = Vec::with_capacity(entries.len());
    let mut kept = Vec::with_capacity(entries.len());
    let mut doubted = Vec::new();
    for (number, one) in (1..).zip(entries) {
        let named = match (one.get(entry), is_numbered(measure)) {
            (Some(Value::String(text)), false) if !text.trim().is_empty() => {
                let text: String = text.trim().chars().take(KEPT_OF_A_CLAIM).collect();
                json!(text)
            }
            (Some(Value::Number(place)), true) if place.as_u64() == Some(number) => json!(number),
            (Some(_), true) => {
                return Err(invalid(format!(
                    "entry {number} of `{list}` has not the number {number}: each passage needs one verdict, in order"
                )));
            }
            _ => {
                return Err(invalid(format!(
                    "entry {number} of `{list}` has no `{entry}`"
                )));
            }
        };
        let Some(Value::Bool(says)) = one.get(verdict) else {
            return Err(invalid(format!(
                "`{verdict}` of entry {number} of `{list}` is neither true nor false"
            )));
        };
        verdicts.push(*says);
        if !says {
            doubted.push(match named.as_str() {
                Some(text) => text.to_owned(),
                None => format!("passage {number}"),
            });
        }
        kept.push(json!({ entry: named, verdict: says }));
    }
    let notes = match doubted.len() {
        0 => String::new(),
        n => {
            let quoted = doubted[..n.min(QUOTED)].join("; ");
            let all = entries.len();
            format!("{n} of {all} {list} {refused}: {quoted}")
        }
    };
    let mut read = seat::read(score(measure, &verdicts), &notes);
    read[list] = Value::Array(kept);
    Ok(read)
}

/// The smallest answer from which the same value is read.
pub(super) fn smallest(measure: RagMeasure, read: &Value) -> Value {
    let list = words(measure).list;
    json!({ list: read.get(list) })
}

/// The number of verdicts in a value that was read.
pub(super) fn count(measure: RagMeasure, read: &Value) -> usize {
    let list = read.get(words(measure).list).and_then(Value::as_array);
    list.map_or(0, Vec::len)
}

/// The figure of a list of verdicts. It is the share of true verdicts. For passages, it is the mean of the precision at
/// each useful passage, and 0 if none is useful.
pub(super) fn score(measure: RagMeasure, verdicts: &[bool]) -> f64 {
    let good = verdicts.iter().filter(|verdict| **verdict).count();
    if !is_numbered(measure) {
        return good as f64 / verdicts.len() as f64;
    }
    let mut useful = 0;
    let mut sum = 0.0;
    for (place, verdict) in (1..).zip(verdicts) {
        if *verdict {
            useful += 1;
            sum += f64::from(useful) / f64::from(place);
        }
    }
    if useful == 0 {
        0.0
    } else {
        sum / f64::from(useful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [RagMeasure; 4] = [
        RagMeasure::Faithfulness,
        RagMeasure::AnswerRelevance,
        RagMeasure::ContextPrecision,
        RagMeasure::ContextRecall,
    ];

    fn answered(measure: RagMeasure, answer: &Value) -> Result<Value, Failure> {
        read(measure, answer.as_object().expect("an object"))
    }

    /// The answer of a model with these verdicts.
    fn answer(measure: RagMeasure, verdicts: &[bool]) -> Value {
        let Words {
            list,
            entry,
            verdict,
            ..
        } = words(measure);
        let entries = (1..).zip(verdicts).map(|(number, says)| {
            let name = match is_numbered(measure) {
                true => json!(number),
                false => json!(format!("claim {number}")),
            };
            json!({ entry: name, verdict: says })
        });
        json!({ list: entries.collect::<Vec<_>>() })
    }

    /// What Ragas 0.4.3 and deepeval 4.3.1 compute of the same recorded verdicts; `benches/rag_oracle.py` makes the
    /// file by their own code.
    #[test]
    fn the_figures_agree_with_those_of_ragas_and_deepeval() {
        let recorded: Value =
            serde_json::from_str(include_str!("tests/rag_oracle.json")).expect("the file is JSON");
        let mut compared = 0;
        for one in recorded["verdicts"].as_array().expect("a list") {
            let verdicts: Vec<bool> =
                serde_json::from_value(one["verdicts"].clone()).expect("verdicts");
            let keys = [
                "faithfulness",
                "answer_relevance",
                "context_precision",
                "context_recall",
            ];
            for (measure, key) in ALL.into_iter().zip(keys) {
                let read = answered(measure, &answer(measure, &verdicts)).expect("a grade");
                let score = read["score"].as_f64().expect("a number");
                for library in ["ragas", "deepeval"] {
                    let Some(wanted) = one[library][key].as_f64() else {
                        continue;
                    };
                    // Ragas adds 1e-10 to the number of useful passages.
                    assert!((score - wanted).abs() < 1e-9, "{key} of {library}: {one}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= 200, "{compared}");
    }

    #[test]
    fn the_kept_form_of_a_list_is_read_like_the_list_itself() {
        for measure in ALL {
            let read = answered(measure, &answer(measure, &[true, false, true])).expect("a grade");
            let again = answered(measure, &smallest(measure, &read)).expect("a grade");
            assert_eq!(read, again);
            assert_eq!(count(measure, &read), 3);
            assert!(read["notes"].as_str().expect("notes").starts_with("1 of 3"));
        }
    }

    #[test]
    fn a_malformed_list_is_no_grade() {
        let faithful = |answer: Value| answered(RagMeasure::Faithfulness, &answer);
        let mut told = Vec::new();
        for answer in [
            json!({}),
            json!({"claims": "none"}),
            json!({"claims": []}),
            json!({"claims": ["a"]}),
            json!({"claims": [{"claim": " ", "carried": true}]}),
            json!({"claims": [{"claim": "a", "carried": true}, {"claim": "b", "carried": "yes"}]}),
            json!({"claims": [{"claim": "a"}]}),
        ] {
            let failure = faithful(answer.clone()).expect_err("refused");
            told.push(failure.message.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the answer of the judge has no `claims`
        `claims` is no list
        the judge found no claim, so there is no share of claims
        entry 1 of `claims` has no `claim`
        entry 1 of `claims` has no `claim`
        `carried` of entry 2 of `claims` is neither true nor false
        `carried` of entry 1 of `claims` is neither true nor false
        ");
        let mut told = Vec::new();
        let precise = |answer: Value| answered(RagMeasure::ContextPrecision, &answer);
        for places in [json!([2, 1]), json!([1, 1]), json!([0]), json!(["1"])] {
            let entries = places.as_array().expect("a list").iter();
            let entries: Vec<Value> = entries
                .map(|place| json!({"passage": place, "useful": true}))
                .collect();
            let failure = precise(json!({ "passages": entries })).expect_err("refused");
            told.push(failure.message);
        }
        insta::assert_snapshot!(told.join("\n"), @"
        entry 1 of `passages` has not the number 1: each passage needs one verdict, in order
        entry 2 of `passages` has not the number 2: each passage needs one verdict, in order
        entry 1 of `passages` has not the number 1: each passage needs one verdict, in order
        entry 1 of `passages` has not the number 1: each passage needs one verdict, in order
        ");
        let long: Vec<Value> = (0..=MOST_ENTRIES)
            .map(|at| json!({"claim": at.to_string(), "carried": true}))
            .collect();
        assert!(faithful(json!({ "claims": long })).is_err());
    }
}
