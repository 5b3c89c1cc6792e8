//! Exports the invocations of a run that are good enough to learn from, as a data set with inputs, outputs and scores.
//!
//! A data set contains an invocation as a whole or not at all. Invocations that are left out are counted by reason.

mod fields;
mod files;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::registry::Registry;
use crate::{baseline, personal};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_base::file::beneath::Beneath;
use kelvin_gate::report::Report;
use kelvin_github::publish::mask::Masker;
use kelvin_page::listed;
use kelvin_record::{CaseValue, Direction, ScoredInvocation, probe_of};

/// The tolerance of the comparison with the lowest passing score: .7 may be stored as .6999999999999999.
const GUARD: f64 = 1e-9;

/// The inputs of an export.
#[derive(Debug)]
pub(crate) struct ExportRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The report; its folder has the inputs and outputs.
    pub(crate) report: PathBuf,
    /// The form of the data set.
    pub(crate) form: DataSetForm,
    /// The lowest score that passes.
    pub(crate) min_score: f64,
    /// The metric that serves as the score; the quality score unless given.
    pub(crate) metric: Option<String>,
    /// Whether variants are exported too.
    pub(crate) variants: bool,
    /// The folder of the data set.
    pub(crate) out: PathBuf,
    /// The masker that removes secrets.
    pub(crate) masker: Masker,
}

/// The form of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DataSetForm {
    /// One object per line, with the inputs, the outputs and the indicators in objects of their own.
    Jsonl,
    /// One flat object per line, whose keys DSPy can use as the fields of a signature.
    Dspy,
    /// Comma-separated values, with a header.
    Csv,
}

/// The description of a data set for programs that load it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Manifest {
    /// The version of this format.
    pub(crate) schema_version: u32,
    /// The form of the data set.
    pub(crate) format: DataSetForm,
    /// The file with the examples, in the same folder as this file.
    pub(crate) file: &'static str,
    /// The digest of that file, SHA-256.
    pub(crate) sha256: String,
    /// How many examples there are.
    pub(crate) examples: usize,
    /// The keys of the inputs.
    pub(crate) input_keys: Vec<String>,
    /// The keys of the outputs.
    pub(crate) output_keys: Vec<String>,
    /// The old name of each field that had to be renamed, by the new key: `output_class` for `outputs.class`.
    pub(crate) renamed: BTreeMap<String, String>,
    /// The key of the score.
    pub(crate) score_key: &'static str,
    /// The metric that is the score.
    pub(crate) score: String,
    /// The lowest score that passed.
    pub(crate) min_score: f64,
    /// How many invocations were left out for each reason.
    pub(crate) left_out: BTreeMap<LeftOut, usize>,
    /// In how many examples a secret or personal data was replaced by `***`.
    pub(crate) masked: usize,
    /// How many examples are on each side of the split; all examples of one item are on the same side.
    pub(crate) split: BTreeMap<&'static str, usize>,
    /// The measured run: when it started, the commit, and the version of this program.
    pub(crate) run: RunOfExport,
}

/// The run that a data set was made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunOfExport {
    started_at: String,
    commit: Option<String>,
    kelvin: String,
}

/// Why an invocation is not in a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeftOut {
    /// The score is below the lowest one that passes.
    BelowMinScore,
    /// The invocation has no score.
    NoScore,
    /// The input was changed on purpose, so the output is not an example of a good answer to a real input.
    Variant,
    /// The input is not in the folder, or is empty.
    NoInput,
    /// The output is not in the folder, or is empty.
    NoOutput,
    /// The input in the folder is not the measured one.
    InputChanged,
    /// An earlier repeat of the same item has the same input and output.
    Repeated,
    /// The input or the output is too large, or cannot be read as text.
    NotWhole,
}

impl LeftOut {
    /// Describes these invocations for people.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::BelowMinScore => "below the least score",
            Self::NoScore => "without a score",
            Self::Variant => "of a variant (`--variants` exports them too)",
            Self::NoInput => "without an input in the folder of the report",
            Self::NoOutput => "without an output in the folder of the report",
            Self::InputChanged => "whose input in the folder is not the one that was measured",
            Self::Repeated => "that say what an earlier repeat of the same item says",
            Self::NotWhole => "whose input or output is too large, or is no text",
        }
    }
}

/// One invocation, as an example in a data set.
#[derive(Clone, Debug, PartialEq)]
struct Example {
    /// `PROBE/CASE/baseline/1`: an invocation has the same id in every export.
    id: String,
    of: ScoredInvocation,
    score: f64,
    inputs: Map<String, Value>,
    outputs: Map<String, Value>,
    /// The side of the split that the example is on.
    split: &'static str,
}

impl Example {
    /// Whether the example has the same content as another repeat of the same item.
    fn repeats(&self, other: &Self) -> bool {
        let item = |one: &ScoredInvocation| {
            let one = one.clone();
            (one.probe, one.case, one.variant)
        };
        item(&self.of) == item(&other.of)
            && (&self.inputs, &self.outputs, self.score, &self.of.verdicts)
                == (
                    &other.inputs,
                    &other.outputs,
                    other.score,
                    &other.of.verdicts,
                )
    }
}

