use crate::fixtures::page::corpus;
use crate::fixtures::report as fixture;
use crate::fixtures::report::{EvidenceReport as _, set};
use crate::fixtures::text::{lines_with, redacted};
use crate::report::Report;
use crate::report::page::to_terminal as render;
use kelvin_evidence::perturb::Relation;
use kelvin_page::safe;
use kelvin_page::terminal::Style;

fn shown(report: &Report) -> String {
    render(report, "kelvin", Style::PLAIN)
}

fn every_fixture() -> Vec<Report> {
    vec![
        fixture::good(),
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
        fixture::dry_run(),
        fixture::interrupted(),
        fixture::large(300),
    ]
}

/// No wider than 80 columns, no higher than 24 lines with the prompt, nothing but text.
fn fits(text: &str) {
    assert!(
        text.lines().count() <= 23,
        "{} lines:\n{text}",
        text.lines().count()
    );
    for line in text.lines() {
        assert!(
            safe::columns(line) <= 80,
            "{} columns: {line}",
            safe::columns(line)
        );
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        assert_eq!(line, safe::lines(line), "{line:?}");
    }
}

#[test]
fn a_good_run_on_a_screen() {
    insta::assert_snapshot!(shown(&fixture::good()));
}

#[test]
fn a_bad_run_on_a_screen() {
    insta::assert_snapshot!(shown(&fixture::bad()));
}

#[test]
fn a_noisy_run_on_a_screen() {
    insta::assert_snapshot!(shown(&fixture::noisy()));
}

#[test]
fn an_error_that_a_worker_also_printed_is_said_once() {
    let mut report = fixture::unmeasured();
    for case in fixture::cases(&mut report).values_mut() {
        case.baseline = vec![fixture::failed(
            "KeyError: 'rule'",
            "Trace\nKeyError: 'rule'\n",
        )];
    }
    let text = shown(&report);
    assert!(
        text.contains("x case_000/baseline: KeyError: 'rule'\n"),
        "{text}"
    );
    fits(&text);
}

#[test]
fn a_run_of_one_case_on_a_screen() {
    insta::assert_snapshot!(shown(&fixture::half()));
}

#[test]
fn a_run_that_measured_nothing_on_a_screen() {
    insta::assert_snapshot!(shown(&fixture::unmeasured()));
}

#[test]
fn peer_4e_every_report_fits_a_screen_of_80_by_24() {
    for report in every_fixture() {
        fits(&shown(&report));
    }
}

#[test]
fn peer_4e_long_and_wide_names_are_cut_and_forge_nothing() {
    let good = shown(&fixture::good());
    let caution = good.lines().rev().nth(1).expect("a line before the last");
    for text in corpus() {
        let report = fixture::hostile(&text);
        let shown = render(&report, &text, Style::PLAIN);
        fits(&shown);
        assert_eq!(shown.matches(caution).count(), 1, "{shown}");
    }
}

#[test]
fn kel_49_without_colours_there_is_no_escape_code() {
    for report in every_fixture() {
        let coloured = render(&report, "kelvin", Style::of(true, None));
        assert!(!shown(&report).contains('\u{1b}'));
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(
            anstream::adapter::strip_str(&coloured).to_string(),
            shown(&report)
        );
    }
}

#[test]
fn kel_45_every_figure_has_its_sample_beside_it() {
    for report in every_fixture() {
        let text = shown(&report);
        for name in ["Invariance", "Sensitivity", "Kelvin score"] {
            let at = text.find(name).expect("it is shown");
            let two_lines: Vec<&str> = text[at..].lines().take(2).collect();
            assert!(two_lines.join(" ").contains("n="), "{text}");
        }
        let lines = text.lines().skip_while(|line| !line.starts_with("  by"));
        let lines = lines.take_while(|line| line.starts_with("  "));
        for item in lines.flat_map(|line| line[13..].split("   ")) {
            assert!(item.contains("(n="), "{item}");
        }
    }
}

#[test]
fn kel_46_no_score_is_called_what_it_is_not() {
    for report in every_fixture() {
        let text = shown(&report).to_lowercase();
        assert!(
            !text.contains("accuracy") && !text.contains("correctness"),
            "{text}"
        );
    }
}

