//! Decisions in prose: a judge says how similar the meanings of two decisions are.
//!
//! The scorer itself only knows that equal texts have the distance 0. The run collects the judge's scores of the other
//! pairs, and the records store the distances. So later computations from the records never ask a model.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Scorer, ScorerKind, describe};
use crate::config::{Config, schema_of};
use crate::judge::{Exhibit, Judge, JudgeSettings};

/// Two different decisions: the decision of the baseline and that of a variant, without white space at their ends.
pub type Pair = (String, String);

/// A judge, and how its scores become distances.
#[derive(Debug)]
pub struct AskedJudge {
    judge: Box<dyn Judge>,
    /// A score of at least this value means that both decisions are the same.
    same_from: Option<f64>,
}

impl AskedJudge {
    /// The judge.
    pub fn judge(&self) -> &dyn Judge {
        &*self.judge
    }

    /// The number of calls that one pair needs.
    pub fn calls(&self) -> usize {
        let pair = ("one".to_owned(), "other".to_owned());
        let questions = self.judge.questions(&Self::exhibit(&pair));
        questions.map_or(0, |questions| questions.len())
    }

    /// The distance that corresponds to a score.
    fn distance(&self, score: f64) -> f64 {
        match self.same_from {
            Some(from) if score >= from => 0.0,
            _ => 1.0 - score,
        }
    }

    /// The pair about which the judge has to be asked to know the distance of two decisions; none if they are equal, or
    /// are not texts.
    pub fn question(one: &Value, other: &Value) -> Option<Pair> {
        let (one, other) = (one.as_str()?.trim(), other.as_str()?.trim());
        (one != other).then(|| (one.to_owned(), other.to_owned()))
    }

    /// The texts of a pair that the judge sees.
    pub const fn exhibit((one, other): &Pair) -> Exhibit<'_> {
        Exhibit {
            passages: None,
            prompt: "",
            response: other.as_str(),
            reference: Some(one.as_str()),
            criteria: None,
            turn: 0,
        }
    }
}

/// A scorer together with the answers of its judge.
#[derive(Debug)]
pub struct Known<'a> {
    /// The scorer.
    pub scorer: &'a dyn Scorer,
    /// The score of each pair that was graded.
    pub scores: &'a BTreeMap<Pair, f64>,
}

impl Scorer for Known<'_> {
    fn id(&self) -> String {
        self.scorer.id()
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        self.scorer.accepts(decision)
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        let known = self.scorer.distance(one, other);
        known.or_else(|| {
            let score = self.scores.get(&AskedJudge::question(one, other)?)?;
            Some(self.scorer.asked()?.distance(*score))
        })
    }

    fn asked(&self) -> Option<&AskedJudge> {
        self.scorer.asked()
    }
}

/// A scorer that compares texts. The judge is missing until the declared models are known.
#[derive(Debug)]
struct Prose {
    id: String,
    asked: Option<AskedJudge>,
}

impl Scorer for Prose {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        match decision {
            Value::String(_) => Ok(()),
            other => Err(format!("{}, not a text", describe(other))),
        }
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        let are_texts = one.is_string() && other.is_string();
        (are_texts && AskedJudge::question(one, other).is_none()).then_some(0.0)
    }

    fn asked(&self) -> Option<&AskedJudge> {
        self.asked.as_ref()
    }
}

/// The key of the lowest score with which two decisions count as the same.
const SAME_FROM: &str = "same_from";

/// A kind of judge that is used as a scorer.
pub(super) struct ProseKind {
    name: &'static str,
    description: &'static str,
    /// The name of the judge.
    judge: &'static str,
    /// The keys of the judge that the scorer has too.
    keys: &'static [&'static str],
}

/// The scorer `embedding`.
pub(super) const EMBEDDING: ProseKind = ProseKind {
    name: "embedding",
    description: "Texts, by how near the vectors of a model are.",
    judge: "embedding_similarity",
    keys: &["model"],
};

/// The scorer `llm`.
pub(super) const LLM: ProseKind = ProseKind {
    name: "llm",
    description: "Texts, by what a model says of their meaning.",
    judge: "llm",
    keys: &[
        "model",
        "criteria",
        "choices",
        "votes",
        "reducer",
        "swap_order",
        "temperature",
        "seed",
        "max_tokens",
        "max_chars",
    ],
};

impl ProseKind {
    /// The settings of the judge, and the lowest score with which two decisions are the same.
    fn settings(&self, written: &Value) -> Result<(JudgeSettings, Option<f64>), String> {
        let mut settings = written
            .as_object()
            .cloned()
            .ok_or("the settings are no mapping")?;
        let same_from = settings.remove(SAME_FROM);
        settings.insert("type".to_owned(), json!(self.judge));
        if self.keys.contains(&"criteria") {
            settings.insert("mode".to_owned(), json!("equivalence"));
        }
        let settings = serde_json::from_value(Value::Object(settings))
            .map_err(|error| format!("the settings of the scorer cannot be read: {error}"))?;
        let same_from = same_from.map(|from| match from.as_f64() {
            Some(from) if (0.0..=1.0).contains(&from) => Ok(from),
            _ => Err(format!("`{SAME_FROM}` is {from}, not a number from 0 to 1")),
        });
        Ok((settings, same_from.transpose()?))
    }
}

impl ScorerKind for ProseKind {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    /// The schema of the keys, taken from the judge.
    fn schema(&self) -> Option<Value> {
        let judge = schema_of::<JudgeSettings>().as_value();
        let of_judge = self.keys.iter().map(|key| {
            let schema = judge["properties"][key].clone();
            ((*key).to_owned(), schema)
        });
        let mut properties: Map<String, Value> = of_judge.collect();
        properties.insert(
            SAME_FROM.to_owned(),
            json!({
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "Two decisions whose score is at least this are the same, at distance 0.",
            }),
        );
        Some(json!({
            "type": "object",
            "properties": properties,
            "required": ["model"],
            "additionalProperties": false,
        }))
    }

    fn open(&self, written: &Value) -> Result<Box<dyn Scorer>, String> {
        self.settings(written)?;
        Ok(Box::new(Prose {
            id: "judge/v1".to_owned(),
            asked: None,
        }))
    }

    fn open_with(
        &self,
        written: &Value,
        config: &Config,
    ) -> Result<Option<Box<dyn Scorer>>, String> {
        let (settings, same_from) = self.settings(written)?;
        let judge = settings.open(config)?;
        let bound = same_from.map_or_else(String::new, |from| format!(" same from {from}"));
        Ok(Some(Box::new(Prose {
            id: format!("judge/v1[{}{bound}]", judge.grader_id()),
            asked: Some(AskedJudge { judge, same_from }),
        })))
    }

    fn judge(&self, written: &Value) -> Option<JudgeSettings> {
        self.settings(written).ok().map(|(judge, _)| judge)
    }
}
