//! Turns the rows of a file into the samples of each case. All problems that can occur in a single file, given the
//! settings of its suite, are found here, for every format.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::config::{RESERVED, Suite, slug};
use super::record::{EarlyEnd, MetricBasis, ResultRecord, ResultSample};
use super::{MetricKind, Results, Row};
use kelvin_base::digest::{Digest, Fields};
use kelvin_page::{counted, listed};
use kelvin_record::{Direction, KeptText};

/// The maximum length of a case name, in characters. It is shown in comments, and used in the command that runs some
/// cases again.
const LONGEST_NAME: usize = 300;
/// The maximum length of a setting's value that is stored unchanged, in characters; for a longer one only the digest is
/// stored.
const LONGEST_SETTING: usize = 80;
/// How many characters of a text are stored at most: few people read further in a review.
const KEPT: usize = 2_000;

/// One run of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SuiteRun {
    /// The evaluator.
    pub(super) tool: String,
    /// Its version.
    pub(super) tool_version: Option<String>,
    /// The values that identify the prompts, models and settings.
    pub(super) settings: BTreeMap<String, String>,
    /// The metrics by name.
    pub(super) metrics: BTreeMap<String, MetricBasis>,
    /// The cases by name.
    pub(super) cases: BTreeMap<String, ResultRecord>,
    /// The cases that the evaluator says it has skipped, and that have no result.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) skipped: BTreeSet<String>,
    /// Remarks for a person on how the file was read.
    pub(super) notices: Vec<String>,
    /// How the evaluator ended, if its exit code was not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<EarlyEnd>,
}

/// Groups the rows of a file by case. `is_whole`: whether the whole suite was run; a run of some cases need not have
/// every metric. Fails with the reason why the results cannot be used, and advice.
pub(super) fn gather(
    mut results: Results,
    suite: &Suite,
    is_whole: bool,
) -> Result<SuiteRun, String> {
    name_metrics(&mut results, suite, is_whole)?;
    let metrics = metrics(&results, suite, is_whole)?;
    let mut notices = std::mem::take(&mut results.notices);
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut written: BTreeMap<String, String> = BTreeMap::new();
    for (at, row) in (1..).zip(results.rows) {
        let name = case_name(&row.case, at)?;
        let before = written
            .entry(name.clone())
            .or_insert_with(|| row.case.clone());
        if *before != row.case {
            return Err(format!(
                "two cases differ only in the blanks of their name `{name}`: give each a name of its own"
            ));
        }
        rows.entry(name).or_default().push(row);
    }
    if rows.is_empty() {
        return Err("the file has no samples: see that the evaluator has run any case".to_owned());
    }
    refuse_cached(&rows)?;
    let mut cases = BTreeMap::new();
    let mut is_counted = false;
    for (name, rows) in rows {
        is_counted |= rows.len() > 1 && rows.iter().any(|row| row.repeat.is_none());
        let record = record(&name, rows, &metrics)?;
        cases.insert(name, record);
    }
    if is_counted {
        notices.push(
            "the file does not number its repeats: the rows of a case count as its repeats, in their order"
                .to_owned(),
        );
    }
    let is_scored = |record: &ResultRecord| {
        let mut samples = record.samples.iter();
        samples.any(|sample| sample.error.is_none() && !sample.scores.is_empty())
    };
    if is_whole && !cases.values().any(is_scored) {
        let errors = cases.values().flat_map(|record| &record.samples);
        let first = errors.filter_map(|sample| sample.error.as_ref()).next();
        let why = first.map_or_else(String::new, |error| {
            format!("; the first error is: {}", error.text)
        });
        return Err(format!("no sample has a score{why}"));
    }
    let is_skipped = |name: &String| !cases.contains_key(name);
    Ok(SuiteRun {
        skipped: results.skipped.into_iter().filter(is_skipped).collect(),
        tool: results.tool,
        tool_version: results.tool_version,
        settings: settings(results.settings),
        metrics,
        cases,
        notices,
        ended: None,
    })
}

/// The name of a case on one line.
fn case_name(written: &str, row: usize) -> Result<String, String> {
    let words: Vec<&str> = written.split_whitespace().collect();
    let name: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    if name.is_empty() {
        return Err(format!(
            "row {row} names no case: every row needs a name that stays the same from run to run"
        ));
    }
    if name.chars().count() > LONGEST_NAME {
        let begin: String = name.chars().take(40).collect();
        return Err(format!(
            "the name of the case that begins with `{begin}` has more than {LONGEST_NAME} characters: give the cases short \
             names, in a column of their own where the file is a table"
        ));
    }
    Ok(name)
}

