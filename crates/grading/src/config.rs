//! The section of this probe in `kelvin.yaml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{GradingKind, prompts};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_probe::rows;
use kelvin_run::config::{Config, Configure, Part, ProbeSettings, Problem, Slip, placeholder};
use kelvin_run::judge::{JudgeSettings, MaxErrors};
use kelvin_run::targets::{Address, Asking, ModelName};
use kelvin_run::{Program, config};

/// All keys of this probe at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct GradingKeys {
    /// Which answers are graded, on which prompts, and by which judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grading: Option<GradingKeysInside>,
}

/// Which answers are graded, on which prompts, and by which judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GradingKeysInside {
    /// A file of JSON lines, a JSON array or a table (`.csv`, `.tsv`) with `id`, `prompt` and, if they are known,
    /// `reference` and `tags`; or a folder whose Markdown files are one prompt each.
    #[schemars(length(min = 1))]
    pub(crate) prompts: String,
    /// The fields or columns of the file for `prompt`, `reference` and so on, if they have other names, such as
    /// `{prompt: question, reference: answer}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) prompt_fields: BTreeMap<String, String>,
    /// The pipeline or the model whose answers are graded.
    candidate: Respondent,
    /// The pipeline or the model whose answers the candidate is graded next to. Without it: the answers in the report
    /// of the base branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baseline: Option<Respondent>,
    /// Who grades.
    pub(crate) judge: JudgeSettings,
    /// The key of the answer in a JSON output, or a JSON pointer such as `/choices/0/text`. Without it the
    /// whole output is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) answer_field: Option<String>,
    /// The key of the retrieved passages in the same JSON output, or a JSON pointer: a list of texts, or of objects with
    /// a `text`, the best first. Judges of the modes `faithfulness`, `context_precision` and `context_recall` look into
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) passages_field: Option<String>,
    /// The share of samples that may have no score; with more of them the score is unmeasured.
    #[serde(default)]
    pub(crate) max_errors: MaxErrors,
}

/// Something that answers prompts: a command, or a model of `models`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Respondent {
    /// The command that answers one prompt, with the placeholders `{input}` and `{output}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Address>,
    /// The name of a model of `models`, which is sent the prompt as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<ModelName>,
}

/// The settings in their checked form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GradingSettings {
    /// The settings as written.
    pub keys: GradingKeysInside,
    /// The graded pipeline, with its name in a report.
    pub candidate: Called,
    /// The pipeline against which the candidate is graded.
    pub baseline: Option<Called>,
}

/// A pipeline with its name in a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    /// The address of the pipeline.
    pub address: Address,
    /// The command line, or the name of the model.
    pub name: String,
}

impl GradingSettings {
    /// The program for a runner: both pipelines get the same files.
    pub(super) fn program<'a>(&'a self, called: &'a Called) -> Program<'a> {
        Program {
            turns: None,
            target: &called.address,
            decision_field: self.keys.answer_field.as_deref().unwrap_or_default(),
            input_name: "prompt.txt",
            inputs: &self.keys.prompts,
        }
    }
}

impl Respondent {
    /// The pipeline, which is looked up in `models` if it is one of them.
    fn called(self, config: &Config) -> Result<Called, Misuse> {
        match (self.run, self.model) {
            (Some(run), _) => Ok(Called {
                name: run.clone().trimmed().text().into_owned(),
                address: config.reach(run)?,
            }),
            (None, Some(ModelName(name))) => {
                let model = config.model(&name).ok_or_else(|| {
                    let what = format!("`models` declares no model `{name}`");
                    Misuse::new(format!("{}: {what}", config.file.display()))
                })?;
                Ok(Called {
                    address: model.chat(&Asking::default()),
                    name: format!("model {name}"),
                })
            }
            (None, None) => Err(Misuse::new(
                "`grading` names a pipeline by neither `run` nor `model`",
            )),
        }
    }
}

