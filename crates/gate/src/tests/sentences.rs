use super::*;
use crate::differences::Incomparable;

/// The reasons, one a line.
fn text(verdict: &Verdict) -> String {
    let lines: Vec<&str> = verdict
        .reasons
        .iter()
        .map(|reason| reason.text.as_str())
        .collect();
    lines.join("\n")
}

#[test]
fn a_regression_says_from_what_to_what_how_sure_and_where() {
    let verdict = stored(&Policy::default(), &suite(20, 0, 0, 1), &suite(20, 9, 3, 1));
    insta::assert_snapshot!(text(&verdict), @"`m` fell from 1.0000 to 0.8500 over 20 cases, by 0.1500 (the limit is 0.0500), at least 0.0842 with 95 % confidence; spread over many cases, most in `case-00`, `case-01`, `case-02`");
    let verdict = stored(&exact(), &suite(20, 0, 0, 1), &suite(20, 4, 3, 1));
    insta::assert_snapshot!(text(&verdict), @"`m` fell from 1.0000 to 0.9333 over 20 cases, by 0.0667 (the limit is 0.0500), and the pipeline is declared deterministic; most of it in `case-00`, `case-01`, `case-02`");
}

#[test]
fn a_pass_says_what_is_ruled_out_and_what_could_have_been_seen() {
    let base = suite(20, 0, 0, 1);
    insta::assert_snapshot!(text(&stored(&Policy::default(), &base, &base)), @"`m` did not change: every value is the same on both sides");
    let verdict = stored(&Policy::default(), &base, &suite(20, 2, 1, 1));
    insta::assert_snapshot!(text(&verdict), @"`m` fell from 1.0000 to 0.9889 over 20 cases, by 0.0111 (the limit is 0.0500), at most 0.0213 with 90 % confidence; its mean can show a drop of 0.0566 or more");
    let verdict = stored(&Policy::default(), &suite(20, 2, 1, 1), &base);
    insta::assert_snapshot!(text(&verdict), @"`m` rose from 0.9889 to 1.0000 over 20 cases, no worse with 90 % confidence; its mean can show a drop of 0.0566 or more");
}

