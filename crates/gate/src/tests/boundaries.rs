use super::*;

fn verdict(base: f64, head: f64) -> Word {
    let policy = gating(exact(), "m");
    stored(&policy, &single("m", base), &single("m", head)).verdict
}

fn turned(base: f64, head: f64) -> Word {
    let policy = gating(exact(), "m");
    let side = |value| single("m", value).lower("m");
    stored(&policy, &side(base), &side(head)).verdict
}

#[test]
fn qlt_07_act_02_a_drop_of_exactly_the_limit_passes_wherever_it_starts() {
    assert_eq!(verdict(0.80, 0.75), Word::Pass);
    assert_eq!(verdict(0.85, 0.80), Word::Pass);
    assert_eq!(verdict(0.80, 0.7499), Word::Regression);
    assert_eq!(verdict(0.85, 0.7999), Word::Regression);
}

#[test]
fn qlt_09_a_gain_is_no_regression() {
    assert_eq!(verdict(0.80, 0.90), Word::Pass);
}

#[test]
fn qlt_12_where_lower_is_better_it_is_the_other_way_round() {
    assert_eq!(turned(0.20, 0.26), Word::Regression);
    assert_eq!(turned(0.20, 0.25), Word::Pass);
    assert_eq!(turned(0.20, 0.14), Word::Pass);
    // Beyond 1 as well, where a score has another range.
    assert_eq!(turned(1.70, 1.80), Word::Regression);
}

#[test]
fn act_04_null_on_one_side_is_unmeasured_and_fails_unless_told_otherwise() {
    let full = single("m", 0.9);
    let null = Report::default().with("m", &[("c", vec![vec![None]])]);
    let policy = gating(Policy::default(), "m");
    for (base, head, cause) in [
        (&full, &null, Cause::Coverage),
        (&null, &full, Cause::NoValue),
        (&null, &null, Cause::NoValue),
    ] {
        let verdict = stored(&policy, base, head);
        assert_eq!((verdict.verdict, verdict.passed), (Word::Unmeasured, false));
        assert_eq!(verdict.metrics["m"].cause, cause);
        assert_eq!(verdict.exit(), Exit::GateFailed);
    }
    let lenient = Policy {
        on_unmeasured: Effect::Warn,
        ..policy
    };
    let verdict = stored(&lenient, &full, &null);
    assert_eq!((verdict.verdict, verdict.passed), (Word::Unmeasured, true));
}

#[test]
fn a_metric_that_only_one_side_has_is_new_or_lost() {
    let (with, none) = (suite(12, 0, 0, 1), Report::default());
    let gone = stored(&Policy::default(), &with, &none);
    assert_eq!((gone.verdict, gone.passed), (Word::Unmeasured, false));
    let new = stored(&Policy::default(), &none, &with);
    assert_eq!((new.verdict, new.passed), (Word::NoBaseline, true));
    // Beside a metric that both have, it has no say.
    let both = with.clone().with("n", &[("case-00", nine(0, 1))]);
    let beside = stored(&Policy::default(), &with, &both);
    assert_eq!(beside.verdict, Word::Pass);
    assert_eq!(beside.metrics["n"].cause, Cause::New);
}

#[test]
fn one_case_and_one_run_each_decide_nothing() {
    let verdict = stored(&Policy::default(), &suite(1, 0, 0, 1), &suite(1, 1, 5, 1));
    assert_eq!(verdict.verdict, Word::Inconclusive);
    let metric = &verdict.metrics["m"];
    assert_eq!(
        (metric.at_least, metric.at_most, metric.detectable),
        (None, None, None)
    );
    assert_eq!(
        stored(&Policy::default(), &suite(1, 0, 0, 1), &suite(1, 0, 0, 1)).verdict,
        Word::Pass
    );
}

#[test]
fn with_no_variance_in_three_runs_a_drop_is_what_it_is() {
    let policy = Policy::default();
    let three = |moved| suite(10, moved, 5, 3);
    assert_eq!(
        stored(&policy, &three(0), &three(1)).metrics["m"].verdict,
        Word::Regression
    );
    let small = suite(20, 1, 5, 3);
    assert_eq!(
        stored(&policy, &suite(20, 0, 0, 3), &small).metrics["m"].verdict,
        Word::Pass
    );
}

