//! Damaged files: no reader may panic, and none may misread what it accepts.
//!
//! Each file is damaged 2,000 times, by a seeded choice. Whatever is accepted is compared with what an independent,
//! plain look at the damaged file finds. A damaged byte may be another valid value, which no reader can know; but the
//! rows and their scores are then those that the file now says. Where a single byte is damaged, no row and no score may
//! be lost: it is read, refused, or an error of its sample.

use std::collections::BTreeMap;
use std::path::Path;

use kelvin_results::readers::{Format, read};
use kelvin_results::{Columns, EmptyScore, MetricColumn, Results, Row};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::Value;

use super::{data, text};

const ROUNDS: usize = 2000;

/// The scores of each sample, as a plain look at a file finds them. None where the file cannot be understood.
type Look = fn(&str) -> Option<Vec<BTreeMap<String, Value>>>;

/// How a file was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Byte,
    Cut,
    Dropped,
    Doubled,
    Ended,
}

/// Numbers below a bound, from a seed.
struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u64() % bound.max(1) as u64).expect("below a bound")
    }
}

fn damage(bytes: &[u8], dice: &mut Dice) -> (Damage, Vec<u8>) {
    let mut bytes = bytes.to_vec();
    let at = dice.below(bytes.len());
    let kind = match dice.below(10) {
        0..=3 => {
            bytes[at] ^= 1 << dice.below(8);
            Damage::Byte
        }
        4..=5 => {
            let printable = b"\"'{}[],:.-0123456789eENaIn<>&=/ \n\\truefalsenull";
            bytes[at] = printable[dice.below(printable.len())];
            Damage::Byte
        }
        6 => {
            let end = (at + 1 + dice.below(60)).min(bytes.len());
            bytes.drain(at..end);
            Damage::Cut
        }
        7 => {
            let end = (at + 1 + dice.below(60)).min(bytes.len());
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
            Damage::Doubled
        }
        8 => {
            // A whole field or line: from one separator to the next of its kind.
            let is_separator = |byte: &u8| matches!(byte, b',' | b'\n' | b'>');
            let separator = bytes[at..].iter().copied().find(|byte| is_separator(byte));
            let separator = separator.unwrap_or(b',');
            let next = |from: usize| bytes[from..].iter().position(|byte| *byte == separator);
            if let Some(start) = next(at)
                && let Some(length) = next(at + start + 1)
            {
                bytes.drain(at + start..at + start + length + 1);
            }
            Damage::Dropped
        }
        _ => {
            bytes.truncate(at);
            Damage::Ended
        }
    };
    (kind, bytes)
}

/// Whether a metric says what a sample cost. Evaluators leave these out where they have none.
fn is_cost(metric: &str) -> bool {
    ["latency_s", "cost", "tokens"].contains(&metric)
}

fn quality(row: &Row) -> BTreeMap<&str, f64> {
    let scores = row.scores.iter().filter(|(metric, _)| !is_cost(metric));
    scores
        .map(|(metric, score)| (metric.as_str(), *score))
        .collect()
}

/// The number of a score as the plain look found it.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.trim() {
            "C" | "True" | "true" | "yes" => Some(1.0),
            "I" | "False" | "false" | "no" | "N" => Some(0.0),
            "P" => Some(0.5),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        _ => None,
    }
}

#[track_caller]
fn withstands(name: &str, original: &str, format: Format, columns: &Columns, look: Look) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    withstands_at(&path, &path, original, format, columns, look);
}

