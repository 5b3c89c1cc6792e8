use super::*;

#[test]
fn a_suspected_drop_fails_where_nothing_could_be_run_again() {
    let (base, head) = (suite(20, 0, 0, 1), suite(20, 3, 9, 1));
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, false)
    );
    assert_eq!(verdict.metrics["m"].cause, Cause::Suspected);
    let lenient = Policy {
        on_suspected: OnSuspected::Always(Effect::Warn),
        ..Policy::default()
    };
    assert!(stored(&lenient, &base, &head).passed);
}

/// Some cases that lose everything in every other run.
fn flickering(moved: usize, runs: usize) -> Report {
    let mut report = suite(6, 0, 0, runs);
    let metric = report.metrics.get_mut("m").unwrap();
    for case in metric.per_case.values_mut().take(moved) {
        for cell in case.cells.values_mut() {
            for (run, value) in cell.values.iter_mut().enumerate() {
                *value = Some(f64::from(u8::from(run % 2 == 1)));
            }
        }
    }
    report
}

#[test]
fn a_suspected_drop_warns_after_the_reruns_were_made() {
    let base = suite(6, 0, 0, 1);
    let runs = |rerun: &Rerun| flickering(2, most_runs(rerun));
    let (verdict, asked) = rerun(&Policy::default(), &base, &flickering(2, 1), runs);
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, true),
        "{verdict:?}"
    );
    assert_eq!(asked[0].head["case-00"].input, 3);
    let strict = Policy {
        on_suspected: OnSuspected::Always(Effect::Fail),
        ..Policy::default()
    };
    assert!(!rerun(&strict, &base, &flickering(2, 1), runs).0.passed);
}

#[test]
fn a_budget_that_runs_out_is_inconclusive_and_fails_a_suspected_drop() {
    let (base, head) = (suite(6, 0, 0, 3), suite(6, 2, 4, 1));
    let policy = Policy::default();
    let mut gate = Gate::new(&policy, true, false, None);
    let comparison = compare(&base.side(), &head.side());
    assert!(matches!(gate.next(&comparison, 10_000), Next::Rerun(_)));
    let verdict = gate.give_up(&comparison);
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, false)
    );
    assert_eq!(verdict.exit(), Exit::GateFailed);
}

#[test]
fn an_unchanged_pipeline_is_not_run_again() {
    let base = suite(20, 0, 0, 5);
    let (verdict, asked) = rerun(&Policy::default(), &base, &suite(20, 0, 0, 1), |_| panic!());
    assert_eq!((verdict.verdict, asked.len()), (Word::Pass, 0));
}

#[test]
fn a_true_drop_is_a_regression_after_three_runs_of_the_cases_that_moved() {
    let base = suite(20, 0, 0, 5);
    let (verdict, asked) = rerun(&Policy::default(), &base, &suite(20, 6, 4, 1), |rerun| {
        suite(20, 6, 4, rerun.head["case-00"].input)
    });
    assert_eq!(
        (verdict.verdict, verdict.exit()),
        (Word::Regression, Exit::GateFailed)
    );
    assert_eq!((asked.len(), asked[0].head.len()), (1, 20));
    assert_eq!(verdict.metrics["m"].drivers.len(), 3);
    assert_eq!(verdict.metrics["m"].drivers[0].variants.len(), 4);
}

#[test]
fn by_the_threshold_rule_a_drop_is_a_regression_at_once() {
    let policy = Policy {
        rule: Rule::Threshold,
        ..Policy::default()
    };
    let (verdict, asked) = rerun(
        &policy,
        &suite(20, 0, 0, 1),
        &suite(20, 3, 9, 1),
        |_| panic!(),
    );
    assert_eq!((verdict.verdict, asked.len()), (Word::Regression, 0));
    assert!(verdict.broken_cases.is_empty());
    let (verdict, _) = rerun(
        &policy,
        &suite(20, 0, 0, 1),
        &suite(20, 1, 9, 1),
        |_| panic!(),
    );
    assert_eq!(verdict.verdict, Word::Pass);
}

#[test]
fn a_metric_has_its_own_limit_and_its_own_weight() {
    let (base, head) = (suite(20, 0, 0, 3), suite(20, 3, 4, 3));
    let of = |metric| stored(&with_metric(Policy::default(), "m", metric), &base, &head);
    assert_eq!(of(MetricPolicy::default()).verdict, Word::Regression);
    let wider = MetricPolicy {
        max_drop: Some(0.1),
        ..MetricPolicy::default()
    };
    assert_eq!(of(wider).verdict, Word::Pass);
    let weight = |policy| MetricPolicy {
        policy: Some(policy),
        ..MetricPolicy::default()
    };
    for (attention, effect) in [
        (Attention::Warn, Some(Effect::Warn)),
        (Attention::Info, None),
    ] {
        let verdict = of(weight(attention));
        assert_eq!((verdict.verdict, verdict.passed), (Word::Unmeasured, true));
        assert_eq!(verdict.metrics["m"].verdict, Word::Regression);
        let said = verdict
            .reasons
            .iter()
            .find(|reason| reason.metric.is_some());
        assert_eq!(said.and_then(|reason| reason.effect), effect);
    }
}

