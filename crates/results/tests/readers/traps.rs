//! What the files of evaluators hide: each of these was met in a real one, or in the source of its tool.

use kelvin_results::readers::{Format, ReadError};
use kelvin_results::{Columns, EmptyScore, MetricColumn, Results};
use serde_json::{Value, json};

use super::{data, read_bytes, read_text, refusal, text, values};

/// A file of the tests as JSON, changed.
fn changed(file: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&text(file)).expect("JSON");
    change(&mut value);
    value.to_string()
}

fn promptfoo(change: impl FnOnce(&mut Value)) -> String {
    changed("promptfoo/base.json", change)
}

fn counted(value: &mut Value) {
    let results = value["results"]["results"]
        .as_array()
        .expect("a list")
        .len();
    value["results"]["stats"] = json!({"successes": results, "failures": 0, "errors": 0});
}

mod ids {
    use super::*;

    #[test]
    fn a_test_that_is_put_in_at_the_top_moves_no_other() {
        let before = read_text("r.json", &text("promptfoo/base.json")).expect("read");
        let inserted = promptfoo(|value| {
            let results = value["results"]["results"].as_array_mut().expect("a list");
            for (number, result) in (1..).zip(results.iter_mut()) {
                result["testIdx"] = json!(number);
            }
            let mut first = results[0].clone();
            first["testIdx"] = json!(0);
            first["testCase"]["description"] = json!("new");
            results.insert(0, first);
            counted(value);
        });
        let after = read_text("r.json", &inserted).expect("read");
        assert_eq!(after.rows[0].case, "new");
        assert_eq!(after.rows[1..], before.rows);
    }

    #[test]
    fn an_edited_prompt_renames_no_case() {
        let before = read_text("r.json", &text("promptfoo/base.json")).expect("read");
        let edited = promptfoo(|value| {
            for result in value["results"]["results"].as_array_mut().expect("a list") {
                result["promptId"] = json!("another");
                result["prompt"]["label"] = json!("Answer: {{question}}");
                result["prompt"]["raw"] = json!("Answer: …");
            }
            value["results"]["prompts"][0]["raw"] = json!("Answer: {{question}}");
        });
        let after = read_text("r.json", &edited).expect("read");
        assert_eq!(after.rows, before.rows);
        // The edit is told all the same.
        assert_ne!(after.settings, before.settings);
    }

    #[test]
    fn tests_without_a_description_are_known_by_their_variables() {
        let undescribed = promptfoo(|value| {
            for result in value["results"]["results"].as_array_mut().expect("a list") {
                result["testCase"]["description"] = Value::Null;
            }
        });
        let results = read_text("r.json", &undescribed).expect("read");
        let cases: std::collections::BTreeSet<_> =
            results.rows.iter().map(|row| &row.case).collect();
        assert_eq!(cases.len(), 16);
        assert!(cases.iter().all(|case| case.starts_with("input-")));
        assert!(
            results.notices[0].contains("`description`"),
            "{:?}",
            results.notices
        );
    }

    #[test]
    fn tests_that_nothing_tells_apart_are_refused() {
        let stripped = promptfoo(|value| {
            for result in value["results"]["results"].as_array_mut().expect("a list") {
                result["testCase"]["description"] = Value::Null;
                result["testCase"]["vars"] = json!({});
            }
        });
        let error = refusal("r.json", &stripped);
        insta::assert_snapshot!(error, @"`r.json`, `results.results[1]`: it has neither a description nor variables, and is not the only such test; give each test a `description`, or unset PROMPTFOO_STRIP_TEST_VARS");
    }

    #[test]
    fn one_description_for_several_tests_is_told_and_kept_apart() {
        let ambiguous = promptfoo(|value| {
            let results = value["results"]["results"].as_array_mut().expect("a list");
            results[1]["testCase"]["description"] = json!("cap-fr");
        });
        let results = read_text("r.json", &ambiguous).expect("read");
        let named: Vec<_> = results
            .rows
            .iter()
            .filter(|row| row.case.starts_with("cap-fr"))
            .collect();
        assert_eq!(named.len(), 2);
        assert_ne!(named[0].case, named[1].case);
        insta::assert_snapshot!(results.notices.join("\n"), @"several tests have one description, and are told apart by their variables: a test whose variables are edited counts as a new one");
    }

    #[test]
    fn several_providers_and_prompts_are_several_cases() {
        let doubled = promptfoo(|value| {
            let results = value["results"]["results"].as_array_mut().expect("a list");
            let copies: Vec<_> = results
                .iter()
                .flat_map(|result| {
                    [
                        ("dummy", 0, "short"),
                        ("dummy", 1, "long"),
                        ("other", 2, "short"),
                    ]
                    .map(|(provider, index, label)| {
                        let mut result = result.clone();
                        result["provider"] = json!({"id": provider, "label": provider});
                        result["promptIdx"] = json!(index);
                        result["prompt"]["label"] = json!(label);
                        result
                    })
                })
                .collect();
            *results = copies;
            counted(value);
        });
        let results = read_text("r.json", &doubled).expect("read");
        let cases: Vec<_> = results.rows[..3]
            .iter()
            .map(|row| row.case.as_str())
            .collect();
        assert_eq!(
            cases,
            [
                "cap-fr [dummy] [short]",
                "cap-fr [dummy] [long]",
                "cap-fr [other]"
            ]
        );
    }

    #[test]
    fn a_numbered_name_of_deepeval_is_no_name() {
        let numbered = changed("deepeval/base.json", |value| {
            for (number, case) in value["testCases"]
                .as_array_mut()
                .expect("a list")
                .iter_mut()
                .enumerate()
            {
                case["name"] = json!(format!("test_case_{number}"));
            }
        });
        let results = read_text("r.json", &numbered).expect("read");
        assert!(
            results
                .rows
                .iter()
                .all(|row| row.case.starts_with("input-"))
        );
    }

