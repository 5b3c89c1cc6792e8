//! The files that real evaluators have written, through the whole command. The suite is the same everywhere: in `worse` four
//! of its questions are always answered wrongly, and one more in two of three runs.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::answers::leaves_nothing_to_do;
use crate::project::{Project, Said};

/// The cases that are broken in every run.
const BROKEN: [&str; 4] = ["mul-8-8", "ref-damaged", "ship-free", "acc-2fa"];

/// Where the files lie.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/results/tests/data");

/// A file of an evaluator, unpacked.
pub(super) fn written(path: &str) -> Vec<u8> {
    let bytes =
        fs::read(Path::new(DATA).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    if !path.ends_with(".gz") {
        return bytes;
    }
    let mut whole = Vec::new();
    GzDecoder::new(&bytes[..])
        .read_to_end(&mut whole)
        .expect("it is packed");
    whole
}

/// A project with an evaluator that writes a file as it is.
pub(super) fn project(format: &str, base: &[u8], more: &str) -> Project {
    let project = Project::new("");
    let config = format!(
        "results:\n  - name: qa\n    run: cp ../written {{output}}\n    format: {format}\n{more}"
    );
    project.write("kelvin.yaml", &config);
    fs::write(project.path("../written"), base).expect("written");
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    project
}

pub(super) fn gate(project: &Project, head: &[u8], more: &[&str]) -> (Said, Value) {
    fs::write(project.path("../written"), head).expect("written");
    let mut arguments = vec!["gate", "--no-history", "--baseline", "../base/report.json"];
    arguments.extend(more);
    let said = project.kelvin(&arguments);
    let judgement = project.json("kelvin/gate.json");
    (said, judgement)
}

/// The format, the files of base and head, what the configuration adds, and the metric that falls.
struct Tool {
    format: &'static str,
    base: &'static str,
    worse: &'static str,
    more: &'static str,
    metric: &'static str,
    /// Whether the cases have the names of the questions.
    names_cases: bool,
}

const TOOLS: [Tool; 8] = [
    Tool {
        format: "promptfoo",
        base: "promptfoo/base.repeat3.json.gz",
        worse: "promptfoo/worse.repeat3.json.gz",
        more: "    gate: [pass]\n",
        metric: "pass",
        names_cases: true,
    },
    Tool {
        format: "inspect",
        base: "inspect/base.eval",
        worse: "inspect/worse.eval",
        more: "",
        metric: "includes",
        names_cases: true,
    },
    Tool {
        format: "junit",
        base: "junit/base.repeat3.xml",
        worse: "junit/worse.repeat3.xml",
        more: "",
        metric: "pass",
        names_cases: true,
    },
    Tool {
        format: "pydantic-evals",
        base: "pydantic-evals/base.repeat3.json",
        worse: "pydantic-evals/worse.repeat3.json",
        more: "    gate: [Correct]\n",
        metric: "Correct",
        names_cases: true,
    },
    Tool {
        format: "deepeval",
        base: "deepeval/base.repeat2.json",
        worse: "deepeval/worse.repeat2.json",
        more: "",
        metric: "pass",
        names_cases: true,
    },
    Tool {
        format: "langsmith",
        base: "langsmith/base.csv",
        worse: "langsmith/worse.csv",
        more: "    metrics: {correct: {column: feedback.correct, better: higher, range: [0, 1]}}\n",
        metric: "correct",
        names_cases: false,
    },
    Tool {
        format: "evalite",
        base: "evalite/base.trials3.json",
        worse: "evalite/worse.trials3.json",
        more: "    gate: [Correct]\n",
        metric: "Correct",
        names_cases: false,
    },
    Tool {
        format: "lm-eval",
        base: "lm-eval/base/samples_dummy_qa_2026-11-21T22-43-44.920729.jsonl",
        worse: "lm-eval/worse/samples_dummy_qa_2026-11-21T22-44-38.804339.jsonl",
        more: "    metrics: {correct: {column: \"exact_match,take_first\", better: higher, range: [0, 1]}}\n",
        metric: "correct",
        names_cases: false,
    },
];

#[test]
fn with_several_samples_of_each_case_worse_is_a_regression_that_names_what_broke_and_the_same_passes()
 {
    for tool in &TOOLS {
        let base = written(tool.base);
        let project = project(tool.format, &base, tool.more);
        let (said, judgement) = gate(&project, &base, &[]);
        assert_eq!(said.code, Some(0), "{}: {}", tool.format, said.stdout);
        assert_eq!(judgement["verdict"], json!("pass"), "{}", tool.format);
        let (said, judgement) = gate(&project, &written(tool.worse), &[]);
        assert_eq!(said.code, Some(3), "{}: {}", tool.format, said.stdout);
        let word = match tool.format {
            // One filtered answer a case has no noise of its own.
            "lm-eval" => &["regression", "inconclusive"][..],
            _ => &["regression"],
        };
        let said_word = judgement["verdict"].as_str().expect("a word");
        assert!(
            word.contains(&said_word),
            "{}: {}",
            tool.format,
            said.stdout
        );
        let reasons = judgement["reasons"].to_string();
        let metric = format!("results.qa.{}", tool.metric);
        assert!(reasons.contains(&metric), "{}: {reasons}", tool.format);
        let comment = project.read("kelvin/gate.md");
        for case in BROKEN.iter().filter(|_| tool.names_cases) {
            assert!(comment.contains(case), "{}: {case}: {comment}", tool.format);
        }
    }
}

#[test]
fn with_one_sample_of_each_case_worse_is_inconclusive_and_names_what_moved() {
    let lm_eval = &TOOLS[7];
    for (format, base, worse, more, names_cases) in [
        (
            "promptfoo",
            "promptfoo/base.json",
            "promptfoo/worse.json",
            "",
            true,
        ),
        ("junit", "junit/base.xml", "junit/worse.xml", "", true),
        (
            "deepeval",
            "deepeval/base.json",
            "deepeval/worse.json",
            "",
            true,
        ),
        (
            "pydantic-evals",
            "pydantic-evals/base.json",
            "pydantic-evals/worse.json",
            "    gate: [Correct]\n",
            true,
        ),
        (
            "ragas",
            "ragas/base.csv",
            "ragas/worse.csv",
            "    gate: [string_present]\n",
            false,
        ),
        (
            lm_eval.format,
            lm_eval.base,
            lm_eval.worse,
            lm_eval.more,
            false,
        ),
    ] {
        let project = project(format, &written(base), more);
        let (said, judgement) = gate(&project, &written(worse), &["--no-rerun"]);
        assert_eq!(said.code, Some(3), "{format}: {}", said.stdout);
        assert_eq!(
            judgement["verdict"],
            json!("inconclusive"),
            "{format}: {}",
            said.stdout
        );
        let reasons = judgement["reasons"].to_string();
        assert!(reasons.contains("repeats: 3"), "{format}: {reasons}");
        let comment = project.read("kelvin/gate.md");
        for case in BROKEN.iter().filter(|_| names_cases) {
            assert!(comment.contains(case), "{format}: {case}: {comment}");
        }
    }
}

#[test]
fn an_error_of_a_provider_is_no_failure_of_the_pipeline() {
    let project = project("promptfoo", &written("promptfoo/one-error.json"), "");
    let report = project.json("../base/report.json");
    let rate = &report["metrics"]["results.qa.failure_rate"]["value"];
    assert!(rate.as_f64().is_some_and(|rate| rate > 0.0), "{rate}");
    assert_eq!(report["metrics"]["results.qa.pass"]["n_failed"], json!(1));
}

#[test]
fn one_row_that_is_worse_is_said_in_good_grammar_and_leaves_something_to_read() {
    let table = |low: f64| {
        let row = |at: usize| {
            let score = if at == 3 { low } else { 0.9 };
            format!("Question {at}?,\"['a']\",Answer {at},Reference {at},{score}\n")
        };
        let rows: String = (0..24).map(row).collect();
        format!("user_input,retrieved_contexts,response,reference,faithfulness\n{rows}")
    };
    let project = project("ragas", table(0.9).as_bytes(), "    gate: [faithfulness]\n");
    let (said, judgement) = gate(&project, table(0.7).as_bytes(), &["--no-rerun"]);
    assert_eq!(
        (said.code, &judgement["verdict"]),
        (Some(0), &json!("pass"))
    );
    let comment = project.read("kelvin/gate.md");
    assert!(
        comment.contains("**1 of 24 cases of the suite `qa` is worse, and each was run once"),
        "{comment}"
    );
    assert!(!leaves_nothing_to_do(&comment), "{comment}");
    assert!(comment.contains("\n\nRead what is said above"), "{comment}");
}