/// Damages one file, and reads another that leads to it.
#[track_caller]
fn withstands_at(
    path: &Path,
    first: &Path,
    original: &str,
    format: Format,
    columns: &Columns,
    look: Look,
) {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(33));
    std::fs::write(path, original).expect("written");
    let whole = read(first, Some(format), columns).expect("the file as it was");
    check(
        &whole,
        &look(original).expect("the file as it was"),
        "the file as it was",
    );
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let (kind, bytes) = damage(original.as_bytes(), &mut dice);
        std::fs::write(path, &bytes).expect("written");
        let _ = Format::found_in(path);
        let results = match read(first, Some(format), columns) {
            Ok(results) => results,
            Err(error) => {
                assert!(error.0.contains(name) && error.0.contains("; "), "{error}");
                refused += 1;
                continue;
            }
        };
        accepted += 1;
        let round = format!("{name}, round {round}, {kind:?}");
        // What is skipped may be no text, and does not matter.
        let found = look(&String::from_utf8_lossy(&bytes));
        let found = found.unwrap_or_else(|| {
            panic!(
                "{round}: accepted, and cannot be understood: {}",
                String::from_utf8_lossy(&bytes)
            )
        });
        check(&results, &found, &round);
        if kind == Damage::Byte {
            let text = String::from_utf8_lossy(&bytes);
            keeps_all(&whole, &results, &format!("{round}: {text}"));
        }
    }
    assert!(
        accepted > 100 && refused > 100,
        "{name}: {accepted} accepted, {refused} refused"
    );
}

/// What was read is what the file says.
fn check(results: &Results, found: &[BTreeMap<String, Value>], round: &str) {
    assert_eq!(results.rows.len(), found.len(), "{round}");
    for (index, (row, found)) in results.rows.iter().zip(found).enumerate() {
        let said: BTreeMap<&str, f64> = found
            .iter()
            .filter_map(|(metric, value)| Some((metric.as_str(), number(value)?)))
            .collect();
        let scores = quality(row);
        if row.error.is_none() {
            assert_eq!(scores, said, "{round}, row {index}");
        }
        for (metric, score) in scores {
            assert_eq!(said.get(metric), Some(&score), "{round}, row {index}");
        }
    }
}

/// No row and no score went away without a word.
fn keeps_all(whole: &Results, results: &Results, round: &str) {
    assert_eq!(results.rows.len(), whole.rows.len(), "{round}");
    for (index, (row, before)) in results.rows.iter().zip(&whole.rows).enumerate() {
        // A column with another name is gone from all rows alike, which shows where two runs are compared.
        let mut before = quality(before);
        before.retain(|metric, _| results.metrics.contains_key(*metric));
        let is_kept = quality(row).len() >= before.len();
        assert!(
            is_kept || row.error.is_some(),
            "{round}, row {index}: {row:?}"
        );
    }
}

/// A file of the tests as JSON, with only the first items of some lists.
fn trimmed(file: &str, lists: &[&str], items: usize, fit: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&text(file)).expect("JSON");
    for list in lists {
        value
            .pointer_mut(list)
            .and_then(Value::as_array_mut)
            .expect("a list")
            .truncate(items);
    }
    fit(&mut value);
    value.to_string()
}

fn first_lines(file: &str, lines: usize) -> String {
    let text = text(file);
    let lines: Vec<_> = text.lines().take(lines).collect();
    lines.join("\n") + "\n"
}