#[test]
fn a_lost_case_is_named_and_too_many_lost_cases_are_unmeasured() {
    let base = suite(20, 0, 0, 1);
    let one = stored(&Policy::default(), &base, &base.clone().without("case-07"));
    assert_eq!((one.verdict, one.metrics["m"].cases), (Word::Pass, 19));
    assert_eq!(one.metrics["m"].lost, ["case-07"]);
    assert!(
        one.reasons
            .iter()
            .any(|reason| reason.text.contains("`case-07`")),
        "{one:?}"
    );
    let three = base
        .clone()
        .without("case-01")
        .without("case-02")
        .without("case-03");
    let three = stored(&Policy::default(), &base, &three);
    assert_eq!((three.verdict, three.passed), (Word::Unmeasured, false));
    assert_eq!(three.metrics["m"].cause, Cause::Coverage);
}

#[test]
fn edited_cases_are_compared_as_a_whole_and_added_ones_are_not() {
    let base = suite(20, 0, 0, 1);
    let mut head = suite(25, 0, 0, 1);
    for case in ["case-00", "case-01", "case-02", "case-03"] {
        head.texts.insert(case.to_owned(), "edited".to_owned());
        let broken = case_value(&format!("{case} edited"), &nine(9, 1));
        head.metrics
            .get_mut("m")
            .unwrap()
            .per_case
            .insert(case.to_owned(), broken);
    }
    let verdict = stored(&Policy::default(), &base, &head);
    let metric = &verdict.metrics["m"];
    assert_eq!((verdict.verdict, metric.cases), (Word::Inconclusive, 20));
    assert!(!verdict.passed, "nothing could be run again");
    assert!(metric.unpaired && metric.lost.is_empty());
    // A fifth one, and it is no more a matter of a few cases.
    head.texts.insert("case-04".to_owned(), "edited".to_owned());
    let broken = case_value("case-04 edited", &nine(9, 1));
    let metric = head.metrics.get_mut("m").unwrap();
    metric.per_case.insert("case-04".to_owned(), broken);
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.verdict, Word::Regression);
}

#[test]
fn a_suite_of_which_every_case_was_edited_warns_or_fails_as_configured() {
    let base = suite(12, 0, 0, 1);
    let mut head = base.clone();
    head.texts.values_mut().for_each(|text| text.push('!'));
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!((verdict.verdict, verdict.passed), (Word::Pass, true));
    assert_eq!(verdict.reasons[0].effect, Some(Effect::Warn));
    assert!(verdict.is_thin());
    assert_eq!(
        verdict.edits().as_deref(),
        Some("12 of 12 cases were edited")
    );
    let strict = Policy {
        on_edited: Effect::Fail,
        ..Policy::default()
    };
    let verdict = stored(&strict, &base, &head);
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, false)
    );
}

#[test]
fn a_rerun_of_edited_cases_that_the_budget_forbids_excuses_nothing() {
    // Four of twelve cases lost everything, and every text is another.
    let (base, mut head) = (suite(12, 0, 0, 1), suite(12, 4, 9, 1));
    head.texts.values_mut().for_each(|text| text.push('!'));
    let policy = Policy::default();
    let mut gate = Gate::new(&policy, true, false, None);
    let (old, new) = (base.side(), head.side());
    let comparison = compare(&old, &new);
    assert!(matches!(gate.next(&comparison, 10_000), Next::Rerun(_)));
    let verdict = gate.clone().give_up(&comparison);
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, false)
    );
    // Where it was made, what noise may explain warns.
    let Next::Verdict(verdict) = gate.next(&comparison, 10_000) else {
        panic!("it asks once");
    };
    assert_eq!(
        (verdict.verdict, verdict.passed),
        (Word::Inconclusive, true)
    );
}

