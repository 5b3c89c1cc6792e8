use super::*;

#[test]
fn a_line_forges_neither_colours_nor_lines_nor_directions() {
    assert_eq!(
        line("a\u{1b}[31mred\r\nnext\u{202e}x\u{7}"),
        "a[31mred nextx"
    );
    assert_eq!(
        line("\u{e0041}tags \u{3164}and\u{2066}fillers"),
        "tags andfillers"
    );
}

#[test]
fn cutting_counts_columns_and_says_so() {
    assert_eq!(cut("ääää", 4), "ääää");
    assert_eq!(cut("äääää", 4), "äää…");
    assert_eq!(cut("判断判断", 8), "判断判断");
    assert_eq!(cut("判断判断", 7), "判断判…");
    assert_eq!(cut("判断判断", 6), "判断…");
    assert_eq!(cut("x", 0), "…");
    for most in 0..3 {
        assert_eq!(cut_middle("äääää", most), cut("äääää", most));
    }
    assert_eq!(cut_middle("abcdef", 6), "abcdef");
    assert_eq!(cut_middle("abcdefg", 6), "abc…fg");
    assert_eq!(cut_middle("判断判断", 7), "判断…断");
    assert_eq!(cut_middle("abcde\u{301}\u{301}f", 4), "ab…f");
    let name =
        |test: &str| format!("tests/evals.test_general_qa::test_general_qa_response_is_{test}");
    let names = ["relevant", "readable", "complete"].map(|test| cut_middle(&name(test), 60));
    assert_eq!(
        names[0],
        "tests/evals.test_general_qa::t…neral_qa_response_is_relevant"
    );
    assert!(names[0] != names[1] && names[1] != names[2]);
    assert!(names.iter().all(|name| columns(name) <= 60));
}

#[test]
fn marks_without_a_width_cannot_make_a_line_without_an_end() {
    let stacked = format!("e{}", "\u{301}".repeat(10_000));
    assert!(cut(&stacked, 10).chars().count() <= 41);
}

#[test]
fn a_fence_is_longer_than_any_in_the_text() {
    let block = fenced("x\n````\n@all", 100);
    assert!(block.starts_with("`````text\n| x\n") && block.ends_with("\n`````\n"));
}

#[test]
fn a_block_keeps_its_end_and_gives_no_orders() {
    let block = fenced("first\n/merge\n@bot go\n<!-- mark -->", 25);
    assert!(block.contains("\n| @\u{200b}bot go\n") && !block.contains("first"));
    assert!(!block.contains("\n/") && !block.contains("<!--"));
}

#[test]
fn plain_text_stays_as_it_is() {
    for text in [
        "exit code 1",
        "a, b; (c) 50 % 'd' \"e\" f/g.h",
        "judgement – 判断",
    ] {
        assert_eq!(markdown(text, 80), text);
    }
    assert_eq!(code("swap-gate_rule-02", 80), "`swap-gate_rule-02`");
    // It can be copied. What could be a mention or an order cannot.
    assert_eq!(code("first.ndcg@10", 80), "`first.ndcg@10`");
    for text in ["@10", "me@example.com", "ndcg@x10", "a @10"] {
        assert!(code(text, 80).contains("@\u{200b}"), "{text}");
    }
}

#[test]
fn what_a_forge_would_find_is_taken_apart() {
    assert_eq!(
        markdown("@all #12 GH-7", 80),
        "@&#8203;all \\#&#8203;12 GH-&#8203;7"
    );
    assert_eq!(
        markdown("https://a.b WWW.c", 80),
        "https:&#8203;//a.b WWW.&#8203;c"
    );
    assert_eq!(markdown(":ship: $x$", 80), ":&#8203;ship: &#36;x&#36;");
    assert_eq!(code("a|b`c", 80), "a&#124;b\\`c");
    assert_eq!(markdown("1. - x", 80), "1\\. - x");
}

#[test]
fn no_cell_of_a_csv_file_is_a_formula_or_breaks_out_of_its_quotes() {
    for hostile in [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "  =cmd|' /C calc'!A0",
        "＝1",
    ] {
        let cell = cell(hostile);
        assert!(cell.starts_with("\"'"), "{cell:?}");
    }
    assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
    assert_eq!(
        cell("python3 answer.py --fast"),
        "\"python3 answer.py --fast\""
    );
    // Two lines stay within one cell.
    assert_eq!(cell("a\r\nb"), "\"a\r\nb\"");
}