    #[test]
    fn ids_that_inspect_made_up_are_no_names() {
        let numbered = |change: fn(&mut Value)| {
            changed("inspect/base.json", |value| {
                let samples = value["samples"].as_array_mut().expect("a list");
                let mut ids: Vec<Value> = Vec::new();
                for sample in samples {
                    let number = ids
                        .iter()
                        .position(|id| *id == sample["id"])
                        .unwrap_or_else(|| {
                            ids.push(sample["id"].clone());
                            ids.len() - 1
                        });
                    sample["id"] = json!(number + 1);
                }
                change(value);
            })
        };
        let results = read_text("r.json", &numbered(|_| {})).expect("read");
        assert!(
            results
                .rows
                .iter()
                .all(|row| row.case.starts_with("input-"))
        );
        insta::assert_snapshot!(results.notices[0], @"the samples have no ids of their own, so a case is known by its input: one whose input is edited counts as a new one. Give each sample an `id`");
        let alike = numbered(|value| {
            for sample in value["samples"].as_array_mut().expect("a list") {
                sample["input"] = json!("the same");
            }
        });
        let error = refusal("r.json", &alike);
        insta::assert_snapshot!(error, @"`r.json`, `samples[1]`: sample 2 cannot be told from sample 1: they have no ids, and one input; give each sample of the dataset an `id`");
        // Numbers that a person gave, as of questions in a catalogue, are names.
        let own = numbered(|value| {
            for sample in value["samples"].as_array_mut().expect("a list") {
                sample["id"] = json!(sample["id"].as_u64().expect("a number") + 100);
            }
        });
        let results = read_text("r.json", &own).expect("read");
        assert_eq!(results.rows[0].case, "101");
    }

    #[test]
    fn parameters_that_pytest_numbers_are_refused() {
        let case =
            |name: &str| format!(r#"<testcase classname="t" name="test_a[{name}]" time="1"/>"#);
        let suite = |names: &[&str]| {
            let cases: String = names.iter().map(|name| case(name)).collect();
            format!(r#"<testsuites><testsuite name="pytest">{cases}</testsuite></testsuites>"#)
        };
        let error = refusal("r.xml", &suite(&["case0", "case1", "case2"]));
        assert!(error.contains("`testcase t::test_a[case0]`"), "{error}");
        assert!(error.contains("ids="), "{error}");
        let results = read_text("r.xml", &suite(&["paris", "tokyo"])).expect("read");
        assert_eq!(results.rows[0].case, "t::test_a[paris]");
        assert!(read_text("r.xml", &suite(&["case7", "case9"])).is_ok());
    }

    #[test]
    fn a_default_name_of_pydantic_evals_is_no_name() {
        let numbered = changed("pydantic-evals/base.json", |value| {
            for (number, case) in
                (1..).zip(value["cases"].as_array_mut().expect("a list").iter_mut())
            {
                case["name"] = json!(format!("Case {number}"));
            }
        });
        let results = read_text("r.json", &numbered).expect("read");
        assert!(
            results
                .rows
                .iter()
                .all(|row| row.case.starts_with("input-"))
        );
    }

    #[test]
    fn lm_eval_is_paired_by_document_although_prompt_and_number_change() {
        let file = "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl";
        let before = read_text("samples.jsonl", &text(file)).expect("read");
        let mut lines = Vec::new();
        for line in text(file).lines() {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            value["doc_id"] = json!(value["doc_id"].as_u64().expect("a number") + 1);
            value["prompt_hash"] = json!("another");
            lines.push(value.to_string());
        }
        let after = read_text("samples.jsonl", &lines.join("\n")).expect("read");
        assert_eq!(after.rows, before.rows);
        assert_eq!(after.rows.len(), 16, "two filters are one sample");
    }
}

mod errors {
    use super::*;

    #[test]
    fn an_error_of_promptfoo_is_no_score_of_zero() {
        let results = read_text("r.json", &text("promptfoo/one-error.json")).expect("read");
        let errors: Vec<_> = results
            .rows
            .iter()
            .filter(|row| row.error.is_some())
            .collect();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].case, "sum-19-4");
        assert_eq!(errors[0].error.as_deref(), Some("backend said: boom"));
        assert!(errors[0].scores.is_empty());
        // `error` is set on a failed assertion too, which is a score.
        assert_eq!(values(&results, "cap-jp", "correct"), [0.0, 0.0]);
    }

    #[test]
    fn a_grader_that_failed_is_an_error() {
        let failed = promptfoo(|value| {
            let result = &mut value["results"]["results"][0];
            result["gradingResult"]["componentResults"][0]["metadata"]["graderError"] = json!(true);
            result["gradingResult"]["componentResults"][0]["reason"] = json!("no such model");
        });
        let results = read_text("r.json", &failed).expect("read");
        insta::assert_snapshot!(results.rows[0].error.as_deref().expect("it is told"), @"a grader failed: no such model");
        assert!(results.rows[0].scores.is_empty());
    }

    #[test]
    fn a_metric_that_an_assertion_names_and_the_result_lacks_is_an_error() {
        let lost = promptfoo(|value| {
            let scores = &mut value["results"]["results"][0]["namedScores"];
            scores.as_object_mut().expect("an object").remove("correct");
        });
        let results = read_text("r.json", &lost).expect("read");
        let error = results.rows[0].error.as_deref().expect("an error");
        insta::assert_snapshot!(error, @"`correct` is named by an assertion, and `namedScores` lacks it");
    }

    #[test]
    fn a_sample_of_inspect_with_an_error_counts_as_no_score() {
        let failed = changed("inspect/base.json", |value| {
            let sample = value["samples"][0].as_object_mut().expect("an object");
            sample.remove("scores");
            sample.insert(
                "error".to_owned(),
                json!({"message": "boom", "traceback": "…"}),
            );
            let sample = value["samples"][1].as_object_mut().expect("an object");
            sample.remove("scores");
        });
        let results = read_text("r.json", &failed).expect("read");
        assert_eq!(results.rows[0].error.as_deref(), Some("boom"));
        assert!(results.rows[0].scores.is_empty());
        insta::assert_snapshot!(results.rows[1].error.as_deref().expect("it is told"), @"it has neither a score nor an error");
    }

    #[test]
    fn an_exception_in_a_test_is_an_error_of_its_case_although_pytest_calls_it_a_failure() {
        let results = read_text("r.xml", &text("junit/exception-is-failure.xml")).expect("read");
        let errors: Vec<_> = results
            .rows
            .iter()
            .filter(|row| row.error.is_some())
            .collect();
        assert_eq!(errors.len(), 1);
        // It was raised before the test had recorded its `case_id`.
        assert_eq!(errors[0].case, "test_qa::test_answer[sum-19-4]");
        assert_eq!(
            errors[0].error.as_deref(),
            Some("ConnectionError: backend said: boom")
        );
        let failed = values(&results, "test_qa::test_answer[cap-jp]", "pass");
        assert_eq!(failed, [0.0]);
    }

