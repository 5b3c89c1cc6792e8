//! Reads jobs of Harbor: `jobs/JOB/result.json`, and in the same folder one folder for each trial, with its own
//! `result.json`.
//!
//! The file of the job contains only counts. The name of a trial ends with random letters, so the task identifies a
//! case.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::collect::{COST, Collector, HIGHER, LATENCY, LOWER, TOKENS, UNKNOWN};
use super::json::{self, Walk};
use super::node::Node;
use super::{ReadError, cut};
use crate::{Results, Row};

const TRIAL: &[&str] = &[
    "agent_execution",
    "agent_info",
    "agent_result",
    "exception_info",
    "reward_valid",
    "schema_version",
    "source",
    "task_checksum",
    "task_name",
    "verifier_result",
];

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let only: &[(&str, &[&str])] = &[(
        "",
        &["finished_at", "n_total_trials", "schema_version", "stats"],
    )];
    let walk = Walk { each: &[], only };
    let job = json::walk(file, json::open(file)?, walk, |_| Ok(()))?;
    let root = Node::new(file, "", &job);
    check_version(&root)?;
    let said = root.need("n_total_trials")?;
    if root.find("finished_at")?.is_none() {
        let help = "let the job run to its end, or resume it with `harbor job resume`";
        return Err(root.refuse("`finished_at` is missing, so the job has not ended", help));
    }
    let mut collector = Collector::new("harbor");
    let mut trials = Vec::new();
    for path in trial_files(file)? {
        trials.push(Trial::read(&path, &mut collector)?);
    }
    if said.count()? as usize != trials.len() {
        let found = format!(
            "it is {}, and {} folders beside the file have the `result.json` of a trial",
            said.shown(),
            trials.len()
        );
        let help = "keep the whole folder of the job, and let it run to its end";
        return Err(said.refuse(found, help));
    }
    let agents: BTreeSet<String> = trials.iter().map(|trial| trial.agent.clone()).collect();
    for Trial { mut row, agent } in trials {
        if agents.len() > 1 {
            row.case = format!("{} [{agent}]", row.case);
        }
        collector.push(row);
    }
    let all: Vec<_> = agents.into_iter().collect();
    collector.setting("agents", all.join(", "));
    collector.finish(file)
}

/// A file without a version has version 1, according to Harbor.
fn check_version(root: &Node<'_>) -> Result<(), ReadError> {
    let Some(version) = root.find("schema_version")? else {
        return Ok(());
    };
    if version.value().as_u64() == Some(1) {
        return Ok(());
    }
    let found = format!("it is `{}`, and this program reads 1", version.shown());
    Err(version.refuse(
        found,
        "run the job with Harbor 0.26 or a version near to it",
    ))
}

/// The files of the trials, in the order of their names.
fn trial_files(file: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let unreadable = |error: std::io::Error| ReadError::unreadable(folder, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path().join("result.json");
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

struct Trial {
    row: Row,
    /// The agent and its model.
    agent: String,
}

impl Trial {
    fn read(file: &Path, collector: &mut Collector) -> Result<Self, ReadError> {
        let walk = Walk {
            each: &[],
            only: &[
                ("", TRIAL),
                (
                    "agent_result",
                    &["cost_usd", "n_input_tokens", "n_output_tokens"],
                ),
            ],
        };
        let value = json::walk(file, json::open(file)?, walk, |_| Ok(()))?;
        let root = Node::new(file, "", &value);
        check_version(&root)?;
        let task = root.need("task_name")?.text()?;
        if task.is_empty() {
            return Err(root.refuse("`task_name` is empty", "give the task a name"));
        }
        let case = match root.find("source")? {
            Some(source) => format!("{}/{task}", source.text()?),
            None => task.to_owned(),
        };
        // The checksum covers the whole task: its instruction and its tests.
        let checksum = root
            .need("task_checksum")?
            .digest("kelvin/results/input/v1");
        let mut row = Row {
            case,
            input: Some(checksum),
            ..Row::default()
        };
        row.texts.input = Some(collector.text(task));
        let info = root.need("agent_info")?;
        let mut agent = info.need("name")?.text()?.to_owned();
        if let Some(model) = info.find("model_info")? {
            agent = format!("{agent} {}", model.need("name")?.text()?);
        }
        rewards(&root, &mut row, collector)?;
        if row.error.is_none() {
            costs(&root, &mut row, collector)?;
        }
        Ok(Self { row, agent })
    }
}

/// Sets the scores, unless the trial could not be scored. A trial whose agent ran out of time still has a reward.
fn rewards(root: &Node<'_>, row: &mut Row, collector: &mut Collector) -> Result<(), ReadError> {
    let exception = root.find("exception_info")?;
    let result = root.need("verifier_result")?;
    let rewards = if result.is_null() {
        None
    } else {
        result.find("rewards")?
    };
    // Older versions do not say whether a reward is valid if there is also an exception.
    let is_valid = match root.find("reward_valid")? {
        Some(flag) => flag.flag()?,
        None => exception.is_none(),
    };
    let entries = match &rewards {
        Some(rewards) if is_valid => rewards.entries()?,
        _ => Vec::new(),
    };
    if entries.is_empty() {
        row.error = Some(match exception {
            Some(exception) => {
                let kind = exception.need("exception_type")?.shown();
                let message = exception.need("exception_message")?.shown();
                format!("{kind}: {}", cut(&message, 2_000))
            }
            None => "the verifier gave no reward".to_owned(),
        });
        return Ok(());
    }
    for (name, reward) in entries {
        let kind = if name == "reward" { HIGHER } else { UNKNOWN };
        collector.score_or_missing(row, name, kind, reward.score()?);
    }
    Ok(())
}

fn costs(root: &Node<'_>, row: &mut Row, collector: &mut Collector) -> Result<(), ReadError> {
    if let Some(result) = root.find("agent_result")? {
        let figure = |key: &str| result.find(key)?.map(|value| value.number()).transpose();
        if let Some(cost) = figure("cost_usd")? {
            collector.score(row, COST, LOWER, cost);
        }
        if let Some(input) = figure("n_input_tokens")?
            && let Some(output) = figure("n_output_tokens")?
        {
            collector.score(row, TOKENS, LOWER, input + output);
        }
    }
    if let Some(execution) = root.find("agent_execution")?
        && let Some(started) = execution.find("started_at")?
        && let Some(finished) = execution.find("finished_at")?
    {
        let seconds = seconds(&finished)? - seconds(&started)?;
        collector.score(row, LATENCY, LOWER, seconds);
    }
    Ok(())
}

/// A time in seconds. Only the difference of two times is meaningful, since their time zone may be missing.
fn seconds(time: &Node<'_>) -> Result<f64, ReadError> {
    let text = time.text()?;
    let zoned = text.parse::<Timestamp>().ok();
    let plain = || {
        let time = text.parse::<DateTime>().ok()?;
        Some(jiff::tz::TimeZone::UTC.to_zoned(time).ok()?.timestamp())
    };
    let timestamp = zoned.or_else(plain).ok_or_else(|| time.wrong("a time"))?;
    Ok(timestamp.as_duration().as_secs_f64())
}