#[test]
fn a_value_below_the_minimum_fails_whatever_the_base_had() {
    let min = MetricPolicy {
        min: Some(0.6),
        ..MetricPolicy::default()
    };
    let policy = with_metric(exact(), "m", min);
    let low = suite(20, 20, 4, 1);
    for base in [&low, &Report::default()] {
        let verdict = stored(&policy, base, &low);
        assert_eq!((verdict.verdict, verdict.passed), (Word::Regression, false));
        assert_eq!(verdict.metrics["m"].cause, Cause::Minimum);
    }
    let at = Report::default().with("m", &[("c", vec![vec![Some(0.6)]; 3])]);
    assert!(stored(&policy, &at, &at).passed);
    let ceiling = with_metric(
        exact(),
        "m",
        MetricPolicy {
            min: Some(0.3),
            ..MetricPolicy::default()
        },
    );
    let high = suite(20, 0, 0, 1).lower("m");
    assert!(!stored(&ceiling, &high, &high).passed);
}

#[test]
fn one_broken_case_among_fifty_is_found_and_fails_unless_told_to_warn() {
    let base = suite(50, 0, 0, 5);
    let head = |runs| suite(50, 1, 9, runs);
    let run = |rerun: &Rerun| head(rerun.head["case-00"].input);
    let (verdict, asked) = rerun(&Policy::default(), &base, &head(1), run);
    assert_eq!(verdict.metrics["m"].verdict, Word::Pass, "{verdict:?}");
    assert_eq!((verdict.verdict, verdict.passed), (Word::Regression, false));
    assert_eq!(
        (
            &*verdict.broken_cases[0].case,
            verdict.broken_cases[0].certain
        ),
        ("case-00", true)
    );
    assert_eq!(asked[0].head.len(), 1);
    let lenient = Policy {
        on_broken_case: Effect::Warn,
        ..Policy::default()
    };
    let (verdict, _) = rerun(&lenient, &base, &head(1), run);
    assert_eq!((verdict.verdict, verdict.passed), (Word::Pass, true));
    // One run of fifty cases may be bad by luck, and nobody is accused of it.
    let verdict = stored(&Policy::default(), &suite(50, 0, 0, 1), &head(1));
    assert_eq!((verdict.verdict, verdict.passed), (Word::Pass, true));
    assert!(verdict.broken_cases.is_empty());
}

#[test]
fn a_metric_is_gated_however_few_cases_it_has() {
    let suite = |value: f64, cases: usize| {
        let names: Vec<String> = (0..cases).map(|at| format!("c{at:02}")).collect();
        let cases: Vec<_> = names
            .iter()
            .map(|name| (&**name, vec![vec![Some(value)]]))
            .collect();
        Report::default().with("m", &cases)
    };
    let verdict = |policy: &Policy, cases| stored(policy, &suite(1.0, cases), &suite(0.0, cases));
    for cases in [1, 4, 11, 12] {
        let same = stored(&exact(), &suite(1.0, cases), &suite(1.0, cases));
        let told = (same.verdict, same.metrics["m"].policy, same.passed);
        assert_eq!(told, (Word::Pass, Attention::Gate, true));
        let lost = verdict(&exact(), cases);
        assert_eq!((lost.verdict, lost.passed), (Word::Regression, false));
    }
    let mut policy = exact();
    let info = policy.metrics.entry("m".to_owned()).or_default();
    info.policy = Some(Attention::Info);
    let informed = verdict(&policy, 11);
    assert_eq!(
        (informed.verdict, informed.passed),
        (Word::Unmeasured, true)
    );
    insta::assert_snapshot!(informed.reasons[0].text, @"no metric is gated: name one under `gate: metrics:`");
}

#[test]
fn act_05_sides_that_cannot_be_compared_are_unmeasured_with_the_reason() {
    let (base, head) = (suite(20, 0, 0, 1), suite(20, 9, 9, 1));
    let policy = Policy::default();
    let why = Some("the scorer is `set/1` on the head and `exact/1` on the base".to_owned());
    let comparison = compare(&base.side(), &head.side());
    let Next::Verdict(verdict) = Gate::new(&policy, true, false, why).next(&comparison, 10_000)
    else {
        panic!("nothing can be compared, and it asks for more");
    };
    assert_eq!((verdict.verdict, verdict.passed), (Word::Unmeasured, false));
    assert!(verdict.reasons[0].text.contains("`set/1`"), "{verdict:?}");
}

