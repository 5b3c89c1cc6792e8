//! The section of this probe in `kelvin.yaml`.

mod check;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::QualityKind;
use super::contract::{Contract, ContractKeys};
use super::indicators::Expected;
use super::record::{QualityBasis, UsagePointers};
use super::recorded::Recorded;
use super::score::Weights;
use super::scorer::SCORERS;
use kelvin_base::digest::Fields;
use kelvin_run::config::{self, Config, Configure, Part, ProbeSettings, Problem, Slip, yaml};
use kelvin_run::targets::Address;

/// All keys of this probe at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct QualityKeys {
    /// How good the outputs are that the pipeline gives to the other probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quality: Option<QualityKeysInside>,
}

/// How good the outputs are that the pipeline gives to the other probes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QualityKeysInside {
    /// A file with the JSON schema that every output must conform to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    output_schema: Option<String>,
    /// The outputs with their types, in the place of a schema: string, integer, float, boolean, document,
    /// array or object, or a mapping with `type` and what else must hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contract: Option<ContractKeys>,
    /// What must be in every output and not be empty, as JSON pointers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    required_outputs: Option<Vec<String>>,
    /// Where the pipeline tells in its output how many tokens it has used, as JSON pointers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsagePointers>,
    /// How the factors become one score: `weighted_sum`, or `weighted_product`, in which a factor that is 0
    /// makes the score 0.
    #[serde(default)]
    scorer: ScorerName,
    /// What each factor weighs in the score. The weights add up to 1.
    #[serde(default)]
    weights: Weights,
    /// How many runs of its unperturbed input a case needs for a score. `repeats` has to be at least as large.
    #[serde(default = "three")]
    #[schemars(range(max = 1000))]
    live_runs: NonZeroUsize,
    /// How many recorded outputs of each case are looked at as well, the last ones by name. They are reported
    /// separately and are in no score of a case.
    #[serde(default)]
    #[schemars(range(max = 1000))]
    dry_runs: usize,
    /// The folder of the recorded outputs: `CASE.json`, or such files in a folder `CASE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    recorded: Option<String>,
    /// Groups of cases, each with globs of their names: each group gets a score too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    groups: BTreeMap<String, Vec<String>>,
}

/// The name of a scorer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ScorerName {
    #[default]
    WeightedSum,
    WeightedProduct,
}

impl ScorerName {
    /// The id of the scorer, with the version of its rules.
    fn id(self) -> &'static str {
        let name = match self {
            Self::WeightedSum => "weighted_sum",
            Self::WeightedProduct => "weighted_product",
        };
        let scorer = SCORERS.iter().find(|scorer| scorer.name() == name);
        scorer
            .expect("a test looks that every name has a scorer")
            .id()
    }
}

fn three() -> NonZeroUsize {
    NonZeroUsize::new(3).unwrap_or(NonZeroUsize::MIN)
}

/// The settings in their checked form.
#[derive(Debug)]
pub(crate) struct QualitySettings {
    /// The expected properties of an output.
    pub(super) expected: Expected,
    /// The rules for the scores.
    pub(super) basis: QualityBasis,
    /// The outputs that were recorded earlier.
    pub(super) recorded: Recorded,
    keys: QualityKeysInside,
}

impl Configure for QualityKind {
    fn required(&self) -> &'static [&'static str] {
        &["quality"]
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<QualityKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let node = part.node.get(&["quality"]);
        node.map(check::problems).unwrap_or_default()
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        match slip {
            Slip::MissingKey("input" | "output") => Some(
                "write `usage: {input: /usage/input_tokens, output: /usage/output_tokens}`"
                    .to_owned(),
            ),
            Slip::UnknownKey("schema") => Some("write `output_schema: FILE`".to_owned()),
            _ => None,
        }
    }

    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let QualityKeys { quality } = part.read()?;
        let Some(keys) = quality else {
            return Ok(None);
        };
        let refuse = |key: &str, what: String, help: &str| {
            let at = part.node.get(&["quality", key]);
            let at = at.map_or(0..0, |node| node.at.clone());
            part.misuse(Problem::new(at, what).help(help))
        };
        let contract = match (&keys.output_schema, &keys.contract) {
            (Some(file), _) => {
                let help = "name a file, relative to the configuration, that holds one JSON schema";
                let contract = schema(&config.rules_root().join(file))
                    .map_err(|what| refuse("output_schema", format!("`{file}`: {what}"), help))?;
                Some(contract)
            }
            (None, Some(outputs)) => {
                let help = "a pattern is a regular expression";
                let contract =
                    Contract::of_outputs(outputs).map_err(|what| refuse("contract", what, help))?;
                Some(contract)
            }
            (None, None) => None,
        };
        let recorded = match &keys.recorded {
            Some(folder) => {
                let help = "name a folder, relative to the configuration, with `CASE.json`";
                Recorded::list(&config.root.join(folder), keys.dry_runs)
                    .map_err(|error| refuse("recorded", format!("{error:#}"), help))?
            }
            None => Recorded::default(),
        };
        let expected = Expected {
            contract,
            required: keys.required_outputs.clone(),
            usage: keys.usage.clone(),
        };
        let basis = QualityBasis {
            scorer: keys.scorer.id().to_owned(),
            weights: keys.weights,
            factors: expected.factors(),
            live_runs: keys.live_runs.get(),
            contract: expected.contract.as_ref().map(Contract::digest),
            required_outputs: keys.required_outputs.clone(),
            usage: keys.usage.clone(),
            groups: keys.groups.clone(),
        };
        Ok(Some(Arc::new(QualitySettings {
            expected,
            basis,
            recorded,
            keys,
        })))
    }
}

/// Reads the schema of a file, in JSON or in YAML.
fn schema(path: &Path) -> Result<Contract, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let node = yaml::parse(&text).map_err(|problem| {
        let before = text.bytes().take(problem.at.start);
        let line = 1 + before.filter(|byte| *byte == b'\n').count();
        format!("line {line}: {}", problem.message)
    })?;
    Contract::of_schema(node.to_json())
}

impl ProbeSettings for QualitySettings {
    /// Identifies the values that are read from an output. The weights, the live runs and the groups do not change any
    /// record: reports that differ only in them come from the same measurement, and can be scored again without a new
    /// measurement.
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("quality", self.expected.digest().bytes())
    }

    fn as_data(&self) -> Map<String, Value> {
        let data = json!({ "quality": self.keys });
        data.as_object().cloned().unwrap_or_default()
    }

    fn files(&self) -> Vec<(&'static str, &Path)> {
        let file = self.keys.output_schema.iter();
        file.map(|file| ("schema of the outputs", Path::new(file.as_str())))
            .collect()
    }

    fn live_runs(&self) -> Option<NonZeroUsize> {
        Some(self.keys.live_runs)
    }

    fn target(&self) -> Option<&Address> {
        None
    }
}

#[cfg(test)]
mod tests;
