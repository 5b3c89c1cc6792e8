//! Reads samples of lm-eval: `samples_TASK_TIME.jsonl`, which `--log_samples` writes.
//!
//! `doc_id` is an index and `prompt_hash` changes with the template, so the hash of the document identifies a case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kelvin_base::digest::Digest;
use kelvin_record::Direction;
use serde_json::Value;

use super::collect::{Collector, UNKNOWN};
use super::node::Node;
use super::{ReadError, cut, json};
use crate::{MetricKind, Results, Row};

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let mut samples = Vec::new();
    let mut collector = Collector::new("lm-eval");
    json::lines(file, |node| {
        samples.push(Sample::new(&node, &mut collector)?);
        Ok(())
    })?;
    let filters: BTreeSet<String> = samples.iter().map(|sample| sample.filter.clone()).collect();
    let directions = directions(file, &mut collector)?;
    let mut rows: BTreeMap<u32, usize> = BTreeMap::new();
    let mut all: Vec<(Row, BTreeSet<String>)> = Vec::new();
    let mut aggregated = BTreeSet::new();
    for sample in samples {
        // A sample has a line for each filter; only the number of its document connects these lines.
        let index = *rows.entry(sample.doc).or_insert_with(|| {
            all.push((sample.row.clone(), BTreeSet::new()));
            all.len() - 1
        });
        let (row, seen) = &mut all[index];
        let refuse = |found: String| {
            let help = "read the samples of one run and of one task: the file has lines of several";
            ReadError::new(file, &sample.place, found, help)
        };
        if row.case != sample.row.case {
            return Err(refuse(format!(
                "document {} has two values of `doc_hash`",
                sample.doc
            )));
        }
        if !seen.insert(sample.filter.clone()) {
            let found = format!(
                "document {} has two samples of the filter `{}`",
                sample.doc,
                cut(&sample.filter, 60)
            );
            return Err(refuse(found));
        }
        for (name, score) in sample.scores {
            let better = directions.get(&name).copied();
            let kind = MetricKind { better, ..UNKNOWN };
            let metric = if filters.len() > 1 {
                format!("{name},{}", sample.filter)
            } else {
                name.clone()
            };
            match score {
                Score::Number(number) => collector.score(row, &metric, kind, number),
                Score::Flag(flag) => {
                    collector.score(row, &metric, kind, f64::from(u8::from(flag)));
                }
                Score::None => collector.missing(row, &metric, Some(kind), "has no value (NaN)"),
                Score::Parts => _ = aggregated.insert(metric),
            }
        }
    }
    for metric in aggregated {
        if collector.results().metrics.contains_key(&metric) {
            let found = format!(
                "`{}` is a number in some samples and a list in others",
                cut(&metric, 60)
            );
            let help = "read the samples of one run and of one task";
            return Err(ReadError::new(file, "", found, help));
        }
        collector.notice(format!(
            "`{}` is left out: a sample has only a part of it, and no score",
            cut(&metric, 60)
        ));
    }
    for (row, seen) in all {
        if seen.len() < filters.len() {
            let found = format!(
                "case `{}` lacks a line for each of {} filters",
                cut(&row.case, 60),
                filters.len()
            );
            let help = "the file is cut short: run the evaluation again";
            return Err(ReadError::new(file, "", found, help));
        }
        collector.push(row);
    }
    collector.finish(file)
}

struct Sample {
    place: String,
    doc: u32,
    filter: String,
    scores: Vec<(String, Score)>,
    row: Row,
}

enum Score {
    Number(f64),
    Flag(bool),
    None,
    /// A metric that lm-eval can compute only from all samples, e.g. a perplexity.
    Parts,
}

impl Sample {
    fn new(node: &Node<'_>, collector: &mut Collector) -> Result<Self, ReadError> {
        let hash = node.need("doc_hash")?;
        let text = hash.text()?;
        if text.len() < 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(hash.wrong("a hash"));
        }
        let doc = node.need("doc")?;
        let target = node.need("target")?;
        let mut scores = Vec::new();
        for name in node.need("metrics")?.items()? {
            let name = name.text()?;
            let value = node.need(name)?;
            let score = match value.value() {
                Value::Number(_) => Score::Number(value.number()?),
                Value::Bool(flag) => Score::Flag(*flag),
                Value::Null => Score::None,
                Value::Array(_) | Value::Object(_) => Score::Parts,
                Value::String(_) => return Err(value.wrong("a score")),
            };
            scores.push((name.to_owned(), score));
        }
        let mut row = Row {
            case: format!("doc-{}", &text[..16]),
            input: Some(doc.digest("kelvin/results/input/v1")),
            scoring: Some(target.digest("kelvin/results/scoring/v1")),
            ..Row::default()
        };
        row.texts.input = Some(collector.text(&doc.shown()));
        row.texts.expected = Some(collector.text(&target.shown()));
        let answers = node.need("filtered_resps")?;
        row.texts.answer = Some(match answers.items()?.as_slice() {
            [answer] => collector.text(&answer.shown()),
            _ => collector.text(&answers.shown()),
        });
        Ok(Self {
            place: node.place().to_owned(),
            doc: node.need("doc_id")?.count()?,
            filter: node.need("filter")?.text()?.to_owned(),
            scores,
            row,
        })
    }
}

/// The better direction for each metric, and the other data in the results file that lm-eval writes into the folder of
/// the samples. This file may be missing.
fn directions(
    file: &Path,
    collector: &mut Collector,
) -> Result<BTreeMap<String, Direction>, ReadError> {
    let mut directions = BTreeMap::new();
    let Some((path, task)) = beside(file) else {
        collector.notice(
            "the file `results_TIME.json` does not lie beside the samples, so the direction of no metric is known",
        );
        return Ok(directions);
    };
    let value = json::value(&path, json::open(&path)?)?;
    let root = Node::new(&path, "", &value);
    if let Some(version) = root.find("lm_eval_version")? {
        collector.version(version.text()?);
    }
    for key in ["model_source", "model_name", "git_hash"] {
        if let Some(value) = root.find(key)? {
            collector.setting(key, cut(&value.shown(), 200));
        }
    }
    if let Some(config) = root.find("config")?
        && let Some(options) = config.find("model_args")?
    {
        let digest = Digest::of(options.canonical().as_bytes()).short(12);
        collector.setting("model_args", digest);
    }
    if let Some(tasks) = root.find("higher_is_better")?
        && let Some(metrics) = tasks.find(&task)?
    {
        for (name, is_higher) in metrics.entries()? {
            if is_higher.is_null() {
                continue;
            }
            let better = if is_higher.flag()? {
                Direction::Higher
            } else {
                Direction::Lower
            };
            directions.insert(name.to_owned(), better);
        }
    }
    Ok(directions)
}

/// The results file in the folder of `samples_TASK_TIME.jsonl`, and the task.
fn beside(file: &Path) -> Option<(PathBuf, String)> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_prefix("samples_")?.strip_suffix(".jsonl")?;
    let (task, time) = name.rsplit_once('_')?;
    let path = file.with_file_name(format!("results_{time}.json"));
    path.is_file().then(|| (path, task.to_owned()))
}