/// Gives the metrics of the file their configured names, in a form that can be part of an id.
fn name_metrics(results: &mut Results, suite: &Suite, is_whole: bool) -> Result<(), String> {
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    for (name, column) in &suite.columns.metrics {
        if results.metrics.contains_key(name) {
            renamed.insert(name.clone(), name.clone());
        } else if results.metrics.contains_key(&column.column) {
            renamed.insert(column.column.clone(), name.clone());
        } else if is_whole {
            return Err(format!(
                "`metrics.{name}`: the file has no metric `{}`; it has {}",
                column.column,
                named(results.metrics.keys().map(String::as_str))
            ));
        }
    }
    let new_name = |old: &str| slug(renamed.get(old).map_or(old, String::as_str));
    let mut metrics = BTreeMap::new();
    for (old, kind) in std::mem::take(&mut results.metrics) {
        let new = new_name(&old);
        if new.is_empty() || RESERVED.contains(&new.as_str()) {
            return Err(format!(
                "the file has a metric `{old}`, and that name is taken: write `metrics: {{NAME: {{column: {old}}}}}` to \
                 give it another one"
            ));
        }
        if metrics.insert(new.clone(), kind).is_some() {
            return Err(format!(
                "two metrics of the file would be called `{new}`: write `metrics: {{NAME: {{column: {old}}}}}` to give one \
                 of them another name"
            ));
        }
    }
    results.metrics = metrics;
    for row in &mut results.rows {
        let scores = std::mem::take(&mut row.scores).into_iter();
        row.scores = scores.map(|(old, score)| (new_name(&old), score)).collect();
    }
    Ok(())
}

/// The properties of each metric, and which of them are gated.
fn metrics(
    results: &Results,
    suite: &Suite,
    is_whole: bool,
) -> Result<BTreeMap<String, MetricBasis>, String> {
    let keys = &suite.keys;
    let gate: BTreeSet<String> = keys.gate.iter().map(|name| slug(name)).collect();
    let mut unknown = gate
        .iter()
        .filter(|name| is_whole && !results.metrics.contains_key(*name));
    if let Some(unknown) = unknown.next() {
        return Err(format!(
            "`gate` names the metric `{unknown}`, which the file does not have; it has {}",
            named(results.metrics.keys().map(String::as_str))
        ));
    }
    let declared: BTreeMap<String, &super::config::MetricKeys> = keys
        .metrics
        .iter()
        .map(|(name, metric)| (slug(name), metric))
        .collect();
    let is_yes_no = |name: &str| {
        let mut scores = results.rows.iter().filter_map(|row| row.scores.get(name));
        scores.all(|score| *score == 0.0 || *score == 1.0)
    };
    let says_passes = results
        .metrics
        .values()
        .any(|found| found.yes_no && found.better.is_some());
    let mut metrics = BTreeMap::new();
    for (name, found) in &results.metrics {
        let own = declared.get(name);
        let kind = MetricKind {
            yes_no: found.yes_no && is_yes_no(name),
            better: own.and_then(|own| own.better).or(found.better),
        };
        let by_itself = match gate.is_empty() {
            true if declared.is_empty() && says_passes => found.yes_no && kind.better.is_some(),
            // If less is better, the metric is a cost, and the user has not requested that it is gated.
            true if declared.is_empty() => kind.better == Some(Direction::Higher),
            true => own.is_some() && kind.better.is_some(),
            false => gate.contains(name),
        };
        let gated = own.and_then(|own| own.gate).unwrap_or(by_itself);
        if gated && kind.better.is_none() {
            return Err(format!(
                "nothing says which way `{name}` is better, so it cannot be gated: write `metrics: {{{name}: {{better: \
                 higher}}}}`, or `lower`"
            ));
        }
        let range = own.and_then(|own| own.range);
        if let Some([low, high]) = range {
            let mut scores = results
                .rows
                .iter()
                .filter_map(|row| Some((&row.case, row.scores.get(name)?)));
            if let Some((case, outside)) = scores.find(|(_, score)| !(low..=high).contains(*score))
            {
                return Err(format!(
                    "`{name}` is {outside} in the case `{case}`, outside of its `range` [{low}, {high}]"
                ));
            }
        }
        let basis = MetricBasis {
            kind,
            gated,
            range: range.or_else(|| kind.yes_no.then_some([0.0, 1.0])),
        };
        metrics.insert(name.clone(), basis);
    }
    if !is_whole {
        return Ok(metrics);
    }
    if !metrics.values().any(|metric| metric.gated) {
        let all = named(metrics.keys().map(String::as_str));
        return Err(format!(
            "nothing is gated: name a metric under `gate`, and under `metrics` which way it is better; the file has {all}"
        ));
    }
    let has_passes = metrics.values().any(MetricBasis::says_whether_it_passes);
    if !keys.must_pass.is_empty() && !has_passes {
        return Err(
            "`must_pass` needs a gated metric that is a pass or a fail, and there is none; that of a table has `range: [0, \
             1]`"
                .to_owned(),
        );
    }
    Ok(metrics)
}

