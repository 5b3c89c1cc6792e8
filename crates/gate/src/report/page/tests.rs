use super::*;
use crate::fixtures::report as fixture;
use crate::fixtures::report::{EvidenceReport as _, set};
use kelvin_page::Tone;

fn said(report: &Report) -> Vec<String> {
    let page = run_page(report);
    let statements = page.chapters.iter().flat_map(|one| &one.statements);
    statements
        .map(|one| one.text.show(|_, text| format!("`{text}`")))
        .collect()
}

fn word(report: &Report) -> &'static str {
    run_page(report).chapters[0].headword.word
}

#[test]
fn a_grounded_run_is_told_so_and_nothing_else() {
    insta::assert_snapshot!(said(&fixture::good()).join("\n"), @"Nothing stands out: it holds where it should, and ignores no governing type");
}

#[test]
fn an_ignored_type_and_a_reactive_kind_are_told_with_their_counts() {
    let said = said(&fixture::bad());
    insta::assert_snapshot!(said[0], @"Presentation or noise moves it: `reorder` changed the decision in 24 of 36 variants, in 8 of 12 cases; `noise_floor: {enabled: true}` would tell which");
    insta::assert_snapshot!(said[1], @"`release_rule` is ignored, or another unit decides: 33 of the 36 swaps whose unit comes from a case that is answered differently left the decision as it was");
}

#[test]
fn a_pipeline_that_never_moves_follows_no_type() {
    let report = fixture::report(6, |_, _, _| Some(0.0));
    assert_eq!(word(&report), "flat");
    insta::assert_snapshot!(said(&report).join("\n"), @"`release_rule` is ignored, or another unit decides: 18 of the 18 swaps whose unit comes from a case that is answered differently left the decision as it was; so is `verification_record`");
}

#[test]
fn few_swaps_are_not_enough_to_tell() {
    let report = fixture::report(2, |_, kind, _| Some(f64::from(u8::from(kind == "swap"))));
    insta::assert_snapshot!(word(&report), @"not enough to tell");
    insta::assert_snapshot!(said(&report).join("\n"), @"Not enough to tell whether `release_rule` is followed: it takes 5 swaps in 3 cases whose unit comes from a case that is answered differently, and there are 6 in 2 cases; add cases with other answers, or raise `variants.swap`");
}

#[test]
fn drift_that_noise_explains_is_not_blamed_on_presentation() {
    let mut report = fixture::noisy();
    insta::assert_snapshot!(said(&report)[0], @"It answers the same input differently: two answers are 0.20 apart on average (8 cases replayed)");
    assert!(
        !said(&report)
            .iter()
            .any(|text| text.contains("`pad_content`"))
    );
    set(&mut report, "noise_floor", 0.0, 8);
    insta::assert_snapshot!(said(&report)[0], @"Presentation moves it: `pad_content` changed the decision in 4 of 24 variants, in 4 of 8 cases");
}

#[test]
fn uneven_cases_are_told() {
    let report = fixture::report(6, |case, kind, _| {
        Some(f64::from(u8::from((kind == "swap") != (case == 0))))
    });
    let said = said(&report);
    let uneven = "The cases differ: invariance is 0.00 in `case_000` and 1.00 in `case_001`, so the \
                  mean describes few of them";
    assert!(said.iter().any(|text| text == uneven), "{said:?}");
}

