//! What a judge has said is in the records: nobody asks it twice.

use kelvin_record::Repeats;
use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::check::merge::{MergeRequest, merge};
use crate::check::stage;
use crate::registry::Registry;

#[test]
fn what_the_judge_has_said_is_in_the_report_and_nobody_is_asked_again() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let floor = "noise_floor: {enabled: true, replications: 3}\n";
    let judged = project
        .check("{llm: {model: judge}}", floor)
        .expect("measured");
    assert!(project.calls() > 0);
    assert_eq!(value(&judged, "evidence.noise_floor"), Some(0.0));
    let before = judged.metrics.clone();
    let again = recompute("run", judged);
    assert!(again.changed.is_empty(), "{:?}", again.changed.keys());
    assert_eq!(again.report.metrics, before);
    assert_eq!(project.calls(), 0);
}

#[test]
fn shards_are_joined_without_asking_the_judge_again() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let whole = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    let of_whole = project.calls();
    let mut of_shards = 0;
    for index in 1..=2 {
        let shard = Some(Shard { index, count: 2 });
        project
            .check_shard("{llm: {model: judge}}", "", shard)
            .expect("measured");
        of_shards += project.calls();
    }
    assert!(of_whole > 0 && of_shards >= of_whole);
    let joined = merge(&MergeRequest {
        registry: Registry::shipped(),
        shards: vec![project.root().join("shards")],
        out: Some(project.root().join("joined")),
    });
    let joined = joined.expect("they belong together").report;
    assert_eq!(project.calls(), 0);
    // No shard has the answers of all donors.
    let of_donors = |id: &str| id.contains("following") || id.contains("donor_contrast");
    let mut told = BTreeSet::new();
    for (id, metric) in &joined.metrics {
        match of_donors(id) {
            false => assert_eq!(metric, &whole.metrics[id], "{id}"),
            true => {
                assert_eq!(metric.value, None, "{id}");
                told.insert(metric.reason.clone().unwrap_or_default());
            }
        }
    }
    insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"no judge has compared the case with the one that the unit comes from in 4 of 6 swaps: it gave no score, or the two cases were asked in different shards; run all cases in one run");
}

#[test]
fn further_repeats_ask_about_new_pairs_only() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let file = project
        .configured("{llm: {model: judge}}", "")
        .expect("written");
    let request = CheckRequest {
        overrides: Overrides {
            file: Some(file),
            ..Overrides::default()
        },
        ..CheckRequest::new(Registry::shipped())
    };
    stage::with(&request, &Silent, |stage| {
        stage.measure()?;
        let once = stage.report();
        assert!(project.calls() > 0);
        // The pipeline answers a repeat as it did before, so every pair is known.
        stage.repeat(
            &["a", "b"]
                .map(|case| (case.to_owned(), Repeats::of_all(3).into()))
                .into(),
        )?;
        let repeated = stage.report();
        assert_eq!(project.calls(), 0);
        let samples = |report: &Report| report.metrics["evidence.invariance"].n;
        assert!(samples(&repeated) > samples(&once));
        assert_eq!(value(&repeated, "evidence.invariance"), Some(1.0));

        // Now it answers in other words, and only those are asked about.
        let other = PARAPHRASES.replace("\"%s\"}", "\"Well: %s\"}");
        fs::write(project.root().join("pipeline.sh"), other).expect("written");
        stage.repeat(&BTreeMap::from([(
            "a".to_owned(),
            Repeats::of_all(4).into(),
        )]))?;
        assert!(project.calls() > 0);
        Ok(())
    })
    .expect("the run goes on");
}
