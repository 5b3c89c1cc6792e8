//! Reads reports of pydantic-evals, as `EvaluationReportAdapter.dump_json` writes them.

use std::collections::BTreeMap;
use std::path::Path;

use kelvin_base::digest::Digest;

use super::collect::{Collector, LATENCY, LOWER, UNKNOWN, YES_NO, named_by_input};
use super::json::{self, Walk};
use super::node::Node;
use super::{ReadError, cut};
use crate::{Results, Row};

const CASE: &[&str] = &[
    "assertions",
    "error_message",
    "evaluator_failures",
    "expected_output",
    "inputs",
    "labels",
    "metrics",
    "name",
    "output",
    "scores",
    "source_case_name",
    "task_duration",
];

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let walk = Walk {
        each: &["cases[]", "failures[]"],
        only: &[
            (
                "",
                &["cases", "dataset_name", "experiment_metadata", "failures"],
            ),
            ("cases[]", CASE),
            ("failures[]", CASE),
        ],
    };
    let mut collector = Collector::new("pydantic-evals");
    let mut repeats: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let rest = json::walk(file, json::open(file)?, walk, |node| {
        let mut row = sample(&node, &mut collector, &mut repeats)?;
        if node.place().starts_with("failures") {
            row.error = Some(node.need("error_message")?.shown());
        } else {
            scores(&node, &mut row, &mut collector)?;
        }
        collector.push(row);
        Ok(())
    })?;
    let root = Node::new(file, "", &rest);
    root.need("cases")?;
    root.need("failures")?;
    for (case, (said, found)) in repeats {
        if said != found {
            let found = format!(
                "case `{}` says that it has {said} runs, and has {found}",
                cut(&case, 60)
            );
            let help = "the report was cut short or edited: evaluate again";
            return Err(root.refuse(found, help));
        }
    }
    if let Some(metadata) = root.find("experiment_metadata")? {
        let digest = metadata.digest("kelvin/results/setting/v1").short(12);
        collector.setting("experiment_metadata", digest);
    }
    if let Some(name) = root.find("dataset_name")? {
        collector.setting("dataset_name", cut(name.text()?, 200));
    }
    collector.finish(file)
}

/// A run of a case, or its failure, without scores.
fn sample(
    node: &Node<'_>,
    collector: &mut Collector,
    repeats: &mut BTreeMap<String, (u32, u32)>,
) -> Result<Row, ReadError> {
    let name = node.need("name")?;
    let (mut case, mut repeat) = (name.text()?, None);
    if let Some(source) = node.find("source_case_name")? {
        let source = source.text()?;
        let (number, most) = run_of(case, source).ok_or_else(|| {
            let found = format!("`{}` is no run of `{}`", cut(case, 60), cut(source, 60));
            name.refuse(found, "let pydantic-evals write the report again")
        })?;
        let counts = repeats.entry(source.to_owned()).or_insert((most, 0));
        counts.1 += 1;
        if counts.0 != most {
            let found = format!("it has {most} runs here, and {} elsewhere", counts.0);
            return Err(name.refuse(found, "let pydantic-evals write the report again"));
        }
        (case, repeat) = (source, Some(number));
    }
    let input = node.need("inputs")?;
    let expected = node.need("expected_output")?;
    let digest = input.digest("kelvin/results/input/v1");
    let mut row = Row {
        case: case.to_owned(),
        repeat,
        input: Some(digest),
        ..Row::default()
    };
    if is_made_up(case) {
        row.case = named_by_input(digest);
    }
    if case.is_empty() {
        return Err(name.refuse("it is empty", "give each `Case` a `name`"));
    }
    row.texts.input = Some(collector.text(&input.shown()));
    if !expected.is_null() {
        row.texts.expected = Some(collector.text(&expected.shown()));
    }
    row.scoring = Some(expected.digest("kelvin/results/scoring/v1"));
    Ok(row)
}

/// The number of a run and how many there are, from a name such as `cap-fr [1/3]`.
fn run_of(name: &str, source: &str) -> Option<(u32, u32)> {
    let numbers = name
        .strip_prefix(source)?
        .strip_prefix(" [")?
        .strip_suffix(']')?;
    let (number, most) = numbers.split_once('/')?;
    let (number, most) = (number.parse().ok()?, most.parse().ok()?);
    (1..=most).contains(&number).then_some((number, most))
}

/// Whether a name was generated from the position of the case in the dataset, because the case has none.
fn is_made_up(name: &str) -> bool {
    let number = name.strip_prefix("Case ");
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn scores(node: &Node<'_>, row: &mut Row, collector: &mut Collector) -> Result<(), ReadError> {
    if let Some(output) = node.find("output")? {
        row.texts.answer = Some(collector.text(&output.shown()));
    }
    let mut sources = Vec::new();
    for (kind, key) in [(UNKNOWN, "scores"), (YES_NO, "assertions")] {
        for (name, result) in node.need(key)?.entries()? {
            let own = result.need("name")?.text()?;
            if own != name {
                let found = format!(
                    "the result `{}` names itself `{}`",
                    cut(name, 60),
                    cut(own, 60)
                );
                return Err(result.refuse(found, "let pydantic-evals write the report again"));
            }
            if row.scores.contains_key(name) {
                let found = format!("`{}` is a score and an assertion", cut(name, 60));
                return Err(result.refuse(found, "give the two evaluators names of their own"));
            }
            let value = result.need("value")?;
            let score = match key {
                "assertions" if !value.is_null() => Some(f64::from(u8::from(value.flag()?))),
                _ => value.score()?,
            };
            collector.score_or_missing(row, name, kind, score);
            if let Some(source) = result.find("source")? {
                sources.push(source.canonical());
            }
        }
    }
    // Evaluators with other arguments score differently.
    sources.sort();
    let expected = row
        .scoring
        .map(|expected| expected.to_string())
        .unwrap_or_default();
    let scoring = format!("{expected}\n{}", sources.join("\n"));
    row.scoring = Some(Digest::of(scoring.as_bytes()));
    for (name, value) in node.need("metrics")?.entries()? {
        if row.scores.contains_key(name) {
            let found = format!("`{}` is the name of a score too", cut(name, 60));
            return Err(value.refuse(found, "give the metric a name of its own"));
        }
        collector.score_or_missing(row, name, UNKNOWN, value.score()?);
    }
    for failure in node.need("evaluator_failures")?.items()? {
        let name = failure.need("name")?.text()?;
        let why = failure.need("error_message")?.shown();
        let why = format!("could not be scored: {}", cut(&why, 200));
        collector.missing(row, name, None, &why);
    }
    if let Some(seconds) = node.find("task_duration")? {
        collector.score(row, LATENCY, LOWER, seconds.number()?);
    }
    Ok(())
}
