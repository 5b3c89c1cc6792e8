//! Test runs of deepeval: `.deepeval/.latest_test_run.json`, or a file of `DEEPEVAL_RESULTS_FOLDER`.
//!
//! The cases are in the order in which they ended, so neither their order nor `order` can be a name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kelvin_base::digest::Fields;
use kelvin_record::Direction;

use super::collect::{COST, Collector, LATENCY, LOWER, PASS, UNKNOWN, YES_NO, named_by_input};
use super::json::{self, Walk};
use super::node::Node;
use super::{ReadError, cut};
use crate::{Results, Row};
use kelvin_page::and_more;

const CASE: &[&str] = &[
    "actualOutput",
    "classifications",
    "evaluationCost",
    "expectedOutcome",
    "expectedOutput",
    "flaky",
    "input",
    "metricsData",
    "name",
    "runDuration",
    "scenario",
    "success",
    "turns",
];

pub(super) fn read(file: &Path) -> Result<Results, ReadError> {
    let run: &[&str] = &[
        "conversationalTestCases",
        "hyperparameters",
        "testCases",
        "testFailed",
        "testPassed",
    ];
    let walk = Walk {
        each: &[
            "testCases[]",
            "conversationalTestCases[]",
            "testRunData.testCases[]",
            "testRunData.conversationalTestCases[]",
        ],
        only: &[
            ("testCases[]", CASE),
            ("conversationalTestCases[]", CASE),
            ("testRunData.testCases[]", CASE),
            ("testRunData.conversationalTestCases[]", CASE),
            ("testRunData", run),
        ],
    };
    let mut reading = Reading {
        collector: Collector::new("deepeval"),
        rows: 0,
        flaky: BTreeSet::new(),
        votes: BTreeMap::new(),
    };
    let rest = json::walk(file, json::open(file)?, walk, |node| reading.case(&node))?;
    let mut root = Node::new(file, "", &rest);
    if let Some(data) = root.find("testRunData")? {
        root = data;
    }
    if root.find("testCases")?.is_none() {
        let help = "read the file of `DEEPEVAL_RESULTS_FOLDER`, or `.deepeval/.latest_test_run.json` before it is \
                    uploaded";
        return Err(root.refuse("it has no `testCases`", help));
    }
    let mut said = 0;
    for key in ["testPassed", "testFailed"] {
        if let Some(count) = root.find(key)? {
            said += count.count()?;
        }
    }
    if said as usize > reading.rows {
        let found = format!(
            "`testPassed` and `testFailed` count {said} test cases, and the file has {}",
            reading.rows
        );
        return Err(root.refuse(
            found,
            "the run was cut short or the file was edited: run it again",
        ));
    }
    reading.finish(file, &root)
}

struct Reading {
    collector: Collector,
    rows: usize,
    flaky: BTreeSet<String>,
    /// For each metric, whether samples above the threshold passed, and whether samples below it did.
    votes: BTreeMap<String, (bool, bool)>,
}