#[test]
fn a_metric_without_values_by_case_follows_the_simple_rule() {
    let value = |value: f64| {
        let mut metric = Metric::new(Ok(value), 90, 0);
        metric.gated = true;
        Report {
            metrics: BTreeMap::from([("m".to_owned(), metric)]),
            texts: BTreeMap::new(),
        }
    };
    let verdict = |head| stored(&Policy::default(), &value(0.80), &value(head));
    assert_eq!(verdict(0.75).verdict, Word::Pass);
    let lower = verdict(0.7499);
    assert_eq!((lower.verdict, lower.passed), (Word::Inconclusive, false));
    assert_eq!(
        stored(&exact(), &value(0.80), &value(0.7499)).verdict,
        Word::Regression
    );
}

#[test]
fn no_baseline_passes_with_a_notice_unless_one_is_required() {
    for (effect, passed) in [(Effect::Warn, true), (Effect::Fail, false)] {
        let verdict = Verdict::without_base(Word::NoBaseline, effect, "no baseline: make one");
        assert_eq!(
            (verdict.verdict, verdict.passed),
            (Word::NoBaseline, passed)
        );
    }
}

#[test]
fn without_a_word_in_the_configuration_the_promises_hold() {
    let policy = Policy::default();
    assert_eq!((policy.max_drop, policy.max_missing), (0.05, 0.1));
    assert_eq!(
        (policy.rule, policy.on_suspected),
        (Rule::Auto, OnSuspected::Auto)
    );
    assert_eq!(
        (policy.on_broken_case, policy.on_unmeasured),
        (Effect::Fail, Effect::Fail)
    );
    assert!(!policy.deterministic);
    assert_eq!(
        (policy.budget.head_repeats, policy.budget.calls),
        (20, None)
    );
}

#[test]
fn a_configured_gate_is_followed() {
    let settings: kelvin_record::settings::GateSettings = serde_json::from_str(
        r#"{
            "rule": "threshold", "on_suspected": "warn", "on_broken_case": "warn",
            "metrics": {"m": {"max_drop": 0.1, "policy": "warn", "min": 0.6}}
        }"#,
    )
    .unwrap();
    let policy = Policy::of(&settings);
    assert_eq!(
        (policy.max_drop("m"), policy.max_drop("n"), policy.min("m")),
        (0.1, 0.05, Some(0.6))
    );
    assert_eq!(policy.metrics["m"].policy, Some(Attention::Warn));
    assert_eq!(
        (policy.rule, policy.on_suspected),
        (Rule::Threshold, OnSuspected::Always(Effect::Warn))
    );
    assert_eq!(policy.on_broken_case, Effect::Warn);
}

#[test]
fn a_finished_report_whose_run_has_run_again_is_no_redder_than_the_run_was() {
    let (base, head) = (suite(20, 0, 0, 1), suite(20, 3, 9, 1));
    let policy = Policy::default();
    let comparison = compare(&base.side(), &head.side());
    let verdict = |was_rerun: bool| {
        let mut gate = Gate::new(&policy, false, false, None);
        if was_rerun {
            gate.was_rerun_before();
        }
        match gate.next(&comparison, 0) {
            Next::Verdict(verdict) => *verdict,
            asked @ Next::Rerun(_) => panic!("{asked:?}"),
        }
    };
    for (was_rerun, passes) in [(false, false), (true, true)] {
        let verdict = verdict(was_rerun);
        assert_eq!(
            (verdict.verdict, verdict.passed),
            (Word::Inconclusive, passes),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_value_of_the_report_below_the_minimum_fails_though_the_items_of_both_sides_are_above() {
    let min = MetricPolicy {
        min: Some(0.6),
        ..MetricPolicy::default()
    };
    let policy = with_metric(exact(), "m", min);
    let high = suite(20, 0, 0, 1);
    let passes = |reported: f64| {
        let mut verdict = stored(&policy, &high, &high);
        assert!(verdict.passed, "{verdict:?}");
        let reported = kelvin_record::Metric::new(Ok(reported), 40, 0);
        let metrics = std::collections::BTreeMap::from([("m".to_owned(), reported)]);
        crate::demands::report_demands(&policy, &metrics, &mut verdict);
        verdict.passed
    };
    assert_eq!([0.5, 0.6].map(passes), [false, true]);
}
