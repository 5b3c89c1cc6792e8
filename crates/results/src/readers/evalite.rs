//! Reads the files that evalite writes with `--outputPath`.
//!
//! A sample has no id except a serial number, so a case is identified by the evaluation and the digest of the input.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kelvin_base::digest::Digest;

use super::collect::{Collector, HIGHER, LATENCY, LOWER, named_by_input};
use super::json::{self, Walk};
use super::node::Node;
use super::{ReadError, cut};
use crate::{Results, Row};

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let walk = Walk {
        each: &["evals[].results[]"],
        only: &[
            ("", &["evals", "run"]),
            ("evals[]", &["name", "results", "status"]),
            (
                "evals[].results[]",
                &[
                    "duration", "expected", "input", "output", "scores", "status",
                ],
            ),
        ],
    };
    let mut collector = Collector::new("evalite");
    let mut samples: Vec<(usize, Row)> = Vec::new();
    let rest = json::walk(file, json::open(file)?, walk, |node| {
        let index = evaluation(node.place());
        samples.push((index, sample(&node, &mut collector)?));
        Ok(())
    })?;
    let root = Node::new(file, "", &rest);
    let mut names = Vec::new();
    for eval in root.need("evals")?.items()? {
        let name = eval.need("name")?.text()?;
        if names.iter().any(|other| other == name) {
            let found = format!("two evaluations are named `{}`", cut(name, 60));
            return Err(eval.refuse(found, "give each `evalite(…)` a name of its own"));
        }
        names.push(name.to_owned());
        let status = eval.need("status")?;
        if !["success", "fail"].contains(&status.text()?) {
            let found = format!("it is `{}`", cut(status.text()?, 60));
            return Err(status.refuse(found, "run the evaluation to its end"));
        }
        eval.need("results")?;
    }
    let mut expected: BTreeMap<(usize, Option<Digest>), BTreeSet<Option<Digest>>> = BTreeMap::new();
    for (eval, row) in &samples {
        expected
            .entry((*eval, row.input))
            .or_default()
            .insert(row.scoring);
    }
    for (eval, mut row) in samples {
        let input = row.input.map(named_by_input).unwrap_or_default();
        let name = names.get(eval).map_or("", String::as_str);
        row.case = format!("{name} {input}");
        if let Some(scoring) = row
            .scoring
            .filter(|_| expected[&(eval, row.input)].len() > 1)
        {
            row.case = format!("{}, expected {}", row.case, scoring.short(8));
        }
        collector.push(row);
    }
    collector.notice(
        "a case is known by its input, as evalite gives it no name: one whose input is edited counts as a new one",
    );
    collector.finish(file)
}

/// The number of the evaluation in a position such as `evals[2].results[0]`.
fn evaluation(place: &str) -> usize {
    let number = place
        .strip_prefix("evals[")
        .and_then(|rest| rest.split(']').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn sample(node: &Node<'_>, collector: &mut Collector) -> Result<Row, ReadError> {
    let input = node.need("input")?;
    let mut row = Row {
        input: Some(input.digest("kelvin/results/input/v1")),
        ..Row::default()
    };
    row.texts.input = Some(collector.text(&input.shown()));
    if let Some(expected) = node.find("expected")? {
        row.scoring = Some(expected.digest("kelvin/results/scoring/v1"));
        row.texts.expected = Some(collector.text(&expected.shown()));
    }
    let output = node.find("output")?;
    let status = node.need("status")?;
    match status.text()? {
        "success" => {}
        "fail" => {
            // The output of a task that failed is its error.
            let error =
                output.map_or_else(|| "the task failed".to_owned(), |output| output.shown());
            row.error = Some(cut(&error, 2_000));
            return Ok(row);
        }
        other => {
            let found = format!("it is `{}`", cut(other, 60));
            return Err(status.refuse(found, "run the evaluation to its end"));
        }
    }
    if let Some(output) = output {
        row.texts.answer = Some(collector.text(&output.shown()));
    }
    for score in node.need("scores")?.items()? {
        let name = score.need("name")?.text()?;
        if row.scores.contains_key(name) {
            let found = format!("the score `{}` stands twice in one sample", cut(name, 60));
            return Err(score.refuse(found, "give the two scorers names of their own"));
        }
        let value = score.need("score")?.score()?;
        collector.score_or_missing(&mut row, name, HIGHER, value);
    }
    if let Some(milliseconds) = node.find("duration")? {
        collector.score(&mut row, LATENCY, LOWER, milliseconds.number()? / 1000.0);
    }
    Ok(row)
}