fn object(value: &Value) -> Option<BTreeMap<String, Value>> {
    Some(
        value
            .as_object()?
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn promptfoo_row(row: &Value) -> Option<BTreeMap<String, Value>> {
    if row["failureReason"] == 2 {
        return Some(BTreeMap::new());
    }
    let mut scores = object(&row["namedScores"])?;
    scores
        .entry("pass".to_owned())
        .or_insert_with(|| row["success"].clone());
    scores
        .entry("score".to_owned())
        .or_insert_with(|| row["score"].clone());
    Some(
        scores
            .into_iter()
            .filter(|(metric, _)| !is_cost(metric))
            .collect(),
    )
}

#[test]
fn promptfoo_json() {
    let text = trimmed("promptfoo/one-error.json", &["/results/results"], 0, |_| {});
    let whole: Value =
        serde_json::from_str(&super::text("promptfoo/one-error.json")).expect("JSON");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    // The 11th call is the one with an error.
    let rows = whole["results"]["results"].as_array().expect("a list")[9..13].to_vec();
    value["results"]["results"] = Value::Array(rows);
    value["results"]["stats"] = serde_json::json!({"successes": 3, "failures": 0, "errors": 1});
    value["config"] = Value::Null;
    withstands(
        "r.json",
        &value.to_string(),
        Format::Promptfoo,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            value["results"]["results"]
                .as_array()?
                .iter()
                .map(promptfoo_row)
                .collect()
        },
    );
}

fn json_lines(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn promptfoo_lines() {
    let text = first_lines("promptfoo/base.jsonl", 4);
    withstands(
        "r.jsonl",
        &text,
        Format::Promptfoo,
        &Columns::default(),
        |text| json_lines(text)?.iter().map(promptfoo_row).collect(),
    );
}

fn inspect_row(sample: &Value) -> Option<BTreeMap<String, Value>> {
    let mut scores = BTreeMap::new();
    for (name, score) in sample["scores"].as_object().into_iter().flatten() {
        match &score["value"] {
            Value::Object(parts) => {
                for (part, value) in parts {
                    scores.insert(format!("{name}.{part}"), value.clone());
                }
            }
            value => _ = scores.insert(name.clone(), value.clone()),
        }
    }
    Some(scores)
}

#[test]
fn inspect_json() {
    let text = trimmed("inspect/base.json", &["/samples"], 6, |value| {
        value["results"]["total_samples"] = 6.into();
        value["reductions"] = Value::Null;
    });
    withstands(
        "r.json",
        &text,
        Format::Inspect,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            value["samples"]
                .as_array()?
                .iter()
                .map(inspect_row)
                .collect()
        },
    );
}

/// The checksums of the archive find what is damaged in it, so nothing but the same result is accepted.
#[test]
fn inspect_archive() {
    let original = std::fs::read(data().join("inspect/small.eval")).expect("read");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.eval");
    let read = |path: &Path| read(path, Some(Format::Inspect), &Columns::default());
    std::fs::write(&path, &original).expect("written");
    let whole = read(&path).expect("the file as it was");
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(33));
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let (kind, bytes) = damage(&original, &mut dice);
        std::fs::write(&path, &bytes).expect("written");
        if let Ok(results) = read(&path) {
            accepted += 1;
            assert_eq!(results, whole, "round {round}, {kind:?}");
        }
    }
    assert!((10..ROUNDS - 10).contains(&accepted), "{accepted} accepted");
}

#[test]
fn deepeval() {
    let text = trimmed("deepeval/base.json", &["/testCases"], 5, |value| {
        value["testPassed"] = 5.into();
        value["testFailed"] = 0.into();
        value["metricsScores"] = Value::Null;
    });
    withstands(
        "r.json",
        &text,
        Format::Deepeval,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            let row = |case: &Value| {
                let mut scores = BTreeMap::new();
                for metric in case["metricsData"].as_array()? {
                    scores.insert(metric["name"].as_str()?.to_owned(), metric["score"].clone());
                }
                scores.insert("pass".to_owned(), case["success"].clone());
                Some(scores)
            };
            value["testCases"].as_array()?.iter().map(row).collect()
        },
    );
}

#[test]
fn lm_eval() {
    let file = "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl";
    let text = text(file);
    let first: Vec<_> = text
        .lines()
        .filter(|line| line.contains("take_first"))
        .take(5)
        .collect();
    let text = first.join("\n") + "\n";
    withstands(
        "samples.jsonl",
        &text,
        Format::LmEval,
        &Columns::default(),
        |text| {
            let row = |value: &Value| {
                let mut scores = BTreeMap::new();
                for name in value["metrics"].as_array()? {
                    let name = name.as_str()?;
                    scores.insert(name.to_owned(), value[name].clone());
                }
                Some(scores)
            };
            let rows = json_lines(text)?;
            // Where the name of a filter was damaged, the file has two filters, and is refused.
            rows.iter().map(row).collect()
        },
    );
}

