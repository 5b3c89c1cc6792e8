//! What the retrieval probe needs of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::raw::RawRetrieval;
use super::{Config, DecisionField};
use crate::digest::{Digest, Fields};
use crate::target::Address;

/// When an expected span counts as found, where two runs have other chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanRule {
    /// As soon as the hits so far, taken together, have at least half of it.
    #[default]
    HalfTogether,
    /// At the first hit that has at least half of it alone.
    HalfOfExpected,
}

impl SpanRule {
    /// As it is written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::HalfTogether => "half_together",
            Self::HalfOfExpected => "half_of_expected",
        }
    }
}

/// What the retrieval probe runs, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retrieval {
    /// How the pipeline that answers the queries is reached.
    pub(crate) run: Address,
    /// The golden set, relative to the root.
    pub(crate) golden: String,
    /// The list of documents and chunks, relative to the root.
    pub(crate) corpus: Option<String>,
    /// How many hits the measures look at; ascending and distinct, at least one.
    pub(crate) k: Vec<usize>,
    /// A first expected chunk behind this rank has a reciprocal rank of 0; at least 1.
    pub(crate) cut_off: usize,
    /// The version of the chunker, where the outputs do not tell it.
    pub(crate) chunker_version: Option<String>,
    /// When an expected span counts as found, where two runs have other chunks.
    pub(crate) span_rule: SpanRule,
}

impl From<RawRetrieval> for Retrieval {
    fn from(raw: RawRetrieval) -> Self {
        let mut k = raw.k;
        k.sort_unstable();
        k.dedup();
        Self {
            run: raw.run.trimmed(),
            golden: raw.golden,
            corpus: raw.corpus,
            k,
            cut_off: raw.cut_off,
            chunker_version: raw.chunker_version,
            span_rule: raw.span_rule,
        }
    }
}

impl Retrieval {
    /// Adds everything that changes what is measured to a digest.
    pub(super) fn measured(&self, digest: Digest) -> Digest {
        let fields = Fields::of("kelvin/config/retrieval/v1")
            .field("evidence", digest.bytes())
            .field("cut_off", self.cut_off.to_string())
            .field("corpus", self.corpus.as_deref().unwrap_or_default());
        // Left out where it is the default, so that the digests of older reports stay the same.
        let fields = match self.span_rule {
            SpanRule::HalfTogether => fields,
            rule @ SpanRule::HalfOfExpected => fields.field("span_rule", rule.as_str()),
        };
        let add = |fields: Fields, k: &usize| fields.field("k", k.to_string());
        self.k.iter().fold(fields, add).digest()
    }
}

impl Config {
    /// The name of the files that the pipeline reads: a case is Markdown, a query is JSON.
    pub(crate) fn input_name(&self) -> &'static str {
        match &self.decision_field {
            DecisionField::Pointer(pointer) if pointer.is_empty() => "input.json",
            _ => "input.md",
        }
    }

    /// The configuration of the runner that asks the queries: its command, and the whole output
    /// instead of a decision in it. None without the probe.
    pub(crate) fn of_queries(&self) -> Option<Self> {
        let retrieval = self.retrieval.as_ref()?;
        Some(Self {
            run: retrieval.run.clone(),
            decision_field: DecisionField::Pointer(String::new()),
            cases: retrieval.golden.clone(),
            ..self.clone()
        })
    }
}
