//! What a request is about.

use std::collections::BTreeMap;

use super::*;
use crate::drift::{Drift, Drifted};
use crate::policy::Effect;
use crate::verdict::{BrokenCase, Reason, ReasonCode, Verdict, Word};
use kelvin_record::Direction;

#[test]
fn a_request_covers_the_same_regressions_and_no_further_one() {
    let asked = request(vec![regressed("a", 0.1), regressed("b", 0.2)]);
    let covers = |regressions| asked.covers(&request(regressions), true);
    assert!(covers(vec![regressed("a", 0.1), regressed("b", 0.2)]));
    // Noise: one is gone, the other fell a little further.
    assert!(covers(vec![regressed("b", 0.25)]));
    assert!(covers(vec![regressed("a", 0.06)]));
    assert!(
        !covers(vec![regressed("a", 0.1501)]),
        "further than the gate takes for nothing"
    );
    assert!(
        !covers(vec![regressed("a", 0.1), regressed("c", 0.06)]),
        "another metric"
    );
    let broken = Regressed {
        case: Some("alder".to_owned()),
        ..regressed("a", 0.1)
    };
    assert!(
        !covers(vec![regressed("a", 0.1), broken]),
        "a case that broke"
    );
    let unknown = Regressed {
        drop: None,
        ..regressed("a", 0.1)
    };
    assert!(!covers(vec![unknown]), "a drop that is not known any more");
    for (head, base) in [("c", "b"), ("a", "c")] {
        let other = Request {
            head: head.repeat(40),
            base: base.repeat(40),
            ..asked.clone()
        };
        assert!(!asked.covers(&other, true), "{head} {base}");
        assert_eq!(asked.covers(&other, false), head == "a", "after the merge");
    }
}

#[test]
fn a_drop_that_is_only_suspected_is_approved_by_its_figures_and_stays_suspected() {
    let asked = |suspected: &[bool]| Request {
        head: "a".repeat(40),
        base: "b".repeat(40),
        regressions: suspected
            .iter()
            .map(|suspected| Regressed {
                suspected: *suspected,
                ..regressed("a", 0.1)
            })
            .collect(),
    };
    assert_eq!(asked(&[true]).found(), Word::Inconclusive);
    assert_eq!(asked(&[true, false]).found(), Word::Regression);
    assert!(
        asked(&[true]).covers(&asked(&[false]), true),
        "the figures are the same"
    );
}

#[test]
fn what_is_not_known_cannot_be_approved() {
    let mut verdict = Verdict::unmeasured("the pipeline failed");
    assert!(regressions::regressed(&verdict, None).is_err());
    verdict.broken_cases = vec![BrokenCase {
        case: "alder".to_owned(),
        metric: "a".to_owned(),
        certain: true,
        bad: 3,
        runs: 3,
        valueless: false,
    }];
    let broken = Reason {
        code: ReasonCode::BrokenCases,
        effect: Some(Effect::Fail),
        metric: Some("a".to_owned()),
        text: "it broke".to_owned(),
    };
    verdict.verdict = Word::Regression;
    verdict.reasons.push(broken.clone());
    assert!(
        regressions::regressed(&verdict, None).is_err(),
        "something else fails as well"
    );
    verdict.reasons = vec![broken];
    let found = regressions::regressed(&verdict, None).expect("a case that broke");
    assert_eq!(found[0].case.as_deref(), Some("alder"));
    verdict.broken_cases[0].certain = false;
    assert!(
        regressions::regressed(&verdict, None).is_err(),
        "nothing is certain"
    );
    verdict.reasons.clear();
    assert!(
        regressions::regressed(&verdict, None).is_err(),
        "nothing fails"
    );
}

#[test]
fn a_drift_that_fails_can_be_approved_with_the_figures_of_the_anchor() {
    let mut verdict = Verdict::without_base(Word::Regression, Effect::Warn, "nothing");
    verdict.reasons.clear();
    let drifted = Drifted {
        direction: Direction::Higher,
        anchor: 0.5,
        anchor_interval: None,
        head: 0.25,
        head_interval: None,
        drop: 0.25,
        limit: 0.1,
        is_beyond: true,
    };
    let drift = Drift {
        commit: Some("c".to_owned()),
        anchor: "the anchor c".to_owned(),
        metrics: BTreeMap::from([("a".to_owned(), drifted)]),
    };
    drift.add_to_verdict(&mut verdict, Effect::Fail);
    assert!(!verdict.passed);
    let found = regressions::regressed(&verdict, Some(&drift)).expect("it is known");
    assert_eq!(found[0].words(), "`a` 0.5000 → 0.2500");
    assert!(regressions::regressed(&verdict, None).is_err());
}