#[test]
fn an_open_verdict_says_what_would_decide_it() {
    let verdict = stored(&Policy::default(), &suite(20, 0, 0, 1), &suite(20, 3, 9, 1));
    insta::assert_snapshot!(text(&verdict), @"
    `m` fell from 1.0000 to 0.8500 over 20 cases, by 0.1500 (the limit is 0.0500), which noise may explain: it is at most 0.2588; no case was run again; without re-runs the limit alone decides (`on_suspected: auto`); a gate that runs the pipeline (`--rerun`), `baseline: {repeats: 5}`, or `deterministic: true` if nothing varies, would decide more; most of it in `case-00`, `case-01`, `case-02`
    ");
    let verdict = stored(&Policy::default(), &suite(4, 0, 0, 1), &suite(4, 1, 1, 1));
    insta::assert_snapshot!(text(&verdict), @"`m` fell from 1.0000 to 0.9722 over 4 cases, by 0.0278 (the limit is 0.0500); a drop of more than 0.0500 is not ruled out: it is at most 0.0733; no case was run again");
}

#[test]
fn what_was_gained_against_one_run_of_the_base_is_told_as_the_reason() {
    let bad = |case: usize| {
        let case_of = |at| if at == case { 9 } else { 0 };
        let names: Vec<String> = (0..12).map(|at| format!("case-{at:02}")).collect();
        let cases = |repeats| -> Vec<(&str, Vec<Vec<Option<f64>>>)> {
            let all = names.iter().enumerate();
            all.map(|(at, name)| (name.as_str(), nine(case_of(at), repeats)))
                .collect()
        };
        [1, 3].map(|repeats| Report::default().with("m", &cases(repeats)))
    };
    let policy = Policy {
        on_broken_case: Effect::Warn,
        ..Policy::default()
    };
    let verdict = stored(&policy, &bad(0)[0], &bad(1)[1]);
    assert_eq!(verdict.verdict, Word::Inconclusive);
    insta::assert_snapshot!(text(&verdict).lines().find(|line| line.starts_with("`m`")).unwrap_or_default(), @"`m` stayed at 0.9167 over 12 cases; a drop of more than 0.0500 is not ruled out: other cases gained as much, but against one run of the base, which may have been a bad one; `baseline: {repeats: 5}` would decide");
}

#[test]
fn a_loss_and_a_broken_case_are_named() {
    let base = suite(20, 0, 0, 3);
    let verdict = stored(&Policy::default(), &base, &base.clone().without("case-03"));
    insta::assert_snapshot!(text(&verdict), @"
    `m` was judged without 9 of the 180 cells that the base has, in 1 case: `case-03`
    `m` did not change: every value is the same on both sides
    ");
    let verdict = stored(&Policy::default(), &suite(50, 0, 0, 3), &suite(50, 1, 9, 5));
    insta::assert_snapshot!(text(&verdict), @"
    case `case-00` broke: 5 of its 5 runs are worse than on the base by half or more in `m`
    `m` fell from 1.0000 to 0.9800 over 50 cases, by 0.0200 (the limit is 0.0500); its mean can show a drop of more than 0.0500
    ");
    let lower = suite(20, 0, 0, 3).lower("m");
    let verdict = stored(&exact(), &suite(20, 9, 9, 3).lower("m"), &lower);
    insta::assert_snapshot!(text(&verdict), @"
    `m` rose from 0.5500 to 1.0000 over 20 cases, by 0.4500 (the limit is 0.0500), and the pipeline is declared deterministic; spread over many cases, most in `case-00`, `case-01`, `case-02`
    cases `case-00`, `case-01`, `case-02` and 6 more broke: their runs are worse than on the base by half or more in `m`
    ");
}

#[test]
fn what_is_so_of_several_metrics_is_told_once() {
    let names: Vec<String> = (0..20).map(|at| format!("case-{at:02}")).collect();
    let cases = |bad: usize| -> Vec<(&str, Vec<Vec<Option<f64>>>)> {
        let all = names.iter().enumerate();
        all.map(|(at, name)| (name.as_str(), nine(if at < bad { 9 } else { 0 }, 3)))
            .collect()
    };
    let base = ["a", "b", "c", "d"]
        .iter()
        .fold(Report::default(), |report, id| report.with(id, &cases(0)));
    let head = base.clone().with("b", &cases(5));
    let lines = |verdict: &Verdict| -> Vec<String> {
        verdict
            .shared_reasons()
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    };
    let said = lines(&stored(&exact(), &base, &head));
    assert_eq!(
        said.iter()
            .filter(|text| text.starts_with("`b` fell"))
            .count(),
        1
    );
    let same =
        "`a` did not change: every value is the same on both sides; the same of `c` and 1 more";
    assert_eq!(said.last().map(String::as_str), Some(same));
    let said = lines(&stored(&exact(), &base, &base));
    let same =
        "`a` did not change: every value is the same on both sides; the same of `b` and 2 more";
    assert_eq!(said, [same]);
}

#[test]
fn a_case_that_gives_no_value_any_more_is_told_as_that() {
    let head = |lost: usize, bad: usize| {
        let names: Vec<String> = (0..40).map(|at| format!("case-{at:02}")).collect();
        let cells = |at| match at {
            at if at < lost => vec![vec![None; 3]; 9],
            at if at < lost + bad => nine(9, 3),
            _ => nine(0, 3),
        };
        let all = names.iter().enumerate();
        let cases: Vec<_> = all.map(|(at, name)| (name.as_str(), cells(at))).collect();
        Report::default().with("m", &cases)
    };
    let told = |lost, bad| {
        let verdict = stored(&exact(), &head(0, 0), &head(lost, bad));
        let text = text(&verdict);
        let line = text.lines().find(|line| line.contains(" broke: "));
        let valueless = verdict.broken_cases.iter().filter(|case| case.valueless);
        (line.unwrap_or_default().to_owned(), valueless.count())
    };
    insta::assert_snapshot!(told(1, 0).0, @"case `case-00` broke: its one run is without a value of `m`");
    insta::assert_snapshot!(told(2, 0).0, @"cases `case-00`, `case-01` broke: their runs are without a value of `m`");
    insta::assert_snapshot!(told(1, 1).0, @"cases `case-00`, `case-01` broke: their runs are worse than on the base by half or more in `m`, or without a value of it");
    assert_eq!([told(0, 1).1, told(1, 1).1, told(2, 0).1], [0, 1, 2]);
}

#[test]
fn a_run_without_answers_is_told_in_words_that_fit_every_probe() {
    let failed = Incomparable::Ending {
        side: kelvin_record::ComparedSide::Head,
        ending: kelvin_record::Ending::Failed,
    };
    insta::assert_snapshot!(failed.to_string(), @"the run of the head has a probe that got no answer at all");
}

#[test]
fn a_hostile_name_stays_on_its_line() {
    let hostile = "x\n::error::\u{1b}[31m\u{202e}fake";
    let cases = |bad| {
        [
            (hostile, nine(bad, 1)),
            ("b", nine(0, 1)),
            ("c", nine(0, 1)),
        ]
    };
    let base = Report::default().with("m", &cases(0));
    let verdict = stored(&exact(), &base, &Report::default().with("m", &cases(9)));
    for reason in &verdict.reasons {
        assert!(
            !reason
                .text
                .contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{reason:?}"
        );
    }
    assert_eq!(verdict.metrics["m"].drivers[0].case, hostile);
}

#[test]
fn a_value_that_is_0_but_for_rounding_has_no_sign() {
    for count in 2..40 {
        let (whole, nothing) = (suite(count, 0, 0, 3), suite(count, count, 9, 1));
        let verdict = stored(&Policy::default(), &whole, &nothing);
        let mut values = verdict.metrics.values().filter_map(|metric| metric.head);
        assert!(
            values.all(|value| !format!("{value:.4}").starts_with('-')),
            "{count}"
        );
    }
}

#[test]
fn a_new_item_that_fails_from_the_start_is_told_once_by_what_the_gate_looks_at() {
    let items = |new: Option<f64>| {
        let old = ["a", "b", "c"].map(|name| (name, Some(1.0)));
        old.into_iter().chain(new.map(|value| ("new", Some(value))))
    };
    let side = |new| {
        let mut side = Report::default();
        for id in ["p.found", "p.ndcg"] {
            let repeats: Vec<(&str, [Option<f64>; 1])> =
                items(new).map(|(name, value)| (name, [value])).collect();
            let repeats = repeats.iter().map(|(name, runs)| (*name, &runs[..]));
            let mut metric = Metric::mean_of_items(repeats);
            metric.by_rank = id == "p.ndcg";
            side.metrics.insert(id.to_owned(), metric);
        }
        let names = items(new).map(|(name, _)| (name.to_owned(), String::new()));
        side.texts = names.collect();
        side
    };
    let told = |new| {
        let verdict = stored(&Policy::default(), &side(None), &side(Some(new)));
        assert!(verdict.passed, "{verdict:?}");
        text(&verdict)
    };
    let fails = told(0.0);
    insta::assert_snapshot!(fails, @"
    `new` is new and fails `p.found` in every run
    `p.found` did not change: every value is the same on both sides
    `p.ndcg` did not change: every value is the same on both sides
    ");
    assert_eq!(fails.matches("`new`").count(), 1, "{fails}");
    assert!(!told(1.0).contains("`new`"));
    // Of a metric with variants, no value of an item says that it is wrong.
    let base = suite(5, 0, 0, 1);
    let more = suite(6, 6, 9, 1);
    let verdict = stored(&Policy::default(), &base, &more);
    assert!(!text(&verdict).contains("`case-05`"), "{verdict:?}");
}
