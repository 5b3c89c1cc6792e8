//! The section of this probe in `kelvin.yaml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fields::OutputFields;
use super::{RetrievalKind, golden};
use kelvin_base::digest::Fields;
use kelvin_probe::rows;
use kelvin_run::config::{Config, Configure, Part, ProbeSettings, Problem, placeholder};
use kelvin_run::targets::Address;
use kelvin_run::{Program, config};

/// All keys of this probe at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct RetrievalKeys {
    /// What the retrieval probe runs, and on what; `run`, `cases`, `decision_field` and
    /// `governing_types` are needed for the evidence probe only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retrieval: Option<RetrievalSettings>,
}

/// What the retrieval probe runs, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrievalSettings {
    /// The command that answers one query, with the placeholders `{input}` and `{output}`.
    pub run: Address,
    /// The golden set, which has each query with what is known of it: a list in YAML or JSON, JSON lines, or a table
    /// (`.csv`, `.tsv`).
    #[schemars(length(min = 1))]
    pub golden: String,
    /// The columns of a table, or the fields of JSON lines, for `query`, `expected_doc_ids` and so on, if they have
    /// other names, such as `{query: question, expected_doc_ids: source}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub golden_fields: BTreeMap<String, String>,
    /// The fields of an output for `hits`, `doc_id` and so on, if the pipeline calls them otherwise, such as `{hits:
    /// sources, doc_id: metadata.source}`; a dot leads into an object.
    #[serde(default, skip_serializing_if = "OutputFields::is_empty")]
    pub output_fields: OutputFields,
    /// Which documents and chunks exist: JSON lines with `doc_id` and, for a chunk, `chunk_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub corpus: Option<String>,
    /// How many hits the measures look at.
    #[serde(default = "ks")]
    #[schemars(length(min = 1), inner(range(min = 1, max = 1000)))]
    pub k: Vec<usize>,
    /// If the first expected chunk is behind this rank, the reciprocal rank is 0.
    #[serde(default = "cut_off")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub cut_off: usize,
    /// The version of the chunker, if the outputs do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub chunker_version: Option<String>,
    /// When an expected span counts as found in a comparison of runs with different chunks: when hits have half of it
    /// together, or when one hit has half of it alone.
    #[serde(default)]
    pub span_rule: SpanRule,
}

fn ks() -> Vec<usize> {
    vec![1, 3, 5, 10]
}

const fn cut_off() -> usize {
    10
}

/// When an expected span counts as found, if two runs have different chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanRule {
    /// As soon as the hits so far, taken together, have at least half of it.
    #[default]
    HalfTogether,
    /// At the first hit that has at least half of it alone.
    HalfOfExpected,
}

impl SpanRule {
    /// The name of the rule in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HalfTogether => "half_together",
            Self::HalfOfExpected => "half_of_expected",
        }
    }
}

impl RetrievalSettings {
    /// The program that a runner calls for the queries. Its whole output is used, not just a decision in it.
    pub fn program(&self) -> Program<'_> {
        Program {
            turns: None,
            target: &self.run,
            decision_field: "",
            input_name: "input.json",
            inputs: &self.golden,
        }
    }
}

impl Configure for RetrievalKind {
    fn required(&self) -> &'static [&'static str] {
        &["retrieval"]
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<RetrievalKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let mut problems = match part.node.text(&["retrieval", "run"]) {
            Some((run, at)) => placeholder::problems(run, at, part.source),
            None => Vec::new(),
        };
        problems.extend(rows::strange_names(
            part.node.get(&["retrieval", "golden_fields"]),
            &golden::FIELDS,
        ));
        problems
    }

    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let RetrievalKeys { retrieval } = part.read()?;
        let Some(mut settings) = retrieval else {
            return Ok(None);
        };
        settings.run = config.reach(settings.run)?;
        settings.k.sort_unstable();
        settings.k.dedup();
        Ok(Some(Arc::new(settings)))
    }
}

impl ProbeSettings for RetrievalSettings {
    fn measured(&self, fields: Fields) -> Fields {
        let fields = fields
            .field("cut_off", self.cut_off.to_string())
            .field("corpus", self.corpus.as_deref().unwrap_or_default());
        // The default rule is left out, so that the digests of older reports stay valid.
        let fields = match self.span_rule {
            SpanRule::HalfTogether => fields,
            rule @ SpanRule::HalfOfExpected => fields.field("span_rule", rule.as_str()),
        };
        let add = |fields: Fields, k: &usize| fields.field("k", k.to_string());
        self.k.iter().fold(fields, add)
    }

    fn as_data(&self) -> Map<String, Value> {
        let mut data = json!({ "retrieval": self });
        if let Some(section) = data["retrieval"].as_object_mut() {
            section.remove("run");
        }
        data.as_object().cloned().unwrap_or_default()
    }

    fn files(&self) -> Vec<(&'static str, &Path)> {
        let golden = Some(("golden set", Path::new(&self.golden)));
        let corpus = self.corpus.as_ref();
        let corpus = corpus.map(|corpus| ("corpus", Path::new(corpus)));
        golden.into_iter().chain(corpus).collect()
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}