#[test]
fn pydantic_evals() {
    let text = trimmed("pydantic-evals/base.repeat3.json", &["/cases"], 6, |_| {});
    withstands(
        "r.json",
        &text,
        Format::PydanticEvals,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            let row = |case: &Value| {
                let mut scores = object(&case["metrics"])?;
                for key in ["scores", "assertions"] {
                    for (name, result) in case[key].as_object()? {
                        scores.insert(name.clone(), result["value"].clone());
                    }
                }
                Some(scores)
            };
            value["cases"].as_array()?.iter().map(row).collect()
        },
    );
}

#[test]
fn evalite() {
    let text = trimmed(
        "evalite/base.trials3.json",
        &["/evals/0/results"],
        5,
        |_| {},
    );
    withstands(
        "r.json",
        &text,
        Format::Evalite,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            let row = |result: &Value| {
                let mut scores = BTreeMap::new();
                for score in result["scores"].as_array()? {
                    scores.insert(score["name"].as_str()?.to_owned(), score["score"].clone());
                }
                Some(scores)
            };
            let evals = value["evals"].as_array()?.iter();
            evals
                .flat_map(|eval| eval["results"].as_array().into_iter().flatten())
                .map(row)
                .collect()
        },
    );
}

/// The value of an attribute, by nothing but its text.
fn attribute(element: &str, name: &str) -> Option<String> {
    let at = [" ", "\n", "\t", "\r"].iter().find_map(|space| {
        element
            .find(&format!("{space}{name}="))
            .map(|at| at + name.len() + 2)
    });
    let rest = &element[at?..];
    let quote = rest.chars().next()?;
    let value = rest[1..].split(quote).next()?;
    Some(
        value
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
    )
}

#[test]
fn junit() {
    // Two failures of different kinds, and no long traceback around them.
    let case = |name: &str, inside: &str| {
        format!(
            "<testcase classname=\"test_qa\" name=\"test_answer[{name}-0]\" time=\"0.01\"><properties><property \
             name=\"case_id\" value=\"{name}\" /><property name=\"brevity\" value=\"0.6667\" /></properties>{inside}</testcase>\n"
        )
    };
    let cases = [
        case("cap-fr", ""),
        case(
            "cap-jp",
            "<failure message=\"AssertionError: assert 'a' in 'b'\">a = 1</failure>",
        ),
        case("cap-pe", "<error message=\"failed on setup\">b = 2</error>"),
        case("cap-ke", ""),
    ];
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" \
         errors=\"1\" failures=\"1\" skipped=\"0\" tests=\"4\" time=\"0.479\">\n{}</testsuite></testsuites>",
        cases.concat()
    );
    withstands("r.xml", &text, Format::Junit, &Columns::default(), |text| {
        let parts = text.split("<testcase").skip(1);
        let row = |part: &str| {
            let mut scores = BTreeMap::new();
            for property in part
                .split("<property")
                .skip(1)
                .filter(|rest| !rest.starts_with("ies"))
            {
                let property = property.split("/>").next()?;
                let name = attribute(property, "name")?;
                let value = attribute(property, "value")?;
                if !["case_id", "repeat", "input"].contains(&name.as_str()) {
                    scores.insert(name, Value::String(value));
                }
            }
            let failed = part.contains("<failure") || part.contains("<error");
            scores.insert("pass".to_owned(), Value::Bool(!failed));
            Some(scores)
        };
        let parts = parts.filter(|part| !part.contains("<skipped"));
        parts.map(row).collect()
    });
}

fn csv_rows(text: &str, metrics: &[&str]) -> Option<Vec<BTreeMap<String, Value>>> {
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header: Vec<String> = reader
        .headers()
        .ok()?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.ok()?;
        let named = header.iter().zip(record.iter());
        let scores = named.filter(|(name, _)| metrics.contains(&name.as_str()));
        Some(
            scores
                .map(|(name, value)| (name.clone(), Value::String(value.to_owned())))
                .collect(),
        )
    };
    reader.records().map(row).collect()
}