    #[test]
    fn a_fixture_that_fails_after_its_test_makes_it_an_error() {
        let xml = r#"<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="0" tests="1">
            <testcase classname="t" name="test_a" time="1"/>
            <testcase classname="t" name="test_a" time="1"><error message="failed on teardown"/></testcase>
            </testsuite></testsuites>"#;
        let results = read_text("r.xml", xml).expect("read");
        assert_eq!(results.rows.len(), 1);
        insta::assert_snapshot!(results.rows[0].error.as_deref().expect("it is told"), @"failed on teardown");
        assert!(!results.rows[0].scores.contains_key("pass"));
    }

    #[test]
    fn a_metric_of_deepeval_that_could_not_be_scored_is_an_error_and_no_failure() {
        let failed = changed("deepeval/base.json", |value| {
            let metric = value["testCases"][0]["metricsData"][0]
                .as_object_mut()
                .expect("an object");
            metric.remove("score");
            metric.insert("error".to_owned(), json!("no key"));
            metric.insert("success".to_owned(), json!(false));
            value["testCases"][0]["success"] = json!(false);
        });
        let results = read_text("r.json", &failed).expect("read");
        let row = &results.rows[0];
        insta::assert_snapshot!(row.error.as_deref().expect("it is told"), @"`Correct` could not be scored: no key");
        assert!(!row.scores.contains_key("pass"));
    }

    #[test]
    fn failures_of_pydantic_evals_are_errors() {
        let failed = changed("pydantic-evals/base.repeat3.json", |value| {
            let case = value["cases"].as_array_mut().expect("a list").remove(0);
            value["failures"] = json!([{
                "name": case["name"], "inputs": case["inputs"], "metadata": null, "error_message": "boom",
                "expected_output": case["expected_output"], "source_case_name": case["source_case_name"],
            }]);
            value["cases"][0]["evaluator_failures"] =
                json!([{"name": "Correct", "error_message": "no key"}]);
        });
        let results = read_text("r.json", &failed).expect("read");
        assert_eq!(results.rows.len(), 48);
        let errors: Vec<_> = results
            .rows
            .iter()
            .filter_map(|row| row.error.as_deref())
            .collect();
        insta::assert_snapshot!(errors.join("\n"), @"
        `Correct` could not be scored: no key
        boom
        ");
    }

    #[test]
    fn a_task_of_evalite_that_failed_is_an_error() {
        let failed = changed("evalite/base.trials3.json", |value| {
            value["evals"][0]["results"][0]["status"] = json!("fail");
            value["evals"][0]["results"][0]["output"] = json!({"message": "boom"});
        });
        let results = read_text("r.json", &failed).expect("read");
        assert_eq!(
            results.rows[0].error.as_deref(),
            Some(r#"{"message":"boom"}"#)
        );
        assert!(results.rows[0].scores.is_empty());
    }

    #[test]
    fn an_empty_score_of_ragas_is_an_error_and_no_zero() {
        let csv = text("ragas/base.csv").replacen("1.0,0.25,0.0", "0.0,,nan", 1);
        let results = read_text("r.csv", &csv).expect("read");
        let row = &results.rows[0];
        let error = row.error.as_deref().expect("an error");
        insta::assert_snapshot!(error, @"`exact_match` has no value; `non_llm_string_similarity` has no value");
        assert!(!row.scores.contains_key("exact_match"));
        assert!(results.metrics.contains_key("exact_match"));
    }
}

mod jobs {
    use super::*;

    fn job(change: fn(&mut Value)) -> Result<Results, ReadError> {
        let folder = tempfile::tempdir().expect("a folder");
        for entry in std::fs::read_dir(data().join("harbor")).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                let copy = folder.path().join(path.file_name().expect("a name"));
                std::fs::create_dir(&copy).expect("a folder");
                std::fs::copy(path.join("result.json"), copy.join("result.json")).expect("copied");
            }
        }
        let path = folder.path().join("result.json");
        std::fs::write(&path, changed("harbor/result.json", change)).expect("written");
        kelvin_results::readers::read(&path, None, &Columns::default())
    }

    #[test]
    fn a_trial_that_could_not_be_scored_is_an_error_and_a_late_agent_is_not() {
        let results = job(|_| {}).expect("read");
        assert_eq!(results.tool, "harbor");
        assert_eq!(values(&results, "qa/ref-damaged", "reward"), [0.0, 1.0]);
        assert_eq!(values(&results, "qa/cap-fr", "reward"), [1.0, 0.0]);
        assert_eq!(values(&results, "qa/ship-free", "reward"), [1.0]);
        let errors: Vec<_> = results
            .rows
            .iter()
            .filter_map(|row| row.error.as_deref())
            .collect();
        assert_eq!(errors, ["EnvironmentStartTimeoutError: no container"]);
        // The first trial took 10.5 seconds, 101 and 20 tokens, and 0.001 dollars.
        let first = results
            .rows
            .iter()
            .find(|row| row.case == "qa/mul-8-8")
            .expect("a trial");
        let figures = ["latency_s", "tokens", "cost"].map(|metric| first.scores[metric]);
        assert_eq!(figures, [10.5, 121.0, 0.001]);
        assert_eq!(results.settings["agents"], "oracle dummy");
    }

    /// What is said of the file of a job, whose folder differs from run to run.
    fn said(error: &str) -> &str {
        let (_, said) = error.split_once("result.json").expect("the file is named");
        said
    }

    #[test]
    fn a_job_that_has_not_ended_or_lacks_trials_is_refused() {
        let error = job(|value| value["finished_at"] = Value::Null)
            .expect_err("refused")
            .0;
        insta::assert_snapshot!(said(&error), @"`: `finished_at` is missing, so the job has not ended; let the job run to its end, or resume it with `harbor job resume`");
        let error = job(|value| value["n_total_trials"] = json!(9))
            .expect_err("refused")
            .0;
        insta::assert_snapshot!(said(&error), @"`, `n_total_trials`: it is 9, and 8 folders beside the file have the `result.json` of a trial; keep the whole folder of the job, and let it run to its end");
        let error = job(|value| value["schema_version"] = json!(2))
            .expect_err("refused")
            .0;
        insta::assert_snapshot!(said(&error), @"`, `schema_version`: it is `2`, and this program reads 1; run the job with Harbor 0.26 or a version near to it");
    }
}

mod constants {
    use super::*;