impl Reading {
    fn case(&mut self, node: &Node<'_>) -> Result<(), ReadError> {
        let mut row = Row::default();
        let name = node.need("name")?.text()?;
        let mut input = Fields::of("kelvin/results/input/v1");
        let mut has_input = false;
        for key in ["input", "scenario", "turns"] {
            let Some(value) = node.find(key)? else {
                continue;
            };
            // If the test is a conversation, the turns of the other side are the answer.
            let text = if key == "turns" {
                questions(&value)?
            } else {
                value.shown()
            };
            row.texts.input = row.texts.input.or_else(|| Some(self.collector.text(&text)));
            input = input.field(key, text);
            has_input = true;
        }
        let digest = input.digest();
        row.input = has_input.then_some(digest);
        // If there are no names, deepeval generates names from the order of the cases.
        let number = name
            .strip_prefix("test_case_")
            .or(name.strip_prefix("conversational_test_case_"));
        let is_made_up =
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        row.case = match row.input {
            _ if name.is_empty() => {
                let help = "give the test case a `name`";
                return Err(node.refuse("its `name` is empty", help));
            }
            Some(input) if is_made_up => named_by_input(input),
            None if is_made_up => {
                let help = "give the test case a `name`: the one that it has is its number";
                return Err(node.refuse("it has neither a name nor an input", help));
            }
            _ => name.to_owned(),
        };
        if let Some(answer) = node.find("actualOutput")? {
            row.texts.answer = Some(self.collector.text(&answer.shown()));
        }
        let mut scoring = Fields::of("kelvin/results/scoring/v1");
        for key in ["expectedOutput", "expectedOutcome"] {
            if let Some(expected) = node.find(key)? {
                row.texts.expected = Some(self.collector.text(&expected.shown()));
                scoring = scoring.field(key, expected.shown());
            }
        }
        let flaky = node
            .find("flaky")?
            .map_or(Ok(false), |flaky| flaky.flag())?;
        if flaky {
            self.flaky.insert(row.case.clone());
        }
        let mut decides = false;
        for metric in node.need("metricsData")?.items()? {
            let is_flaky = metric
                .find("flaky")?
                .map_or(Ok(false), |flaky| flaky.flag())?;
            decides |= !is_flaky && metric.find("success")?.is_some();
            if let Some(threshold) = metric.find("threshold")? {
                let name = metric.need("name")?.text()?;
                scoring = scoring.field(name, threshold.number()?.to_string());
            }
            self.metric(&metric, &mut row)?;
        }
        if let Some(classifications) = node.find("classifications")? {
            for classification in classifications.items()? {
                if let Some(error) = classification.find("error")? {
                    let name = classification.need("name")?.text()?;
                    let why = format!("could not be scored: {}", cut(&error.shown(), 200));
                    self.collector.missing(&mut row, name, None, &why);
                }
            }
        }
        row.scoring = Some(scoring.digest());
        // deepeval counts a metric that could not be scored as not successful.
        match node.find("success")? {
            Some(success) if row.error.is_none() => {
                let pass = f64::from(u8::from(success.flag()?));
                self.collector.score(&mut row, PASS, YES_NO, pass);
            }
            // deepeval leaves the field out if no metric decides.
            None if decides && row.error.is_none() => _ = node.need("success")?,
            _ => {}
        }
        for (key, metric) in [("runDuration", LATENCY), ("evaluationCost", COST)] {
            if let Some(figure) = node.find(key)? {
                self.collector
                    .score(&mut row, metric, LOWER, figure.number()?);
            }
        }
        self.rows += 1;
        self.collector.push(row);
        Ok(())
    }

    fn metric(&mut self, metric: &Node<'_>, row: &mut Row) -> Result<(), ReadError> {
        let name = metric.need("name")?.text()?;
        if let Some(error) = metric.find("error")? {
            let why = format!("could not be scored: {}", cut(&error.shown(), 200));
            self.collector.missing(row, name, None, &why);
            return Ok(());
        }
        // `exclude_none` leaves out a missing score.
        let Some(score) = metric.find("score")? else {
            self.collector.missing(row, name, None, "has no value");
            return Ok(());
        };
        if row.scores.contains_key(name) {
            let found = format!(
                "the metric `{}` stands twice in one test case",
                cut(name, 60)
            );
            return Err(metric.refuse(found, "give the two metrics names of their own"));
        }
        let number = score.number()?;
        self.collector.score(row, name, UNKNOWN, number);
        let success = metric
            .find("success")?
            .map(|success| success.flag())
            .transpose()?;
        let threshold = metric
            .find("threshold")?
            .map(|threshold| threshold.number())
            .transpose()?;
        if let (Some(success), Some(threshold)) = (success, threshold)
            && (number - threshold).abs() > f64::EPSILON
        {
            let votes = self.votes.entry(name.to_owned()).or_default();
            if success == (number > threshold) {
                votes.0 = true;
            } else {
                votes.1 = true;
            }
        }
        Ok(())
    }

    fn finish(mut self, file: &Path, root: &Node<'_>) -> Result<Results, ReadError> {
        // The file does not say whether more is better, but the samples that pass show it.
        for (name, votes) in &self.votes {
            let better = match votes {
                (true, false) => Direction::Higher,
                (false, true) => Direction::Lower,
                _ => continue,
            };
            if let Some(kind) = self.collector.results().metrics.get_mut(name) {
                kind.better = Some(better);
            }
        }
        if !self.flaky.is_empty() {
            let names: Vec<_> = self
                .flaky
                .iter()
                .take(10)
                .map(|name| cut(name, 80))
                .collect();
            let more = self.flaky.len() - names.len();
            let more = and_more(more);
            let notice = format!(
                "deepeval marks {} cases as flaky, which changes nothing here: {}{more}",
                self.flaky.len(),
                names.join(", ")
            );
            self.collector.notice(notice);
        }
        if let Some(hyperparameters) = root.find("hyperparameters")? {
            for (key, value) in hyperparameters.entries()? {
                let digest = value.digest("kelvin/results/setting/v1").short(12);
                self.collector.setting(&cut(key, 60), digest);
            }
        }
        self.collector.finish(file)
    }
}

/// The user's turns in a conversation.
fn questions(turns: &Node<'_>) -> Result<String, ReadError> {
    let mut questions = Vec::new();
    for turn in turns.items()? {
        if turn.need("role")?.text()? == "user" {
            questions.push(turn.need("content")?.shown());
        }
    }
    Ok(questions.join("\n"))
}