/// Exports the invocations that pass. Fails with a [`Misuse`] if there is no report, or if the report contains nothing
/// that could be the score.
pub(crate) fn export(request: &ExportRequest) -> anyhow::Result<Manifest> {
    if !request.min_score.is_finite() {
        let what = format!("`--min-score {}` is no score", request.min_score);
        return Err(Misuse::new(what).help("name a number such as 0.7").into());
    }
    let report = baseline::file::read_file(&request.report, request.registry)
        .with_context(|| format!("`{}` cannot be exported", request.report.display()))?;
    let folder = match request.report.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beneath = Beneath::of(folder)
        .with_context(|| format!("failed to open the folder `{}`", folder.display()))?;
    let (mut invocations, score) = scored(&report, request.metric.as_deref())?;
    for of in &mut invocations {
        let mut known = report.probes.known().into_iter();
        let section = known.find(|(kind, _)| kind.name() == of.probe && of.variant.is_none());
        let said = section.map(|(kind, section)| kind.said_of(section, &of.case));
        let said = said.unwrap_or_default().into_iter().nth(of.repeat - 1);
        of.verdicts = said.unwrap_or_default();
    }
    let place = |of: &ScoredInvocation| {
        let key = (of.probe.clone(), of.case.clone(), of.variant.clone());
        (key, of.repeat)
    };
    invocations.sort_by_key(place);
    let mut left_out: BTreeMap<LeftOut, usize> = BTreeMap::new();
    let (mut examples, mut masked): (Vec<Example>, usize) = (Vec::new(), 0);
    for of in invocations {
        let example = passing(request, &of).and_then(|score| {
            let (inputs, outputs) = files::read(request.registry, &beneath, &of)?;
            let masked = (mask(request, &inputs)?, mask(request, &outputs)?);
            let hidden = masked != (inputs, outputs);
            Ok((score, masked, hidden))
        });
        match example {
            Err(why) => *left_out.entry(why).or_default() += 1,
            Ok((score, (inputs, outputs), hidden)) => {
                let variant = of.variant.as_deref().unwrap_or("baseline");
                let example = Example {
                    id: format!("{}/{}/{variant}/{}", of.probe, of.case, of.repeat),
                    of,
                    score,
                    inputs,
                    outputs,
                    split: "",
                };
                // The repeats of an item follow each other in the list.
                let item = |one: &&Example| {
                    one.of.probe == example.of.probe && one.of.case == example.of.case
                };
                if examples
                    .iter()
                    .rev()
                    .take_while(item)
                    .any(|one| one.repeats(&example))
                {
                    *left_out.entry(LeftOut::Repeated).or_default() += 1;
                    continue;
                }
                masked += usize::from(hidden);
                examples.push(example);
            }
        }
    }
    choose_sides(&mut examples);
    let mut split = BTreeMap::from(NAMES.map(|name| (name, 0)));
    for example in &examples {
        *split.entry(example.split).or_default() += 1;
    }
    let session = &report.run.session;
    let manifest = Manifest {
        schema_version: 1,
        format: request.form,
        file: write::file_name(request.form),
        sha256: String::new(),
        examples: examples.len(),
        input_keys: Vec::new(),
        output_keys: Vec::new(),
        renamed: BTreeMap::new(),
        score_key: match &*score {
            "quality_score" => "quality_score",
            _ => "score",
        },
        score,
        min_score: request.min_score,
        left_out,
        masked,
        split,
        run: RunOfExport {
            started_at: session.started_at.clone(),
            commit: session.commit.clone(),
            kelvin: report.tool.version.clone(),
        },
    };
    write::write(&request.out, &examples, manifest)
}

/// The score of an invocation that passes.
fn passing(request: &ExportRequest, of: &ScoredInvocation) -> Result<f64, LeftOut> {
    if of.variant.is_some() && !request.variants {
        return Err(LeftOut::Variant);
    }
    let score = of.score.filter(|score| score.is_finite());
    let score = score.ok_or(LeftOut::NoScore)?;
    match score >= request.min_score - GUARD {
        true => Ok(score),
        false => Err(LeftOut::BelowMinScore),
    }
}

/// Removes secrets and personal data from the values.
fn mask(
    request: &ExportRequest,
    fields: &Map<String, Value>,
) -> Result<Map<String, Value>, LeftOut> {
    let fields: Result<Map<String, Value>, _> = request.masker.value(fields);
    let mut fields = fields.map_err(|_| LeftOut::NotWhole)?;
    fields.values_mut().for_each(hide_personal);
    Ok(fields)
}

