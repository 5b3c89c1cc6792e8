//! Reads the files that promptfoo writes: `-o results.json` (version 3) and `-o results.jsonl`.
//!
//! A test has no stable id: `testIdx` changes if a test is inserted before it, and `promptId` changes with the prompt.
//! So the description of the test, or the digest of its variables, identifies a case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use serde_json::Value;

use super::ReadError;
use super::collect::{
    COST, Collector, HIGHER, LATENCY, LOWER, PASS, TOKENS, YES_NO, named_by_input,
};
use super::json::{self, Walk};
use super::node::Node;
use crate::{Results, Row};

const WALK: Walk<'static> = Walk {
    each: &["results.results[]"],
    only: &[
        ("", &["results", "metadata", "runtimeOptions"]),
        ("results", &["version", "prompts", "results", "stats"]),
        ("results.results[]", ROW),
    ],
};
const ROW: &[&str] = &[
    "cost",
    "description",
    "error",
    "failureReason",
    "gradingResult",
    "latencyMs",
    "namedScores",
    "prompt",
    "promptIdx",
    "provider",
    "response",
    "score",
    "success",
    "testCase",
    "vars",
];

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let mut tests = Vec::new();
    let mut collector = Collector::new("promptfoo");
    if super::found::has_one_value_a_line(file)? {
        json::lines(file, |node| {
            tests.push(Test::new(&node, &mut collector)?);
            Ok(())
        })?;
        return finish(file, tests, 1, collector);
    }
    let rest = json::walk(file, json::open(file)?, WALK, |node| {
        tests.push(Test::new(&node, &mut collector)?);
        Ok(())
    })?;
    let root = Node::new(file, "", &rest);
    let results = root.need("results")?;
    let version = results.need("version")?;
    if version.value().as_u64() != Some(3) {
        let found = format!("it is `{}`, and this program reads 3", version.shown());
        let help = "write the file with promptfoo 0.121 or a version near to it";
        return Err(version.refuse(found, help));
    }
    complete(&results, tests.len())?;
    if let Some(metadata) = root.find("metadata")?
        && let Some(version) = metadata.find("promptfooVersion")?
    {
        collector.version(version.text()?);
    }
    if let Some(prompts) = results.find("prompts")? {
        for (number, prompt) in (1..).zip(prompts.items()?) {
            if let Some(raw) = prompt.find("raw")? {
                let digest = Digest::of(raw.shown().as_bytes()).short(12);
                collector.setting(&format!("prompt {number}"), digest);
            }
        }
    }
    let options = root.find("runtimeOptions")?;
    let repeat = options.map(|options| options.find("repeat")).transpose()?;
    let repeat = repeat.flatten().map_or(Ok(1), |repeat| repeat.count())?;
    finish(file, tests, repeat, collector)
}

/// Rejects a file that contains fewer results than it claims.
fn complete(results: &Node<'_>, found: usize) -> Result<(), ReadError> {
    results.need("results")?;
    let Some(stats) = results.find("stats")? else {
        return Ok(());
    };
    let mut said = 0;
    for key in ["successes", "failures", "errors"] {
        said += stats.need(key)?.count()? as usize;
    }
    if said == found {
        return Ok(());
    }
    let found = format!("it counts {said} results, and `results.results` has {found}");
    let help = "the run was cut short or the file was edited: run promptfoo again";
    Err(stats.refuse(found, help))
}