/// Fails if the evaluator computed no answer of some cases in this run, but took all of them from its cache.
fn refuse_cached(rows: &BTreeMap<String, Vec<Row>>) -> Result<(), String> {
    let cached = rows
        .iter()
        .filter(|(_, rows)| rows.iter().all(|row| row.cached));
    let cached: Vec<&str> = cached.map(|(name, _)| name.as_str()).collect();
    if cached.is_empty() {
        return Ok(());
    }
    Err(format!(
        "all answers to {} of {} come from the cache of the evaluator, so they say nothing of this code: {}; run it without its \
         cache",
        cached.len(),
        counted(rows.len(), "case"),
        listed(&cached)
    ))
}

/// The record of a case. Rows with the same repeat number are joined; every other row is a separate repeat.
fn record(
    name: &str,
    rows: Vec<Row>,
    metrics: &BTreeMap<String, MetricBasis>,
) -> Result<ResultRecord, String> {
    let inputs: BTreeSet<Digest> = rows.iter().filter_map(|row| row.input).collect();
    if inputs.len() > 1 {
        return Err(format!(
            "the rows of the case `{name}` have {} different inputs: two cases seem to share a name; give each a name of its \
             own",
            inputs.len()
        ));
    }
    let scorings: BTreeSet<Digest> = rows.iter().filter_map(|row| row.scoring).collect();
    let numbered = rows.iter().filter(|row| row.repeat.is_some()).count();
    if numbered != 0 && numbered != rows.len() {
        return Err(format!(
            "some rows of the case `{name}` have the number of a repeat and others have none: number all of them, or none"
        ));
    }
    let asked = rows.iter().find_map(|row| row.texts.input.clone());
    let expected = rows.iter().find_map(|row| row.texts.expected.clone());
    let mut samples: BTreeMap<u32, ResultSample> = BTreeMap::new();
    for (at, row) in (1..).zip(rows) {
        let repeat = row.repeat.unwrap_or(at);
        let sample = samples.entry(repeat).or_default();
        for (metric, score) in row.scores {
            let before = sample.scores.insert(metric.clone(), score);
            if let Some(before) = before.filter(|before| *before != score) {
                return Err(format!(
                    "the repeat {repeat} of the case `{name}` has two values of `{metric}`, {before} and {score}: two cases \
                     seem to share a name, or the file holds two runs"
                ));
            }
        }
        if sample.error.is_none() {
            sample.error = row.error.map(|error| KeptText::beginning(&error, KEPT));
        }
        if sample.answer.is_none() {
            sample.answer = row.texts.answer;
        }
    }
    for sample in samples.values_mut() {
        // The scores of an error do not come from the pipeline: many evaluators write 0.
        if sample.error.is_some() {
            let is_gated = |metric: &str| metrics.get(metric).is_some_and(|one| one.gated);
            let is_yes_no = |metric: &str| metrics.get(metric).is_some_and(|one| one.kind.yes_no);
            sample
                .scores
                .retain(|metric, _| !is_gated(metric) && !is_yes_no(metric));
        }
    }
    Ok(ResultRecord {
        at_once: match samples.len() {
            0 | 1 => 0,
            several => several,
        },
        input: inputs.first().copied(),
        scoring: match scorings.len() {
            0 | 1 => scorings.first().copied(),
            _ => {
                let fields = Fields::of("kelvin/results/scorings/v1");
                let each = scorings.iter();
                let fields = each.fold(fields, |fields, one| fields.field("one", one.bytes()));
                Some(fields.digest())
            }
        },
        asked,
        expected,
        samples: samples.into_values().collect(),
    })
}