#[test]
fn what_hindered_the_rerun_of_edited_cases_is_told_as_for_every_other_metric() {
    let (base, mut head) = (suite(12, 0, 0, 1), suite(12, 4, 9, 1));
    head.texts.values_mut().for_each(|text| text.push('!'));
    let policy = Policy::default();
    let (old, new) = (base.side(), head.side());
    let comparison = compare(&old, &new);
    // How many re-runs were requested, the last of which is not made, or whether an earlier run made some.
    let said = |requested: usize, before: bool| {
        let mut gate = Gate::new(&policy, requested > 0, false, None);
        gate.asked = requested;
        if before {
            gate.was_rerun_before();
        }
        let verdict = gate.give_up(&comparison);
        let mut reasons = verdict.reasons.iter();
        let told = reasons.find(|reason| reason.metric.as_deref() == Some("m"));
        (verdict.passed, told.expect("a drop").text.clone())
    };
    let mut told = Vec::new();
    for (requested, before, passed) in [
        (0, false, false),
        (1, false, false),
        (2, false, true),
        (0, true, true),
    ] {
        let (has_passed, text) = said(requested, before);
        assert_eq!(has_passed, passed, "{text}");
        told.push(text);
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `m` fell from 1.0000 to 0.6667 over 12 cases of the same name, with the inputs that changed, by 0.3333 (the limit is 0.0500), which the inputs that changed or noise may explain: it is between 0.0024 and 0.5271; no case was run again; without re-runs the limit alone decides (`on_suspected: auto`); a gate that runs the pipeline (`--rerun`), `baseline: {repeats: 5}`, or `deterministic: true` if nothing varies, would decide more; most of it in `case-00`, `case-01`, `case-02`
    `m` fell from 1.0000 to 0.6667 over 12 cases of the same name, with the inputs that changed, by 0.3333 (the limit is 0.0500), which the inputs that changed or noise may explain: it is between 0.0024 and 0.5271; the budget allows no re-run; without re-runs the limit alone decides (`on_suspected: auto`); a larger `budget` would decide more; most of it in `case-00`, `case-01`, `case-02`
    `m` fell from 1.0000 to 0.6667 over 12 cases of the same name, with the inputs that changed, by 0.3333 (the limit is 0.0500), which the inputs that changed or noise may explain: it is between 0.0024 and 0.5271; the re-runs that are made by default leave it open; `gate: {budget: {calls: N}}` allows more; after re-runs such a drop warns (`on_suspected: auto`); most of it in `case-00`, `case-01`, `case-02`
    `m` fell from 1.0000 to 0.6667 over 12 cases of the same name, with the inputs that changed, by 0.3333 (the limit is 0.0500), which the inputs that changed or noise may explain: it is between 0.0024 and 0.5271; it stayed open when the run had run doubtful cases again; after re-runs such a drop warns (`on_suspected: auto`); most of it in `case-00`, `case-01`, `case-02`
    ");
}

#[test]
fn a_small_suite_of_which_every_case_is_paired_rests_on_no_fewer_pairs_than_it_has() {
    let base = suite(3, 0, 0, 1);
    let mut head = base.clone();
    // A case that is added lends its units to the others.
    let turn = |head: &mut Report, name: &str, cells: usize| {
        let case = head.metrics.get_mut("m").unwrap().per_case.get_mut(name);
        for cell in case.unwrap().cells.values_mut().take(cells) {
            cell.input = Digest::of(b"another unit comes in");
        }
    };
    turn(&mut head, "case-00", 3);
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.metrics["m"].coverage.turned, 3);
    assert_eq!((verdict.verdict, verdict.is_thin()), (Word::Pass, false));
    // A case of which nothing can be paired is missing from the pairs.
    turn(&mut head, "case-00", 9);
    assert!(stored(&Policy::default(), &base, &head).is_thin());
}

#[test]
fn an_input_that_turned_into_another_is_not_asked_for_again() {
    // Every run of the head that a request could mean has been made, and nobody can run the input of the base on it.
    let base = suite(12, 0, 0, 1);
    let mut head = base.clone();
    let metric = head.metrics.get_mut("m").unwrap();
    for case in metric.per_case.values_mut() {
        for cell in case.cells.values_mut().take(3) {
            cell.input = Digest::of(b"another unit comes in");
        }
    }
    let (verdict, asked) = rerun(&Policy::default(), &base, &head, |_| head.clone());
    assert_eq!((verdict.verdict, asked), (Word::Pass, Vec::new()));
    // A value that was lost is asked for.
    let metric = head.metrics.get_mut("m").unwrap();
    let case = metric.per_case.get_mut("case-00").unwrap();
    case.cells.values_mut().last().unwrap().values = vec![None];
    let (_, asked) = rerun(&Policy::default(), &base, &head, |_| head.clone());
    let single = &asked[0].head["case-00"].single;
    assert_eq!(single.keys().collect::<Vec<_>>(), ["variant-08"]);
}

