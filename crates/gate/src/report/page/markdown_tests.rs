use crate::fixtures::page::{corpus, harmless, read};
use crate::fixtures::report as fixture;
use crate::fixtures::report::EvidenceReport as _;
use crate::fixtures::text::lines_with;
use crate::report::Report;
use crate::report::page::{items, to_markdown as render};

/// The page of one case.
fn case(report: &Report, folder: &str) -> String {
    let mut items = items(report);
    items
        .find(|(one, _)| *one == folder)
        .expect("it is there")
        .1
}

#[test]
fn untrusted_text_changes_nothing_but_the_text_of_a_report() {
    let plain = read(&render(&fixture::hostile("plain")));
    for text in corpus() {
        harmless(&render(&fixture::hostile(&text)), &plain, &text);
    }
}

#[test]
fn untrusted_text_changes_nothing_but_the_text_of_a_case() {
    let page = |text: &str| {
        let report = fixture::hostile(text);
        case(&report, &report.cases()[text].folder)
    };
    let plain = read(&page("plain"));
    for text in corpus() {
        harmless(&page(&text), &plain, &text);
    }
}

#[test]
fn peer_4e_a_report_as_markdown() {
    insta::assert_snapshot!(render(&fixture::bad()));
}

#[test]
fn peer_4e_a_report_of_a_case_as_markdown_lists_every_variant() {
    let report = fixture::bad();
    let page = case(&report, "case_000");
    for variant in &report.cases()["case_000"].variants {
        assert!(
            page.contains(&format!("| `{}` |", variant.id)),
            "{}",
            variant.id
        );
    }
    insta::assert_snapshot!(page);
}

#[test]
fn a_report_always_fits_a_comment_and_says_what_it_left_out() {
    for report in [
        fixture::large(2_000),
        fixture::hostile(&"long_text ".repeat(1_000)),
    ] {
        let page = render(&report);
        assert!(page.chars().count() < 60_000, "{}", page.chars().count());
    }
    let page = render(&fixture::large(2_000));
    insta::assert_snapshot!(lines_with(&page, &["`report.html`"]), @"
    and 1190 more cases, in `report.html` and `report.json`
    and 116 more failed invocations, in `report.html` and `report.json`
    and 400 more notices, in `report.html` and `report.json`
    ");
}

#[test]
fn peer_4e_caps_skips_and_failures_are_in_the_report() {
    let page = render(&fixture::bad());
    insta::assert_snapshot!(lines_with(&page, &[", 6 ", "`case_000` `pad_content`", "## 3 "]), @"
    ## 3 failed invocations
    <details><summary>Caps, skips and warnings: 3 failed invocations, 1 baseline failed, 6 caps, 1 ignored file</summary>
    - **cap** `case_000` `pad_content`: at most 3 units come in, not 4: the other cases have no more that can
    ");
    assert!(page.contains("| ValueError: no rule applies"));
}

#[test]
fn kel_45_every_row_with_a_value_has_its_sample() {
    for report in [
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
    ] {
        let page = render(&report);
        let rows = page.lines().filter(|line| line.starts_with("| "));
        let figures = rows.filter(|row| row.contains("0.") && !row.contains("| ---"));
        for row in figures {
            assert!(row.contains("n="), "{row}");
        }
    }
}

#[test]
fn kel_46_no_score_is_called_what_it_is_not() {
    for report in [fixture::bad(), fixture::noisy(), fixture::unmeasured()] {
        let case = case(&report, "case_000");
        let page = (render(&report) + &case).to_lowercase();
        assert!(!page.contains("accuracy") && !page.contains("correctness"));
    }
}

#[test]
fn m15_a_type_without_a_sample_has_no_value() {
    let page = render(&fixture::half());
    insta::assert_snapshot!(lines_with(&page, &["# Kelvin", "| `release_rule` |"]), @"
    # Kelvin check: not measured in full
    | `release_rule` | not measured | - | n=0 | there is only one case, and so no other to take evidence from |
    | `release_rule` | not measured | - | n=0 | there is only one case, and so no other to take evidence from |
    ");
}
