//! Reads logs of Inspect: from `.eval` only the header and the summaries, and from `.json` sample by sample.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use serde_json::Value;

use super::collect::{
    COST, Collector, HIGHER, LATENCY, LOWER, TOKENS, UNKNOWN, YES_NO, named_by_input,
};
use super::json::{self, Walk};
use super::node::Node;
use super::{ReadError, cut};
use crate::{MetricKind, Results, Row};

const SAMPLE: &[&str] = &[
    "choices",
    "epoch",
    "error",
    "id",
    "input",
    "model_usage",
    "scores",
    "target",
    "working_time",
];
const EVAL: &[&str] = &[
    "config",
    "model",
    "packages",
    "revision",
    "scorers",
    "task",
    "task_args",
    "task_version",
];

/// The maximum unpacked size of a header in bytes. The largest part of it is usually the options of the task.
const LARGEST_HEADER: u64 = 64 << 20;
/// The maximum unpacked size of the summaries in bytes, enough for two million samples. They are read one by one, so
/// this limits the time, not the memory.
const LARGEST_SUMMARIES: u64 = 4 << 30;

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let mut log = Log::new(file);
    let header = if is_archive(file)? {
        log.archive()?
    } else {
        log.document()?
    };
    log.finish(&header)
}

fn is_archive(file: &Path) -> Result<bool, ReadError> {
    let mut start = Vec::new();
    let read = json::open(file)?.take(2).read_to_end(&mut start);
    read.map_err(|error| ReadError::unreadable(file, &error))?;
    Ok(start == b"PK")
}

struct Log<'a> {
    file: &'a Path,
    collector: Collector,
    samples: Vec<Sample>,
}

/// A sample whose case has no name yet.
struct Sample {
    id: Id,
    input: Digest,
    row: Row,
    place: String,
}

enum Id {
    Text(String),
    Number(u64),
}

impl<'a> Log<'a> {
    fn new(file: &'a Path) -> Self {
        Self {
            file,
            collector: Collector::new("inspect"),
            samples: Vec::new(),
        }
    }

    /// Reads a log in JSON. The actions of a sample are skipped, so the size of the file does not matter.
    fn document(&mut self) -> Result<Value, ReadError> {
        let walk = Walk {
            each: &["samples[]"],
            only: &[
                (
                    "",
                    &[
                        "version",
                        "status",
                        "eval",
                        "results",
                        "invalidated",
                        "samples",
                    ],
                ),
                ("eval", EVAL),
                ("results", &["total_samples"]),
                ("samples[]", SAMPLE),
            ],
        };
        let source = json::open(self.file)?;
        json::walk(self.file, source, walk, |node| self.sample(&node))
    }

    /// Reads the header and the summaries of an archive.
    fn archive(&mut self) -> Result<Value, ReadError> {
        let file = self.file;
        let opened = File::open(file).map_err(|error| ReadError::unreadable(file, &error))?;
        let archive = zip::ZipArchive::new(BufReader::new(opened)).map_err(|error| {
            let found = format!("it is no archive that can be read: {error}");
            ReadError::new(
                file,
                "",
                found,
                "the log is cut short: run the evaluation again",
            )
        });
        let mut archive = archive?;
        let unfinished = "the run has not ended, or was cut short: run it to its end";
        if archive.index_for_name("header.json").is_none() {
            return Err(ReadError::new(
                file,
                "",
                "it has no `header.json`",
                unfinished,
            ));
        }
        if archive.index_for_name("summaries.json").is_none() {
            return Err(ReadError::new(
                file,
                "",
                "it has no `summaries.json`",
                unfinished,
            ));
        }
        let only: &[(&str, &[&str])] = &[
            ("", &["version", "status", "eval", "results", "invalidated"]),
            ("eval", EVAL),
            ("results", &["total_samples"]),
        ];
        let walk = Walk { each: &[], only };
        let header = Self::entry(
            file,
            &mut archive,
            "header.json",
            LARGEST_HEADER,
            |source| json::walk(file, source, walk, |_| Ok(())),
        )?;
        let walk = Walk {
            each: &["[]"],
            only: &[("[]", SAMPLE)],
        };
        Self::entry(
            file,
            &mut archive,
            "summaries.json",
            LARGEST_SUMMARIES,
            |source| json::walk(file, source, walk, |node| self.sample(&node)),
        )?;
        Ok(header)
    }

