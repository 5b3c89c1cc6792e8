//! The stored data about the quality in a report: the rules of the scores, and the indicators of every invocation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::score::{Factor, Weights};
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{Item, KeptTexts, Repeats, Section, VariantPart};

/// The stored section of this probe.
pub(crate) type QualitySection = Section<QualityBasis, QualityItem>;

/// How the scores are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QualityBasis {
    /// The scorer that made the scores, with the version of its rules.
    pub scorer: String,
    /// What each factor weighs, as it is configured.
    pub weights: Weights,
    /// The factors that the configuration provides for; the others are in no score.
    pub factors: Vec<Factor>,
    /// How many runs of the unperturbed input a case needs for a score.
    pub live_runs: usize,
    /// The digest of the schema, or of the contract, that outputs must conform to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Digest>,
    /// What must be in every output, as JSON pointers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_outputs: Option<Vec<String>>,
    /// Where the pipeline tells what it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsagePointers>,
    /// Groups of cases, each with the globs of their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
}

/// Where the pipeline tells, in its output, how many tokens it used; JSON pointers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsagePointers {
    /// The tokens that were sent to models.
    pub input: String,
    /// The tokens of the answers of models.
    pub output: String,
    /// How many of these were of use. Without it: all tokens that models have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful: Option<String>,
    /// All tokens together. Without it: the sum of `input` and `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
}

/// A case: what the pipeline has answered to it, for each probe that asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QualityItem {
    /// By the name of the probe.
    pub probes: BTreeMap<String, CaseQuality>,
    /// The indicators of the outputs that were recorded earlier; they are in no score of the case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_runs: Vec<QualityIndicators>,
}

/// What the pipeline has answered to a case of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CaseQuality {
    /// The digest of the unperturbed input; null if it was not run.
    pub input: Option<Digest>,
    /// The runs of the unperturbed input, in order. These alone make the score of the case.
    pub runs: Vec<QualityIndicators>,
    /// The runs of its variants, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Vec<QualityIndicators>>,
}

/// The values that are stored for one invocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QualityIndicators {
    /// 1 if the output has the form that was agreed on, else 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<f64>,
    /// The share of the required outputs that are there and not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<f64>,
    /// The share of all tokens that were of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// The weighted sum of the factors; null if one of them is missing.
    #[serde(default)]
    pub quality_score: Option<f64>,
    /// What the pipeline says it has used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_counts: Option<TokenCounts>,
    /// What is wrong with the output, or missing in it, one clause each. The clauses may quote the output, so they are
    /// not text of Kelvin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Whether the pipeline left no output that can be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Tokens, as the pipeline tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TokenCounts {
    /// Tokens that were sent to models.
    pub input: u64,
    /// Tokens of the answers of models.
    pub output: u64,
    /// The tokens of the answers that were of use, if the pipeline tells that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful: Option<u64>,
    /// All together.
    pub total: u64,
}

/// The clause in place of clauses that may quote an output.
const NOT_KEPT: &str = "what else was found is not kept";

/// Whether a clause contains only the name of an output, which comes from the configuration.
fn names_only(clause: &str) -> bool {
    let ends = ["` is missing", "` is empty"].into_iter();
    let mut names = ends.filter_map(|end| clause.strip_suffix(end)?.strip_prefix('`'));
    names.any(|name| !name.contains('`'))
}

impl QualityIndicators {
    fn withhold_texts(&mut self) {
        let before = self.lacks.len();
        self.lacks
            .retain(|clause| clause != NOT_KEPT && names_only(clause));
        if self.lacks.len() < before {
            self.lacks.push(NOT_KEPT.to_owned());
        }
    }

    /// The value of a factor.
    pub(super) const fn factor(&self, factor: Factor) -> Option<f64> {
        match factor {
            Factor::Conformance => self.conformance,
            Factor::Completeness => self.completeness,
            Factor::Efficiency => self.efficiency,
        }
    }
}

impl TokenCounts {
    /// Whether the total is the sum of its parts.
    pub(crate) const fn adds_up(&self) -> bool {
        self.total == self.input.saturating_add(self.output)
    }
}

impl QualityItem {
    /// The invocations of the unperturbed input, of all probes.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &QualityIndicators> {
        self.probes.values().flat_map(|case| &case.runs)
    }

    /// All indicators with a score.
    pub(super) fn scored_mut(&mut self) -> impl Iterator<Item = &mut QualityIndicators> {
        let invocations = self.probes.values_mut().flat_map(|case| {
            let variants = case.variants.values_mut().flatten();
            case.runs.iter_mut().chain(variants)
        });
        invocations.chain(&mut self.dry_runs)
    }
}

impl Item for QualityItem {
    /// A different input in one of the probes makes it a different case.
    fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/quality-item/v1");
        let inputs = self.probes.iter();
        let fields = inputs.fold(fields, |fields, (probe, case)| match case.input {
            Some(input) => fields.field(probe, input.bytes()),
            None => fields,
        });
        fields.digest()
    }

    /// The probe runs no pipeline of its own.
    fn inputs(&self) -> usize {
        0
    }

    fn repeats(&self) -> Repeats {
        let runs = self.probes.values().map(|case| case.runs.len());
        Repeats::of_all(runs.min().unwrap_or(0))
    }

    fn has_answer(&self) -> bool {
        self.runs().any(|run| !run.failed)
    }

    /// A clause about missing parts may quote the output; the names of missing outputs come from the configuration.
    fn shorten(&mut self, texts: KeptTexts) {
        if texts > KeptTexts::None {
            return;
        }
        let cases = self.probes.values_mut();
        let of_cases = cases.flat_map(|case| {
            let variants = case.variants.values_mut().flatten();
            case.runs.iter_mut().chain(variants)
        });
        for run in of_cases.chain(&mut self.dry_runs) {
            run.withhold_texts();
        }
    }

    /// Each probe is a part: if a change removes a probe, its data about the case are lost too.
    fn parts(&self) -> BTreeMap<&str, VariantPart<'_>> {
        let probes = self.probes.keys();
        probes
            .map(|probe| {
                let part = VariantPart {
                    kind: Some(probe),
                    is_known: true,
                    unit_type: None,
                };
                (probe.as_str(), part)
            })
            .collect()
    }
}