#[test]
fn m5_failures_are_told_before_the_figures_that_they_hollow_out() {
    let report = fixture::report(3, |_, kind, number| {
        (kind == "swap" && number < 3).then_some(1.0)
    });
    insta::assert_snapshot!(said(&report)[..2].join("\n"), @"
    39 of 48 answers are missing (81 %): the figures cover the rest only
    Half is known: invariance was not measured, since `no variant could be made; the notices say why`
    ");
}

#[test]
fn the_share_of_missing_answers_is_that_of_the_counts_beside_it() {
    let mut report = fixture::good();
    // Each case counts alike in the rate, and the cases that fail were asked more often than the others.
    let rate = report.metrics.get_mut("evidence.failure_rate");
    let rate = rate.expect("a rate");
    (rate.value, rate.n, rate.n_failed) = (Some(0.09), 608, 86);
    insta::assert_snapshot!(said(&report)[1], @"86 of 608 answers are missing (14 %): the figures cover the rest only");
}

#[test]
fn answers_that_are_not_those_of_the_labels_stand_out() {
    let told = |right: usize| {
        let mut report = fixture::good();
        let names: Vec<String> = report.cases().keys().cloned().collect();
        let values: Vec<[Option<f64>; 1]> = (0..names.len())
            .map(|at| [Some(f64::from(u8::from(at >= names.len() - right)))])
            .collect();
        let items = names.iter().zip(&values);
        let items = items.map(|(name, value)| (name.as_str(), &value[..]));
        let metric = kelvin_record::Metric::mean_of_items(items);
        let id = "evidence.agrees_with_labels".to_owned();
        report.metrics.insert(id, metric);
        said(&report)
    };
    insta::assert_snapshot!(told(12)[0], @"Nothing stands out: it holds where it should, and ignores no governing type");
    insta::assert_snapshot!(told(0).join("\n"), @"It answers otherwise than labelled in 12 of 12 cases, first in `case_000`");
    insta::assert_snapshot!(told(10)[0], @"It answers otherwise than labelled in 2 of 12 cases, first in `case_000`");
}

#[test]
fn nothing_measured_is_never_healthy() {
    for report in [fixture::unmeasured(), fixture::dry_run(), fixture::half()] {
        let chapter = &run_page(&report).chapters[0];
        assert!(!chapter.headword.is_judgement);
        assert!(
            chapter.statements.iter().all(|one| one.tone != Tone::Calm),
            "{:?}",
            said(&report)
        );
    }
    let mut empty = fixture::good();
    empty.metrics.clear();
    fixture::cases(&mut empty).clear();
    insta::assert_snapshot!(said(&empty)[0], @"Nothing was measured: `this run did not look at it`");
}

#[test]
fn every_metric_of_a_report_is_in_a_table_or_at_the_top() {
    let mut report = fixture::noisy();
    set(&mut report, "drop.history", 0.75, 4);
    set(&mut report, "mechanical_sensitivity", 0.5, 4);
    set(&mut report, "mechanical_sensitivity.polarity_flip", 0.5, 4);
    set(&mut report, "quite_new", 0.5, 4);
    let unknown = report.metrics["evidence.quite_new"].clone();
    report.metrics.insert("soon.known".to_owned(), unknown);
    let page = run_page(&report);
    let tables = page.chapters[0].tables.iter().chain(&page.others);
    let rows: usize = tables.map(|table| table.rows.len()).sum();
    assert_eq!(rows + 4, report.metrics.len());
}

#[test]
fn the_worst_case_comes_first_and_equals_by_name() {
    let names = |report: &Report| -> Vec<String> {
        let mut page = run_page(report);
        let items = page.chapters[0].items.take().expect("there are cases");
        items.each.map(|item| item.name.to_owned()).collect()
    };
    let worst = names(&fixture::bad());
    assert_eq!(worst[..3], ["case_004", "case_005", "case_010"]);
    let equal = names(&fixture::good());
    assert!(equal.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn what_was_done_is_told_in_words() {
    let report = fixture::good();
    let (_, page) = items(&report).next().expect("there are cases");
    let told = |id: &str| {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{id}`")));
        let row = row.expect("it is there").replace('`', "");
        row.split(" | ").nth(1).map(str::to_owned)
    };
    for (id, done) in [
        (
            "reorder-01",
            "new order: release_rule, risk_note, test_summary, history, verification_record, \
             change_request",
        ),
        ("pad_length-01", "2 neutral sections added"),
        ("pad_content-01", "added history, risk_note of case_001"),
        (
            "swap-release_rule-01",
            "release_rule exchanged for the one of case_001",
        ),
    ] {
        assert_eq!(told(id).as_deref(), Some(done));
    }
}

#[test]
fn notices_are_counted_by_code_and_kind_with_warnings_first() {
    let report = fixture::bad();
    let notices = run_page(&report).notices;
    let counted: Vec<String> = notices.iter().map(NoticeCount::counted).collect();
    assert_eq!(
        counted,
        [
            "3 failed invocations",
            "1 baseline failed",
            "6 caps",
            "1 ignored file"
        ]
    );
    assert_eq!(notices[2].kinds.get("pad_content"), Some(&6));
}

#[test]
fn a_hedge_that_moves_the_decision_is_not_against_expectation() {
    let mut report = fixture::bad();
    let count = |report: &Report, text: &str| -> usize {
        items(report)
            .map(|(_, page)| page.matches(text).count())
            .sum()
    };
    let before = count(&report, "**against**");
    let variants = fixture::cases(&mut report)
        .values_mut()
        .flat_map(|case| &mut case.variants);
    let moved = variants
        .filter(|variant| variant.kind == "reorder")
        .find(|variant| variant.samples.iter().any(|one| one.distance > Some(0.0)))
        .expect("one moves");
    moved.kind = "hedge_injection".into();
    assert_eq!(count(&report, "**against**"), before - 1);
    assert_eq!(count(&report, "moved, counted apart"), 1);
}