    #[test]
    fn bare_nan_and_infinity_are_missing_scores() {
        let mut told = std::collections::BTreeSet::new();
        for constant in ["NaN", "Infinity", "-Infinity"] {
            let inspect = text("inspect/base.json").replacen("0.7166666666666667", constant, 1);
            let deepeval = text("deepeval/base.json").replacen(
                "\"score\": 1.0",
                &format!("\"score\": {constant}"),
                1,
            );
            let file = "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl";
            let lm_eval = text(file).replacen(
                "\"exact_match\": 1.0",
                &format!("\"exact_match\": {constant}"),
                1,
            );
            for (name, text) in [
                ("r.json", inspect),
                ("r.json", deepeval),
                ("samples.jsonl", lm_eval),
            ] {
                assert!(text.contains(constant));
                let results = read_text(name, &text).expect("read");
                let errors: Vec<_> = results
                    .rows
                    .iter()
                    .filter(|row| row.error.is_some())
                    .collect();
                assert_eq!(errors.len(), 1, "{constant} in {}", results.tool);
                let error = errors[0].error.as_deref().expect("an error");
                told.insert(error.to_owned());
                assert!(
                    results
                        .rows
                        .iter()
                        .flat_map(|row| row.scores.values())
                        .all(|score| score.is_finite())
                );
            }
        }
        insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"
        `Correct` has no value
        `brevity` has no value (NaN)
        `exact_match,take_first` has no value (NaN)
        ");
    }
}

mod refused {
    use super::*;

    #[test]
    fn another_version_of_a_format() {
        let error = refusal(
            "r.json",
            &promptfoo(|value| value["results"]["version"] = json!(4)),
        );
        insta::assert_snapshot!(error, @"`r.json`, `results.version`: it is `4`, and this program reads 3; write the file with promptfoo 0.121 or a version near to it");
        let error = refusal(
            "r.json",
            &changed("inspect/base.json", |value| value["version"] = json!(3)),
        );
        insta::assert_snapshot!(error, @"`r.json`, `version`: it is `3`, and this program reads 2; convert the log with `inspect log convert`");
    }