/// A result whose case has no name yet: whether its description is enough depends on the other results.
struct Test {
    description: Option<String>,
    vars: Digest,
    has_vars: bool,
    assertions: Digest,
    provider: String,
    prompt: Prompt,
    repeat: u32,
    place: String,
    row: Row,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Prompt {
    /// The number of the prompt among all pairs of a prompt and a provider.
    index: u32,
    /// The label that a person gave to the prompt. Without one, promptfoo uses the template, which a pull request may
    /// edit.
    label: Option<String>,
}

impl Test {
    fn new(node: &Node<'_>, collector: &mut Collector) -> Result<Self, ReadError> {
        let test_case = node.need("testCase")?;
        let own = test_case.find("description")?;
        let description = match own {
            Some(text) => Some(text),
            None => node.find("description")?,
        };
        let description = description.map(|text| text.text()).transpose()?;
        let no_vars = Value::Object(serde_json::Map::new());
        let vars = match test_case.find("vars")? {
            Some(vars) => Some(vars),
            None => node.find("vars")?,
        };
        let vars = vars.unwrap_or_else(|| Node::new(Path::new(""), "", &no_vars));
        let has_vars = !vars.entries()?.is_empty();
        let provider = node.need("provider")?;
        let provider = if provider.value().is_string() {
            provider.text()?.to_owned()
        } else {
            match provider.find("label")?.map(|label| label.text()) {
                Some(label) if label.as_ref().is_ok_and(|label| !label.is_empty()) => {
                    label?.to_owned()
                }
                _ => provider.need("id")?.text()?.to_owned(),
            }
        };
        let repeat = match test_case.find("options")? {
            Some(options) => options.find("repeat")?,
            None => None,
        };
        let repeat = repeat.map_or(Ok(1), |repeat| repeat.count())?;
        let mut row = row(node, collector)?;
        row.texts.input = Some(collector.text(&vars.canonical()));
        row.input = has_vars.then(|| vars.digest("kelvin/results/input/v1"));
        let assertions = assertions(&test_case)?;
        row.scoring = Some(assertions);
        Ok(Self {
            description: description
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            vars: vars.digest("kelvin/results/vars/v1"),
            has_vars,
            assertions,
            provider,
            prompt: prompt(node)?,
            repeat,
            place: node.place().to_owned(),
            row,
        })
    }
}

/// The parts of a test that determine its score.
fn assertions(test_case: &Node<'_>) -> Result<Digest, ReadError> {
    let mut fields = Fields::of("kelvin/results/scoring/v1");
    for key in ["assert", "threshold", "assertScoringFunction"] {
        if let Some(value) = test_case.find(key)? {
            fields = fields.field(key, value.canonical());
        }
    }
    Ok(fields.digest())
}

fn prompt(node: &Node<'_>) -> Result<Prompt, ReadError> {
    let index = node.need("promptIdx")?.count()?;
    let prompt = node.need("prompt")?;
    let label = prompt
        .find("label")?
        .map(|label| label.text())
        .transpose()?;
    let raw = prompt
        .find("raw")?
        .map(|raw| raw.shown())
        .unwrap_or_default();
    // A generated label is the template, or the file of the template and its text.
    let is_given = |label: &&str| {
        !label.is_empty() && label.len() <= 64 && !label.contains(['\n', '{']) && {
            raw.is_empty() || !label.contains(&raw)
        }
    };
    let label = label.filter(is_given).map(str::to_owned);
    Ok(Prompt { index, label })
}

/// The row of a result, without the name of its case.
fn row(node: &Node<'_>, collector: &mut Collector) -> Result<Row, ReadError> {
    let mut row = Row::default();
    let response = node.find("response")?;
    if let Some(response) = &response {
        let cached = response.find("cached")?;
        row.cached = cached.map_or(Ok(false), |cached| cached.flag())?;
        if let Some(output) = response.find("output")? {
            row.texts.answer = Some(collector.text(&output.shown()));
        }
    }
    let named = node.need("namedScores")?;
    let named = if named.is_null() {
        Vec::new()
    } else {
        named.entries()?
    };
    let success = node.need("success")?;
    let reason = node.need("failureReason")?;
    match (reason.count()?, success.flag()?) {
        (0 | 1, true) | (1, false) => {}
        (2, false) => {
            let error = node.find("error")?.map(|error| error.shown());
            row.error = Some(error.unwrap_or_else(|| "promptfoo tells no reason".to_owned()));
            // promptfoo gives a score of 0 if it could not compute one.
            return Ok(row);
        }
        (number, flag) => {
            let found = format!("it is {number} where `success` is {flag}");
            let help = "this is the format of another version: write the file with promptfoo 0.121 or near to it";
            return Err(reason.refuse(found, help));
        }
    }
    if let Some(error) = grader_error(node)? {
        row.error = Some(error);
        return Ok(row);
    }
    for (name, score) in &named {
        collector.score_or_missing(&mut row, name, HIGHER, score.score()?);
    }
    for name in metrics_of_assertions(node)? {
        if !row.scores.contains_key(&name) && named.iter().all(|(other, _)| *other != name) {
            let why = "is named by an assertion, and `namedScores` lacks it";
            collector.missing(&mut row, &name, Some(HIGHER), why);
        }
    }
    let own = |name: &str| !named.iter().any(|(other, _)| *other == name);
    if own(PASS) {
        let pass = f64::from(u8::from(success.flag()?));
        collector.score(&mut row, PASS, YES_NO, pass);
    }
    if own("score") {
        let score = node.need("score")?.score()?;
        collector.score_or_missing(&mut row, "score", HIGHER, score);
    }
    if row.cached {
        // The latency and the cost belong to the run that filled the cache.
        return Ok(row);
    }
    let latency = node
        .find("latencyMs")?
        .map(|latency| latency.number())
        .transpose()?;
    let cost = node.find("cost")?.map(|cost| cost.number()).transpose()?;
    let usage = match &response {
        Some(response) => response.find("tokenUsage")?,
        None => None,
    };
    let tokens = usage
        .map(|usage| usage.find("total"))
        .transpose()?
        .flatten();
    let tokens = tokens.map(|tokens| tokens.number()).transpose()?;
    let figures = [
        (LATENCY, latency.map(|milliseconds| milliseconds / 1000.0)),
        (COST, cost),
        (TOKENS, tokens),
    ];
    for (metric, figure) in figures {
        if let Some(figure) = figure.filter(|_| own(metric)) {
            collector.score(&mut row, metric, LOWER, figure);
        }
    }
    Ok(row)
}

/// Why a grader could not grade. promptfoo counts this as a failed assertion with a score of 0.
fn grader_error(node: &Node<'_>) -> Result<Option<String>, ReadError> {
    let Some(grading) = node.find("gradingResult")? else {
        return Ok(None);
    };
    let Some(components) = grading.find("componentResults")? else {
        return Ok(None);
    };
    for component in components.items()? {
        if component.is_null() {
            continue;
        }
        let Some(metadata) = component.find("metadata")? else {
            continue;
        };
        let failed = metadata.find("graderError")?;
        if failed.is_some_and(|failed| *failed.value() == Value::Bool(true)) {
            let reason = component.find("reason")?.map(|reason| reason.shown());
            return Ok(Some(format!(
                "a grader failed: {}",
                reason.unwrap_or_default()
            )));
        }
    }
    Ok(None)
}

/// The metrics that the assertions of a test name, except those that are only known at run time.
fn metrics_of_assertions(node: &Node<'_>) -> Result<BTreeSet<String>, ReadError> {
    let mut metrics = BTreeSet::new();
    let Some(assertions) = node.need("testCase")?.find("assert")? else {
        return Ok(metrics);
    };
    for assertion in assertions.items()? {
        let kind = assertion.find("type")?.map(|kind| kind.shown());
        let kind = kind.unwrap_or_default();
        // These assertions compare several results, and are scored after the others.
        if kind.starts_with("select-") || kind == "max-score" {
            continue;
        }
        if let Some(metric) = assertion.find("metric")? {
            metrics.insert(metric.text()?.to_owned());
        }
    }
    metrics.retain(|metric| !metric.contains("{{"));
    Ok(metrics)
}

/// Names the cases, after all tests are known.
fn finish(
    file: &Path,
    tests: Vec<Test>,
    repeat: u32,
    mut collector: Collector,
) -> Result<Results, ReadError> {
    let providers: BTreeSet<&str> = tests.iter().map(|test| test.provider.as_str()).collect();
    let mut prompts: BTreeMap<&str, BTreeSet<&Prompt>> = BTreeMap::new();
    let mut vars: BTreeMap<&str, BTreeSet<Digest>> = BTreeMap::new();
    let mut assertions: BTreeMap<(Option<&str>, Digest), BTreeSet<Digest>> = BTreeMap::new();
    for test in &tests {
        prompts
            .entry(&test.provider)
            .or_default()
            .insert(&test.prompt);
        if let Some(description) = &test.description {
            vars.entry(description).or_default().insert(test.vars);
        }
        let alike = (test.description.as_deref(), test.vars);
        assertions.entry(alike).or_default().insert(test.assertions);
    }
    let settled: Vec<String> = tests
        .iter()
        .map(|test| {
            let mut case = match &test.description {
                Some(description) if vars[description.as_str()].len() == 1 => description.clone(),
                Some(description) => format!("{description}, {}", named_by_input(test.vars)),
                None => named_by_input(test.vars),
            };
            if assertions[&(test.description.as_deref(), test.vars)].len() > 1 {
                case = format!("{case}, assertions {}", test.assertions.short(8));
            }
            if providers.len() > 1 {
                case = format!("{case} [{}]", test.provider);
            }
            let own = &prompts[test.provider.as_str()];
            if own.len() > 1 {
                let number = own.iter().position(|prompt| **prompt == test.prompt);
                let number = number.unwrap_or(0) + 1;
                let alike = own
                    .iter()
                    .filter(|prompt| prompt.label == test.prompt.label);
                case = match &test.prompt.label {
                    Some(label) if alike.count() == 1 => format!("{case} [{label}]"),
                    _ => format!("{case} [prompt {number}]"),
                };
            }
            case
        })
        .collect();
    if prompts
        .values()
        .any(|own| own.len() > 1 && own.iter().any(|p| p.label.is_none()))
    {
        collector.notice(
            "prompts without a `label` are told apart by their order: give each a label, or a prompt that is put in \
             moves the others",
        );
    }
    if vars.values().any(|vars| vars.len() > 1) {
        collector.notice(
            "several tests have one description, and are told apart by their variables: a test whose variables are \
             edited counts as a new one",
        );
    }
    if tests.iter().any(|test| test.description.is_none()) {
        collector.notice(
            "tests without a `description` are known by their variables: one whose variables are edited counts as a \
             new one",
        );
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (test, case) in tests.iter().zip(&settled) {
        let count = counts.entry(case).or_default();
        *count += 1;
        if !test.has_vars && test.description.is_none() && *count > repeat.max(test.repeat) {
            let found = "it has neither a description nor variables, and is not the only such test";
            let help = "give each test a `description`, or unset PROMPTFOO_STRIP_TEST_VARS";
            return Err(ReadError::new(file, &test.place, found, help));
        }
    }
    let all: Vec<_> = providers.iter().copied().collect();
    let all = all.join(", ");
    collector.setting("providers", all);
    for (test, case) in tests.into_iter().zip(settled) {
        collector.push(Row { case, ..test.row });
    }
    collector.finish(file)
}
