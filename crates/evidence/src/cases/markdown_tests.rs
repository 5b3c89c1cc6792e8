use proptest::prelude::*;

use super::fixture::document;
use super::*;

fn parse(text: &str) -> Case {
    Case::parse("c1", "cases/c1.md", text).expect("the text parses")
}

fn types(text: &str) -> Vec<String> {
    let case = parse(text);
    case.units
        .iter()
        .map(|unit| unit.unit_type.to_string())
        .collect()
}

fn problems(text: &str) -> Vec<String> {
    match Case::parse("c1", "cases/c1.md", text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn whole(case: &Case) -> String {
    let mut text = case.preamble().to_owned();
    for unit in &case.units {
        text.push_str(case.body(unit));
        text.push_str(case.tail(unit));
    }
    text
}

#[test]
fn kel_06_case_and_white_space_of_a_heading_do_not_matter() {
    assert_eq!(
        types("## Gate Rule\na\n##  gate rule \nb\n"),
        ["gate_rule", "gate_rule"]
    );
}

#[test]
fn kel_07_defect_4d_a_heading_in_a_fence_starts_no_unit() {
    assert_eq!(
        types("## A\n```\n## x\n```\n~~~md\n## y\n~~~\n## B\n"),
        ["a", "b"]
    );
}

#[test]
fn kel_08_only_level_two_starts_a_unit() {
    assert_eq!(types("# T\n## A\n### x\n#### y\n"), ["a"]);
}

#[test]
fn kel_10_defect_4d_line_ends_and_byte_order_mark_are_kept() {
    for text in [
        "\u{feff}## A\r\n\r\nx\r\n## B\r\ny",
        "## A\rx\r\r## B\ry\r",
        "\u{feff}p\n\n## A\n",
    ] {
        let case = parse(text);
        assert_eq!(case.text, text);
        assert_eq!(whole(&case), text);
        assert!(!case.units.is_empty(), "{text:?}");
    }
    assert_eq!(types("\u{feff}## A\r\nx"), ["a"]);
    assert_eq!(types("## A\rx\r\r## B\ry\r"), ["a", "b"]);
    assert_eq!(parse("## A\r\nx\r\ny\n").newline, "\r\n");
    assert_eq!(parse("## A\rx\ry\n").newline, "\r");
}

#[test]
fn defect_4d_headings_in_html_lists_quotes_and_front_matter_start_no_unit() {
    let text = "---\ntitle: t\n## no\n---\n\n<!--\n## no\n-->\n\n- i\n\n  ## no\n\n> ## no\n\n<pre>\n\n\
                ## no\n</pre>\n\n1. ## no\n\n    ## no\n\n## Yes\n";
    assert_eq!(types(text), ["yes"]);
    let case = parse(text);
    assert!(case.preamble().starts_with("---\n") && case.preamble().ends_with("## no\n\n"));
    assert_eq!(types("+++\n## no\n+++\n## Yes\n"), ["yes"]);
}

#[test]
fn headings_between_two_thematic_breaks_are_headings() {
    let text = "intro\n\n---\nx\n\n## A\n\ny\n\n---\n\n## B\n";
    assert_eq!(types(text), ["a", "b"]);
    assert_eq!(types("---\n\n## A\n\n---\n\n## B\n"), ["a", "b"]);
}

#[test]
fn defect_4d_indented_closed_and_decorated_headings_are_read_as_commonmark_says() {
    let text = "  ## Gate Rule ##\na\n   ## **Gate** `Rule`\nb\n##\tGate &#82;ule\t##  \t\nc\n";
    assert_eq!(types(text), ["gate_rule", "gate_rule", "gate_rule"]);
    assert_eq!(
        types("## Rule \\#1\n## [Rule](x) <b>2</b>\n## a_b_c\n"),
        ["rule_#1", "rule_2", "a_b_c"]
    );
    assert_eq!(types("##Title\n-------\n\nSetext\n------\n\n## A\n"), ["a"]);
    assert_eq!(types("## A\n\n[ref]: <a>\n    ## code\n---\n"), ["a"]);
}

#[test]
fn defect_4d_composed_and_decomposed_letters_make_one_type() {
    assert_eq!(
        types("## Re\u{301}gle\n## R\u{e9}gle\n"),
        ["r\u{e9}gle", "r\u{e9}gle"]
    );
}

#[test]
fn the_type_of_a_heading_does_not_depend_on_the_rest_of_the_document() {
    assert_eq!(types("## [Rule]\n"), ["[rule]"]);
    assert_eq!(types("## [Rule]\n\n[Rule]: x\n"), ["[rule]"]);
}

#[test]
fn defect_4d_an_empty_heading_is_an_error_with_its_line() {
    for heading in ["##", "## ", "## ##", "## <br>", "## **&nbsp;**"] {
        let found = problems(&format!("## A\r\n\r\ntext\r\n{heading}\r\nb\r\n"));
        assert_eq!(found.len(), 1, "{heading}: {found:?}");
        assert!(found[0].starts_with("cases/c1.md:4: "), "{found:?}");
    }
}

#[test]
fn an_open_construct_at_the_end_is_an_error_with_the_line_where_it_opens() {
    let mut told = Vec::new();
    for open in [
        "```\ncode",
        "~~~~ md\n```",
        "<!-- note",
        "<script>\nx",
        "<?php",
        "<![CDATA[",
    ] {
        let found = problems(&format!("## A\n\ntext\n\n{open}\n\n## B\n"));
        assert_eq!(found.len(), 1, "{open}: {found:?}");
        assert!(found[0].starts_with("cases/c1.md:5: "), "{found:?}");
        assert!(found[0].contains("help: "));
        told.push(found[0].to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    cases/c1.md:5: the code fence that opens here is never closed
      help: end it with the same characters on a line of their own: as it is, everything after it is code
    cases/c1.md:5: the code fence that opens here is never closed
      help: end it with the same characters on a line of their own: as it is, everything after it is code
    cases/c1.md:5: the HTML block that opens here is never closed
      help: end the comment with `-->`, or close the tag: as it is, everything after it is HTML
    cases/c1.md:5: the HTML block that opens here is never closed
      help: end the comment with `-->`, or close the tag: as it is, everything after it is HTML
    cases/c1.md:5: the HTML block that opens here is never closed
      help: end the comment with `-->`, or close the tag: as it is, everything after it is HTML
    cases/c1.md:5: the HTML block that opens here is never closed
      help: end the comment with `-->`, or close the tag: as it is, everything after it is HTML
    ");
    let found = problems("---\ntitle: x\n\n## A\n");
    insta::assert_snapshot!(found[0], @"
    cases/c1.md:1: the front matter that opens here is never closed
      help: close it with the same three characters on a line of their own, or put an empty line after the first line if it is no front matter
    ");
    assert_eq!(types("## A\n\n<div>\n\n- ```\n"), ["a"]);
}

#[test]
fn all_problems_of_a_document_are_told_at_once() {
    let found = problems("## A\n##\nx\n##\n```\n");
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn units_know_their_lines_and_their_heading() {
    let case = parse("p\r\n\r\n## A  \r\nx\r\r  ## B");
    let at: Vec<(usize, &str, &str)> = case
        .units
        .iter()
        .map(|unit| (unit.line, case.heading(unit), case.tail(unit)))
        .collect();
    assert_eq!(at, [(3, "## A  ", "\r\r  "), (6, "## B", "")]);
}

#[test]
fn content_is_the_same_with_other_line_ends() {
    let (one, two) = (parse("## A\r\nx\r\ny\r\n"), parse("## A\nx\ny\n\n\n"));
    assert_eq!(one.units[0].content, two.units[0].content);
    assert_ne!(one.units[0].content, parse("## A\nx\nz\n").units[0].content);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn kel_10_a_parsed_case_is_the_file_byte_for_byte(text in document()) {
        if let Ok(case) = Case::parse("c", "c.md", text.as_str()) {
            prop_assert_eq!(&case.text, &text);
            prop_assert_eq!(whole(&case), text);
            for unit in &case.units {
                prop_assert!(case.body(unit).starts_with("##"));
                prop_assert!(case.tail(unit).chars().all(|c| " \t\r\n".contains(c)));
                prop_assert!(case.body(unit).starts_with(case.heading(unit)));
                prop_assert!(!unit.unit_type.is_empty());
            }
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_with_a_line(text in any::<String>()) {
        let lines = text.split(['\n', '\r']).count();
        for problem in markdown::cut(&text).problems {
            prop_assert!((1..=lines).contains(&problem.line));
        }
    }

    #[test]
    fn line_ends_are_converted_and_nothing_else(text in document()) {
        let lf = with_newline(&text, "\n").into_owned();
        prop_assert!(!lf.contains('\r'));
        let there = with_newline(&lf, "\r\n").into_owned();
        prop_assert_eq!(with_newline(&there, "\n"), &*lf);
    }
}

#[test]
fn a_heading_after_a_label_and_a_colon_is_a_heading() {
    assert_eq!(types("[ref]:\n## 'B'\n"), ["'b'"]);
    assert_eq!(types("[ref]: <a>\n## 'B'\n"), ["'b'"]);
    assert_eq!(types("[ref]: <a>\n'open\n## 'B'\n"), ["'b'"]);
}

#[test]
fn a_fence_with_a_tab_after_it_is_closed() {
    assert_eq!(
        types("## A\n```\ncode\n``` \t\n## B\n```\t\r\nx\r\n```\t"),
        ["a", "b"]
    );
}