/// The settings in the form for a report: of a prompt only the digest is stored.
fn settings(written: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let each = written.into_iter().map(|(name, value)| {
        let is_short =
            value.chars().count() <= LONGEST_SETTING && !value.contains(char::is_control);
        let value = match is_short {
            true => value,
            false => format!("sha256:{}", Digest::of(value.as_bytes()).short(12)),
        };
        (name, value)
    });
    each.collect()
}

/// Names in a sentence.
fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => format!("`{}`", listed(&names).replace(", ", "`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SuiteSettings;

    /// A suite with further keys, as JSON.
    fn suite(more: serde_json::Value) -> Suite {
        let mut keys = serde_json::json!({ "name": "qa", "run": "x {output}" });
        if let (Some(keys), Some(more)) = (keys.as_object_mut(), more.as_object()) {
            keys.extend(more.clone());
        }
        let keys: SuiteSettings = serde_json::from_value(keys).expect("keys");
        Suite::of(keys)
    }

    /// A sample of a case with its score in `pass`.
    fn row(case: &str, pass: f64) -> Row {
        Row {
            case: case.to_owned(),
            scores: BTreeMap::from([("pass".to_owned(), pass)]),
            ..Row::default()
        }
    }

    fn results(rows: Vec<Row>) -> Results {
        let kind = MetricKind {
            yes_no: true,
            better: Some(Direction::Higher),
        };
        Results {
            tool: "test".to_owned(),
            metrics: BTreeMap::from([("pass".to_owned(), kind)]),
            rows,
            ..Results::default()
        }
    }

    fn gathered(rows: Vec<Row>) -> Result<SuiteRun, String> {
        gather(results(rows), &suite(serde_json::json!({})), true)
    }

    fn scores(run: &SuiteRun, case: &str) -> Vec<Option<f64>> {
        let samples = run.cases[case].samples.iter();
        samples
            .map(|sample| sample.scores.get("pass").copied())
            .collect()
    }

    #[test]
    fn rows_of_a_name_are_its_repeats_wherever_they_stand() {
        let rows = vec![
            row("b", 1.0),
            row("a", 0.0),
            row("b", 0.0),
            row(" a\n", 1.0),
        ];
        assert!(gathered(rows).expect_err("refused").contains("blanks"));
        let rows = vec![row("b", 1.0), row("a", 0.0), row("b", 0.0)];
        let run = gathered(rows).expect("read");
        assert_eq!(scores(&run, "b"), [Some(1.0), Some(0.0)]);
        assert_eq!(scores(&run, "a"), [Some(0.0)]);
        insta::assert_snapshot!(run.notices[0], @"the file does not number its repeats: the rows of a case count as its repeats, in their order");
        assert!(run.metrics["pass"].gated);
    }

    #[test]
    fn numbered_repeats_are_joined_and_two_values_for_one_are_refused() {
        let numbered = |repeat, pass| Row {
            repeat: Some(repeat),
            ..row("a", pass)
        };
        let run = gathered(vec![numbered(2, 0.0), numbered(1, 1.0), numbered(2, 0.0)]);
        assert_eq!(scores(&run.expect("read"), "a"), [Some(1.0), Some(0.0)]);
        let run = gathered(vec![numbered(1, 0.0), numbered(1, 1.0)]);
        insta::assert_snapshot!(run.expect_err("refused"), @"the repeat 1 of the case `a` has two values of `pass`, 0 and 1: two cases seem to share a name, or the file holds two runs");
        let run = gathered(vec![numbered(1, 0.0), row("a", 1.0)]);
        insta::assert_snapshot!(run.expect_err("refused"), @"some rows of the case `a` have the number of a repeat and others have none: number all of them, or none");
    }

    #[test]
    fn two_inputs_under_one_name_are_two_cases_and_refused() {
        let asks = |input: &[u8]| Row {
            input: Some(Digest::of(input)),
            ..row("a", 1.0)
        };
        let run = gathered(vec![asks(b"one"), asks(b"two")]);
        insta::assert_snapshot!(run.expect_err("refused"), @"the rows of the case `a` have 2 different inputs: two cases seem to share a name; give each a name of its own");
        assert!(gathered(vec![asks(b"one"), asks(b"one")]).is_ok());
    }

    #[test]
    fn a_case_of_cached_answers_alone_is_refused_and_one_fresh_answer_is_enough() {
        let cached = |case| Row {
            cached: true,
            ..row(case, 1.0)
        };
        let run = gathered(vec![cached("a"), row("b", 1.0)]);
        insta::assert_snapshot!(run.expect_err("refused"), @"all answers to 1 of 2 cases come from the cache of the evaluator, so they say nothing of this code: a; run it without its cache");
        assert!(gathered(vec![cached("a"), row("a", 1.0)]).is_ok());
    }

    #[test]
    fn an_error_has_no_score_whatever_the_evaluator_writes() {
        let failing = Row {
            error: Some("no answer".to_owned()),
            ..row("a", 0.0)
        };
        let run = gathered(vec![failing.clone(), row("a", 1.0)]).expect("read");
        assert_eq!(scores(&run, "a"), [None, Some(1.0)]);
        let all = gathered(vec![failing.clone()]).expect_err("refused");
        insta::assert_snapshot!(all, @"no sample has a score; the first error is: no answer");
        // A run of some cases may have nothing but errors.
        let part = gather(results(vec![failing]), &suite(serde_json::json!({})), false);
        assert_eq!(scores(&part.expect("read"), "a"), [None]);
    }

    #[test]
    fn a_metric_without_a_direction_is_gated_only_once_it_is_declared() {
        let mut unknown = results(vec![row("a", 3.0)]);
        unknown
            .metrics
            .insert("pass".to_owned(), MetricKind::default());
        let refused = |more| gather(unknown.clone(), &suite(more), true).expect_err("refused");
        let what = refused(serde_json::json!({ "gate": ["pass"] }));
        assert!(what.contains("{pass: {better: higher}}"), "{what}");
        let what = refused(serde_json::json!({}));
        insta::assert_snapshot!(what, @"nothing is gated: name a metric under `gate`, and under `metrics` which way it is better; the file has `pass`");
        let what = refused(serde_json::json!({ "gate": ["other"] }));
        insta::assert_snapshot!(what, @"`gate` names the metric `other`, which the file does not have; it has `pass`");
        let what = refused(serde_json::json!({
            "metrics": { "pass": { "better": "higher", "range": [0, 1] } }
        }));
        insta::assert_snapshot!(what, @"`pass` is 3 in the case `a`, outside of its `range` [0, 1]");
        let good = serde_json::json!({
            "metrics": { "stars": { "column": "pass", "better": "higher", "range": [1, 5] } }
        });
        let run = gather(unknown, &suite(good), true).expect("read");
        assert_eq!(run.metrics["stars"].range, Some([1.0, 5.0]));
        assert_eq!(run.cases["a"].samples[0].scores["stars"], 3.0);
    }

    #[test]
    fn names_that_every_suite_has_are_refused_and_long_settings_are_digests() {
        let mut taken = results(vec![row("a", 1.0)]);
        taken
            .metrics
            .insert("failure rate".to_owned(), MetricKind::default());
        let what = gather(taken, &suite(serde_json::json!({})), true).expect_err("refused");
        insta::assert_snapshot!(what, @"the file has a metric `failure rate`, and that name is taken: write `metrics: {NAME: {column: failure rate}}` to give it another one");
        let kept = settings(BTreeMap::from([
            ("model".to_owned(), "small".to_owned()),
            ("prompt".to_owned(), "secret ".repeat(20)),
        ]));
        assert_eq!(kept["model"], "small");
        assert!(kept["prompt"].starts_with("sha256:"), "{}", kept["prompt"]);
    }

    #[test]
    fn nothing_and_nameless_rows_are_refused() {
        insta::assert_snapshot!(gathered(Vec::new()).expect_err("refused"), @"the file has no samples: see that the evaluator has run any case");
        let what = gathered(vec![row("a", 1.0), row(" ", 1.0)]).expect_err("refused");
        assert!(what.contains("row 2"), "{what}");
        let what = gathered(vec![row(&"x".repeat(301), 1.0)]).expect_err("refused");
        assert!(what.contains("short"), "{what}");
    }
}
