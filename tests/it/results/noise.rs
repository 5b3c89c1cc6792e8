//! The base of a real evaluator beside other noise of itself: the same outcomes, of other samples.

use std::fs;

use serde_json::{Value, json};

use super::tools::{gate, project, written};

/// Where the outcome of the sample at a place goes: never to another repeat of the same case, and each place is taken once.
const fn elsewhere(place: usize, count: usize) -> usize {
    (place * 7 + 3) % count
}

/// Gives the outcome of each sample of a list to another one.
fn shuffled(text: &[u8], list: &str, outcome: &[&str]) -> Vec<u8> {
    let mut whole: Value = serde_json::from_slice(text).expect("JSON");
    let samples = whole.pointer_mut(list).and_then(Value::as_array_mut);
    let samples = samples.expect("a list of samples");
    let before = samples.clone();
    for (place, sample) in before.iter().enumerate() {
        for field in outcome {
            samples[elsewhere(place, before.len())][*field] = sample[*field].clone();
        }
    }
    serde_json::to_vec(&whole).expect("JSON")
}

/// The same of JUnit XML: a failure goes to another test.
fn shuffled_xml(text: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(text).expect("text");
    let (head, rest) = text.split_once("<testcase ").expect("tests");
    let tests: Vec<&str> = rest.split("<testcase ").collect();
    let failure = |test: &str| {
        let from = test.find("<failure")?;
        let to = test.find("</failure>")? + "</failure>".len();
        Some(test[from..to].to_owned())
    };
    let mut without: Vec<String> = tests
        .iter()
        .map(|test| match failure(test) {
            Some(failure) => test.replace(&failure, ""),
            None => (*test).to_owned(),
        })
        .collect();
    for (place, test) in tests.iter().enumerate() {
        let Some(failure) = failure(test) else {
            continue;
        };
        let other = &mut without[elsewhere(place, tests.len())];
        *other = match other.contains("</testcase>") {
            true => other.replacen("</testcase>", &format!("{failure}</testcase>"), 1),
            false => other.replacen("/>", &format!(">{failure}</testcase>"), 1),
        };
    }
    format!("{head}<testcase {}", without.join("<testcase ")).into_bytes()
}

#[test]
fn the_base_of_each_evaluator_passes_beside_other_noise_of_itself() {
    let promptfoo: &[&str] = &[
        "success",
        "score",
        "namedScores",
        "gradingResult",
        "failureReason",
        "response",
    ];
    let pydantic: &[&str] = &["scores", "assertions", "output"];
    for (format, base, list, outcome, more) in [
        (
            "promptfoo",
            "promptfoo/base.repeat3.json.gz",
            "/results/results",
            promptfoo,
            "    gate: [pass]\n",
        ),
        ("inspect", "inspect/base.json", "/samples", &["scores"], ""),
        (
            "pydantic-evals",
            "pydantic-evals/base.repeat3.json",
            "/cases",
            pydantic,
            "    gate: [Correct]\n",
        ),
        (
            "evalite",
            "evalite/base.trials3.json",
            "/evals/0/results",
            &["scores", "averageScore"],
            "    gate: [Correct]\n",
        ),
        ("junit", "junit/base.repeat3.xml", "", &[], ""),
    ] {
        let base = written(base);
        let other = match list {
            "" => shuffled_xml(&base),
            list => shuffled(&base, list, outcome),
        };
        assert_ne!(base, other, "{format}");
        let project = project(format, &base, more);
        let (said, judgement) = gate(&project, &other, &[]);
        assert_eq!(said.code, Some(0), "{format}: {}", said.stdout);
        assert_ne!(judgement["verdict"], json!("regression"), "{format}");
        let moved = judgement["cases"].as_array().map_or(0, Vec::len);
        assert!(
            moved >= 2,
            "{format}: the noise moved no case: {}",
            said.stdout
        );
    }
}

#[test]
fn the_sentences_have_the_words_of_the_evaluator() {
    for (format, base, worse, words) in [
        (
            "promptfoo",
            "promptfoo/base.json",
            "promptfoo/worse.json",
            "tests",
        ),
        (
            "inspect",
            "inspect/base.eval",
            "inspect/worse.eval",
            "samples",
        ),
    ] {
        let project = project(format, &written(base), "");
        let (said, judgement) = gate(&project, &written(worse), &["--no-rerun"]);
        assert_eq!(
            judgement["nouns"]["results"]["items"],
            json!(words),
            "{format}"
        );
        let reasons = judgement["reasons"].to_string();
        assert!(
            reasons.contains(&format!(" {words}")),
            "{format}: {reasons}"
        );
        assert!(
            !said.stdout.contains("16 cases"),
            "{format}: {}",
            said.stdout
        );
    }
}

#[test]
fn two_files_of_an_evaluator_are_compared_as_they_are() {
    let folder = crate::project::Project::new("");
    fs::remove_file(folder.path("kelvin.yaml")).expect("removed");
    for (name, file) in [
        ("old.json", "promptfoo/base.repeat3.json.gz"),
        ("new.json", "promptfoo/worse.repeat3.json.gz"),
        ("old.eval", "inspect/base.eval"),
        ("new.eval", "inspect/worse.eval"),
        ("old.csv", "langsmith/base.csv"),
    ] {
        fs::write(folder.path(name), written(file)).expect("written");
    }
    for (old, new, metric) in [
        ("old.json", "new.json", "results.promptfoo.pass"),
        ("old.eval", "new.eval", "results.inspect.includes"),
    ] {
        let said = folder.kelvin(&["compare", old, new]).expect(0);
        let all = &said.stdout;
        assert!(all.contains("regression") && all.contains(metric), "{all}");
        for case in ["mul-8-8", "acc-2fa"] {
            assert!(all.contains(case), "{case}: {all}");
        }
        let same = folder.kelvin(&["compare", old, old]).expect(0);
        assert!(same.stdout.contains("pass"), "{}", same.stdout);
    }
    // A table does not say which way is better, and the configuration does.
    let said = folder.kelvin(&["compare", "old.csv", "old.csv"]);
    assert_ne!(said.code, Some(0), "{}", said.stdout);
    assert!(
        said.stderr.contains("better") && said.stderr.contains("kelvin.yaml"),
        "{}",
        said.stderr
    );
    folder.write(
        "kelvin.yaml",
        "results:\n  - name: qa\n    file: x.csv\n    format: langsmith\n    metrics: {correct: {column: feedback.correct, \
         better: higher, range: [0, 1]}}\n",
    );
    let said = folder.kelvin(&["compare", "old.csv", "old.csv"]).expect(0);
    assert!(
        said.stdout.contains("results.qa.correct"),
        "{}",
        said.stdout
    );
    // What is no file of an evaluator is refused as before.
    folder.write("other.json", "{\"a\": 1}");
    let said = folder.kelvin(&["compare", "other.json", "old.json"]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.contains("other.json"), "{}", said.stderr);
}