    #[test]
    fn a_run_that_did_not_end() {
        let mut told = Vec::new();
        for status in ["started", "cancelled", "error"] {
            let log = changed("inspect/base.json", |value| value["status"] = json!(status));
            let error = refusal("r.json", &log);
            assert!(error.contains(&format!("`{status}`")), "{error}");
            told.push(error);
        }
        insta::assert_snapshot!(told.join("\n"), @"
        `r.json`, `status`: it is `started`; run the evaluation to its end, or finish it with `inspect eval-retry`
        `r.json`, `status`: it is `cancelled`; run the evaluation to its end, or finish it with `inspect eval-retry`
        `r.json`, `status`: it is `error`; run the evaluation to its end, or finish it with `inspect eval-retry`
        ");
        let log = changed("inspect/base.json", |value| {
            value["invalidated"] = json!(true)
        });
        insta::assert_snapshot!(refusal("r.json", &log), @"`r.json`, `invalidated`: it is true; run the evaluation again: somebody has marked samples of this log as invalid");
        let log = changed("evalite/base.trials3.json", |value| {
            value["evals"][0]["status"] = json!("running")
        });
        insta::assert_snapshot!(refusal("r.json", &log), @"`r.json`, `evals[0].status`: it is `running`; run the evaluation to its end");
    }

    #[test]
    fn an_archive_without_its_header() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("r.eval");
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).expect("created"));
        archive
            .start_file(
                "_journal/start.json",
                zip::write::SimpleFileOptions::default(),
            )
            .expect("begun");
        archive.finish().expect("written");
        let error =
            kelvin_results::readers::read(&path, None, &Columns::default()).expect_err("refused");
        assert!(error.0.contains("`header.json`"), "{error}");
        let cut = std::fs::read(data().join("inspect/base.eval")).expect("read");
        let error =
            read_bytes("r.eval", &cut[..9000], None, &Columns::default()).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.eval`: it is no archive that can be read: invalid Zip archive: Could not find EOCD; the log is cut short: run the evaluation again");
    }

    #[test]
    fn aggregates_in_the_place_of_samples() {
        let log = changed("inspect/base.json", |value| {
            value["eval"]["config"]["log_samples"] = json!(false);
            value.as_object_mut().expect("an object").remove("samples");
        });
        insta::assert_snapshot!(refusal("r.json", &log), @"`r.json`, `eval.config.log_samples`: it is false; run the evaluation without `--no-log-samples`: what is compared are the samples");
        let file = "lm-eval/base/results_2026-11-21T22-43-44.920729.json";
        let error = read_bytes(
            "r.json",
            text(file).as_bytes(),
            Some(Format::LmEval),
            &Columns::default(),
        );
        assert!(error.is_err());
        let link = r#"{"testRunLink": "https://example.com"}"#;
        let error = read_bytes(
            "r.json",
            link.as_bytes(),
            Some(Format::Deepeval),
            &Columns::default(),
        );
        insta::assert_snapshot!(error.expect_err("refused").0, @"`r.json`: it has no `testCases`; read the file of `DEEPEVAL_RESULTS_FOLDER`, or `.deepeval/.latest_test_run.json` before it is uploaded");
    }

    #[test]
    fn fewer_samples_than_the_file_says() {
        let cut = promptfoo(|value| {
            _ = value["results"]["results"]
                .as_array_mut()
                .expect("a list")
                .pop()
        });
        let error = refusal("r.json", &cut);
        insta::assert_snapshot!(error, @"`r.json`, `results.stats`: it counts 16 results, and `results.results` has 15; the run was cut short or the file was edited: run promptfoo again");
        let cut = changed("inspect/base.json", |value| {
            _ = value["samples"].as_array_mut().expect("a list").pop()
        });
        insta::assert_snapshot!(refusal("r.json", &cut), @"`r.json`, `results.total_samples`: it is 48, and the log has 47 samples; the log is incomplete: run the evaluation again");
        let cut = changed("deepeval/base.json", |value| {
            _ = value["testCases"].as_array_mut().expect("a list").pop()
        });
        insta::assert_snapshot!(refusal("r.json", &cut), @"`r.json`: `testPassed` and `testFailed` count 16 test cases, and the file has 15; the run was cut short or the file was edited: run it again");
        let cut = changed("pydantic-evals/base.repeat3.json", |value| {
            _ = value["cases"].as_array_mut().expect("a list").pop();
        });
        insta::assert_snapshot!(refusal("r.json", &cut), @"`r.json`: case `lang-utf` says that it has 3 runs, and has 2; the report was cut short or edited: evaluate again");
        let xml = r#"<testsuite name="a" tests="2"><testcase name="b"/></testsuite>"#;
        insta::assert_snapshot!(refusal("r.xml", xml), @"`r.xml`, `testsuite a`: it counts 2 tests, and has 1; the run was cut short or the file was edited: run the tests again");
        let xml = r#"<testsuite name="a" tests="1" failures="1" errors="0"><testcase name="b"/></testsuite>"#;
        insta::assert_snapshot!(refusal("r.xml", xml), @"`r.xml`, `testsuite a`: it counts 1 failures and errors, and has 0; the run was cut short or the file was edited: run the tests again");
    }

    #[test]
    fn samples_without_a_score() {
        let csv = "id,latency\na,1\n";
        let error = read_bytes("r.csv", csv.as_bytes(), None, &case("id")).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.csv`: no metric is declared; say which columns are scores: `metrics: {NAME: {column: COLUMN}}`, of `id`, `latency`");
        let unscored = changed("evalite/base.trials3.json", |value| {
            for result in value["evals"][0]["results"].as_array_mut().expect("a list") {
                result["scores"] = json!([]);
            }
        });
        insta::assert_snapshot!(refusal("r.json", &unscored), @"`r.json`: no sample has a score; what is compared are the scores of the samples: let the evaluator score them, and write them beside the samples");
        let error = refusal(
            "r.jsonl",
            "{\"doc_id\": 1, \"doc\": 2, \"filtered_resps\": []}",
        );
        insta::assert_snapshot!(error, @"`r.jsonl`, `line 1`: `doc_hash` is missing; let the evaluator write the file again, and do not edit it");
    }

    /// An evaluator of one's own, whose columns no library names.
    #[test]
    fn what_a_suite_would_have_to_say_is_proposed() {
        let rows = r#"[{"id": "a", "question": "Why?", "gold": "x", "output": "x", "correct": true, "scores": {"tone": 0.5, "length": 12}, "latency_s": 0.3},
            {"id": "b", "question": "Who?", "gold": "y", "output": "z", "correct": false, "scores": {"tone": 1, "length": 3}, "latency_s": 0.2}]"#;
        let beside = format!("{{\"accuracy\": 0.5, \"results\": {rows}}}");
        let error = refusal("r.json", &beside);
        insta::assert_snapshot!(error, @"`r.json`: its format is not plain; `format: jsonl`, `columns: {case: id, input: [question], expected: [gold], answer: output}` and `metrics: {correct: {better: higher, range: [0, 1]}, tone: {column: scores.tone, better: higher, range: [0, 1]}}` would read it, if each `better` is right; else name it with `format:`, one of csv, jsonl, promptfoo, junit, inspect, deepeval, lm-eval, pydantic-evals, evalite, harbor, ragas, langsmith, mlflow, langfuse, phoenix");
        let error = read_bytes(
            "r.json",
            beside.as_bytes(),
            Some(Format::Jsonl),
            &Columns::default(),
        )
        .expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.json`: nothing names the case of a row; say with `columns: {case: NAME}` or `columns: {input: [NAME]}` which column it is, of `correct`, `gold`, `id`, `latency_s`, `output`, `question`, `scores`; `columns: {case: id, input: [question], expected: [gold], answer: output}` and `metrics: {correct: {better: higher, range: [0, 1]}, tone: {column: scores.tone, better: higher, range: [0, 1]}}` would read it, if each `better` is right");
        let csv = "prompt,correct\nWhy?,1\nWho?,0\n";
        let error =
            read_bytes("r.csv", csv.as_bytes(), None, &case("prompt")).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.csv`: no metric is declared; say which columns are scores: `metrics: {NAME: {column: COLUMN}}`, of `correct`, `prompt`; `columns: {input: [prompt]}` and `metrics: {correct: {better: higher, range: [0, 1]}}` would read it, if each `better` is right");
        // Grades above 1, scores of which less is better, and the column that says why there is no score.
        let csv = "case,rating,hallucination_rate,tokens,error\na,4,0.5,100,\nb,5,0,200,the judge is gone\n";
        let error =
            read_bytes("r.csv", csv.as_bytes(), None, &Columns::default()).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.csv`: nothing names the case of a row; say with `columns: {case: NAME}` or `columns: {input: [NAME]}` which column it is, of `case`, `error`, `hallucination_rate`, `rating`, `tokens`; `columns: {case: case, error: error}` and `metrics: {hallucination_rate: {better: lower, range: [0, 1]}, rating: {better: higher, range: [0, 5]}}` would read it, if each `better` is right");
        // A verdict in words.
        let csv = "case,verdict\na,PASS\nb,fail\n";
        let error =
            read_bytes("r.csv", csv.as_bytes(), None, &Columns::default()).expect_err("refused");
        assert!(
            error
                .0
                .contains("`metrics: {verdict: {better: higher, range: [0, 1]}}`"),
            "{error}"
        );
        // A name that praises, a verdict of a check, and a flag of a fault.
        let csv = "case,toxicity_free,bias,hallucination,a.score,b.score\na,1,PASS,true,1,0\n";
        let error =
            read_bytes("r.csv", csv.as_bytes(), None, &Columns::default()).expect_err("refused");
        for metric in [
            "toxicity_free: {better: higher,",
            "bias: {better: higher,",
            "hallucination: {better: lower,",
            "a_score: {column: a.score, better: higher,",
            "b_score: {column: b.score, better: higher,",
        ] {
            assert!(error.0.contains(metric), "{metric}: {error}");
        }
        // Names as JavaScript writes them.
        let csv = "caseId,expectedOutput,isCorrect,latencyMs\na,x,1,0.5\n";
        let error =
            read_bytes("r.csv", csv.as_bytes(), None, &Columns::default()).expect_err("refused");
        let lines = "`columns: {case: caseId, expected: [expectedOutput]}` and `metrics: {isCorrect: {better: higher, range: [0, 1]}}`";
        assert!(error.0.contains(lines), "{error}");
        // Nothing that could be a score, or no case.
        for other in [
            "id,latency\na,0.1\n",
            "room,correct\na,1\n",
            "id,correct\na,7\n",
        ] {
            let error = read_bytes("r.csv", other.as_bytes(), None, &Columns::default())
                .expect_err("refused");
            assert!(!error.0.contains("would read it"), "{error}");
        }
    }

    #[test]
    fn a_score_that_is_no_number() {
        let log = changed("inspect/base.json", |value| {
            value["samples"][3]["scores"]["includes"]["value"] = json!("maybe");
        });
        let error = refusal("r.json", &log);
        insta::assert_snapshot!(error, @"`r.json`, `samples[3].scores.includes.value`: `maybe` is no grade that Inspect counts; let the scorer give a number, true or false, or one of C, P, I and N");
        let columns = metrics("id", &[("m", "m")]);
        let error =
            read_bytes("r.csv", b"id,m\na,1\nb,good\n", None, &columns).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.csv`, `line 3`: `m` is `good`, and no number; write a number, true or false, or leave the field empty");
        let xml = r#"<testsuite><testcase name="a"><properties><property name="m" value="1"/></properties></testcase>
            <testcase name="b"><properties><property name="m" value="x"/></properties></testcase></testsuite>"#;
        let error = refusal("r.xml", xml);
        insta::assert_snapshot!(error, @"`r.xml`, `testcase b`: the property `m` is `x`, and a number in other tests; record a number in each test, or another property for texts");
    }

    #[test]
    fn a_file_that_is_missing_or_of_no_known_format() {
        let missing = data().join("missing.json");
        let error = kelvin_results::readers::read(&missing, None, &Columns::default())
            .expect_err("refused");
        assert!(error.0.contains("missing.json"), "{error}");
        let error = refusal("r.txt", "Accuracy: 0.9");
        insta::assert_snapshot!(error, @"`r.txt`: its format is not plain; name it with `format:`, one of csv, jsonl, promptfoo, junit, inspect, deepeval, lm-eval, pydantic-evals, evalite, harbor, ragas, langsmith, mlflow, langfuse, phoenix");
        insta::assert_snapshot!(refusal("r.json", "{\"evalId\": 1, \"results\": {"), @"`r.json`: this is no JSON that can be used: EOF while parsing an object at line 1 column 26; the file is cut short or was edited by hand; let the evaluator write it again");
    }

    #[test]
    fn entities_of_a_document_are_not_expanded() {
        let xml = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><testsuite name="&a;"><testcase name="b"/></testsuite>"#;
        insta::assert_snapshot!(refusal("r.xml", xml), @"`r.xml`: this is no XML that can be used: at 1..2: unrecognized entity `a`; the file is cut short or was edited by hand; let the tests write it again");
    }
}