/// Removes personal data from every text inside a JSON value.
fn hide_personal(value: &mut Value) {
    match value {
        Value::String(text) => {
            *text =
                personal::replaced(text, personal::found(text, 0), &mut |_, _| "***".to_owned());
        }
        Value::Array(values) => values.iter_mut().for_each(hide_personal),
        Value::Object(fields) => fields.values_mut().for_each(hide_personal),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every invocation with its score, and the name of the score.
fn scored(
    report: &Report,
    metric: Option<&str>,
) -> Result<(Vec<ScoredInvocation>, String), Misuse> {
    let Some(id) = metric else {
        let known = report.probes.known();
        let all: Vec<_> = known
            .iter()
            .flat_map(|(kind, section)| kind.scored(*section))
            .collect();
        let mut own = known
            .iter()
            .filter_map(|(kind, _)| kind.score_of_examples());
        return match (all.is_empty(), own.next()) {
            (false, _) => Ok((all, "quality_score".to_owned())),
            (true, Some(metric)) => scored(report, Some(metric)),
            (true, None) => Err(Misuse::new("the report has no quality score").help(
                "add `quality` to the configuration and run `kelvin check`, or name a metric of the report \
                 with `--metric`",
            )),
        };
    };
    let Some(metric) = report.metrics.get(id) else {
        let with_cases = report
            .metrics
            .iter()
            .filter(|(_, one)| !one.per_case.is_empty());
        let known: Vec<&str> = with_cases.map(|(id, _)| id.as_str()).collect();
        let help = format!("the metrics with values by case are: {}", listed(&known));
        return Err(Misuse::new(format!("the report has no metric `{id}`")).help(help));
    };
    if metric.direction == Direction::Lower {
        return Err(
            Misuse::new(format!("of the metric `{id}` a smaller value is better")).help(
                "name a metric of which more is better: `--min-score` is the least that passes",
            ),
        );
    }
    if metric.per_case.is_empty() {
        return Err(
            Misuse::new(format!("the metric `{id}` has no values by case"))
                .help("name a metric that has a value for each case"),
        );
    }
    let cases = metric.per_case.iter();
    let all = cases.flat_map(|(case, value)| of_case(probe_of(id), case, value));
    Ok((all.collect(), id.to_owned()))
}

/// The invocations of a case with their values of one metric: one for each repeat, and for each variant if the metric
/// records variants.
fn of_case(probe: &str, case: &str, value: &CaseValue) -> Vec<ScoredInvocation> {
    let of = |variant: Option<&str>, values: &[Option<f64>]| -> Vec<ScoredInvocation> {
        let repeats = (1..).zip(values.to_vec());
        let each = repeats.map(|(repeat, score)| ScoredInvocation {
            probe: probe.to_owned(),
            case: case.to_owned(),
            variant: variant.map(str::to_owned),
            repeat,
            input: None,
            score,
            indicators: BTreeMap::new(),
            verdicts: BTreeMap::new(),
        });
        each.collect()
    };
    let cells = value.cells.iter();
    let variants = cells.flat_map(|(variant, cell)| of(Some(&**variant), &cell.values));
    let mut all = of(None, value.samples());
    all.extend(variants);
    all
}

/// The sides: training examples, and test examples that show whether the training has helped.
const NAMES: [&str; 2] = ["test", "train"];
/// One of this many items is on the test side of the split.
const ONE_IN: u64 = 5;

/// Chooses a side of the split for each example. All examples of one item are on the same side: its repeats, its
/// variants, and the scenarios that a matrix makes of it. Items with the same input are on the same side too. The side
/// depends only on the item, so adding an item moves no other.
fn choose_sides(examples: &mut [Example]) {
    // If several items have the same input, the first of their names decides the side of all.
    let mut leaders: BTreeMap<String, String> = BTreeMap::new();
    let mut by_input: BTreeMap<Digest, String> = BTreeMap::new();
    for example in examples.iter() {
        let name = item(example);
        let first = by_input
            .entry(input(example))
            .or_insert_with(|| name.clone());
        let (one, other) = (leader(&leaders, first), leader(&leaders, &name));
        if one != other {
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            leaders.insert(high, low);
        }
    }
    for example in examples {
        let name = leader(&leaders, &item(example));
        let drawn = Digest::of(format!("kelvin/export/split/{name}").as_bytes()).point();
        example.split = match drawn % ONE_IN {
            0 => NAMES[0],
            _ => NAMES[1],
        };
    }
}

/// The item of an example, without the matrix values in its name.
fn item(example: &Example) -> String {
    let case = &example.of.case;
    let name = case.split_once('[').filter(|_| case.ends_with(']'));
    name.map_or(case.clone(), |(name, _)| name.to_owned())
}

fn input(example: &Example) -> Digest {
    let text = serde_json::Value::Object(example.inputs.clone()).to_string();
    Digest::of(text.as_bytes())
}

/// The representative of the group that a name belongs to.
fn leader(leaders: &BTreeMap<String, String>, name: &str) -> String {
    let mut name = name;
    while let Some(next) = leaders.get(name) {
        name = next;
    }
    name.to_owned()
}