#[test]
fn peer_4e_a_dry_run_and_failed_baselines_are_never_healthy() {
    // What failed baselines show is in `a_run_that_measured_nothing_on_a_screen`.
    let failed = shown(&fixture::unmeasured());
    let unmeasured = lines_with(&failed, &["Kelvin score"]);
    let dry = shown(&fixture::dry_run());
    assert_eq!(lines_with(&dry, &["Kelvin score"]), unmeasured);
    for text in [&dry, &failed] {
        assert!(!text.lines().any(|line| line.starts_with("= ")), "{text}");
    }
    insta::assert_snapshot!(dry);
}

#[test]
fn peer_4e_failed_baselines_caps_and_skips_are_on_the_screen() {
    let text = shown(&fixture::bad());
    insta::assert_snapshot!(lines_with(&text, &["1 of 13", "pad_content 6", "x and 2 "]), @"
    x and 2 more failed invocations; see kelvin/report.html
    ~ the baseline failed in 1 of 13 cases, which are in no score: case_012
    Not as asked: 6 caps (pad_content 6), 1 ignored file; see kelvin/report.md
    ");
    insta::assert_snapshot!(lines_with(&shown(&fixture::half()), &["(swap 1)"]), @"Not as asked: 1 skip (swap 1); see kelvin/report.md");
}

#[test]
fn peer_4e_every_variant_is_counted_and_the_opt_in_figures_are_shown() {
    let mut report = fixture::good();
    let variant = report.cases()["case_000"].variants[9].clone();
    let case = fixture::cases(&mut report)
        .get_mut("case_000")
        .expect("it is there");
    case.variants.push(kelvin_evidence::VariantRecord {
        id: "swap_condition-release_rule-01".into(),
        kind: "swap_condition".into(),
        relation: Relation::Sensitivity,
        samples: vec![fixture::sample(0, Some(0.0))],
        ..variant
    });
    set(&mut report, "sensitivity_condition", 0.0, 1);
    set(&mut report, "content_effect", 1.0, 1);
    set(&mut report, "mechanical_sensitivity", 0.25, 4);
    set(
        &mut report,
        "mechanical_sensitivity.numeric_magnitude",
        0.25,
        4,
    );
    let text = shown(&report);
    // One exchange of conditions and four other values are too few for an alarm, which would begin with `!` or `~`.
    insta::assert_snapshot!(redacted(&lines_with(&text, &["181 ", " 0.00 (n=1)", " 1.00 (n=1)", " 0.25 (n=4)", "= "])), @"
    kelvin check: 12 cases, 181 variants, 180 invocations, 12 cached, [SECONDS] s
    Kelvin score 0.0000  = 0.0000 + 0.0000, best 0, worst 2 (n=180)
      apart      conditions alone 0.00 (n=1)   content effect 1.00 (n=1)
                 mechanical 0.25 (n=4)
    = Nothing stands out: it holds where it should, and ignores no governing type
    ");
    assert!(
        !text.lines().any(|line| line.starts_with(['!', '~'])),
        "{text}"
    );
    fits(&text);
}

#[test]
fn m5_a_run_that_mostly_failed_says_so_first() {
    let report = fixture::report(4, |_, kind, number| {
        (kind == "reorder" && number == 1).then_some(0.0)
    });
    let text = shown(&report);
    let first = text
        .lines()
        .find(|line| line.starts_with("! "))
        .expect("a diagnosis");
    insta::assert_snapshot!(first, @"! 56 of 64 answers are missing (88 %): the figures cover the rest only");
    fits(&text);
}

#[test]
fn the_noise_line_is_there_only_where_noise_was_measured() {
    let line = lines_with(&shown(&fixture::noisy()), &["0.2000 (n=8)"]);
    insta::assert_snapshot!(line, @"Noise floor  0.2000 (n=8); without it 1.0000 and 0.7656, score 0.2344");
    let (label, _) = line.split_once("  ").expect("a label");
    assert!(!shown(&fixture::bad()).contains(label));
}