mod tables {
    use super::*;

    #[test]
    fn declared_columns_are_read() {
        let columns = Columns {
            case: Some("id".to_owned()),
            input: vec!["question".to_owned()],
            expected: vec!["gold".to_owned()],
            answer: Some("answer".to_owned()),
            repeat: Some("run".to_owned()),
            error: Some("error".to_owned()),
            ..metrics("id", &[("correct", "ok"), ("latency_s", "secs")])
        };
        let csv = "id,question,gold,answer,run,error,ok,secs\n\
                   a,\"What, now?\",yes,no,0,,True,1.5\n\
                   a,\"What, now?\",yes,,1,timeout,False,0\n";
        let results = read_bytes("r.csv", csv.as_bytes(), None, &columns).expect("read");
        let [first, second] = results.rows.as_slice() else {
            panic!("two rows")
        };
        assert_eq!(first.repeat, Some(1));
        assert_eq!(
            (first.scores["correct"], first.scores["latency_s"]),
            (1.0, 1.5)
        );
        let texts = [&first.texts.input, &first.texts.expected].map(Option::as_ref);
        let texts = texts.map(|kept| kept.expect("it has one").shown());
        assert_eq!(texts, ["What, now?", "yes"]);
        assert_eq!(second.repeat, Some(2));
        assert_eq!(second.error.as_deref(), Some("timeout"));
        assert!(
            second.scores.is_empty(),
            "what stands beside an error is no score"
        );
        assert!(results.metrics["correct"].yes_no);
        let lines = r#"{"id":"a","question":"What, now?","gold":"yes","answer":"no","run":1,"error":null,"ok":true,"secs":1.5}
            {"id":"a","question":"What, now?","gold":"yes","answer":null,"run":2,"error":"timeout","ok":false,"secs":0}"#;
        let same = read_bytes("r.jsonl", lines.as_bytes(), None, &columns).expect("read");
        assert_eq!(same.rows, results.rows);
    }

    #[test]
    fn fields_within_fields_are_read() {
        let columns = Columns {
            input: vec!["inputs.question".to_owned()],
            ..metrics("meta.id", &[("f1", "scores.f1")])
        };
        let lines =
            r#"{"meta": {"id": "a"}, "inputs": {"question": "Why?"}, "scores": {"f1": 0.5}}"#;
        let results = read_bytes("r.jsonl", lines.as_bytes(), None, &columns).expect("read");
        assert_eq!(results.rows[0].case, "a");
        assert_eq!(results.rows[0].scores["f1"], 0.5);
        let list = format!("[{lines}]");
        let same =
            read_bytes("r.json", list.as_bytes(), Some(Format::Jsonl), &columns).expect("read");
        assert_eq!(same.rows, results.rows);
    }

    #[test]
    fn an_empty_score_is_an_error_or_not_meant() {
        let csv = "id,m,n\na,,1\nb,NaN,1\nc,1,1\n";
        let mut columns = metrics("id", &[("m", "m"), ("n", "n")]);
        let errors = |columns: &Columns| {
            let results = read_bytes("r.csv", csv.as_bytes(), None, columns).expect("read");
            results
                .rows
                .iter()
                .filter(|row| row.error.is_some())
                .count()
        };
        assert_eq!(errors(&columns), 2);
        columns.metrics.get_mut("m").expect("declared").empty = EmptyScore::Skip;
        assert_eq!(errors(&columns), 0);
    }