#[test]
fn declared_csv() {
    let text = "id,question,run,ok,f1\na,\"What, now?\",1,True,0.25\nb,Why?,1,False,0.5\na,\"What, now?\",2,True,1.0\n\
                b,Why?,2,True,0.125\n";
    let metric = |column: &str| MetricColumn {
        column: column.to_owned(),
        empty: EmptyScore::Error,
    };
    let columns = Columns {
        case: Some("id".to_owned()),
        input: vec!["question".to_owned()],
        repeat: Some("run".to_owned()),
        metrics: [
            ("ok".to_owned(), metric("ok")),
            ("f1".to_owned(), metric("f1")),
        ]
        .into(),
        ..Columns::default()
    };
    withstands("r.csv", text, Format::Csv, &columns, |text| {
        csv_rows(text, &["ok", "f1"])
    });
    let lines = "{\"id\":\"a\",\"question\":\"What?\",\"run\":1,\"ok\":true,\"f1\":0.25}\n\
                 {\"id\":\"b\",\"question\":\"Why?\",\"run\":1,\"ok\":false,\"f1\":0.5}\n\
                 {\"id\":\"a\",\"question\":\"What?\",\"run\":2,\"ok\":true,\"f1\":1.0}\n";
    withstands("r.jsonl", lines, Format::Jsonl, &columns, |text| {
        let row = |value: &Value| {
            let all = object(value)?.into_iter();
            Some(
                all.filter(|(name, _)| ["ok", "f1"].contains(&name.as_str()))
                    .collect(),
            )
        };
        json_lines(text)?.iter().map(row).collect()
    });
}

#[test]
fn langsmith() {
    let text = first_lines("langsmith/base.csv", 5);
    withstands(
        "r.csv",
        &text,
        Format::Langsmith,
        &Columns::default(),
        |text| {
            let header = text.lines().next()?;
            let metrics: Vec<&str> = header
                .split(',')
                .filter(|name| name.starts_with("feedback."))
                .collect();
            let rows = csv_rows(text, &metrics)?.into_iter();
            let short =
                |(name, value): (String, Value)| (name["feedback.".len()..].to_owned(), value);
            Some(
                rows.map(|row| row.into_iter().map(short).collect())
                    .collect(),
            )
        },
    );
}

#[test]
fn ragas() {
    let text = first_lines("ragas/base.csv", 6);
    withstands("r.csv", &text, Format::Ragas, &Columns::default(), |text| {
        // A damaged header may make a column of texts unknown, which is no metric; all other columns are.
        let header = text.lines().next()?;
        let known = ["user_input", "response", "reference"];
        let metrics: Vec<&str> = header
            .split(',')
            .filter(|name| !known.contains(name))
            .collect();
        let mut rows = csv_rows(text, &metrics)?;
        for metric in metrics {
            let is_number = |row: &BTreeMap<String, Value>| {
                row.get(metric).is_some_and(|v| number(v).is_some())
            };
            if !rows.iter().any(is_number) {
                rows.iter_mut().for_each(|row| _ = row.remove(metric));
            }
        }
        Some(rows)
    });
}

#[test]
fn harbor() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = folder.path().join("result.json");
    let trial = folder.path().join("trial");
    std::fs::create_dir(&trial).expect("a folder");
    let whole = r#"{"finished_at": "2026-11-21T22:01:30Z", "n_total_trials": 1, "stats": {}}"#;
    std::fs::write(&job, whole).expect("written");
    let text = text("harbor/cap-fr__hhhhhhh/result.json");
    let path = trial.join("result.json");
    withstands_at(
        &path,
        &job,
        &text,
        Format::Harbor,
        &Columns::default(),
        |text| {
            let value: Value = serde_json::from_str(text).ok()?;
            Some(vec![
                object(&value["verifier_result"]["rewards"]).unwrap_or_default(),
            ])
        },
    );
}