    /// Unpacks an entry of an archive while it is read. Inspect packs with zstd, and older versions with deflate.
    fn entry<T>(
        file: &Path,
        archive: &mut zip::ZipArchive<BufReader<File>>,
        name: &str,
        most: u64,
        read: impl FnOnce(&mut dyn Read) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let broken = |error: &dyn std::fmt::Display| {
            let found = format!("it cannot be unpacked: {error}");
            ReadError::new(
                file,
                name,
                found,
                "the log is damaged: run the evaluation again",
            )
        };
        let index = archive.index_for_name(name).unwrap_or(usize::MAX);
        let raw = archive
            .by_index_raw(index)
            .map_err(|error| broken(&error))?;
        let (crc, size) = (raw.crc32(), raw.size());
        let packed = raw.compression();
        let source: Box<dyn Read + '_> = if packed == zip::CompressionMethod::Stored {
            Box::new(raw)
        } else if packed == zip::CompressionMethod::Deflated {
            drop(raw);
            Box::new(archive.by_index(index).map_err(|error| broken(&error))?)
        } else {
            let source = ruzstd::decoding::StreamingDecoder::new(raw);
            Box::new(source.map_err(|error| broken(&error))?)
        };
        let mut source = Checked {
            source: source.take(most.min(size) + 1),
            crc: crc32fast::Hasher::new(),
            count: 0,
        };
        let value = read(&mut source).map_err(|error| error.within(file, name))?;
        io::copy(&mut source, &mut io::sink()).map_err(|error| broken(&error))?;
        if source.count > most {
            return Err(broken(&format!("it is larger than {most} bytes")));
        }
        if source.count != size || source.crc.finalize() != crc {
            return Err(broken(&"its checksum is another one"));
        }
        Ok(value)
    }

    /// Reads a sample of a log, or its summary.
    fn sample(&mut self, node: &Node<'_>) -> Result<(), ReadError> {
        let id = node.need("id")?;
        let id = match id.value() {
            Value::String(text) => Id::Text(text.clone()),
            Value::Number(number) if number.as_u64().is_some() => {
                Id::Number(number.as_u64().unwrap_or(0))
            }
            _ => return Err(id.wrong("a text or a whole number")),
        };
        let epoch = node.need("epoch")?;
        let mut row = Row {
            repeat: Some(epoch.count()?).filter(|epoch| *epoch > 0),
            ..Row::default()
        };
        if row.repeat.is_none() {
            return Err(epoch.wrong("a whole number from 1"));
        }
        let input = node.need("input")?;
        row.texts.input = Some(self.collector.text(&input.shown()));
        let mut fields = Fields::of("kelvin/results/input/v1").field("input", input.canonical());
        if let Some(choices) = node.find("choices")? {
            fields = fields.field("choices", choices.canonical());
        }
        let digest = fields.digest();
        row.input = Some(digest);
        let target = node.need("target")?;
        row.texts.expected = Some(self.collector.text(&target.shown()));
        row.scoring = Some(target.digest("kelvin/results/target/v1"));
        self.scores(node, &mut row)?;
        self.samples.push(Sample {
            id,
            input: digest,
            row,
            place: node.place().to_owned(),
        });
        Ok(())
    }

    fn scores(&mut self, node: &Node<'_>, row: &mut Row) -> Result<(), ReadError> {
        if let Some(error) = node.find("error")? {
            // A summary contains the message, and a sample an object with the message.
            let message = match error.value() {
                Value::Object(_) => error.need("message")?.shown(),
                _ => error.shown(),
            };
            row.error = Some(message);
            return Ok(());
        }
        let Some(scores) = node.find("scores")? else {
            row.error = Some("it has neither a score nor an error".to_owned());
            return Ok(());
        };
        for (name, score) in scores.entries()? {
            if let Some(answer) = score.find("answer")?
                && row.texts.answer.is_none()
            {
                row.texts.answer = Some(self.collector.text(&answer.shown()));
            }
            let value = score.need("value")?;
            match value.value() {
                Value::Object(_) => {
                    for (key, value) in value.entries()? {
                        self.value(row, &format!("{name}.{key}"), &value)?;
                    }
                }
                _ => self.value(row, name, &value)?,
            }
        }
        if let Some(seconds) = node.find("working_time")? {
            self.collector.score(row, LATENCY, LOWER, seconds.number()?);
        }
        if let Some(usage) = node.find("model_usage")? {
            let (mut tokens, mut cost, mut has_cost) = (0.0, 0.0, false);
            let models = usage.entries()?;
            for (_, model) in &models {
                tokens += model.need("total_tokens")?.number()?;
                if let Some(own) = model.find("total_cost")? {
                    cost += own.number()?;
                    has_cost = true;
                }
            }
            if !models.is_empty() {
                self.collector.score(row, TOKENS, LOWER, tokens);
            }
            if has_cost {
                self.collector.score(row, COST, LOWER, cost);
            }
        }
        Ok(())
    }

    /// Sets a score. Texts are accepted only if Inspect itself converts them into numbers.
    fn value(&mut self, row: &mut Row, metric: &str, value: &Node<'_>) -> Result<(), ReadError> {
        let (kind, score) = match value.value() {
            Value::Null => (None, None),
            Value::Bool(flag) => (Some(YES_NO), Some(f64::from(u8::from(*flag)))),
            Value::Number(_) => (Some(UNKNOWN), value.score()?),
            Value::String(text) => {
                let (kind, score) = grade(text).ok_or_else(|| {
                    let found = format!("`{}` is no grade that Inspect counts", cut(text, 60));
                    let help =
                        "let the scorer give a number, true or false, or one of C, P, I and N";
                    value.refuse(found, help)
                })?;
                (Some(kind), Some(score))
            }
            _ => {
                let help = "let the scorer give one value, or an object with a value by name";
                return Err(value.refuse("it is a list", help));
            }
        };
        match (kind, score) {
            (Some(kind), Some(score)) => self.collector.score(row, metric, kind, score),
            _ => self
                .collector
                .missing(row, metric, None, "has no value (NaN)"),
        }
        Ok(())
    }

    fn finish(mut self, header: &Value) -> Result<Results, ReadError> {
        let root = Node::new(self.file, "", header);
        let version = root.need("version")?;
        if version.value().as_u64() != Some(2) {
            let found = format!("it is `{}`, and this program reads 2", version.shown());
            let help = "convert the log with `inspect log convert`";
            return Err(version.refuse(found, help));
        }
        let status = root.need("status")?;
        if status.text()? != "success" {
            let found = format!("it is `{}`", cut(status.text()?, 60));
            let help = "run the evaluation to its end, or finish it with `inspect eval-retry`";
            return Err(status.refuse(found, help));
        }
        if let Some(invalidated) = root.find("invalidated")?
            && invalidated.flag()?
        {
            let help =
                "run the evaluation again: somebody has marked samples of this log as invalid";
            return Err(invalidated.refuse("it is true", help));
        }
        let eval = root.need("eval")?;
        if let Some(config) = eval.find("config")?
            && let Some(log_samples) = config.find("log_samples")?
            && !log_samples.flag()?
        {
            let help =
                "run the evaluation without `--no-log-samples`: what is compared are the samples";
            return Err(log_samples.refuse("it is false", help));
        }
        if let Some(results) = root.find("results")? {
            let total = results.need("total_samples")?;
            let found = self.samples.len();
            if total.count()? as usize != found {
                let found = format!("it is {}, and the log has {found} samples", total.shown());
                let help = "the log is incomplete: run the evaluation again";
                return Err(total.refuse(found, help));
            }
        }
        self.settings(&eval)?;
        let scorers = match eval.find("scorers")? {
            Some(scorers) => scorers.canonical(),
            None => String::new(),
        };
        self.name_cases()?;
        for Sample { mut row, .. } in std::mem::take(&mut self.samples) {
            let fields = Fields::of("kelvin/results/scoring/v1").field("scorers", &scorers);
            let target = row
                .scoring
                .map(|target| target.to_string())
                .unwrap_or_default();
            row.scoring = Some(fields.field("target", target).digest());
            self.collector.push(row);
        }
        self.collector.finish(self.file)
    }

    fn settings(&mut self, eval: &Node<'_>) -> Result<(), ReadError> {
        if let Some(packages) = eval.find("packages")?
            && let Some(version) = packages.find("inspect_ai")?
        {
            self.collector.version(version.text()?);
        }
        for key in ["model", "task", "task_version"] {
            if let Some(value) = eval.find(key)? {
                self.collector.setting(key, cut(&value.shown(), 200));
            }
        }
        // The options of a task may contain any data, so only their digest is stored.
        if let Some(options) = eval.find("task_args")? {
            let digest = options.digest("kelvin/results/setting/v1").short(12);
            self.collector.setting("task_args", digest);
        }
        Ok(())
    }

    /// Names the cases by the ids of the samples, unless Inspect generated the ids from their order.
    fn name_cases(&mut self) -> Result<(), ReadError> {
        let mut numbers = BTreeSet::new();
        let mut is_numbered = true;
        for sample in &self.samples {
            match sample.id {
                Id::Number(number) => _ = numbers.insert(number),
                Id::Text(_) => is_numbered = false,
            }
        }
        is_numbered &= numbers.iter().copied().eq(1..=numbers.len() as u64);
        if is_numbered {
            self.collector.notice(
                "the samples have no ids of their own, so a case is known by its input: one whose input is edited \
                 counts as a new one. Give each sample an `id`",
            );
        }
        let mut inputs: BTreeMap<String, u64> = BTreeMap::new();
        for Sample {
            id,
            input,
            row,
            place,
        } in &mut self.samples
        {
            row.case = match id {
                Id::Text(text) => text.clone(),
                Id::Number(number) if !is_numbered => number.to_string(),
                Id::Number(number) => {
                    let case = named_by_input(*input);
                    let first = *inputs.entry(case.clone()).or_insert(*number);
                    if first != *number {
                        let found = format!(
                            "sample {number} cannot be told from sample {first}: they have no ids, and one input"
                        );
                        let help = "give each sample of the dataset an `id`";
                        return Err(ReadError::new(self.file, place, found, help));
                    }
                    case
                }
            };
        }
        Ok(())
    }
}

/// The number for a grade, by the rules of Inspect's `value_to_float`.
fn grade(text: &str) -> Option<(MetricKind, f64)> {
    Some(match text {
        "C" => (YES_NO, 1.0),
        "I" => (YES_NO, 0.0),
        "P" => (HIGHER, 0.5),
        "N" => (HIGHER, 0.0),
        _ => match text.to_ascii_lowercase().as_str() {
            "yes" | "true" => (YES_NO, 1.0),
            "no" | "false" => (YES_NO, 0.0),
            _ => {
                let number = text
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())?;
                (UNKNOWN, number)
            }
        },
    })
}

/// Counts the unpacked bytes and computes their checksum, as `zip` does for the methods that it supports.
struct Checked<R> {
    source: R,
    crc: crc32fast::Hasher,
    count: u64,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(out)?;
        self.crc.update(&out[..count]);
        self.count += count as u64;
        Ok(count)
    }
}