impl Configure for GradingKind {
    fn required(&self) -> &'static [&'static str] {
        &["grading"]
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<GradingKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let mut found = Vec::new();
        if let Some(node) = part.node.get(&["grading", "judge"]) {
            found.extend(JudgeSettings::problems(node));
            let judge: Option<JudgeSettings> = serde_json::from_value(node.to_json()).ok();
            if judge.is_some_and(|judge| judge.lacks_criteria()) {
                let what = "a judge of `mode: criteria` has no `criteria`";
                let help = "write in your words what a good answer has to satisfy";
                found.push(Problem::new(node.at.clone(), what).help(help));
            }
        }
        found.extend(problems_of_passages(part));
        found.extend(rows::strange_names(
            part.node.get(&["grading", "prompt_fields"]),
            &prompts::FIELDS,
        ));
        for who in ["candidate", "baseline"] {
            let Some(node) = part.node.get(&["grading", who]) else {
                continue;
            };
            let (run, model) = (node.get(&["run"]), node.get(&["model"]));
            let help = "name a command by `run`, or a model of `models` by `model`";
            match (run, model) {
                (Some(_), Some(model)) => {
                    let what = format!("`grading.{who}` has both `run` and `model`");
                    found.push(Problem::new(model.at.clone(), what).help(help));
                }
                (None, None) => {
                    let what = format!("`grading.{who}` has neither `run` nor `model`");
                    found.push(Problem::new(node.at.clone(), what).help(help));
                }
                _ => {}
            }
            if let Some((run, at)) = node.text(&["run"]) {
                found.extend(placeholder::problems(run, at, part.source));
            }
        }
        found
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        match slip {
            Slip::MissingKey("candidate") => {
                Some("add `candidate: {run: \"python3 answer.py {input} {output}\"}`".to_owned())
            }
            Slip::MissingKey("prompts") => Some("add `prompts: prompts.jsonl`".to_owned()),
            _ => None,
        }
    }

    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let GradingKeys { grading } = part.read()?;
        let Some(keys) = grading else {
            return Ok(None);
        };
        let baseline = keys.baseline.clone();
        Ok(Some(Arc::new(GradingSettings {
            candidate: keys.candidate.clone().called(config)?,
            baseline: baseline
                .map(|baseline| baseline.called(config))
                .transpose()?,
            keys,
        })))
    }
}

/// A judge that uses passages needs to know where they are; they have to be in the same JSON output as the answer.
fn problems_of_passages(part: &Part<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    let node = |key: &str| part.node.get(&["grading", key]);
    let judge = node("judge");
    let settings =
        judge.and_then(|node| serde_json::from_value::<JudgeSettings>(node.to_json()).ok());
    let needs_passages = settings.is_some_and(|settings| settings.needs_passages());
    if let (true, Some(judge), None) = (needs_passages, judge, node("passages_field")) {
        let what = "the judge looks into the retrieved passages, and `grading` does not say where they are";
        let help = "let the pipeline write {\"answer\": \"…\", \"passages\": [\"…\"]}, and add `answer_field: answer` \
                    and `passages_field: passages`";
        found.push(Problem::new(judge.at.clone(), what).help(help));
    }
    if let (Some(passages), None) = (node("passages_field"), node("answer_field")) {
        let what = "`passages_field` stands without `answer_field`";
        let help =
            "the output is a JSON object then, so name the key of the answer by `answer_field`";
        found.push(Problem::new(passages.at.clone(), what).help(help));
    }
    found
}

impl ProbeSettings for GradingSettings {
    fn measured(&self, fields: Fields) -> Fields {
        let judge = serde_json::to_string(&self.keys.judge).expect("settings are JSON");
        let fields = match &self.keys.passages_field {
            Some(passages) => fields.field("passages_field", passages),
            None => fields,
        };
        let baseline = self.baseline.as_ref();
        let baseline = baseline.map(|baseline| baseline.address.text());
        fields
            .field("judge", judge)
            .field("baseline", baseline.as_deref().unwrap_or_default())
            .field("max_errors", json!(self.keys.max_errors).to_string())
    }

    fn as_data(&self) -> Map<String, Value> {
        let mut data = json!({ "grading": {
            "prompts": self.keys.prompts,
            "baseline": self.baseline.as_ref().map(|baseline| &baseline.name),
            "judge": self.keys.judge,
            "answer_field": self.keys.answer_field,
            "passages_field": self.keys.passages_field,
            "max_errors": self.keys.max_errors,
        }});
        if !self.keys.prompt_fields.is_empty() {
            data["grading"]["prompt_fields"] = json!(self.keys.prompt_fields);
        }
        data.as_object().cloned().unwrap_or_default()
    }

    fn files(&self) -> Vec<(&'static str, &Path)> {
        vec![("prompts", Path::new(&self.keys.prompts))]
    }

    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        vec![("grading.judge".to_owned(), &self.keys.judge)]
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.candidate.address)
    }
}