    #[test]
    fn a_word_for_nothing_is_a_name_like_any_other() {
        let columns = Columns {
            error: Some("error".to_owned()),
            ..metrics("id", &[("m", "m")])
        };
        let csv = "id,m,error\nNA,1,nan\nnull,0,None\n";
        let results = read_bytes("r.csv", csv.as_bytes(), None, &columns).expect("read");
        let cases: Vec<_> = results.rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases, ["NA", "null"]);
        assert!(results.rows.iter().all(|row| row.error.is_none()));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_told_with_its_line() {
        let columns = metrics("id", &[("m", "m")]);
        let error = |csv: &str| {
            read_bytes("r.csv", csv.as_bytes(), None, &columns)
                .expect_err("refused")
                .0
        };
        insta::assert_snapshot!(error("id,m\na,1\nb\n"), @"`r.csv`, `line 3`: it has 1 fields, and the header has 2; write the file again, in UTF-8, with quotes around fields that have commas or line breaks");
        insta::assert_snapshot!(error("id,m\na\"b,1\n"), @"`r.csv`, `line 2`: a quote stands within a field; write the file again with quotes around each field that has one, and each of its quotes doubled");
        insta::assert_snapshot!(error("id,m\n\"a\"b,1\n"), @"`r.csv`, `line 2`: a field goes on behind its closing quote; write the file again with quotes around each field that has one, and each of its quotes doubled");
        insta::assert_snapshot!(error("id,m\na,1\n\"b,1\n"), @"`r.csv`, `line 3`: a quote is never closed; write the file again with quotes around each field that has one, and each of its quotes doubled");
        insta::assert_snapshot!(error("id,m,m\na,1,2\n"), @"`r.csv`, `line 1`: two columns are named `m`; give each column its own name");
        insta::assert_snapshot!(error("id,m\n,1\n"), @"`r.csv`, `line 2`: `id` is empty, so the sample belongs to no case; give every row the name of its case");
        insta::assert_snapshot!(error("name,m\na,1\n"), @"`r.csv`: there is no column `id`; name one of `m`, `name`");
        insta::assert_snapshot!(error("id,m\n"), @"`r.csv`: it holds no sample; run the evaluator on at least one case");
        insta::assert_snapshot!(error("id,m\na,1e999\n"), @"`r.csv`, `line 2`: `m` is `1e999`, and no number; write a number, true or false, or leave the field empty");
        let mut columns = columns.clone();
        columns.repeat = Some("m".to_owned());
        let error = read_bytes("r.csv", b"id,m\na,0.5\n", None, &columns).expect_err("refused");
        insta::assert_snapshot!(error.0, @"`r.csv`, `line 2`: `m` is no whole number from 0 to 2147483647; write the number of the repeat, from 1, or leave `repeat` out of `columns`");
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let error = read_bytes(
            "r.jsonl",
            br#"{"id": "a", "m": 1, "m": 0}"#,
            None,
            &metrics("id", &[("m", "m")]),
        );
        let error = error.expect_err("refused").0;
        insta::assert_snapshot!(error, @"`r.jsonl`, line 1: this is no JSON that can be used: `m` stands twice at line 1 column 24; the file is cut short or was edited by hand; let the evaluator write it again");
    }

    #[test]
    fn mlflow_has_a_value_and_an_error_for_each_scorer() {
        let csv = "trace_id,correct/value,correct/rationale,correct/error_message,len/value,request,response,state\n\
                   t1,yes,fine,,3,What?,That,OK\n\
                   t2,,,no key,4,Why?,So,OK\n";
        let results = preset("r.csv", csv, Format::Mlflow).expect("read");
        assert_eq!(results.rows[0].scores["correct"], 1.0);
        assert_eq!(results.rows[0].scores["len"], 3.0);
        insta::assert_snapshot!(results.rows[1].error.as_deref().expect("it is told"), @"`correct` could not be scored: no key");
        assert!(results.metrics["correct"].yes_no);
        assert_eq!(results.metrics.len(), 2);
        let legacy =
            "inputs,outputs,relevance/v1/score,relevance/v1/justification\nWhat?,That,4,because\n";
        let results = preset("r.csv", legacy, Format::Mlflow).expect("read");
        assert_eq!(results.rows[0].scores["relevance"], 4.0);
    }

    #[test]
    fn phoenix_is_read_as_csv_and_as_json() {
        let csv = "example_id,repetition_number,input,reference_output,output,error,latency_ms,annotation_qa_label,\
                   annotation_qa_score,annotation_qa_error\n\
                   E1,1,Q,R,A,,250,good,1.0,\n\
                   E1,2,Q,R,A,,300,,,no key\n\
                   E2,1,Q2,R,,timeout,9,,,\n";
        let results = read_text("r.csv", csv).expect("read");
        assert_eq!(results.tool, "phoenix");
        assert_eq!(
            (
                results.rows[0].scores["qa"],
                results.rows[0].scores["latency_s"]
            ),
            (1.0, 0.25)
        );
        assert_eq!(results.rows[1].repeat, Some(2));
        insta::assert_snapshot!(results.rows[1].error.as_deref().expect("it is told"), @"`qa` could not be scored: no key");
        assert_eq!(results.rows[2].error.as_deref(), Some("timeout"));
        let json = r#"[{"example_id": "E1", "repetition_number": 1, "input": "Q", "reference_output": "R",
            "output": "A", "error": null, "latency_ms": 250,
            "annotations": [{"name": "qa", "label": "good", "score": 1.0, "error": null}]}]"#;
        let same = read_text("r.json", json).expect("read");
        assert_eq!(same.rows[0], results.rows[0]);
    }

    #[test]
    fn langfuse_has_its_scores_in_a_list() {
        let line = r#"{"id": "1", "experimentItemId": "item-7", "input": "Q", "expectedOutput": "R", "output": "A",
            "scores": [{"name": "f1", "value": 0.5}, {"name": "ok", "value": true}, {"name": "tone", "value": "kind"}]}"#;
        let line = line.replace('\n', " ");
        let results = read_text("r.jsonl", &line).expect("read");
        assert_eq!(results.tool, "langfuse");
        assert_eq!(results.rows[0].case, "item-7");
        assert_eq!(
            (results.rows[0].scores["f1"], results.rows[0].scores["ok"]),
            (0.5, 1.0)
        );
        let twice = line.replace("\"ok\"", "\"f1\"");
        insta::assert_snapshot!(refusal("r.jsonl", &twice), @"`r.jsonl`, `line 1.scores[1]`: `f1` is scored twice; keep one score of each name for a sample");
    }

    #[test]
    fn what_is_declared_wins_over_a_preset() {
        let csv = text("ragas/base.csv").replacen("user_input", "name,user_input", 1);
        let mut lines = csv.lines();
        let header = lines.next().expect("a header").to_owned();
        let rows: Vec<_> = (1..)
            .zip(lines)
            .map(|(number, line)| format!("n{number},{line}"))
            .collect();
        let csv = format!("{header}\n{}", rows.join("\n"));
        let columns = metrics("name", &[("string", "string_present")]);
        let results =
            read_bytes("r.csv", csv.as_bytes(), Some(Format::Ragas), &columns).expect("read");
        assert_eq!(results.rows[0].case, "n1");
        let metrics: Vec<_> = results.metrics.keys().map(String::as_str).collect();
        assert_eq!(
            metrics,
            ["exact_match", "non_llm_string_similarity", "string"]
        );
    }

    fn preset(name: &str, text: &str, format: Format) -> Result<Results, ReadError> {
        read_bytes(name, text.as_bytes(), Some(format), &Columns::default())
    }
}