#[test]
fn false_alarms_of_edited_cases_are_divided_among_the_metrics_that_can_cause_one() {
    // Twelve cases of another input, of which six are worse by a part: clear enough for one metric, and not for eight.
    let names: Vec<String> = (0..12).map(|at| format!("case-{at:02}")).collect();
    let of = |bad: [usize; 12]| {
        let cases = names.iter().zip(bad);
        let cases = cases.map(|(name, bad)| (name.as_str(), nine(bad, 1)));
        cases.collect::<Vec<_>>()
    };
    let sides = |metrics: usize| {
        let (mut base, mut head) = (Report::default(), Report::default());
        for at in 0..metrics {
            base = base.with(&format!("m.{at}"), &of([0; 12]));
            head = head.with(
                &format!("m.{at}"),
                &of([1, 2, 1, 2, 3, 1, 0, 0, 0, 0, 0, 0]),
            );
        }
        for name in &names {
            head.texts.insert(name.clone(), "edited".to_owned());
        }
        (base, head)
    };
    let word = |metrics: usize| {
        let (base, head) = sides(metrics);
        stored(&Policy::default(), &base, &head).verdict
    };
    assert_eq!(word(1), Word::Regression);
    assert_eq!(word(8), Word::Inconclusive);
    // Metrics in which nothing moved take nothing away.
    let (mut base, mut head) = sides(1);
    for at in 1..8 {
        base = base.with(&format!("m.{at}"), &of([0; 12]));
        head = head.with(&format!("m.{at}"), &of([0; 12]));
    }
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.verdict, Word::Regression);
}

#[test]
fn a_metric_that_is_at_its_worst_on_both_sides_is_told_since_nothing_can_be_lost() {
    let of = |value: f64| Report::default().with("m", &[("c", vec![vec![Some(value)]; 9])]);
    let at_worst = |base: f64, head: f64| {
        let verdict = stored(&Policy::default(), &of(base), &of(head));
        verdict.at_worst().count()
    };
    assert_eq!(
        (at_worst(0.0, 0.0), at_worst(0.0, 1.0), at_worst(1.0, 1.0)),
        (1, 0, 0)
    );
    // Where lower is better, the worst is the upper end.
    let (base, head) = (of(1.0).lower("m"), of(1.0).lower("m"));
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.at_worst().count(), 1);
    let (base, head) = (of(0.0).lower("m"), of(0.0).lower("m"));
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.at_worst().count(), 0);
}

#[test]
fn a_metric_that_fell_to_0_is_0_and_not_what_rounding_leaves() {
    let of = |value: f64| {
        let names: Vec<String> = (0..40).map(|at| format!("case-{at:02}")).collect();
        let names = names.iter();
        let cases: Vec<(&str, Vec<Vec<Option<f64>>>)> = names
            .map(|name| (name.as_str(), vec![vec![Some(value); 3]]))
            .collect();
        Report::default().with("m", &cases)
    };
    let verdict = stored(&Policy::default(), &of(1.0), &of(0.0));
    let head = verdict.metrics["m"].head.expect("a value");
    assert_eq!(head.to_string(), "0");
}

#[test]
fn an_edited_case_that_has_no_value_any_more_is_missing_and_was_compared_by_no_name() {
    let base = suite(40, 0, 0, 1);
    let mut head = base.clone();
    head.texts.insert("case-03".to_owned(), "edited".to_owned());
    let empty = case_value("case-03 edited", &vec![vec![None]; 9]);
    let metric = head.metrics.get_mut("m").unwrap();
    metric.per_case.insert("case-03".to_owned(), empty);
    let verdict = stored(&Policy::default(), &base, &head);
    assert_eq!(verdict.metrics["m"].lost, ["case-03"]);
    assert!(verdict.has_lost_items(), "{:?}", verdict.reasons);
    // An edited case with values is compared by its name, and nothing is missing.
    let other = case_value("case-03 edited", &nine(0, 1));
    let metric = head.metrics.get_mut("m").unwrap();
    metric.per_case.insert("case-03".to_owned(), other);
    assert!(!stored(&Policy::default(), &base, &head).has_lost_items());
}
