//! A noisy pipeline that nothing was done to, and what is run again for it.

use serde_json::{Value, json};

use crate::repository::{commit, git};
use crate::stored_repeats::Noisy;

/// Each code has luck of its own: the last line tells base and change apart. The whole text would not do, for it
/// names the folder of the luck, which is another one in every run of the test. With `own` before it some of this luck
/// leaves a judgement open, which is what the test is about.
const OWN_LUCK: &str = "while ((getline line < \"pipeline.awk\") > 0) salt = \"own \" line";

fn passes(judgements: &[Value]) -> usize {
    let passes = |judgement: &&Value| judgement["verdict"] == json!("pass");
    judgements.iter().filter(passes).count()
}

#[test]
fn the_base_is_run_again_wherever_something_is_open_and_not_before_red_alone() {
    let judged = |settings: &str| {
        let mut noisy = Noisy::new(settings, OWN_LUCK);
        noisy.keep(1);
        noisy.unchanged_ones()
    };
    let stays = judged("");
    let can_be_run = judged("baseline: {compute: true}\n");
    for judgement in &can_be_run {
        assert_eq!(judgement["base"]["source"], json!("branch"));
        assert_ne!(
            judgement["verdict"],
            json!("regression"),
            "{}",
            judgement["reasons"]
        );
        // Whatever was not decided by the first runs had the base run again, on the way to a pass.
        let count = |key: &str| judgement[key].as_u64().unwrap_or(0);
        assert_eq!(count("reruns") > 0, count("base_reruns") > 0, "{judgement}");
    }
    let is_run = |judgement: &Value| judgement["base_reruns"].as_u64() > Some(0);
    assert!(can_be_run.iter().any(is_run), "nothing was open");
    assert!(!stays.iter().any(is_run));
    let figures = (passes(&stays), passes(&can_be_run));
    assert!(figures.1 > figures.0, "{figures:?}");
}

#[test]
fn a_second_probe_that_passes_takes_no_power_from_the_first() {
    let mut noisy = Noisy::new("gate: {budget: {calls: 400}}\n", "");
    noisy.keep(1);
    let alone = noisy.unchanged_ones();
    let project = &noisy.project;
    let query = |at| format!("- {{id: q{at}, query: q, expected_doc_ids: [d]}}\n");
    project.write("golden.yaml", &(0..12).map(query).collect::<String>());
    project.write(
        "ask.sh",
        "printf '{\"hits\":[{\"doc_id\":\"d\"}]}' > \"$2\"\n",
    );
    let config = project.read("kelvin.yaml");
    let section = "retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}\n";
    project.write("kelvin.yaml", &(config + section));
    git(project.root(), &["checkout", "--quiet", "main"]);
    commit(project, "queries");
    noisy.again();
    let beside = noisy.unchanged_ones();
    let was_run = |judgement: &Value| judgement["reruns"].as_u64() > Some(0);
    assert!(alone.iter().any(was_run), "nothing was open");
    for (alone, beside) in alone.iter().zip(&beside) {
        let of = |judgement: &Value| judgement["metrics"]["evidence.invariance"].clone();
        let (alone, beside) = (of(alone), of(beside));
        for figure in ["verdict", "drop", "at_least", "confidence", "at_most"] {
            assert_eq!(
                alone[figure], beside[figure],
                "{figure}: {alone} and {beside}"
            );
        }
    }
    let probes = beside[0]["metrics"].as_object().expect("a map");
    assert!(probes.keys().any(|id| id.starts_with("retrieval.")));
}