mod told {
    use super::*;

    #[test]
    fn answers_from_the_cache_are_marked_and_their_latency_is_not_kept() {
        let cached =
            promptfoo(|value| value["results"]["results"][0]["response"]["cached"] = json!(true));
        let results = read_text("r.json", &cached).expect("read");
        assert!(results.rows[0].cached && !results.rows[1].cached);
        assert!(!results.rows[0].scores.contains_key("latency_s"));
        assert_eq!(results.rows[0].scores["correct"], 1.0);
    }

    #[test]
    fn a_changed_assertion_target_or_threshold_shows_in_the_digest() {
        let before = read_text("r.json", &text("promptfoo/base.json")).expect("read");
        let changed_value = promptfoo(|value| {
            value["results"]["results"][0]["testCase"]["assert"][1]["threshold"] = json!(0.5);
        });
        let after = read_text("r.json", &changed_value).expect("read");
        assert_ne!(after.rows[0].scoring, before.rows[0].scoring);
        assert_eq!(after.rows[0].case, before.rows[0].case);
        assert_eq!(after.rows[1], before.rows[1]);
        let before = read_text("r.json", &text("deepeval/base.json")).expect("read");
        let threshold = changed("deepeval/base.json", |value| {
            value["testCases"][0]["metricsData"][0]["threshold"] = json!(0.75);
        });
        let after = read_text("r.json", &threshold).expect("read");
        assert_ne!(after.rows[0].scoring, before.rows[0].scoring);
    }

    #[test]
    fn the_mark_of_deepeval_for_flaky_cases_is_told() {
        let flaky = changed("deepeval/base.json", |value| {
            value["testCases"][0]["flaky"] = json!(true)
        });
        let results = read_text("r.json", &flaky).expect("read");
        insta::assert_snapshot!(results.notices.join("\n"), @"deepeval marks 1 cases as flaky, which changes nothing here: cap-fr");
        assert_eq!(results.rows.len(), 16);
    }

    #[test]
    fn the_wrapped_run_of_deepeval_is_the_same() {
        let plain = read_text("r.json", &text("deepeval/base.json")).expect("read");
        let wrapped = format!(r#"{{"testRunData": {}}}"#, text("deepeval/base.json"));
        assert_eq!(read_text("r.json", &wrapped), Ok(plain));
    }

    #[test]
    fn skipped_tests_are_no_samples_and_are_told() {
        let xml = r#"<testsuite tests="2"><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>"#;
        let results = read_text("r.xml", xml).expect("read");
        assert_eq!(results.rows.len(), 1);
        insta::assert_snapshot!(results.notices.join("\n"), @"1 case was skipped, and has no sample here");
    }

    #[test]
    fn the_xml_of_promptfoo_is_known_by_descriptions() {
        let xml = |first: &str| {
            format!(
                r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites errors="1" failures="1" name="promptfoo" skipped="0" tests="3" time="0.1">
  <testsuite errors="1" failures="1" name="[dummy] prompt 1" skipped="0" tests="3" time="0.1">
    <testcase classname="[dummy] prompt 1" name="{first}" time="0.02"></testcase>
    <testcase classname="[dummy] prompt 1" name="test 2: cap-fr" time="0.02">
      <failure message="Assertion failed" type="assertion">Score: 0.38</failure>
    </testcase>
    <testcase classname="[dummy] prompt 1" name="test 3: cap-jp" time="0.02">
      <error message="Evaluation error" type="error">Reason: Evaluation error</error>
    </testcase>
  </testsuite>
</testsuites>"#
            )
        };
        let results = read_text("r.junit.xml", &xml("test 1: cap-fr")).expect("read");
        assert_eq!(results.tool, "promptfoo");
        assert_eq!(
            values(&results, "cap-fr [dummy] prompt 1", "pass"),
            [1.0, 0.0]
        );
        assert_eq!(results.rows[2].error.as_deref(), Some("Evaluation error"));
        let error = refusal("r.junit.xml", &xml("test 1"));
        insta::assert_snapshot!(error, @"`r.junit.xml`, `testcase [dummy] prompt 1::test 1`: `test 1` has no description, and its number is no name; give each test a `description`, or write `-o results.json`, which has the variables");
    }

    #[test]
    fn deflated_and_stored_logs_are_read_as_older_versions_wrote_them() {
        let log: Value = serde_json::from_str(&text("inspect/base.json")).expect("JSON");
        let mut header = log.clone();
        let samples = header
            .as_object_mut()
            .expect("an object")
            .remove("samples")
            .expect("samples");
        let expected = read_text("r.json", &text("inspect/base.json")).expect("read");
        for method in [
            zip::CompressionMethod::Stored,
            zip::CompressionMethod::Deflated,
        ] {
            let mut bytes = std::io::Cursor::new(Vec::new());
            let mut archive = zip::ZipWriter::new(&mut bytes);
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            for (name, value) in [("header.json", &header), ("summaries.json", &samples)] {
                archive.start_file(name, options).expect("begun");
                std::io::Write::write_all(&mut archive, value.to_string().as_bytes())
                    .expect("written");
            }
            archive.finish().expect("written");
            let results =
                read_bytes("r.eval", bytes.get_ref(), None, &Columns::default()).expect("read");
            assert_eq!(results, expected);
        }
    }
}

fn case(column: &str) -> Columns {
    Columns {
        case: Some(column.to_owned()),
        ..Columns::default()
    }
}

/// Columns with a case and metrics, each a name and its column.
fn metrics(case_column: &str, metrics: &[(&str, &str)]) -> Columns {
    let metric = |(name, column): &(&str, &str)| {
        let column = MetricColumn {
            column: (*column).to_owned(),
            empty: EmptyScore::Error,
        };
        ((*name).to_owned(), column)
    };
    Columns {
        metrics: metrics.iter().map(metric).collect(),
        ..case(case_column)
    }
}
