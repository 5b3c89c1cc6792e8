//! Every file of a real evaluator, compared with what `tests/data/expected.py` reads of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kelvin_record::Direction;
use kelvin_results::readers::{Format, read};
use kelvin_results::{Columns, MetricKind, Results};

use super::{data, read_bytes, text};

/// Reads a file of the tests in the format that it plainly has.
fn results(file: &str) -> Results {
    let read = if let Some(unpacked) = file.strip_suffix(".gz") {
        let name = unpacked.replace('/', "-");
        read_bytes(&name, text(file).as_bytes(), None, &Columns::default())
    } else {
        read(&data().join(file), None, &Columns::default())
    };
    read.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What a reader found, in the form of `expected.tsv`.
fn table(file: &str, results: &Results) -> String {
    let mut cases: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    let mut rows: Vec<_> = results.rows.iter().collect();
    rows.sort_by_key(|row| row.repeat);
    for row in rows {
        let is_by_input = row.case.contains("input-");
        let input = row.texts.input.as_ref().filter(|_| is_by_input);
        let metrics = cases
            .entry(input.map_or(&*row.case, |kept| &kept.text))
            .or_default();
        if row.error.is_some() {
            metrics.entry("!").or_default().push(1.0);
        }
        for (metric, value) in row.scores.iter().filter(|_| row.error.is_none()) {
            metrics.entry(metric).or_default().push(*value);
        }
    }
    let mut table = String::new();
    for (case, metrics) in cases {
        write!(table, "{file}\t{}", case.split('\n').next().unwrap_or(case)).expect("written");
        for (metric, values) in metrics {
            let values: Vec<_> = values.iter().map(|value| format!("{value:.6}")).collect();
            write!(table, "\t{metric}={}", values.join(" ")).expect("written");
        }
        table.push('\n');
    }
    table
}

#[test]
fn every_file_is_read_as_another_program_reads_it() {
    let expected = text("expected.tsv");
    let mut files: Vec<&str> = expected
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    files.dedup();
    assert_eq!(files.len(), 28);
    for file in files {
        let of_file = |line: &&str| line.starts_with(&format!("{file}\t"));
        let expected: Vec<_> = expected.lines().filter(of_file).collect();
        let found = table(file, &results(file));
        let found: Vec<_> = found.lines().collect();
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn what_is_broken_in_worse_is_found_in_each_format() {
    // By README.md of the files: mul-8-8, ref-damaged, ship-free and acc-2fa always, cap-ke two times of three.
    let broken = |file: &str, metric: &str, case: fn(&str) -> String| {
        let results = results(file);
        for name in ["mul-8-8", "ref-damaged", "ship-free", "acc-2fa"] {
            let values = super::values(&results, &case(name), metric);
            assert!(
                !values.is_empty() && values.iter().all(|value| *value == 0.0),
                "{file} {name}"
            );
        }
        // Two runs may both be the third of three in which this question is answered.
        if !file.contains("repeat2") {
            let values = super::values(&results, &case("cap-ke"), metric);
            assert!(values.contains(&0.0), "{file}: {values:?}");
        }
    };
    broken("promptfoo/worse.repeat3.json.gz", "correct", str::to_owned);
    broken("inspect/worse.eval", "includes", str::to_owned);
    broken("deepeval/worse.repeat2.json", "Correct", str::to_owned);
    broken(
        "pydantic-evals/worse.repeat3.json",
        "Correct",
        str::to_owned,
    );
    broken("junit/worse.repeat3.xml", "pass", |name| {
        format!("test_qa::test_answer[{name}]")
    });
}

#[test]
fn the_tool_its_version_and_its_settings_are_found() {
    let found = |file: &str| {
        let results = results(file);
        (results.tool, results.tool_version.unwrap_or_default())
    };
    let is = |tool: &str, version: &str| (tool.to_owned(), version.to_owned());
    assert_eq!(found("promptfoo/base.json"), is("promptfoo", "0.121.20"));
    assert_eq!(found("inspect/base.eval"), is("inspect", "0.3.285"));
    assert_eq!(found("inspect/base.json"), is("inspect", "0.3.285"));
    let samples = "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl";
    assert_eq!(found(samples), is("lm-eval", "0.4.13"));
    assert_eq!(found("junit/base.xml"), is("pytest", ""));
    assert_eq!(
        results("inspect/base.eval").settings["model"],
        "mockllm/model"
    );
    assert_eq!(
        results("promptfoo/base.json").settings["providers"],
        "dummy"
    );
}

#[test]
fn a_metric_has_the_direction_that_the_format_says() {
    let kind = |file: &str, metric: &str| results(file).metrics[metric];
    let is = |yes_no: bool, better: Option<Direction>| MetricKind { yes_no, better };
    let higher = Some(Direction::Higher);
    assert_eq!(kind("promptfoo/base.json", "pass"), is(true, higher));
    assert_eq!(kind("promptfoo/base.json", "brevity"), is(false, higher));
    assert_eq!(
        kind("promptfoo/base.json", "latency_s"),
        is(false, Some(Direction::Lower))
    );
    assert_eq!(kind("inspect/base.eval", "includes"), is(true, higher));
    assert_eq!(kind("inspect/base.eval", "brevity"), is(false, None));
    assert_eq!(kind("deepeval/base.json", "Correct"), is(false, higher));
    let samples = "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl";
    assert_eq!(kind(samples, "exact_match,take_first"), is(false, higher));
    assert_eq!(
        kind("pydantic-evals/base.json", "Correct"),
        is(true, higher)
    );
    assert_eq!(kind("pydantic-evals/base.json", "Brevity"), is(false, None));
    assert_eq!(kind("junit/base.xml", "brevity"), is(false, None));
    assert_eq!(
        kind("evalite/base.trials3.json", "Correct"),
        is(false, higher)
    );
    assert_eq!(kind("langsmith/base.csv", "correct"), is(true, None));
    assert_eq!(kind("ragas/base.csv", "exact_match"), is(false, higher));
}

#[test]
fn repeats_have_numbers_where_the_file_has_them() {
    let repeats = |file: &str| -> Vec<Option<u32>> {
        let results = results(file);
        let rows = results
            .rows
            .iter()
            .filter(|row| row.case.contains("cap-fr"));
        rows.map(|row| row.repeat).collect()
    };
    assert_eq!(repeats("inspect/base.eval"), [Some(1), Some(2), Some(3)]);
    assert_eq!(
        repeats("pydantic-evals/base.repeat3.json"),
        [Some(1), Some(2), Some(3)]
    );
    assert_eq!(repeats("promptfoo/base.repeat3.json.gz"), [None; 3]);
    assert_eq!(repeats("deepeval/base.repeat2.json"), [None; 2]);
    assert_eq!(repeats("junit/base.repeat3.xml"), [None; 3]);
}

#[test]
fn inputs_and_scoring_are_the_same_on_both_sides() {
    for (base, worse) in [
        ("promptfoo/base.json", "promptfoo/worse.json"),
        ("inspect/base.eval", "inspect/worse.eval"),
        ("deepeval/base.repeat2.json", "deepeval/worse.repeat2.json"),
        (
            "pydantic-evals/base.repeat3.json",
            "pydantic-evals/worse.repeat3.json",
        ),
        ("evalite/base.trials3.json", "evalite/worse.trials3.json"),
        ("langsmith/base.csv", "langsmith/worse.csv"),
        ("ragas/base.csv", "ragas/worse.csv"),
    ] {
        let digests = |file: &str| -> Vec<_> {
            let results = results(file);
            let mut all: Vec<_> = results
                .rows
                .into_iter()
                .map(|row| (row.case, row.input, row.scoring))
                .collect();
            all.sort();
            all
        };
        let base = digests(base);
        assert!(
            base.iter()
                .all(|(_, input, scoring)| input.is_some() && scoring.is_some())
        );
        assert_eq!(base, digests(worse), "{worse}");
    }
}

#[test]
fn both_logs_of_inspect_give_the_same_samples() {
    let rows = |file: &str| {
        let mut rows = results(file).rows;
        rows.sort_by(|a, b| (&a.case, a.repeat).cmp(&(&b.case, b.repeat)));
        rows
    };
    assert_eq!(rows("inspect/base.eval"), rows("inspect/base.json"));
}

#[test]
fn every_format_has_a_name_of_its_own() {
    let mut names: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    for (format, name) in Format::ALL.iter().zip(&names) {
        let written = serde_json::to_value(format).expect("written");
        assert_eq!(written, **name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Format::ALL.len());
}
